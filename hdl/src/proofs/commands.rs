//! Proofs: the commands that a granted access becomes.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::protect;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        checker(
            "command_cut",
            || verilog(protect::CommandCut::default()),
            include_str!("../../formal/command_cut.sv"),
            1,
            Engine::Whole,
            &COMMAND_CUT,
        ),
        checker(
            "command_out",
            || verilog(protect::CommandOut::default()),
            include_str!("../../formal/command_out.sv"),
            4,
            Engine::Whole,
            &COMMAND_OUT,
        ),
        checker(
            "command_queue",
            || verilog(protect::CommandQueue::default()),
            include_str!("../../formal/command_queue.sv"),
            6,
            Engine::Whole,
            &COMMAND_QUEUE,
        ),
    ]
}

const COMMAND_CUT: [Mutant; 12] = [
    mutant("the first command has all bytes", "one", "command[76:64] = head;", "command[76:64] = length;"),
    mutant("the second command has all bytes", "one", "{1'b0, rest};", "length;"),
    mutant(
        "the length is a byte more",
        "one",
        "command[76:64] = length;",
        "command[76:64] = length + 13'd1;",
    ),
    mutant(
        "the second command is at the offset",
        "inside_page",
        "command[63:0] = 64'd0;\n            command[76:64] = {1'b0, rest};",
        "command[76:64] = {1'b0, rest};",
    ),
    mutant("the offset is shifted", "inside_page", "{21'd0, offset};", "{20'd0, offset, 1'b0};"),
    mutant("the second command is a page long", "inside_page", "{1'b0, rest};", "13'h1fff;"),
    mutant("a refused access has its length", "refusal", "command[76:64] = 13'd0;", ""),
    mutant(
        "a refused access has its offset",
        "refusal",
        "command[63:0] = 64'd0;\n            command[76:64] = 13'd0;",
        "command[76:64] = 13'd0;",
    ),
    mutant("nothing is refused", "refusal", "command[89] = 1'b1;", ""),
    mutant("the user is the client", "whose", "command[86:79] = user;", "command[86:79] = {6'd0, client};"),
    mutant("the client is always fetch", "whose", "command[78:77] = client;", "command[78:77] = 2'd0;"),
    mutant(
        "a refused command is fetch's",
        "whose",
        "command[89] = 1'b1;",
        "command[89] = 1'b1; command[78:77] = 2'd0;",
    ),
];

const COMMAND_OUT: [Mutant; 7] = [
    mutant("the page of now", "command_shown", "{7'd0, held_page, 12'd0}", "{7'd0, page, 12'd0}"),
    mutant("a page is 2 KiB", "command_shown", "{7'd0, held_page, 12'd0}", "{8'd0, held_page, 11'd0}"),
    mutant("a refused command has a page", "command_shown", "if (~held[89]) engine", "engine"),
    mutant("no command has its page", "command_shown", "if (~held[89]) engine", "if (held[89]) engine"),
    mutant("a command that was taken stays", "once", "if (engine_ready) waiting <= 1'b0;", ""),
    mutant("a command that nobody gave", "once", "waiting = 1'b0;", "waiting = 1'b1;"),
    mutant("reset leaves the command", "once", "if (reset) waiting <= 1'b0;", ""),
];

const COMMAND_QUEUE: [Mutant; 6] = [
    mutant("shows odd levels only", "once", "source_valid = |count;", "source_valid = count[0];"),
    mutant(
        "the last command stays",
        "once",
        "pop = source_ready & (|count);",
        "pop = source_ready & (count > 5'd1);",
    ),
    mutant("what came does not count", "once", "count <= count + change;", "count <= count;"),
    mutant("the newest row is shown", "command_shown", ".read_address(head),", ".read_address(tail),"),
    mutant("a page is 2 KiB", "command_shown", "{7'd0, page, 12'd0};", "{8'd0, page, 11'd0};"),
    mutant("a row is left out", "command_shown", "tail <= tail + 4'd1;", "tail <= tail + 4'd2;"),
];
