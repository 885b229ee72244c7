//! Proofs: the arithmetic of PSNs, lengths and rings, for all inputs.

use super::{combinational, mutant, registered, Mutant, Proof};
use crate::arithmetic;
use crate::export::verilog;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        combinational(
            "distance",
            || verilog(arithmetic::Distance::<24>::default()),
            include_str!("../../formal/distance.sv"),
            &DISTANCE,
        ),
        registered(
            "in_flight",
            || verilog(arithmetic::InFlight::<24>::default()),
            include_str!("../../formal/in_flight.sv"),
            4,
            &IN_FLIGHT,
        ),
        combinational(
            "path_mtu",
            || verilog(arithmetic::PathMtu::default()),
            include_str!("../../formal/path_mtu.sv"),
            &PATH_MTU,
        ),
        combinational(
            "portion",
            || verilog(arithmetic::Portion::default()),
            include_str!("../../formal/portion.sv"),
            &PORTION,
        ),
        combinational(
            "segment_piece",
            || verilog(arithmetic::SegmentPiece::default()),
            include_str!("../../formal/segment_piece.sv"),
            &SEGMENT_PIECE,
        ),
        combinational(
            "ring_slot",
            || verilog(arithmetic::RingSlot::<14, 4>::default()),
            include_str!("../../formal/ring_slot.sv"),
            &RING_SLOT,
        ),
        combinational(
            "ring_level",
            || verilog(arithmetic::RingLevel::<14, 4>::default()),
            include_str!("../../formal/ring_level.sv"),
            &RING_LEVEL,
        ),
    ]
}

const DISTANCE: [Mutant; 5] = [
    mutant("the way back", "arrives", "difference = number - from;", "difference = from - number;"),
    mutant(
        "the low bits are equal",
        "equal",
        "equal = number == from;",
        "equal = number[22:0] == from[22:0];",
    ),
    mutant("what is the same is ahead", "later", "ahead = ~equal & ~negative;", "ahead = ~negative;"),
    mutant("never behind", "earlier", "behind = negative;", "behind = 1'b0;"),
    mutant(
        "the greater number is ahead",
        "earlier",
        "negative = |(difference & half);",
        "negative = number < from;",
    ),
];

const IN_FLIGHT: [Mutant; 4] = [
    mutant("the size as it was before", "reach", "span <= fresh - oldest;", "span <= span;"),
    mutant(
        "the greater number is outside",
        "inside_it",
        "in_flight = distance < span;",
        "in_flight = number < fresh;",
    ),
    mutant("the next one is in flight, too", "outside_it", "distance < span;", "distance <= span;"),
    mutant(
        "the number as it is now",
        "outside_it",
        "in_flight = distance < span;",
        "in_flight = number - oldest < span;",
    ),
];

const PATH_MTU: [Mutant; 2] = [
    mutant("code 3 has 1024 bytes", "shifted", "13'h800;", "13'h400;"),
    mutant("what has no code has 256 bytes", "most", "bytes = 13'h1000;", "bytes = 13'd256;"),
];

const PORTION: [Mutant; 5] = [
    mutant("the high bytes do not count", "least", "fits = ~many & (low <= room);", "fits = low <= room;"),
    mutant("always the room", "fits", "if (fits) portion", "if (1'b0) portion"),
    mutant("the room goes first", "fits", "(low <= room)", "(low > room)"),
    mutant("not all that is equal", "all", "ends_bytes = fits;", "ends_bytes = ~many & (low < room);"),
    mutant("equal bytes leave room", "filled", "| (low == room)", "| 1'b0"),
];

const SEGMENT_PIECE: [Mutant; 5] = [
    mutant("an access of a whole raw frame", "fits", "if (cut) piece", "if (1'b0) piece"),
    mutant("a cut at 2048 bytes", "least", "13'h1000;", "13'h800;"),
    mutant("a cut segment ends", "whole", "whole_ends_bytes & ~cut;", "whole_ends_bytes;"),
    mutant("a cut packet ends", "filled", "whole_ends_room & ~cut;", "whole_ends_room;"),
    mutant("4096 bytes are cut", "whole", "portion[12] & (|portion[11:0])", "portion[12]"),
];

const RING_SLOT: [Mutant; 3] = [
    mutant("the lap is left in", "place", "slot = position & ~laps;", "slot = position;"),
    mutant("every slot is 0", "whole", "slot = position & ~laps;", "slot = 14'd0;"),
    mutant("the lap before", "lap", "odd_lap = |(position & size);", "odd_lap = |(position & (size >> 1));"),
];

const RING_LEVEL: [Mutant; 2] = [
    mutant("full at any level", "none", "holds_all = |(level & laps);", "holds_all = |level;"),
    mutant("over when it is full", "beyond", "over = holds_all & (level != size);", "over = holds_all;"),
];
