//! Keeps the row of the queue that has its turn, and counts how far the turn has brought it.
//!
//! ```text
//!    queue, row, rewind ──►┌───────────────┐──► held, position, cached, filled, asked, epoch
//!    load, count, lined ──►│ QueueProgress │──► again, passed   (what was fetched before a rewind)
//! issue, from_ring, rests ►└───────────────┘──► ended, stored
//! ```
//! Contract: `load` reads the row of the queue, and of a rewind the place where it begins again. `count` comes in the next cycle: a line
//! that has come adds its tokens to those at hand, unless they are spoilt, and a rewind forgets those at hand. Later
//! `issue` says that a descriptor is asked for (`from_ring`: by a token at hand), and `lined` that a line is asked for. `stored` is the row
//! as it is to be written back.
//!
//! An overrun queue whose ring has come to its first wrong slot (`rests`) has `cached` 31, and shows that as `ended`.
//!
//! Example: a row has position 6 and two tokens at hand. After two `issue`s `from_ring` `position` is 8, `cached` is 0, and `filled`, the
//! position of the first token that is not at hand, is 8 as before.
//!
//! Latency: 1 cycle; `filled` is right the cycle after that. Tests: with `Fetch`, `tests/queues/fetch/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::queue_rows::{CACHED_BITS, WINDOW_BITS};
use super::{ChosenQueue, WorkQueue};
use crate::bus::{Position, Rewind};
use crate::prims::Number;
use viaduct_spec::profile::SEND_WINDOW;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct QueueProgress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Pulse from `Turn`: `row` is the queue's.
    pub load: Signal<In, bool>,
    /// Row of the queue, from `QueueRows`.
    pub row: Signal<In, WorkQueue>,
    /// The queue that has its turn, and why, from `Choice`. If it is for a rewind, the queue begins again where `rewind` says.
    pub queue: Signal<In, ChosenQueue>,
    /// Where a rewound queue begins, from complete/sends.
    pub rewind: Signal<In, Rewind>,
    /// Pulse from `Turn`, a cycle behind `load`: the tokens that a line has brought are added.
    pub count: Signal<In, bool>,
    /// Pulse from `Turn`: the descriptor at `position` is asked for.
    pub issue: Signal<In, bool>,
    /// With `issue`, from `Turn`: the descriptor's token was at hand; otherwise the doorbell brought it.
    pub from_ring: Signal<In, bool>,
    /// With `issue`, from `Turn`: the ring of the overrun queue has been followed to its end.
    pub rests: Signal<In, bool>,
    /// Pulse from `Turn`: a line of the ring is asked for.
    pub lined: Signal<In, bool>,
    /// The row as it was read.
    pub held: Signal<Out, WorkQueue>,
    /// Position of the next descriptor to fetch.
    pub position: Signal<Out, Position>,
    /// Tokens at hand, 0 to 16; 31 if the queue is `ended`.
    pub cached: Signal<Out, Bits<CACHED_BITS>>,
    /// Position of the first token that is not at hand. It stays when a token is used.
    pub filled: Signal<Out, Position>,
    /// A line of the ring is under way.
    pub asked: Signal<Out, bool>,
    /// Epoch of what is fetched: it turns with each rewind.
    pub epoch: Signal<Out, bool>,
    /// Descriptors from `position` on that were fetched before the rewind; it has no meaning with `passed`.
    pub again: Signal<Out, Bits<WINDOW_BITS>>,
    /// More has been fetched than ever before.
    pub passed: Signal<Out, bool>,
    /// The ring of an overrun queue has been followed to its end.
    pub ended: Signal<Out, bool>,
    /// The row to write back.
    pub stored: Signal<Out, WorkQueue>,

    /// The row at hand. A block RAM gives a row late in its cycle, so it is only looked at in this register.
    row_now: DFF<WorkQueue>,
    position_now: DFF<Position>,
    cached_now: DFF<Bits<CACHED_BITS>>,
    asked_now: DFF<bool>,
    /// The tokens of the line under way are not wanted any more.
    spoilt: DFF<bool>,
    epoch_now: DFF<bool>,
    filled_now: DFF<Position>,

    row_next: Signal<Local, WorkQueue>,
    again_left: Signal<Local, Bits<WINDOW_BITS>>,
    over: Signal<Local, bool>,
    followed: Signal<Local, bool>,
    low: Signal<Local, Bits<WINDOW_BITS>>,
    minus_one: Number<CACHED_BITS, 0x1F>,
    window: Number<WINDOW_BITS, { SEND_WINDOW as u64 }>,
}

impl Logic for QueueProgress {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, row_now, position_now, cached_now, asked_now, spoilt, epoch_now, filled_now);
        self.filled_now.d.next =
            self.position_now.q.val() + bit_cast::<14, CACHED_BITS>(self.cached_now.q.val());

        // `top` is one past the last position ever fetched, modulo twice SEND_WINDOW, and at most SEND_WINDOW ahead.
        self.low.next = self.position_now.q.val().get_bits::<WINDOW_BITS>(0);
        self.again_left.next = self.row_now.q.val().top - self.low.val();
        self.over.next = self.again_left.val() > self.window.val();
        // 31 tokens are more than there can be: the mark of a ring that was followed to its end.
        self.followed.next = self.cached_now.q.val().get_bit(4) & self.cached_now.q.val().get_bit(0);

        if self.load.val() {
            self.row_now.d.next = self.row.val();
            self.position_now.d.next = self.row.val().position;
            self.cached_now.d.next = self.row.val().cached;
            self.asked_now.d.next = self.row.val().asked;
            self.spoilt.d.next = self.row.val().spoilt;
            self.epoch_now.d.next = self.row.val().epoch;
            if self.queue.val().rewinding {
                self.position_now.d.next = self.rewind.val().position;
                self.epoch_now.d.next = self.rewind.val().epoch;
            }
        }
        if self.count.val() {
            if self.queue.val().landed {
                self.asked_now.d.next = false;
                self.spoilt.d.next = false;
                if !self.spoilt.q.val() & !self.followed.val() {
                    self.cached_now.d.next =
                        self.cached_now.q.val() + bit_cast::<CACHED_BITS, 4>(self.queue.val().count);
                }
            }
            if self.queue.val().rewinding {
                self.cached_now.d.next = bits::<CACHED_BITS>(0);
                self.spoilt.d.next = self.asked_now.q.val();
            }
        }
        if self.issue.val() {
            self.position_now.d.next = self.position_now.q.val() + 1;
            if self.from_ring.val() {
                self.cached_now.d.next = self.cached_now.q.val() + self.minus_one.val();
            }
            if self.rests.val() {
                self.cached_now.d.next = bits::<CACHED_BITS>(31);
            }
        }
        if self.lined.val() {
            self.asked_now.d.next = true;
        }

        self.row_next.next = self.row_now.q.val();
        fill!(self, row_next, position_now.q => position; cached_now.q => cached; asked_now.q => asked;
            spoilt.q => spoilt; epoch_now.q => epoch);
        if self.over.val() {
            self.row_next.next.top = self.low.val();
        }
        drive!(self, row_next => stored; row_now.q => held; position_now.q => position;
            cached_now.q => cached; filled_now.q => filled; asked_now.q => asked; epoch_now.q => epoch;
            again_left => again; over => passed; followed => ended);
    }
}
