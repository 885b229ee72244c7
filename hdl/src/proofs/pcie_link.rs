//! Proofs: packets of the PCI Express link, in and out.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::pcie::link::{Deframe, Frame, Replay, TlpJudge};

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        checker(
            "pcie_deframe",
            || verilog(Deframe::default()),
            include_str!("../../formal/pcie_deframe.sv"),
            10,
            Engine::Whole,
            &DEFRAME,
        ),
        Proof {
            smaller: &SMALL_TLP,
            ..checker(
                "pcie_tlp_judge",
                || verilog(TlpJudge::default()),
                include_str!("../../formal/pcie_tlp_judge.sv"),
                20,
                Engine::Single,
                &RECEIVE,
            )
        },
        Proof {
            smaller: &SMALL_FRAME,
            ..checker(
                "pcie_frame",
                || verilog(Frame::default()),
                include_str!("../../formal/pcie_frame.sv"),
                16,
                Engine::Whole,
                &FRAME,
            )
        },
        checker(
            "pcie_replay",
            || verilog(Replay::default()),
            include_str!("../../formal/pcie_replay.sv"),
            26,
            Engine::Single,
            &REPLAY,
        ),
    ]
}

const DEFRAME: [Mutant; 15] = [
    mutant("words outside packets", "opened", "word = busy & low[0] &", "word = low[0] &"),
    mutant("each word is the first", "opened", "if (word) fresh <= 1'b0;", ""),
    mutant("a DLLP's words are a TLP's", "opened", "show[17] <= tlp;", "show[17] <= tlp | ~show[17];"),
    mutant("END ends nothing, too", "ends", "if (low[3] & odd & busy) begin", "if (low[3] & odd) begin"),
    mutant("a late end is each packet's", "ends", "late[0] <= tlp_between;", "late[0] <= ~tlp_between;"),
    mutant("an end comes twice", "ends", "ended <= is_late;", "ended <= is_late | ended;"),
    mutant("a DLLP is damaged", "hurts", "cut = cut | tlp_between;", "cut = 1'b1;"),
    mutant(
        "what is no packet is damaged",
        "hurts",
        "if (~(low[3] & odd & busy)) cut = busy & tlp;",
        "if (~(low[3] & odd & busy)) cut = tlp;",
    ),
    mutant("leaving L0 hurts always", "hurts", "cut = cut | (busy_behind & tlp_behind);", "cut = 1'b1;"),
    mutant(
        "STP behind STP is no damage",
        "abandoned",
        "cut = busy & tlp;\n            end else",
        "cut = 1'b0;\n            end else",
    ),
    mutant(
        "STP in the high byte is no damage",
        "abandoned",
        "if (~(high[3] & ~odd_between)) cut = cut | tlp_between;",
        "if (~(high[3] & ~odd_between) & ~starts_high) cut = cut | tlp_between;",
    ),
    mutant(
        "an odd TLP is not cut",
        "abandoned",
        "if (~(high[3] & ~odd_between)) cut",
        "if (~(high[3] & ~odd_between) & ~odd_between) cut",
    ),
    mutant("reset leaves a word", "silent", "            shown <= 1'b0;\n", ""),
    mutant("reset leaves an end", "silent", "            ended <= 1'b0;\n", ""),
    mutant("reset leaves damage", "silent", "            hurt <= 1'b0;\n", ""),
];

/// A TLP has two words or more.
const SMALL_TLP: [(&str, &str); 1] = [("8'd6", "8'd2")];

