//! Proofs: no credits of the link partner are used that it has not given.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::pcie::crossing::{ClassCredit, CreditCounter};
use crate::pcie::link::Credits;
use crate::pcie::transaction::{Completer, OwnCredits};

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        checker(
            "pcie_credits",
            || verilog(Credits::default()),
            include_str!("../../formal/pcie_credits.sv"),
            12,
            Engine::Whole,
            &CREDITS,
        ),
        checker(
            "pcie_own_credits",
            || verilog(OwnCredits::default()),
            include_str!("../../formal/pcie_own_credits.sv"),
            6,
            Engine::Whole,
            &OWN_CREDITS,
        ),
        checker(
            "pcie_completer",
            || verilog(Completer::default()),
            include_str!("../../formal/pcie_completer.sv"),
            26,
            Engine::Whole,
            &COMPLETER,
        ),
        checker(
            "pcie_credit_counter",
            || verilog(CreditCounter::default()),
            include_str!("../../formal/pcie_credit_counter.sv"),
            6,
            Engine::Whole,
            &CREDIT_COUNTER,
        ),
        checker(
            "pcie_class_credit",
            || verilog(ClassCredit::default()),
            include_str!("../../formal/pcie_class_credit.sv"),
            8,
            Engine::Whole,
            &CLASS_CREDIT,
        ),
    ]
}

const CREDITS: [Mutant; 21] = [
    mutant("there is always a header", "header_credit", "enough <= header & (", "enough <= ("),
    mutant(
        "more headers than half are many headers",
        "header_credit",
        "((|left_headers) & ~left_headers[7])",
        "(|left_headers)",
    ),
    mutant("headers are not counted", "header_credit", "used_headers + 8'd1", "used_headers"),
    mutant("what has no data needs no header", "header_credit", "enough <= header;", "enough <= 1'b1;"),
    mutant("units are rounded up", "data_credit", "(room >= needs)", "((room | 13'd3) >= needs)"),
    mutant(
        "more data than half is much data",
        "data_credit",
        "(~left[11] & (room >= needs))",
        "(room >= needs)",
    ),
    mutant("a length of 0 is 0", "data_credit", "length = whole;", "length = 12'd0;"),
    mutant(
        "data is without limit as headers are",
        "data_credit",
        "endless = allowed[21]",
        "endless = allowed[20]",
    ),
    mutant("the second word goes first", "whole", "passed = one;", "passed = two;"),
    mutant("the first word goes twice", "whole", "passed = two;", "passed = one;"),
    mutant(
        "words come while one waits",
        "whole",
        "State_Pass: passed_valid = offered_valid;",
        "State_Pass: passed_valid = 1'b1;",
    ),
    mutant("a blocked TLP begins", "held", "offered_ready = ~blocked;", "offered_ready = 1'b1;"),
    mutant(
        "the second word is taken twice",
        "held",
        "State_Wait: ;\n            State_Weigh: ;",
        "State_Wait: offered_ready = 1'b1;\n            State_Weigh: ;",
    ),
    mutant(
        "a word is taken that does not go",
        "held",
        "State_Follow: ;\n            State_Pass: offered_ready",
        "State_Follow: offered_ready = 1'b1;\n            State_Pass: offered_ready",
    ),
    mutant(
        "the second InitFC counts",
        "shown",
        "(heard[2] | heard[3]) & ~is_known;",
        "(heard[2] | heard[3]);",
    ),
    mutant(
        "UpdateFC counts in Init1",
        "shown",
        "mine & ~init1 & is_known & heard[4]",
        "mine & is_known & heard[4]",
    ),
    mutant(
        "all classes are known with two",
        "shown",
        "accounts_0_known & accounts_1_known & accounts_2_known",
        "accounts_0_known & accounts_1_known",
    ),
    mutant(
        "data without limit by headers",
        "shown",
        "allowed[21] <= ~(|heard[27:16]);",
        "allowed[21] <= ~(|heard[15:8]);",
    ),
    mutant(
        "the next TLP is here already",
        "apart",
        "passed_ready & offered[17]) state <= State_First;",
        "passed_ready & offered[17]) state <= State_Weigh;",
    ),
    mutant(
        "the second word is not awaited",
        "apart",
        "if (offered_valid & ~blocked) state <= State_Second;",
        "if (offered_valid & ~blocked) state <= State_Weigh;",
    ),
    mutant(
        "credits are not awaited",
        "apart",
        "if (offered_valid) state <= State_Wait;",
        "if (offered_valid) state <= State_Follow;",
    ),
];

