//! Keeps what is known of each frame in the store, and shows the one to look at next: the oldest, unless its VI is held back.
//!
//! ```text
//!   keep, keep_info, keep_end ──►┌────────┐◄─► show
//!                        free ──►│ Roster │
//!             resume, crowded ──►└────────┘──► head, level, count_dropped
//! ```
//! Contract: the ring has 16 places. `keep` fills them in the order in which frames come; `Store` sees to it, by `level`, that one is
//! free. `show` has one frame. It stays until its [`Fate`] is decided:
//! - Taken: it is delivered; `free` says when that is over, by its place. Several may be in delivery;
//! - Aside: its turn has not come, it stays; the one behind it is shown;
//! - Dropped: it is thrown away, and counted (`count_dropped`, in the same cycle);
//! - Left: nothing, but the oldest frame is shown next.
//!
//! The pulse `resume` says that a frame that was set aside may have its turn now. After the frame on show the block shows the oldest one,
//! and then the others in their order, without those that are taken or dropped. Until then `again` is high, from the cycle after the pulse
//! on: `Lookup` leaves a frame that it was about to look at (fate Left), because an older one of the same VI goes first.
//!
//! `head` is the first word of the store that is in use. A place and its words become free when all older ones are. If a frame that is
//! set aside keeps so many words that the store is `crowded`, the others wait for it. When that has lasted 2^14 cycles (131 us), the frame
//! is shown again with `overdue`: `Lookup` drops it if its turn has still not come.
//!
//! Example: frames A, B and C come, and A is on show. It is set aside; B is shown and taken, then C. After `resume` A is shown
//! before any frame that came later.
//!
//! Latency: a frame is on show one cycle after `keep`; one cycle for each place that is passed over, and for each that becomes free.
//!
//! How: `over` has one write port, and `show.decided` is known late in its cycle. So `free.ready` does not follow from it: a place that
//! `free` names while a frame is dropped waits in a register, and `free.ready` is low until it has left that.
//!
//! Tests: `tests/receive/store.rs`, `tests/receive/roster/`.

