//! Every proof: the block, its wrapper in `formal/`, how deep, and the mutants that must fail.

use rust_hdl::prelude::*;

use crate::export::verilog;
use crate::{arithmetic, prims, protect};

/// The proof of one block.
pub struct Proof {
    /// Name of the block.
    pub name: &'static str,
    /// Exports an instance small enough for the solver; nothing in a block depends on its widths.
    pub verilog: fn() -> String,
    /// The wrapper's text.
    pub wrapper: &'static str,
    /// Cycles of the bounded check and of the search for mutants and covers: more than filling and emptying twice.
    pub depth: u32,
    /// Steps of the induction.
    pub steps: u32,
    /// How the solver is asked.
    pub engine: Engine,
    /// Mutants that each property which a user sees has at least.
    pub kills: usize,
    /// They are judged by their one property.
    pub mutants: &'static [Mutant],
}

/// How the solver is asked for the step of induction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// All assertions together.
    Whole,
    /// Each assertion alone, for wide sums; one step.
    Single,
}

impl Engine {
    /// What the table says.
    pub fn text(self) -> &'static str {
        match self {
            Self::Whole => "z3, together",
            Self::Single => "z3, one by one",
        }
    }
}

/// A wrong block, made from the exported Verilog.
pub struct Mutant {
    /// The fault that the block has.
    pub what: &'static str,
    /// The property that must fail.
    pub property: &'static str,
    /// Text that is in the Verilog exactly once.
    pub from: &'static str,
    /// The text that takes its place.
    pub to: &'static str,
}

const fn mutant(what: &'static str, property: &'static str, from: &'static str, to: &'static str) -> Mutant {
    Mutant { what, property, from, to }
}

/// The proof of a block without registers: one cycle says all.
const fn combinational(
    name: &'static str,
    verilog: fn() -> String,
    wrapper: &'static str,
    mutants: &'static [Mutant],
) -> Proof {
    Proof { name, verilog, wrapper, depth: 1, steps: 1, engine: Engine::Whole, kills: 1, mutants }
}

/// All proofs.
pub fn all() -> Vec<Proof> {
    vec![
        Proof {
            name: "ram",
            verilog: || verilog(prims::Ram::<Bits<2>, 2>::default()),
            wrapper: include_str!("../formal/ram.sv"),
            depth: 10,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &RAM,
        },
        Proof {
            name: "fifo",
            verilog: || verilog(prims::Fifo::<Bits<2>, 2, 3>::default()),
            wrapper: include_str!("../formal/fifo.sv"),
            depth: 18,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &FIFO,
        },
        Proof {
            name: "ram_fifo",
            verilog: || verilog(prims::RamFifo::<Bits<2>, 2, 3>::default()),
            wrapper: include_str!("../formal/ram_fifo.sv"),
            depth: 20,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &RAM_FIFO,
        },
        Proof {
            name: "skid",
            verilog: || verilog(prims::Skid::<Bits<2>>::default()),
            wrapper: include_str!("../formal/skid.sv"),
            depth: 10,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &SKID,
        },
        Proof {
            name: "arbiter",
            verilog: || verilog(prims::Arbiter::<4, 2>::default()),
            wrapper: include_str!("../formal/arbiter.sv"),
            depth: 12,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &ARBITER,
        },
        Proof {
            name: "run_queue",
            verilog: || verilog(prims::RunQueue::<2, 3>::default()),
            wrapper: include_str!("../formal/run_queue.sv"),
            depth: 18,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &RUN_QUEUE,
        },
        combinational(
            "distance",
            || verilog(arithmetic::Distance::<24>::default()),
            include_str!("../formal/distance.sv"),
            &DISTANCE,
        ),
        Proof {
            name: "in_flight",
            verilog: || verilog(arithmetic::InFlight::<24>::default()),
            wrapper: include_str!("../formal/in_flight.sv"),
            depth: 4,
            steps: 2,
            engine: Engine::Whole,
            kills: 1,
            mutants: &IN_FLIGHT,
        },
        combinational(
            "path_mtu",
            || verilog(arithmetic::PathMtu::default()),
            include_str!("../formal/path_mtu.sv"),
            &PATH_MTU,
        ),
        combinational(
            "portion",
            || verilog(arithmetic::Portion::default()),
            include_str!("../formal/portion.sv"),
            &PORTION,
        ),
        combinational(
            "segment_piece",
            || verilog(arithmetic::SegmentPiece::default()),
            include_str!("../formal/segment_piece.sv"),
            &SEGMENT_PIECE,
        ),
        combinational(
            "ring_slot",
            || verilog(arithmetic::RingSlot::<14, 4>::default()),
            include_str!("../formal/ring_slot.sv"),
            &RING_SLOT,
        ),
        combinational(
            "ring_level",
            || verilog(arithmetic::RingLevel::<14, 4>::default()),
            include_str!("../formal/ring_level.sv"),
            &RING_LEVEL,
        ),
        Proof {
            name: "range",
            verilog: || verilog(protect::Range::default()),
            wrapper: include_str!("../formal/range.sv"),
            depth: 5,
            steps: 1,
            engine: Engine::Single,
            kills: 3,
            mutants: &RANGE,
        },
        Proof {
            name: "access_intake",
            verilog: || verilog(protect::AccessIntake::default()),
            wrapper: include_str!("../formal/access_intake.sv"),
            depth: 7,
            steps: 1,
            engine: Engine::Single,
            kills: 3,
            mutants: &ACCESS_INTAKE,
        },
        Proof {
            name: "command_cut",
            verilog: || verilog(protect::CommandCut::default()),
            wrapper: include_str!("../formal/command_cut.sv"),
            depth: 1,
            steps: 1,
            engine: Engine::Whole,
            kills: 3,
            mutants: &COMMAND_CUT,
        },
        Proof {
            name: "command_out",
            verilog: || verilog(protect::CommandOut::default()),
            wrapper: include_str!("../formal/command_out.sv"),
            depth: 4,
            steps: 1,
            engine: Engine::Whole,
            kills: 3,
            mutants: &COMMAND_OUT,
        },
        Proof {
            name: "command_queue",
            verilog: || verilog(protect::CommandQueue::default()),
            wrapper: include_str!("../formal/command_queue.sv"),
            depth: 6,
            steps: 1,
            engine: Engine::Whole,
            kills: 3,
            mutants: &COMMAND_QUEUE,
        },
        Proof {
            name: "protect",
            verilog: || verilog(protect::Protect::default()),
            wrapper: include_str!("../formal/protect.sv"),
            depth: 10,
            steps: 1,
            engine: Engine::Whole,
            kills: 3,
            mutants: &PROTECT,
        },
    ]
}