const OWN_CREDITS: [Mutant; 9] = [
    mutant("messages are free", "posted_left", "messages + 8'd1", "messages"),
    mutant("a message is a completion", "posted_left", "posted[7:0] - messages", "posted[7:0] - completions"),
    mutant("messages are there twice", "posted_left", "posted[7:0] - messages", "posted[7:0] + messages"),
    mutant("completions are free", "completions_left", "completions + 8'd1", "completions"),
    mutant(
        "data is by headers",
        "completions_left",
        "completion[19:8] - units",
        "completion[19:8] - {4'd0, completions}",
    ),
    mutant(
        "a reset leaves the count",
        "completions_left",
        "units <= 12'd0;\n            messages",
        "messages",
    ),
    mutant(
        "non-posted limits are late",
        "non_posted_left",
        "shown[43:22] <= limits[43:22];",
        "if (~count_data) shown[43:22] <= limits[43:22];",
    ),
    mutant(
        "non-posted limits are posted",
        "non_posted_left",
        "shown[43:22] <= limits[43:22];",
        "shown[43:22] <= limits[21:0];",
    ),
    mutant("non-posted limits never come", "non_posted_left", "shown[43:22] <= limits[43:22];", ""),
];

const COMPLETER: [Mutant; 9] = [
    mutant("a refusal is not counted", "paid", "count_completion = 1'b1;", "count_completion = ~refusing;"),
    mutant("data is not counted", "paid", "count_data = with_data;", "count_data = 1'b0;"),
    mutant("messages are free", "paid", "if (turning_off) count_message = 1'b1;", ""),
    mutant(
        "a completion is counted while it is sent",
        "once",
        "count_data = with_data;\n            end\n            Step_Send: ;",
        "count_data = with_data;\n            end\n            Step_Send: count_completion = 1'b1;",
    ),
    mutant(
        "data is counted alone",
        "once",
        "Step_Settle: ;\n            Step_Ready: begin",
        "Step_Settle: count_data = with_data;\n            Step_Ready: begin",
    ),
    mutant(
        "messages are counted when idle",
        "once",
        "if (turning_off) count_message = 1'b1;",
        "count_message = 1'b1;",
    ),
    mutant("two words are first", "first", "tlp[16] = ~(|at);", "tlp[16] = ~(|at[1:0]);"),
    mutant("the second word is first", "first", "tlp[16] = ~(|at);", "tlp[16] = at == 3'd1;"),
    mutant("no word is first", "first", "tlp[16] = ~(|at);", "tlp[16] = 1'b0;"),
];

const CREDIT_COUNTER: [Mutant; 9] = [
    mutant("each beat costs", "once", "ends = moves & beat[66];", "ends = moves;"),
    mutant("the last beat costs without moving", "once", "ends = moves & beat[66];", "ends = beat[66];"),
    mutant("completions are posted", "once", "ends & (sort == posted_class)", "ends & ~sort[0]"),
    mutant("a length of 0 is 0", "price", "if (~(|length)) units <= most;", ""),
    mutant("units are rounded down", "price", "{2'd0, length} + 12'd3", "{2'd0, length}"),
    mutant("what has no data has a length", "price", "if (~kind_to[6]) units <= 12'd0;", ""),
    mutant(
        "a packet costs a cycle later, too",
        "seldom",
        "assign posted_spend = ends &",
        "assign posted_spend = (ends | (|units)) &",
    ),
    mutant(
        "each beat costs a completion",
        "seldom",
        "completions_spend = ends &",
        "completions_spend = moves &",
    ),
    mutant("each beat costs a request", "seldom", "non_posted_spend = ends &", "non_posted_spend = moves &"),
];

const CLASS_CREDIT: [Mutant; 10] = [
    mutant("less than nothing is much", "headers_left", "if (left_headers[7]) headers = no_headers;", ""),
    mutant("headers are not counted", "headers_left", "left_headers - 8'd1", "left_headers"),
    mutant(
        "a gain counts twice",
        "headers_left",
        "            gains <= 1'b0;\n        end\n        if (heard)",
        "        end\n        if (heard)",
    ),
    mutant(
        "a gain that meets a packet is lost",
        "headers_left",
        "end else if (gains) begin",
        "end\n        if (gains) begin",
    ),
    mutant("less data than none is much", "data_left", "if (left_data[11]) data = no_data;", ""),
    mutant("a packet has a unit", "data_left", "left_data - units", "left_data - 12'd1"),
    mutant(
        "a gain is a unit more",
        "data_left",
        "shown[19:8] - known_data;",
        "shown[19:8] - known_data + 12'd1;",
    ),
    mutant("headers without limit are counted", "no_limit", "if (shown[20]) headers = all_headers;", ""),
    mutant("data without limit is counted", "no_limit", "if (shown[21]) data = all_data;", ""),
    mutant("data is without limit as headers are", "no_limit", "if (shown[21]) data", "if (shown[20]) data"),
];
