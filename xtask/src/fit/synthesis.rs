//! How a whole design is synthesised: for a board's bitstream, and for the netlist that is simulated.

/// Yosys' script for `module top` of `top.v`, which leaves the mapped cells in one module. As the budgets are measured, but without their
/// target delay: paths are made as short as the longest one allows, which begins in a block RAM. That leaves the CRC's trees of XOR
/// longer than they need be, and wires make them the longest; so they are mapped alone, as short as they can be. ABC's script is the
/// longest of those that yosys has: it maps three times, from other structures of the same logic, and keeps the best. Cells have numbers
/// for names: see [`NAMES`].
pub const SYNTHESIS: &str = "read_verilog top.v; \
                             select -assert-any parity_matrix*; setattr -mod -set keep_hierarchy 1 parity_matrix*; \
                             scratchpad -copy abc9.script.flow3mfs abc9.script; \
                             synth_ecp5 -abc9 -nowidelut -top top -run begin:check; \
                             setattr -mod -unset keep_hierarchy parity_matrix*; flatten; clean";

/// What gives each cell the name of a wire that it drives, for who reads the netlist. It takes a sixth of the time.
pub const NAMES: &str = "autoname; blackbox =A:whitebox";