const RAM: [Mutant; 2] = [
    mutant(
        "odd rows are not written",
        "same",
        "if (write_enable) memory",
        "if (write_enable & ~write_address[0]) memory",
    ),
    mutant(
        "reads the row of the write port",
        "same",
        "read_data <= memory[read_address];",
        "read_data <= memory[write_address];",
    ),
];

const FIFO: [Mutant; 6] = [
    mutant("always ready", "room", "sink_ready = ~(|(count & full));", "sink_ready = 1'b1;"),
    mutant(
        "takes a word when full",
        "number",
        "push = sink_valid & ~(|(count & full));",
        "push = sink_valid;",
    ),
    mutant("shows odd levels only", "show", "source_valid = |count;", "source_valid = count[0];"),
    mutant("shows the newest slot", "order", ".read_address(head),", ".read_address(tail),"),
    mutant(
        "skips a slot when the pointer wraps",
        "order",
        "tail <= tail + 2'd1;",
        "tail <= &tail ? 2'd1 : tail + 2'd1;",
    ),
    mutant("reset leaves the level", "number", "count <= 3'd0;", "count <= count;"),
];

const RAM_FIFO: [Mutant; 7] = [
    mutant("always ready", "room", "sink_ready = ~(|(count & full));", "sink_ready = 1'b1;"),
    mutant(
        "takes a word when full",
        "number",
        "push = sink_valid & ~(|(count & full));",
        "push = sink_valid;",
    ),
    mutant(
        "shows a word while it is being written",
        "order",
        "valid <= tail != shown;",
        "valid <= (tail + {2'b0, push}) != shown;",
    ),
    mutant("shows a word that is not there", "show", "valid <= tail != shown;", "valid <= 1'b1;"),
    mutant(
        "the word on show is read again from the slot before it",
        "order",
        ".read_address(shown[1:0]),",
        ".read_address(head[1:0]),",
    ),
    mutant(
        "the slot of the word on show is written when the pointer wraps",
        "order",
        ".write_address(tail[1:0]),",
        ".write_address(tail[2] ? 2'd0 : tail[1:0]),",
    ),
    mutant("reset leaves the level", "number", "count <= 3'd0;", "count <= count;"),
];

const SKID: [Mutant; 4] = [
    mutant("always ready", "room", "sink_ready = ~spare_valid;", "sink_ready = 1'b1;"),
    mutant("drops the second word", "show", "shown_valid <= push | spare_valid;", "shown_valid <= push;"),
    mutant("does not hold the second word", "order", "if (~spare_valid) spare <= sink;", "spare <= sink;"),
    mutant("shows the third word for the second", "order", "shown <= spare;", "shown <= sink;"),
];

const ARBITER: [Mutant; 9] = [
    mutant("valid for preferred requesters only", "some", "valid = |request;", "valid = |preferred;"),
    mutant("grants those below too", "asked", "chosen = pool & ~less;", "chosen = pool ^ less;"),
    mutant("grants everybody in the pool", "one", "grant = chosen;", "grant = pool;"),
    mutant("grants preferred requesters only", "busy", "grant = chosen;", "grant = chosen & preferred;"),
    mutant("wrong bit of the index", "number", "number = number | weight_1;", "number = number | weight_0;"),
    mutant("an index with no grant", "idle", "number = 2'd0;", "number = weight_0;"),
    mutant("the one taken goes first again", "turn", "after <= ~(pool ^ less);", "after <= ~less;"),
    mutant("the one taken goes first again", "fair", "after <= ~(pool ^ less);", "after <= ~less;"),
    mutant(
        "priority never moves past requester 2",
        "fair",
        "if (advance & (|request)) after",
        "if (advance & ~request[3]) after",
    ),
];

