//! Works out how many descriptors of a queue to read now, and how many more of its tokens.
//!
//! ```text
//!     count ──►┌──────┐──► some, overrun  (something is posted and not fetched; the numbers cannot be right)
//!     weigh ──►│      │──► inlined        (the doorbell's token is the one to use)
//!    decide ──►│ Plan │──► amount         (descriptors to read)
//!    posted ──►│      │
//!  position ──►│      │──► tokens         (tokens to ask for)
//!      done ──►│      │──► blocked        (only heads were missing for more)
//!    cached ──►│      │
//!     again ──►│      │
//!       ... ──►└──────┘
//! ```
//! Contract: `count`, `weigh` and `decide` are high in three cycles, one after the other; the positions are read with
//! `count`, `cached`, `again`, `lone` and `heads` with `weigh`, `filled` with `decide`; `receive` and `ring_log2` hold still.
//! `tokens` is valid from the cycle after `decide`, the rest from the one after `weigh`, until the next `count`.
//!
//! `amount` is the least of: the tokens at hand, what is left of the window, and, for the send queue, of the 8 heads. `tokens` is 0 while
//! more than 8 are at hand, so that there is room for a whole line. Otherwise it is the lesser of: what is posted beyond
//! those, and the slots to the end of the ring's 64-byte line.
//!
//! Example: three sends are posted and none is fetched: `posted` is 3, `position`, `done`, `again` and `heads` are 0, and `cached` is
//! 3. Then `amount` is 3. `tokens` is 0, since nothing is posted beyond the tokens at hand.
//!
//! Latency: 2 cycles for descriptors, 3 for tokens. Tests: with `Fetch`, `tests/queues/fetch/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

use super::queue_rows::{CACHED_BITS, WINDOW_BITS};

use crate::arithmetic::RingLevel;
use crate::bus::Position;
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Plan {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// First step, from `Turn`: the positions are read and subtracted.
    pub count: Signal<In, bool>,
    /// Second step, from `Turn`, a cycle behind `count`: the differences are compared with the limits.
    pub weigh: Signal<In, bool>,
    /// Third step, from `Turn`, a cycle behind `weigh`: the number of tokens is worked out.
    pub decide: Signal<In, bool>,
    /// One past the last position posted, by the doorbell's row; from `Turn`.
    pub posted: Signal<In, Position>,
    /// Position of the next descriptor to fetch, from `QueueProgress`.
    pub position: Signal<In, Position>,
    /// Position of the oldest descriptor that is fetched and not done, from `Turn`.
    pub done: Signal<In, Position>,
    /// Tokens of the queue that are on the NIC, 0 to 16, from `QueueProgress`.
    pub cached: Signal<In, Bits<CACHED_BITS>>,
    /// The doorbell's own token can be used, if no token is on the NIC and exactly one is missing; from `Turn`.
    pub lone: Signal<In, bool>,
    /// Position of the first token that is not on the NIC, from `QueueProgress`.
    pub filled: Signal<In, Position>,
    /// Descriptors from `position` on that were fetched before a rewind, so they have been posted; from `QueueProgress`. If `posted` says fewer,
    /// the doorbell was set back.
    pub again: Signal<In, Bits<WINDOW_BITS>>,
    /// The queue is a receive queue, as `Choice` says; otherwise it is a send queue.
    pub receive: Signal<In, bool>,
    /// Send heads in use in gather, 0 to 8, from `Fetch`.
    pub heads: Signal<In, Bits<4>>,
    /// log2 of the slots of the queue's ring, from `QueueProgress`.
    pub ring_log2: Signal<In, Bits<4>>,
    /// At least one descriptor is posted and not fetched.
    pub some: Signal<Out, bool>,
    /// More is posted than the ring holds, or less than was posted before.
    pub overrun: Signal<Out, bool>,
    /// The one descriptor to fetch is that of the doorbell's own token.
    pub inlined: Signal<Out, bool>,
    /// How many descriptors to read now, 0 to 8.
    pub amount: Signal<Out, Bits<4>>,
    /// How many tokens to ask for now, 0 to 8.
    pub tokens: Signal<Out, Bits<4>>,
    /// The window allows more descriptors, and only heads are missing for them.
    pub blocked: Signal<Out, bool>,

    /// Descriptors that are posted and not fetched.
    fresh: DFF<Bits<14>>,
    /// Descriptors that are fetched and not done.
    out: DFF<Bits<14>>,
    /// The numbers say that the queue is overrun.
    beyond: DFF<bool>,
    /// The doorbell's token would serve, and exactly one descriptor is missing.
    lone_one: DFF<bool>,
    /// Descriptors that are posted, and whose tokens are not on the NIC.
    unread: DFF<Bits<14>>,
    /// Tokens that are on the NIC or come with the doorbell.
    ready: DFF<Bits<CACHED_BITS>>,
    /// Descriptors that the window still allows, at most 8.
    open: DFF<Bits<4>>,
    /// Of `open`, as many as the free heads allow.
    allowed: DFF<Bits<4>>,
    /// Most tokens that may be asked for: what is posted, and what is left of the ring's line.
    most: DFF<Bits<4>>,
    /// No token may be asked for: more than 8 are at hand, so there is no room for a whole line.
    closed: DFF<bool>,
    /// Tokens stay on the NIC though the window would allow their descriptors to be read.
    stays: DFF<bool>,

    short: Signal<Local, bool>,
    ring: RingLevel<14, 4>,
    limit: Signal<Local, Bits<14>>,
    left: Signal<Local, Bits<14>>,
    missing: Signal<Local, Bits<14>>,
    left_8: Signal<Local, Bits<4>>,
    unread_8: Signal<Local, Bits<4>>,
    line: Signal<Local, Bits<4>>,
    heads_room: Signal<Local, Bits<4>>,
    least: Signal<Local, Bits<4>>,
    remain: Signal<Local, Bits<CACHED_BITS>>,

    many: Number<14, 0x2000>,
    send_window: Number<14, { SEND_WINDOW as u64 }>,
    receive_ahead: Number<14, { RECEIVE_AHEAD as u64 }>,
}

