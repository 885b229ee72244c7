//! Proofs: what the MAC of the PCI Express endpoint puts on the lane.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::pcie::mac::Lane;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        checker(
            "pcie_lane",
            || verilog(Lane::default()),
            include_str!("../../formal/pcie_lane.sv"),
            16,
            Engine::Whole,
            &LANE,
        ),
        Proof {
            smaller: &SMALL_INTERVAL,
            ..checker(
                "pcie_skp",
                || verilog(Lane::default()),
                include_str!("../../formal/pcie_skp.sv"),
                28,
                Engine::Whole,
                &SKP,
            )
        },
    ]
}

const LANE: [Mutant; 21] = [
    mutant("training ends a set", "set_whole", "(place == 3'd7) | (place[0] &", "(place == 3'd7) | order[2] | (place[0] &"),
    mutant("silence ends a set", "set_whole", "Mode_Set: ends = (place", "Mode_Set: ends = order[0] | (place"),
    mutant("a set says what is ordered meanwhile", "set_whole", ".order(obeyed)", ".order(order)"),
    mutant("a due SKP set ends a packet", "packet_whole", "Mode_Open: ends = ~line_valid | line[18];", "Mode_Open: ends = ~line_valid | line[18] | skp_due | order[1];"),
    mutant("silence ends a packet", "packet_whole", "Mode_Open: ends = ~line_valid | line[18];", "Mode_Open: ends = ~line_valid | line[18] | order[0];"),
    mutant("idle ends a packet", "packet_whole", "Mode_Open: ends = ~line_valid | line[18];", "Mode_Open: ends = ~line_valid | line[18] | order[3];"),
    mutant("a set begins with its second word", "between", "place <= 3'd0;", "place <= {2'd0, order[1]};"),
    mutant("an unknown set", "between", "kind <= SetKind_Farewell;", "kind <= 2'd3;\n                place <= 3'd1;"),
    mutant("idle is the writer's word", "between", "            Mode_Idle: begin\n                sent[16] <= 1'b0;", "            Mode_Idle: begin\n                sent[16] <= 1'b1;"),
    mutant("a packet's first word is lost", "carried", "if (line_valid) begin", "if (line_valid & ~packet_k[0]) begin"),
    mutant("the high symbol is the low one", "carried", "sent[15:8] <= packet[15:8];", "sent[15:8] <= packet[7:0];"),
    mutant("words are taken in idle", "carried", "line_ready = mode == Mode_Open;", "line_ready = mode[1];"),
    mutant("not ready while training is ordered", "ready", "line_ready = mode == Mode_Open;", "line_ready = (mode == Mode_Open) & ~order[1];"),
    mutant("not ready while silence is ordered", "ready", "line_ready = mode == Mode_Open;", "line_ready = (mode == Mode_Open) & ~order[0];"),
    mutant("ready for first words only", "ready", "line_ready = mode == Mode_Open;", "line_ready = (mode == Mode_Open) & packet_k[0];"),
    mutant("no EIOS behind packets", "last_words", "if ((mode == Mode_Silent) |", "if ((mode == Mode_Silent) | (mode == Mode_Open) |"),
    mutant("any set is EIOS", "last_words", "((mode == Mode_Set) & (kind == SetKind_Farewell))", "(mode == Mode_Set)"),
    mutant("silent in idle", "last_words", "            Mode_Idle: begin\n", "            Mode_Idle: begin\n                sent[21] <= 1'b1;\n"),
    mutant("no COM is marked", "marks", "sent[18] <= writer_word[18];", "sent[18] <= 1'b0;"),
    mutant("each set is a SKP set", "marks", "sent[19] <= writer_word[19];", "sent[19] <= writer_word[20];"),
    mutant("packets are training", "marks", "sent[19] <= 1'b0;\n                sent[20] <= 1'b0;\n                sent[7:0] <= 8'd0;\n                sent[15:8] <= 8'd0;\n                if (line_valid)", "sent[19] <= 1'b0;\n                sent[7:0] <= 8'd0;\n                sent[15:8] <= 8'd0;\n                if (line_valid)"),
];

/// Words from one set to the next, the longest packet, and what is allowed.
const SMALL_INTERVAL: [(&str, &str); 4] =
    [("10'd606", "10'd10"), ("10'd608", "10'd12"), ("10'd140", "10'd6"), ("10'd769", "10'd24")];

const SKP: [Mutant; 3] = [
    mutant("no set is ever due", "skp_gap", "assign due = |owed;", "assign due = 1'b0;"),
    mutant(
        "training goes before a set",
        "skp_gap",
        "else if (skp_due) begin\n                kind",
        "else if (skp_due & ~order[1]) begin\n                kind",
    ),
    mutant(
        "a packet begins the interval anew",
        "skp_gap",
        "skp_silent = 1'b0;",
        "skp_silent = line_valid & (mode == Mode_Open);",
    ),
];