const RECEIVE: [Mutant; 21] = [
    mutant("a duplicate counts on", "next_number", "if (taken) next", "if (good & hears) next"),
    mutant("what is not heard counts on", "next_number", "if (taken) next", "if (good & is_next) next"),
    mutant(
        "a reset leaves the number",
        "next_number",
        "if (reset) begin\n            next <= 12'd0;",
        "if (reset) begin",
    ),
    mutant("the LCRC does not count", "taken_once", "buffer_fits & right & ~edb;", "buffer_fits & ~edb;"),
    mutant("EDB is END", "taken_once", "buffer_fits & right & ~edb;", "buffer_fits & right;"),
    mutant(
        "the number's high bits do not count",
        "taken_once",
        "is_next <= ~(|behind);",
        "is_next <= ~(|behind[7:0]);",
    ),
    mutant("the one before the oldest half is old", "again", "(behind <= half)", "1'b1"),
    mutant("the next one is old", "again", "is_old <= (|behind) & (", "is_old <= ("),
    mutant(
        "a damaged one comes again",
        "again",
        "verdict[1] <= good & is_old & hears;",
        "verdict[1] <= over & is_old & hears;",
    ),
    mutant("a nullified TLP is bad", "nak", "(over & ~good & ~nullified)", "(over & ~good)"),
    mutant("a cut TLP is nothing", "nak", "hears & (hurt | (over", "hears & ((over"),
    mutant("one too far on is nothing", "nak", "| (good & ~is_next & ~is_old));", ");"),
    mutant("bad ones are handed up", "no_more", "if (keep) good <= tail;", "if (keep | drop) good <= tail;"),
    mutant("rows are read that are not there", "no_more", "reading <= head != good;", "reading <= 1'b1;"),
    mutant("a row is read twice", "no_more", "if (head != good) head", "if ((head != good) & ~valid) head"),
    mutant(
        "only every second row is read",
        "no_less",
        "reading <= head != good;",
        "reading <= (head != good) & ~reading;",
    ),
    mutant(
        "the last row is not kept",
        "no_less",
        "if (keep) good <= tail;",
        "if (keep) good <= tail - 9'd1;",
    ),
    mutant("nothing is kept", "no_less", "if (keep) good <= tail;", ""),
    mutant(
        "words are one too new",
        "in_order",
        "ram_write_data[15:0] = oldest;",
        "ram_write_data[15:0] = middle;",
    ),
    mutant(
        "the last word is not last",
        "in_order",
        "ram_write_data[17] = closes;",
        "ram_write_data[17] = 1'b0;",
    ),
    mutant("the newest row is shown", "in_order", ".read_address(head),", ".read_address(good),"),
];

/// A TLP has four rows at most.
const SMALL_FRAME: [(&str, &str); 1] = [("ROWS = 8'd136", "ROWS = 8'd4")];