const _: () = assert!(RECEIVE_AHEAD <= SEND_WINDOW, "`again` counts either, 0 to SEND_WINDOW");

impl Logic for Plan {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fresh, out, beyond, lone_one, unread, ready, open, allowed, most);
        dff_setup!(self, clock, closed, stays);

        if self.count.val() {
            self.fresh.d.next = self.posted.val() - self.position.val();
            self.out.d.next = self.position.val() - self.done.val();
        }
        self.short.next = self.fresh.q.val() < bit_cast::<14, WINDOW_BITS>(self.again.val());
        self.some.next = self.fresh.q.val().any() | self.beyond.q.val();

        drive!(self, fresh.q => ring.level; ring_log2 => ring.log2);
        // WQ-2, REQ-1: at most SEND_WINDOW sends or RECEIVE_AHEAD receives at a time.
        self.limit.next = self.send_window.val();
        if self.receive.val() {
            self.limit.next = self.receive_ahead.val();
        }
        self.left.next = self.limit.val() - self.out.q.val();
        self.left_8.next = bits::<4>(8);
        if self.left.val() < bits::<14>(8) {
            self.left_8.next = bit_cast::<4, 14>(self.left.val());
        }
        if self.out.q.val() > self.limit.val() {
            self.left_8.next = bits::<4>(0);
        }
        self.heads_room.next = bits::<4>(8) - self.heads.val();
        if self.receive.val() {
            self.heads_room.next = bits::<4>(8);
        }
        self.missing.next = self.fresh.q.val() - bit_cast::<14, CACHED_BITS>(self.cached.val());
        if self.weigh.val() {
            // WQ-6: more is posted than the ring holds, or less than was fetched already.
            self.beyond.d.next = self.ring.over.val() | self.short.val();
            self.open.d.next = self.left_8.val();
            self.allowed.d.next = self.heads_room.val();
            if self.left_8.val() < self.heads_room.val() {
                self.allowed.d.next = self.left_8.val();
            }
            self.unread.d.next = self.missing.val();
            self.ready.d.next = self.cached.val();
            self.lone_one.d.next = false;
            if self.short.val() {
                self.unread.d.next = self.missing.val() | self.many.val();
            }
            if self.lone.val()
                & !self.short.val()
                & (self.fresh.q.val() == bits::<14>(1))
                & !self.cached.val().any()
            {
                self.lone_one.d.next = true;
                self.unread.d.next = bits::<14>(0);
                self.ready.d.next = bits::<CACHED_BITS>(1);
            }
        }

        self.unread_8.next = bits::<4>(8);
        if self.unread.q.val() < bits::<14>(8) {
            self.unread_8.next = bit_cast::<4, 14>(self.unread.q.val());
        }
        self.line.next = bits::<4>(8) - bit_cast::<4, 3>(bit_cast::<3, 14>(self.filled.val()));
        self.least.next = bit_cast::<4, CACHED_BITS>(self.ready.q.val());
        if bit_cast::<CACHED_BITS, 4>(self.allowed.q.val()) < self.ready.q.val() {
            self.least.next = self.allowed.q.val();
        }
        self.remain.next = self.ready.q.val() - bit_cast::<CACHED_BITS, 4>(self.least.val());
        if self.decide.val() {
            self.closed.d.next = self.ready.q.val() > bits::<CACHED_BITS>(8);
            self.stays.d.next = self.remain.val().any() & (self.open.q.val() > self.least.val());
            self.most.d.next = self.line.val();
            if self.unread_8.val() < self.line.val() {
                self.most.d.next = self.unread_8.val();
            }
        }

        self.tokens.next = self.most.q.val();
        if self.closed.q.val() {
            self.tokens.next = bits::<4>(0);
        }
        drive!(self, stays.q => blocked; beyond.q => overrun; lone_one.q => inlined; least => amount);
    }
}
