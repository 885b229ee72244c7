//! Proofs: the row that an access comes with.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::protect;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![checker(
        "access_intake",
        || verilog(protect::AccessIntake::default()),
        include_str!("../../formal/access_intake.sv"),
        7,
        Engine::Single,
        &ACCESS_INTAKE,
    )]
}

const ACCESS_INTAKE: [Mutant; 17] = [
    mutant(
        "the dead row of a wrong page size lives",
        "row",
        "first[100] = row[166] & ~dead;",
        "first[100] = row[166];",
    ),
    mutant(
        "RDMA_READ is given with RDMA_WRITE",
        "row",
        "first[102] = row[168] & ~dead;",
        "first[102] = row[167] & ~dead;",
    ),
    mutant(
        "the low half of the rows is read",
        "row",
        "if (reading) begin\n            shown <= 1'b1;\n            held_region <= rows_region;",
        "if (reading) begin\n            shown <= 1'b1;\n            held_region <= held_region;",
    ),
    mutant(
        "the row of the client that is not taken",
        "row",
        "number_low = number[7:0];",
        "number_low = fetch[116:109];",
    ),
    mutant("no second half is written", "rest_of_row", ".write_rest(half),", ".write_rest(1'b0),"),
    mutant(
        "the first half is shown for the second",
        "rest_of_row",
        "rows_read_rest = reading | shown;",
        "rows_read_rest = shown;",
    ),
    mutant(
        "another access's row follows",
        "rest_of_row",
        "if (reading | shown) rows_read_row = held_low;",
        "if (reading) rows_read_row = held_low;",
    ),
    mutant(
        "the tag is the key",
        "rest_of_row",
        "second[79:64] = row[143:128];",
        "second[79:64] = row[127:112];",
    ),
    mutant("row 0 is a region", "in_table", "held_member <= (|held_low) & (", "held_member <= ("),
    mutant(
        "rows beyond the table are its first ones",
        "in_table",
        "(|held_low) & ({8'd0, held_low} == held_number);",
        "(|held_low);",
    ),
    mutant(
        "a row is known before its access",
        "in_table",
        "held_member <= (|held_low) & ({8'd0, held_low} == held_number);",
        "held_member <= (|number_low) & ({8'd0, number_low} == number);",
    ),
    mutant("an access is taken while one is looked up", "stands", "~hold & ~take & ~reading &", "~hold &"),
    mutant(
        "an access is taken while one is on show",
        "stands",
        "(~shown | next_access | give_back);",
        "1'b1;",
    ),
    mutant("the access follows its port", "stands", "if (room) begin", "if (1'b1) begin"),
    mutant("takes what is not there", "from_client", "take = room & asks;", "take = room;"),
    mutant(
        "gather's access is fetch's",
        "from_client",
        "if (turn[1]) begin\n            chosen = gather;",
        "if (turn[1]) begin\n            chosen = fetch;",
    ),
    mutant(
        "the client of the access before",
        "from_client",
        "held_client <= whose;",
        "held_client <= held_client;",
    ),
];
