//! How many descriptors of a queue to fetch now.
//!
//! ```text
//!    count ──►┌──────┐──► some, single   (posted and not fetched: any, exactly one)
//!    weigh ──►│      │──► overrun         (more than the ring holds)
//!   decide ──►│ Plan │──► room            (window and heads allow any)
//!   posted ──►│      │──► amount          (how many)
//! position ──►│      │──► more            (the queue has work beyond that)
//!     done ──►└──────┘
//! ```
//! Contract: `count`, `weigh` and `decide` are high in three cycles, one after the other; the positions are read with
//! `count`, `heads` with `decide`; `receive` and `ring_log2` hold still. `some` and `single` are valid from the cycle
//! after `count`, `overrun` from the one after `weigh`, the rest from the one after `decide`, until the next `count`.
//! `amount` is the least of: what is posted, the slots to the end of the ring's 64-byte line, what is left of the
//! window, and, for the send queue, of the 8 heads.
//!
//! Latency: 3 cycles. Tests: with the scheduler, `tests/queues/fetch.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

use crate::bus::Position;
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Plan {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// First step.
    pub count: Signal<In, bool>,
    /// Second step.
    pub weigh: Signal<In, bool>,
    /// Third step.
    pub decide: Signal<In, bool>,
    /// One past the last position posted.
    pub posted: Signal<In, Position>,
    /// Position of the next descriptor to fetch.
    pub position: Signal<In, Position>,
    /// Position of the oldest descriptor fetched and not done.
    pub done: Signal<In, Position>,
    /// The receive queue.
    pub receive: Signal<In, bool>,
    /// Send heads in use, 0 to 8.
    pub heads: Signal<In, Bits<4>>,
    /// log2 of the ring's slots.
    pub ring_log2: Signal<In, Bits<4>>,
    /// There is something to fetch.
    pub some: Signal<Out, bool>,
    /// There is one descriptor to fetch.
    pub single: Signal<Out, bool>,
    /// More is posted than the ring holds.
    pub overrun: Signal<Out, bool>,
    /// At least one may be fetched.
    pub room: Signal<Out, bool>,
    /// How many to fetch, at most 8.
    pub amount: Signal<Out, Bits<4>>,
    /// The queue has more.
    pub more: Signal<Out, bool>,

    /// Posted and not fetched.
    fresh: DFF<Bits<14>>,
    /// Fetched and not done.
    out: DFF<Bits<14>>,
    /// Slots to the end of the line.
    line: DFF<Bits<4>>,
    /// Most that the queue and the line have.
    asked: DFF<Bits<4>>,
    /// Most that window and heads allow.
    allowed: DFF<Bits<4>>,
    /// What is left of the window.
    window: DFF<Bits<5>>,
    beyond: DFF<bool>,

    size: Signal<Local, Bits<14>>,
    limit: Signal<Local, Bits<14>>,
    left: Signal<Local, Bits<14>>,
    left_8: Signal<Local, Bits<4>>,
    count_8: Signal<Local, Bits<4>>,
    heads_room: Signal<Local, Bits<4>>,
    least: Signal<Local, Bits<4>>,

    send_window: Number<14, { SEND_WINDOW as u64 }>,
    receive_ahead: Number<14, { RECEIVE_AHEAD as u64 }>,
}

const _: () = assert!(SEND_WINDOW <= 16 && RECEIVE_AHEAD <= 16, "`window` holds at most 16");

impl Logic for Plan {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fresh, out, line, asked, allowed, window, beyond);

        if self.count.val() {
            self.fresh.d.next = self.posted.val() - self.position.val();
            self.out.d.next = self.position.val() - self.done.val();
            self.line.d.next = bits::<4>(8) - bit_cast::<4, 14>(self.position.val() & bits::<14>(7));
        }
        self.some.next = self.fresh.q.val().any();
        self.single.next = self.fresh.q.val() == bits::<14>(1);

        self.size.next = bits::<14>(1) << self.ring_log2.val();
        self.limit.next = self.send_window.val();
        if self.receive.val() {
            self.limit.next = self.receive_ahead.val();
        }
        self.left.next = self.limit.val() - self.out.q.val();
        if self.out.q.val() > self.limit.val() {
            self.left.next = bits::<14>(0);
        }
        self.count_8.next = bits::<4>(8);
        if self.fresh.q.val() < bits::<14>(8) {
            self.count_8.next = bit_cast::<4, 14>(self.fresh.q.val());
        }
        if self.weigh.val() {
            self.beyond.d.next = self.fresh.q.val() > self.size.val();
            self.window.d.next = bit_cast::<5, 14>(self.left.val());
            self.asked.d.next = self.line.q.val();
            if self.count_8.val() < self.line.q.val() {
                self.asked.d.next = self.count_8.val();
            }
        }

        self.left_8.next = bits::<4>(8);
        if self.window.q.val() < bits::<5>(8) {
            self.left_8.next = bit_cast::<4, 5>(self.window.q.val());
        }
        self.heads_room.next = bits::<4>(8) - self.heads.val();
        if self.receive.val() {
            self.heads_room.next = bits::<4>(8);
        }
        if self.decide.val() {
            self.allowed.d.next = self.heads_room.val();
            if self.left_8.val() < self.heads_room.val() {
                self.allowed.d.next = self.left_8.val();
            }
        }

        self.least.next = self.asked.q.val();
        if self.allowed.q.val() < self.asked.q.val() {
            self.least.next = self.allowed.q.val();
        }
        self.overrun.next = self.beyond.q.val();
        self.room.next = self.allowed.q.val().any();
        self.amount.next = self.least.val();
        self.more.next = self.fresh.q.val() > bit_cast::<14, 4>(self.least.val());
    }
}
