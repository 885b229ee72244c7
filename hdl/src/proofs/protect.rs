//! Proofs: the protection checker as one, of what is proved of its parts.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::protect;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![checker(
        "protect",
        || verilog(protect::Protect::default()),
        include_str!("../../formal/protect.sv"),
        12,
        Engine::Whole,
        &PROTECT,
    )]
}

const PROTECT: [Mutant; 28] = [
    mutant("compares when nothing was looked at", "second_step", ".compare(compare),", ".compare(~issue),"),
    mutant("compares twice", "second_step", ".compare(compare),", ".compare(compare | place),"),
    mutant("compares a step late", "second_step", ".compare(compare),", ".compare(place),"),
    mutant("places before it compares", "third_step", ".place(place),", ".place(compare),"),
    mutant("places twice", "third_step", ".place(place),", ".place(place | issue),"),
    mutant("no second step", "third_step", "place <= compare;", "place <= compare | ~taken;"),
    mutant(
        "looks at what is not on show",
        "on_show",
        "look = intake_valid & (~taken | done | back);",
        "look = ~taken | done | back;",
    ),
    mutant(
        "looks at what is not on show, after an access",
        "on_show",
        "look = intake_valid & (~taken | done | back);",
        "look = done | (intake_valid & (~taken | back));",
    ),
    mutant(
        "looks at what is not on show, after a read that makes way",
        "on_show",
        "look = intake_valid & (~taken | done | back);",
        "look = back | (intake_valid & (~taken | done));",
    ),
    mutant(
        "the second command of a refused access",
        "turned",
        "whole = second | ~range_crosses | ~range_granted;",
        "whole = second | ~range_crosses;",
    ),
    mutant(
        "a second command of each access",
        "turned",
        "whole = second | ~range_crosses | ~range_granted;",
        "whole = second;",
    ),
    mutant(
        "the second command goes with the first",
        "turned",
        "second <= turn | (second & ~done);",
        "second <= turn | place | (second & ~done);",
    ),
    mutant("the user of the access before", "of_access", "user <= intake_access[170:163];", "user <= user;"),
    mutant(
        "a write's command goes to the read engine",
        "of_access",
        "writes <= intake_access[159];",
        "writes <= 1'b0;",
    ),
    mutant(
        "the client of the access on show",
        "of_access",
        "        .client(client),\n        .user(user),",
        "        .client(intake_client),\n        .user(user),",
    ),
    mutant(
        "a write that is refused is written",
        "no_refused_write",
        "write_offered = write_goes & range_granted;",
        "write_offered = write_goes;",
    ),
    mutant(
        "a write that is refused is written in the step Issue",
        "no_refused_write",
        "write_offered = write_goes & range_granted;",
        "write_offered = write_goes & (range_granted | issue);",
    ),
    mutant(
        "refused writes are written, and no others",
        "no_refused_write",
        "write_offered = write_goes & range_granted;",
        "write_offered = write_goes & ~range_granted;",
    ),
    mutant("the page of now", "named_page", ".read_address(range_page),", ".read_address(commit_row[10:0]),"),
    mutant("the page turns while it waits", "named_page", ".next_page(turn),", ".next_page(turn | issue),"),
    mutant("the page never turns", "named_page", ".next_page(turn),", ".next_page(1'b0),"),
    mutant(
        "a page is written beside another one",
        "named_page",
        ".write_address(commit_row[10:0]),",
        ".write_address(commit_row[10:0] ^ 11'd1),",
    ),
    mutant(
        "writes the table while one is looked up",
        "between",
        "between = idle & ~intake_open & hold;",
        "between = ~taken & ~intake_open & hold;",
    ),
    mutant(
        "writes the table while one can be taken",
        "between",
        "between = idle & ~intake_open & hold;",
        "between = idle & hold;",
    ),
    mutant(
        "writes the table at any time",
        "between",
        "intake_write = between & region_commit;",
        "intake_write = region_commit;",
    ),
    mutant(
        "each access is granted to the command",
        "only_granted",
        "        .granted(range_granted),\n        .offset(range_offset),",
        "        .granted(1'b1),\n        .offset(range_offset),",
    ),
    mutant(
        "no command says that it is refused",
        "only_granted",
        "command[89] = 1'b1;",
        "command[89] = 1'b0;",
    ),
    mutant(
        "a command that crosses is not refused",
        "only_granted",
        "command[89] = 1'b1;",
        "command[89] = ~crosses;",
    ),
];