use super::show::{Fate, ShowSource};
use crate::bus::FrameInfo;
use crate::prims::LutRam;
use crate::stream::{Pulse, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Roster {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the ring is empty.
    pub reset: Signal<In, bool>,
    /// Pulses when a frame has come that is kept; `Store` drives this and the two below, and sees to it that there is a place.
    pub keep: Signal<In, bool>,
    /// With `keep`: what is known of the frame; the block fills in `place` itself.
    pub keep_info: Signal<In, FrameInfo>,
    /// With `keep`: number of the word behind the frame's last one.
    pub keep_end: Signal<In, Bits<11>>,
    /// The frame on show, for `Lookup`, and what becomes of it.
    pub show: ShowSource,
    /// Pulses when a frame that was set aside may have its turn; `Flush` drives it.
    pub resume: Signal<In, bool>,
    /// The store is more than half full, in words or in places; `Store` drives it.
    pub crowded: Signal<In, bool>,
    /// The place of a frame whose delivery is over, from `PayloadQueue`.
    pub free: Sink<Bits<4>>,
    /// Number of the first word of the store that is in use.
    pub head: Signal<Out, Bits<11>>,
    /// How many places of the ring are in use; `Store` listens to this and the other outputs.
    pub level: Signal<Out, Bits<4>>,
    /// Pulses when the frame on show is dropped.
    pub count_dropped: Pulse,
    infos: LutRam<FrameInfo, 4>,
    /// Number of the word behind the frame's last one.
    ends: LutRam<Bits<11>, 4>,
    /// The frame of a place is taken or dropped.
    gone: LutRam<bool, 4>,
    /// Nobody needs the frame of a place any more.
    over: LutRam<bool, 4>,
    /// The oldest place in use.
    oldest: DFF<Bits<4>>,
    /// The place on show.
    shown: DFF<Bits<4>>,
    /// The next place to fill.
    next: DFF<Bits<4>>,
    first_word: DFF<Bits<11>>,
    /// Behind the frame on show, the oldest one is shown next.
    returns: DFF<bool>,
    /// A frame was set aside since the oldest one was on show.
    leaves_some: DFF<bool>,
    /// How long the store has been crowded with the same oldest frame.
    waited: DFF<Bits<15>>,
    /// The place to fill next has the marks of the frame that was there.
    marked: DFF<bool>,
    /// A place that `free` named is not yet marked in `over`: a frame was dropped.
    waits: DFF<bool>,
    /// The place that `free` named and that is marked next; of use while `waits` is high.
    waiting: DFF<Bits<4>>,
    /// The frame on show is taken; likewise the three below.
    takes: Signal<Local, bool>,
    sets_aside: Signal<Local, bool>,
    drops: Signal<Local, bool>,
    left: Signal<Local, bool>,
    some: Signal<Local, bool>,
    is_gone: Signal<Local, bool>,
    at_oldest: Signal<Local, bool>,
    /// The place on show is passed.
    passes: Signal<Local, bool>,
    /// The oldest place becomes free.
    frees: Signal<Local, bool>,
    /// The oldest place is shown next.
    goes_back: Signal<Local, bool>,
    oldest_now: Signal<Local, Bits<4>>,
    /// The place to mark in `over`, if one is given back.
    freed: Signal<Local, Bits<4>>,
    too_long: Signal<Local, bool>,
}

impl Logic for Roster {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, oldest, shown, next, first_word, returns, leaves_some, waited);
        dff_setup!(self, clock, marked, waits, waiting);
        clock!(self, clock, infos, ends, gone, over);

        self.takes.next = self.show.decided.val() & (self.show.fate.val() == Fate::Taken);
        self.sets_aside.next = self.show.decided.val() & (self.show.fate.val() == Fate::Aside);
        self.drops.next = self.show.decided.val() & (self.show.fate.val() == Fate::Dropped);
        self.left.next = self.show.decided.val() & (self.show.fate.val() == Fate::Left);

        drive!(self, keep => infos.write_enable, ends.write_enable; next.q => infos.write_address,
            ends.write_address; keep_info => infos.write_data; keep_end => ends.write_data;
            shown.q => infos.read_address, gone.read_address; oldest.q => ends.read_address, over.read_address;
            infos.read_data => show.info; gone.read_data => is_gone; first_word.q => head;
            returns.q => show.again);
        self.infos.write_data.next.place = self.next.q.val();

        // A frame that comes finds no marks: those of the place to fill next go in a cycle in which nothing else is marked.
        drive!(self, next.q => gone.write_address, over.write_address; false => gone.write_data, over.write_data;
            marked.q => gone.write_enable, over.write_enable);
        self.marked.d.next = false;
        if self.takes.val() | self.drops.val() {
            self.gone.write_enable.next = true;
            self.gone.write_address.next = self.shown.q.val();
            self.gone.write_data.next = true;
            self.marked.d.next = self.marked.q.val();
        }
        self.free.ready.next = !self.waits.q.val();
        self.freed.next = self.free.data.val();
        if self.waits.q.val() {
            self.freed.next = self.waiting.q.val();
        }
        self.waiting.d.next = self.freed.val();
        self.waits.d.next = false;
        if self.free.valid.val() | self.waits.q.val() {
            self.waits.d.next = self.drops.val();
            self.over.write_enable.next = true;
            self.over.write_address.next = self.freed.val();
            self.over.write_data.next = true;
            self.marked.d.next = self.marked.q.val();
        }
        if self.drops.val() {
            self.over.write_enable.next = true;
            self.over.write_address.next = self.shown.q.val();
            self.over.write_data.next = true;
        }
        if self.keep.val() {
            self.next.d.next = self.next.q.val() + 1;
            self.marked.d.next = true;
        }
        self.some.next = self.shown.q.val() != self.next.q.val();
        self.show.valid.next = self.some.val() & !self.is_gone.val();
        self.level.next = self.next.q.val() - self.oldest.q.val();

        // The oldest place becomes free when nobody needs its frame any more.
        self.frees.next = (self.oldest.q.val() != self.next.q.val()) & self.over.read_data.val();
        self.oldest_now.next = self.oldest.q.val();
        if self.frees.val() {
            self.oldest_now.next = self.oldest.q.val() + 1;
            self.first_word.d.next = self.ends.read_data.val();
        }
        self.oldest.d.next = self.oldest_now.val();

        // The place on show is passed at once if its frame is gone. So a scan never falls behind the oldest place.
        self.at_oldest.next = self.shown.q.val() == self.oldest.q.val();
        self.passes.next = (self.some.val() & self.is_gone.val())
            | self.takes.val()
            | self.sets_aside.val()
            | self.drops.val();
        self.goes_back.next =
            self.left.val() | (self.returns.q.val() & (self.passes.val() | !self.some.val()));
        if self.passes.val() {
            self.shown.d.next = self.shown.q.val() + 1;
            self.leaves_some.d.next = self.leaves_some.q.val() | self.sets_aside.val();
        }
        if self.goes_back.val() {
            self.shown.d.next = self.oldest_now.val();
            self.returns.d.next = false;
            self.leaves_some.d.next = false;
        }
        self.count_dropped.next = self.drops.val();

        // FRAME-12: for 2^14 cycles too little room has been left.
        self.too_long.next = self.waited.q.val().get_bit(14);
        self.show.overdue.next = self.too_long.val() & self.at_oldest.val();
        if !self.too_long.val() {
            self.waited.d.next = self.waited.q.val() + 1;
        }
        if !self.crowded.val() | self.frees.val() {
            self.waited.d.next = bits::<15>(0);
        }
        // A scan begins anew when a frame that was set aside may have its turn, or is to be dropped.
        if self.resume.val()
            | (self.too_long.val() & !self.frees.val() & (self.leaves_some.q.val() | self.sets_aside.val()))
        {
            self.returns.d.next = true;
        }

        if self.reset.val() {
            self.oldest.d.next = bits::<4>(0);
            self.shown.d.next = bits::<4>(0);
            self.next.d.next = bits::<4>(0);
            self.first_word.d.next = bits::<11>(0);
            self.returns.d.next = false;
            self.leaves_some.d.next = false;
            self.marked.d.next = true;
            self.waits.d.next = false;
            self.waited.d.next = bits::<15>(0);
        }
    }
}
