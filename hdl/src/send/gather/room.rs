//! Counts the words of the payload queue that no packet has claimed, and defines the port by which a packet claims them.
//!
//! ```text
//!      claim ◄─►┌──────┐
//!   returned ──►│ Room │──► busy
//!       left ──►└──────┘
//! ```
//! Contract: a packet claims its room part by part, and says with the first one how many words it will claim in all. `claim.room` says
//! that there is room for any part, which has 256 words at most. `claim.take` takes `claim.words`; in the three cycles behind it `room` is
//! low. `left` gives back the word that leaves the queue; `returned` gives back what a packet had taken and did not need. Both show in `room`
//! four cycles later.
//!
//! Latency: 4 cycles from `left` to `claim.room`.
//!
//! Example: 769 words are taken of 1024: `room` is low. A word leaves; `room` is high four cycles later.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;

use crate::prims::Number;

/// The end of a claim of room that asks.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "RoomSink"]
pub struct RoomSource {
    /// Words of payload that the next part of a packet needs, 256 at most.
    pub words: Signal<Out, Bits<10>>,
    /// There is room for 256 words, the most that a part needs; `Room` drives it.
    pub room: Signal<In, bool>,
    /// Pulses when `words` words of the payload queue are taken.
    pub take: Signal<Out, bool>,
    /// Pulses with `take` of a packet's first part.
    pub opens: Signal<Out, bool>,
    /// Words of payload that all of the packet needs.
    pub packet: Signal<Out, Bits<10>>,
}

/// The end of a claim of room that grants.
#[derive(Clone, Debug, Default, LogicInterface)]
#[join = "RoomSource"]
pub struct RoomSink {
    /// Words of payload that the next part of a packet needs, 256 at most; cut or the replier drives this and the other inputs.
    pub words: Signal<In, Bits<10>>,
    /// There is room for 256 words, the most that a part needs.
    pub room: Signal<Out, bool>,
    /// Pulses when `words` words of the payload queue are taken.
    pub take: Signal<In, bool>,
    /// Pulses with `take` of a packet's first part.
    pub opens: Signal<In, bool>,
    /// Words of payload that all of the packet needs.
    pub packet: Signal<In, Bits<10>>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Room {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, all words are free.
    pub reset: Signal<In, bool>,
    /// A claim of room, from cut or the replier.
    pub claim: RoomSink,
    /// A packet has ended, with so many words still expected, counting the one that came last; the payload block drives it.
    pub returned: FlowSink<Bits<10>>,
    /// A word leaves the payload queue; the payload block drives it.
    pub left: Signal<In, bool>,
    /// Packets hold words of the queue.
    pub busy: Signal<Out, bool>,
    /// Words that nobody has claimed; the bit that says 1024 is kept inverted, so that the register begins with 0.
    spare: DFF<Bits<11>>,
    /// Words that were taken in the cycle before.
    grown: DFF<Bits<10>>,
    /// A word left in the cycle before.
    was_left: DFF<bool>,
    /// Words that became free in the cycle before.
    shrunk: DFF<Bits<11>>,
    /// The words that became free less those that were taken, a cycle later.
    delta: DFF<Bits<11>>,
    fits: DFF<bool>,
    /// Words were taken in the cycle before; likewise in the one before that.
    taken: DFF<bool>,
    taken_before: DFF<bool>,
    free: Signal<Local, Bits<11>>,
    next_free: Signal<Local, Bits<11>>,
    back: Signal<Local, Bits<11>>,
    one: Signal<Local, Bits<11>>,
    all_free: Number<11, 1024>,
    minus_one: Number<11, 2047>,
}

impl Logic for Room {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, spare, grown, was_left, shrunk, delta, fits, taken, taken_before);
        self.free.next = self.spare.q.val() ^ self.all_free.val();
        // What is taken shows in `spare` three cycles later.
        self.taken.d.next = self.claim.take.val();
        self.taken_before.d.next = self.taken.q.val();
        self.fits.d.next = self.free.val().get_bits::<3>(8).any()
            & !(self.claim.take.val() | self.taken.q.val() | self.taken_before.q.val());
        self.claim.room.next = self.fits.q.val();
        self.grown.d.next = bits::<10>(0);
        if self.claim.take.val() {
            self.grown.d.next = self.claim.words.val();
        }
        // A packet that has ended gives back what did not come: one less than was still expected. A word that has
        // left gives back itself, a cycle later. Together one adder.
        self.was_left.d.next = self.left.val();
        self.back.next = bits::<11>(0);
        self.one.next = bits::<11>(0);
        if self.returned.valid.val() {
            self.back.next = bit_cast::<11, 10>(self.returned.data.val());
            if !self.was_left.q.val() {
                self.one.next = self.minus_one.val();
            }
        } else if self.was_left.q.val() {
            self.one.next = bits::<11>(1);
        }
        self.shrunk.d.next = self.back.val() + self.one.val();
        self.delta.d.next = self.shrunk.q.val() - bit_cast::<11, 10>(self.grown.q.val());
        self.next_free.next = self.free.val() + self.delta.q.val();
        self.spare.d.next = self.next_free.val() ^ self.all_free.val();
        self.busy.next = !self.free.val().get_bit(10);
        if self.reset.val() {
            self.spare.d.next = bits::<11>(0);
            self.taken.d.next = false;
            self.taken_before.d.next = false;
            self.fits.d.next = false;
            self.was_left.d.next = false;
            self.grown.d.next = bits::<10>(0);
            self.shrunk.d.next = bits::<11>(0);
            self.delta.d.next = bits::<11>(0);
        }
    }
}