const FRAME: [Mutant; 24] = [
    mutant("no END", "framed", "skid_sink[17:16] = 2'd2;", "skid_sink[17:16] = 2'd0;"),
    mutant("DLLPs begin as TLPs end", "framed", "if (short) lead = sdp;", "if (short) lead = end_k;"),
    mutant(
        "the last word is one too soon",
        "framed",
        "State_High: begin\n                low",
        "State_High: begin\n                skid_sink[18] = 1'b1;\n                low",
    ),
    mutant(
        "a gap before the LCRC",
        "gapless",
        "skid_sink_valid = state != State_Rest;",
        "skid_sink_valid = (state != State_Rest) & (state != State_Low);",
    ),
    mutant(
        "a gap before END",
        "gapless",
        "skid_sink_valid = state != State_Rest;",
        "skid_sink_valid = (state != State_Rest) & ((state != State_Close) | ~short);",
    ),
    mutant(
        "the skid shows every second word",
        "gapless",
        "source_valid = shown_valid;",
        "source_valid = shown_valid & ~shown[0];",
    ),
    mutant(
        "a word follows its port",
        "stands",
        "if (~spare_valid) spare <= sink;",
        "spare <= sink;\n        shown <= sink;",
    ),
    mutant(
        "a word is replaced by the next",
        "stands",
        "end else if (push) begin",
        "end else if (push) begin\n            shown <= sink;",
    ),
    mutant(
        "a word goes away",
        "stands",
        "spare_valid <= 1'b1;\n        end",
        "shown_valid <= 1'b0;\n        end",
    ),
    mutant(
        "the second half of the LCRC goes twice",
        "longest",
        "State_High: state <= State_Close;",
        "State_High: if (held[0]) state <= State_Close;",
    ),
    mutant(
        "the first half goes twice",
        "longest",
        "State_Low: state <= State_High;",
        "State_Low: if (held[0]) state <= State_High;",
    ),
    mutant("rows follow the last one", "longest", "if (~last) begin", "if (~last | held[0]) begin"),
    mutant("begins what is not there", "turn", "if (waits) begins = 1'b1;", "begins = 1'b1;"),
    mutant(
        "begins before L0",
        "turn",
        "begins = 1'b0;\n        if (choose & in_l0) begin",
        "begins = 1'b0;\n        if (choose) begin",
    ),
    mutant("begins with a DLLP", "turn", "if (~dllp_valid) begin", "begin"),
    mutant(
        "takes a DLLP that is not there",
        "turn_dllp",
        "if (dllp_valid) dllp_ready = 1'b1;",
        "dllp_ready = 1'b1;",
    ),
    mutant(
        "takes a DLLP before L0",
        "turn_dllp",
        "dllp_ready = 1'b0;\n        if (choose & in_l0) begin",
        "dllp_ready = 1'b0;\n        if (choose) begin",
    ),
    mutant("takes a DLLP before the LCRC", "turn_dllp", "(state == State_Close));", "(state == State_Low));"),
    mutant("the row behind the last is taken", "whole_tlp", "if (~last) takes = 1'b1;", "takes = 1'b1;"),
    mutant("a DLLP takes a row", "whole_tlp", "if (~short) takes = 1'b1;", "takes = 1'b1;"),
    mutant("rows are taken all the time", "whole_tlp", "takes = 1'b0;", "takes = 1'b1;"),
    mutant(
        "a DLLP ends a TLP",
        "end_of_tlp",
        "ends = step & (state == State_Low);",
        "ends = step & (state == State_High);",
    ),
    mutant(
        "a TLP ends twice",
        "end_of_tlp",
        "ends = step & (state == State_Low);",
        "ends = state == State_Low;",
    ),
    mutant(
        "a TLP ends with each row",
        "end_of_tlp",
        "ends = step & (state == State_Low);",
        "ends = step & (state == State_Body);",
    ),
];

const REPLAY: [Mutant; 12] = [
    mutant("a TLP begins before it is stored", "window", "waits = ready & ~hold;", "waits = ~hold;"),
    mutant("an Ack frees what is to be sent", "window", "(frees_low < sent)", "(frees_low <= sent)"),
    mutant("each number is there", "window", "ready <= next_low != ring_stored;", "ready <= 1'b1;"),
    mutant("an Ack of what was not sent frees it", "known", "(frees_low < sent)", "(frees_low <= sent)"),
    mutant(
        "an Ack of any number frees",
        "known",
        "~(|frees_high) & (frees_low < sent)",
        "(frees_low < sent)",
    ),
    mutant(
        "what is stored may be freed",
        "known",
        "sent <= fresh - oldest_low;",
        "sent <= ring_stored - oldest_low;",
    ),
    mutant(
        "one more than was named is free",
        "heard_of",
        "oldest <= named + 12'd1;",
        "oldest <= named + 12'd2;",
    ),
    mutant(
        "all that was sent is free",
        "heard_of",
        "oldest <= named + 12'd1;",
        "oldest <= oldest + {4'd0, sent};",
    ),
    mutant("any DLLP is an Ack", "heard_of", "heard_valid & (heard[0] | heard[1])", "heard_valid"),
    mutant(
        "the number goes on under way",
        "stays",
        "if (ends) begin\n            sending",
        "if (begins) next <= next + 12'd1;\n        if (ends) begin\n            sending",
    ),
    mutant("a replay begins in a TLP", "stays", "again & ~sending & ~wants", "again & ~wants"),
    mutant(
        "an Ack moves the number on",
        "stays",
        "assign number = next;",
        "assign number = next + {11'd0, asked};",
    ),
];
