//! The proof that needs no induction: block and mutant with their registers and memories cut out.
//!
//! What a register or a memory shows is an input then, and what it is given is an output; so are the block's own ports. If all outputs of
//! the two are equal for all inputs, so are the two circuits in every cycle. ABC proves that in seconds even for blocks for which yosys'
//! induction has no end, because all but the mutant's surroundings has the same structure. A difference says nothing: it may be one that no
//! state of the block shows.

use super::mutation::Mutation;
use super::verilog::Flat;
use crate::command::Cmd;

/// How long ABC may take, in seconds.
const LIMIT: u32 = 60;

/// From cells to gates, in `FILE`. What is unknown is 0 on both sides, before anything is made simpler: yosys might choose otherwise in the other
/// circuit. Each net is a bit, so that bits of registers which nobody sees fall away: of a register with constant bits these are all that nothing
/// reads. `c:*` selects cells alone: a signal inside that has a name is no output, and may differ. ABC finds inputs and outputs of the two by their
/// names, which a file in AIGER format would have in another order each. `ASIDE` are the types of the cells that have no mutants, which are cut out
/// as memories are.
const CUT: &str = "setundef -zero -undriven; memory_map -rom-only; setundef -zero; async2sync; dffunmap; splitnets; simplemap; opt_expr; \
                   opt_clean; expose -evert-dff c:*; expose -evert t:$mem_v2 ASIDE; techmap; opt_expr; setundef -zero; aigmap; \
                   opt_clean -purge; write_blif FILE";

/// What ABC says of two circuits whose outputs are equal.
const EQUAL: &str = "Networks are equivalent";

/// Whether the mutant's logic, between registers and memories, is the block's. No proof, or none in time, is no.
pub fn proved(flat: &Flat, mutation: &Mutation) -> bool {
    let yosys = std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into());
    let change = mutation.command(None) + "; ";
    let aside: Vec<String> = flat.aside().map(|module| format!("t:{module}")).collect();
    let cut = CUT.replace("ASIDE", &aside.join(" "));
    for (file, change) in [("block.blif", ""), ("mutant.blif", &change)] {
        let script = format!("read_ilang flat.il; {change}{}", cut.replace("FILE", file));
        if Cmd::new(&yosys).args(["-q", "-p", &script]).folder(flat.folder()).probe().is_none() {
            return false;
        }
    }
    let is_cut =
        |file| crate::project::read(&flat.folder().join(file)).is_ok_and(|text| !text.contains("\n.latch "));
    if !["block.blif", "mutant.blif"].into_iter().all(is_cut) {
        return false;
    }
    let compare = Cmd::new(format!("{yosys}-abc")).args(["-c", "cec block.blif mutant.blif"]);
    compare.folder(flat.folder()).limit(LIMIT).probe().is_some_and(|text| text.contains(EQUAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the proof says "equal" of all mutants of these modes at one bit of one kind of cell, and whether of none. There must be some.
    fn proofs(flat: &Flat, modes: &[&str], (cell, port, bit): (&str, &str, u32)) -> (bool, bool) {
        let all = flat.list("-list 400 -seed 1").unwrap();
        let here = |m: &&Mutation| {
            m.cell.contains(cell) && m.port == port && m.bit == bit && modes.contains(&&*m.mode)
        };
        let found: Vec<bool> = all.iter().filter(here).map(|mutation| proved(flat, mutation)).collect();
        assert!(!found.is_empty(), "no mutant at {cell} {port} {bit}");
        (found.iter().all(|same| *same), found.iter().all(|same| !same))
    }

    #[test]
    fn logic_round_a_module_without_mutants_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let verilog = "module top(clock, in, q);\n  input wire clock;\n  input wire [3:0] in;\n  output wire q;\n  wire [3:0] through = in ^ 4'd5;\n  wire crossed;\n\
                       far far (.clock(clock), .in(through[0]), .q(crossed));\n  assign q = crossed ^ ^(through & 4'b0101);\nendmodule\n\
                       module far(clock, in, q);\n  input wire clock;\n  input wire in;\n  output reg q;\n  always @(negedge clock) q <= in;\nendmodule\n";
        let flat = Flat::new(verilog, folder.path().join("flat")).unwrap();
        assert_eq!(flat.aside().collect::<Vec<_>>(), ["far"]);
        // Of the mask, and of the signal `through` itself: it has a name, and may differ where nobody reads it.
        for (cell, port) in [("$and", "A"), ("$xor", "Y")] {
            assert!(proofs(&flat, &["inv"], (cell, port, 1)).0, "{cell}: a bit that nobody sees");
            assert!(proofs(&flat, &["inv"], (cell, port, 2)).1, "{cell}: a bit that is seen");
        }
    }

    #[test]
    fn logic_that_does_the_same_is_proved_and_a_register_s_input_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        // Bits 3 and 1 of the masks are 0; `lost` is a register that nobody reads while `go` is set.
        let verilog = "module top(clock, go, in, q);\n  input wire clock;\n  input wire go;\n  input wire [3:0] in;\n  output wire [1:0] q;\n\
                       reg [3:0] memory [3:0];\n  reg [3:0] row;\n  reg [3:0] held;\n  reg lost;\n  initial begin lost = 0; held = 0; end\n\
                       always @(posedge clock) begin\n    row <= memory[in[1:0]];\n    if (go) memory[in[3:2]] <= in;\n    lost <= ^in;\n    held <= in ^ {4{go}};\n  end\n\
                       assign q = {^(row & 4'b0101) ^ ^(held & 4'b0101), lost & ~go};\nendmodule\n";
        let flat = Flat::new(verilog, folder.path().join("flat")).unwrap();
        let of = |cell, port, bit| proofs(&flat, &["inv", "const1"], (cell, port, bit));
        assert!(of("$xor", "Y", 1).0, "bits of a register that nobody sees");
        assert!(of("$xor", "Y", 2).1, "bits of a register that is seen");
        assert!(of("$and", "A", 1).0, "a bit of a mask that is 0");
        assert!(of("$and", "A", 2).1, "a bit of a mask that is 1");
        assert!(of("$reduce_xor", "A", 3).1, "what a register takes");
    }
}
