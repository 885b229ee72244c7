//! Proofs: the primitives, at small sizes: nothing in them depends on their widths.

use rust_hdl::prelude::*;

use super::{mutant, registered, Mutant, Proof};
use crate::export::verilog;
use crate::prims;

/// The proofs that this file describes.
pub fn all() -> Vec<Proof> {
    vec![
        registered(
            "ram",
            || verilog(prims::Ram::<Bits<2>, 2>::default()),
            include_str!("../../formal/ram.sv"),
            10,
            &RAM,
        ),
        registered(
            "fifo",
            || verilog(prims::Fifo::<Bits<2>, 2, 3>::default()),
            include_str!("../../formal/fifo.sv"),
            18,
            &FIFO,
        ),
        registered(
            "ram_fifo",
            || verilog(prims::RamFifo::<Bits<2>, 2, 3>::default()),
            include_str!("../../formal/ram_fifo.sv"),
            20,
            &RAM_FIFO,
        ),
        registered(
            "skid",
            || verilog(prims::Skid::<Bits<2>>::default()),
            include_str!("../../formal/skid.sv"),
            10,
            &SKID,
        ),
        registered(
            "arbiter",
            || verilog(prims::Arbiter::<4, 2>::default()),
            include_str!("../../formal/arbiter.sv"),
            12,
            &ARBITER,
        ),
        registered(
            "run_queue",
            || verilog(prims::RunQueue::<2, 3>::default()),
            include_str!("../../formal/run_queue.sv"),
            18,
            &RUN_QUEUE,
        ),
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
