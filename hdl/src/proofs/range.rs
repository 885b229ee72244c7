//! Proofs: what a grant says of the access and its region.

use super::{checker, mutant, Engine, Mutant, Proof};
use crate::export::verilog;
use crate::protect;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![checker(
        "range",
        || verilog(protect::Range::default()),
        include_str!("../../formal/range.sv"),
        5,
        Engine::Single,
        &RANGE,
    )]
}

const RANGE: [Mutant; 33] = [
    mutant("a dead region is live", "allows", "member & region[100] &", "member &"),
    mutant("a read-only region is written", "allows", "& ~(access[159] & region[104]) &", "&"),
    mutant("RDMA_WRITE is not asked for", "allows", "(~remote_to[0] | region[101]) &", ""),
    mutant(
        "RDMA_READ is the right to write",
        "allows",
        "(~remote_to[1] | region[102])",
        "(~remote_to[1] | region[101])",
    ),
    mutant("the system's regions are everybody's", "allows", "(region[103] == access[158]) &", ""),
    mutant("no region is a region", "allows", "allowed <= member &", "allowed <="),
    mutant("nobody compares the tag", "names", "& (tag == extent_row[63:48]);", "& 1'b1;"),
    mutant("nobody compares the key", "names", "(by_offset | (key == extent_row[79:64]))", "1'b1"),
    mutant(
        "the high bits of the key do not count",
        "names",
        "(key == extent_row[79:64])",
        "(key[7:0] == extent_row[71:64])",
    ),
    mutant("what begins before the region is inside", "holds", "& ~(|far) &", "&"),
    mutant(
        "the region has a byte more",
        "holds",
        "short = {1'b0, extent_row[47:0]} <",
        "short = ({1'b0, extent_row[47:0]} + 49'd1) <",
    ),
    mutant(
        "of a peer's access its length only",
        "holds",
        "needed = access[95:64];",
        "needed = {19'd0, access[108:96]};",
    ),
    mutant(
        "an access that begins at the region's end is cut to nothing",
        "holds",
        "delta < extent_row[47:0]",
        "delta <= extent_row[47:0]",
    ),
    mutant(
        "the distance by offset is from the rounded base",
        "holds",
        "origin = region[63:0] & 64'd63;",
        "origin = 64'd0;",
    ),
    mutant("no access is shortened", "bytes", "if (short) moved <= room_low;", ""),
    mutant(
        "the room is a byte more",
        "bytes",
        "extent_row[12:0] - delta[12:0];",
        "extent_row[12:0] - delta[12:0] + 13'd1;",
    ),
    mutant("the length is cut to 4095", "bytes", "moved <= asked;", "moved <= asked & 13'hfff;"),
    mutant(
        "the frames of other pages are in the offset",
        "offsets",
        "{frame[30:0] & page_mask, low}",
        "{frame[30:0], low}",
    ),
    mutant("all pages have 4 KiB", "offsets", "{frame[30:0] & page_mask, low}", "{31'd0, low}"),
    mutant(
        "the region begins at its page's start",
        "offsets",
        "addend = not_base | in_page;",
        "addend = not_base;",
    ),
    mutant("each 4 KiB boundary is a border", "border", "(|reach[11:0]) & last_frame;", "(|reach[11:0]);"),
    mutant(
        "an access that ends at the border crosses it",
        "border",
        "reach[12] & (|reach[11:0]) & last_frame",
        "reach[12] & last_frame",
    ),
    mutant(
        "a byte too many in the first page",
        "border",
        "head_bytes <= 13'h1000 -",
        "head_bytes <= 13'h1001 -",
    ),
    mutant("a byte more in the next page", "border", "over <= reach[11:0];", "over <= reach[11:0] + 12'd1;"),
    mutant(
        "rows beyond the table are its first ones",
        "exists",
        "ok <= in_range & row_exists;",
        "ok <= in_range;",
    ),
    mutant(
        "the row behind the last is the first one",
        "exists",
        "~(|row_beyond) & ~(leaves & (&row_low))",
        "~(|row_beyond)",
    ),
    mutant(
        "pages beyond the table are its first ones",
        "exists",
        "& fits & ~(|(frame & beyond));",
        "& fits;",
    ),
    mutant(
        "the region's first page",
        "first_row",
        "{1'b0, first_page} + {6'd0, page_index}",
        "{1'b0, first_page}",
    ),
    mutant("the page of a region with small pages", "first_row", "frame >> page_scale;", "frame;"),
    mutant("the row before", "first_row", "if (place) row_now = row_low;", ""),
    mutant("the same page again", "turns", "row_now = page_row + 11'd1;", "row_now = page_row;"),
    mutant("the page before", "turns", "row_now = page_row + 11'd1;", "row_now = page_row - 11'd1;"),
    mutant(
        "the next page at once",
        "turns",
        "        row_now = page_row;\n        if",
        "        row_now = page_row + 11'd1;\n        if",
    ),
];