const RUN_QUEUE: [Mutant; 8] = [
    mutant("never busy", "ready", "busy = clearing;", "busy = 1'b0;"),
    mutant(
        "loses a push while another is popped",
        "show",
        "pushes = wakes & (pushed_read_data == popped_read_data);",
        "pushes = wakes & (pushed_read_data == popped_read_data) & ~pops;",
    ),
    mutant(
        "queues what is inside again",
        "show",
        "pushes = wakes & (pushed_read_data == popped_read_data);",
        "pushes = wakes;",
    ),
    mutant("forgets what is on its way", "kept_back", "held = wakes | shown;", "held = shown;"),
    mutant(
        "does not clear its memory",
        "show",
        "pushed_write_enable = pushes | clearing;",
        "pushed_write_enable = pushes;",
    ),
    mutant(
        "the pop forgets which way the bit turned",
        "show",
        "popped_write_data = oldest_bit & ~clearing;",
        "popped_write_data = ~oldest_bit & ~clearing;",
    ),
    mutant("shows another identifier", "order", ".read_address(head[1:0]),", ".read_address(tail[1:0]),"),
    mutant(
        "skips a row when the pointer wraps",
        "order",
        ".write_address(tail[1:0]),",
        ".write_address(tail[2] ? 2'd0 : tail[1:0]),",
    ),
];

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

const PROTECT: [Mutant; 28] = [
    mutant(
        "compares when nothing was looked at",
        "second_step",
        "range_compare = step == Step_Compare;",
        "range_compare = step != Step_Issue;",
    ),
    mutant(
        "compares twice",
        "second_step",
        "range_compare = step == Step_Compare;",
        "range_compare = (step == Step_Compare) | (step == Step_Place);",
    ),
    mutant(
        "compares a step late",
        "second_step",
        "range_compare = step == Step_Compare;",
        "range_compare = step == Step_Place;",
    ),
    mutant(
        "places before it compares",
        "third_step",
        "range_place = step == Step_Place;",
        "range_place = step == Step_Compare;",
    ),
    mutant(
        "places twice",
        "third_step",
        "range_place = step == Step_Place;",
        "range_place = (step == Step_Place) | (step == Step_Issue);",
    ),
    mutant(
        "no second step",
        "third_step",
        "Step_Compare: step <= Step_Place;",
        "Step_Compare: step <= Step_Place; Step_Idle: step <= Step_Place;",
    ),
    mutant(
        "looks at what is not on show",
        "on_show",
        "look = intake_valid & ((step == Step_Idle) | done | back);",
        "look = (step == Step_Idle) | done | back;",
    ),
    mutant(
        "looks at what is not on show, after an access",
        "on_show",
        "look = intake_valid & ((step == Step_Idle) | done | back);",
        "look = done | (intake_valid & ((step == Step_Idle) | back));",
    ),
    mutant(
        "looks at what is not on show, after a read that makes way",
        "on_show",
        "look = intake_valid & ((step == Step_Idle) | done | back);",
        "look = back | (intake_valid & ((step == Step_Idle) | done));",
    ),
    mutant(
        "the second command of a refused access",
        "turned",
        "whole = (step == Step_Second) | ~range_crosses | ~range_granted;",
        "whole = (step == Step_Second) | ~range_crosses;",
    ),
    mutant(
        "a second command of each access",
        "turned",
        "whole = (step == Step_Second) | ~range_crosses | ~range_granted;",
        "whole = step == Step_Second;",
    ),
    mutant(
        "the page turns while it is placed",
        "turned",
        "Step_Place: step <= Step_Issue;",
        "Step_Place: step <= Step_Turn;",
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
        "offered = issuing & ~silent & free;",
        "offered = issuing & free;",
    ),
    mutant(
        "a write is never refused",
        "no_refused_write",
        "silent = writes & ~range_granted;",
        "silent = 1'b0;",
    ),
    mutant(
        "refused reads are silent, and not writes",
        "no_refused_write",
        "silent = writes & ~range_granted;",
        "silent = ~writes & ~range_granted;",
    ),
    mutant("the page of now", "named_page", ".read_address(range_page),", ".read_address(commit_row[10:0]),"),
    mutant(
        "the page turns while it waits",
        "named_page",
        "range_next_page = step == Step_Turn;",
        "range_next_page = (step == Step_Turn) | (step == Step_Issue);",
    ),
    mutant(
        "the page never turns",
        "named_page",
        "range_next_page = step == Step_Turn;",
        "range_next_page = 1'b0;",
    ),
    mutant(
        "a page is written beside another one",
        "named_page",
        ".write_address(commit_row[10:0]),",
        ".write_address(commit_row[10:0] ^ 11'd1),",
    ),
    mutant(
        "writes the table while one is looked up",
        "between",
        "between = idle & ~intake_open;",
        "between = (step == Step_Idle) & ~intake_open;",
    ),
    mutant(
        "writes the table while one can be taken",
        "between",
        "between = idle & ~intake_open;",
        "between = idle;",
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
