//! How a whole design is synthesised: for a board's bitstream, and for the netlist that is simulated.

/// Yosys' script for `module top`, which leaves the mapped cells in one module. As the budgets are measured, but without their target
/// delay: paths are made as short as the longest one allows, which begins in a block RAM. That leaves the CRC's trees of XOR
/// longer than they need be, and wires make them the longest; so they are mapped alone, as short as they can be.
pub const SYNTHESIS: &str =
    "setattr -mod -set keep_hierarchy 1 *$crc; synth_ecp5 -abc9 -nowidelut -top top; \
                             setattr -mod -unset keep_hierarchy *$crc; flatten; clean";
