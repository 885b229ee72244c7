//! Drops one 802.1Q tag: the bytes behind it move up by four.
//!
//! ```text
//!  sink ──►┌───────┐──► source, out_tagged
//!          │ Untag │
//!          └───────┘──► busy
//! ```
//! Contract: a frame whose bytes 12 and 13 are 81 00 leaves without bytes 12 to 15; any other leaves as it is. `out_tagged` is high with
//! the last beat of a frame that had a tag. Frames of at most 16 bytes leave as they are: behind a tag they would hold no packet.
//!
//! Example: a frame of 68 bytes has 81 00 00 05 at byte 12. It leaves with 64 bytes, without these four, and `out_tagged` is high with
//! its last beat.
//!
//! Latency: 1 cycle. Throughput: one beat every cycle: the cycle that the last four bytes may need at the end of a
//! tagged frame is the one in which its second beat gave nothing.
//!
//! Tests: `tests/receive/ingress/`.

use crate::bus::FrameBeat;
use crate::prims::{Cast, Number};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// A beat's first four bytes, and the others as a tag if they are one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct TagBeat {
    before: Bits<32>,
    /// What says that a tag is there.
    tag_type: Bits<16>,
    tag: Bits<16>,
}

/// The two halves of a beat, the earlier bytes first.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct BeatHalves {
    early: Bits<32>,
    late: Bits<32>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Untag {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the frame under way.
    pub reset: Signal<In, bool>,
    /// A beat of a frame that may have a tag, from the queue of `Ingress`.
    pub sink: Sink<FrameBeat>,
    /// A beat of the frame without its tag, for `Parse`.
    pub source: Source<FrameBeat>,
    /// With the last beat of `source`: the frame had a tag; `Parse` listens.
    pub out_tagged: Signal<Out, bool>,
    /// A frame is under way.
    pub busy: Signal<Out, bool>,
    shown_valid: DFF<bool>,
    shown: DFF<FrameBeat>,
    shown_tagged: DFF<bool>,
    /// Beats of this frame taken: 0, 1, or 2 for more.
    index: DFF<Bits<2>>,
    /// A tag was dropped: `held` goes in front.
    shifted: DFF<bool>,
    held: DFF<Bits<32>>,
    /// The frame's last bytes are in `held`, so many of them; nothing is taken until they are out.
    flush: DFF<bool>,
    flush_count: DFF<Bits<4>>,
    flush_bad: DFF<bool>,
    data: Signal<Local, Bits<64>>,
    count: Signal<Local, Bits<4>>,
    halves: Cast<Bits<64>, BeatHalves>,
    as_tag: Cast<Bits<64>, TagBeat>,
    /// `held`, and the early half of the beat behind it.
    joined: Cast<BeatHalves, Bits<64>>,
    joined_count: Signal<Local, Bits<4>>,
    rest_count: Signal<Local, Bits<4>>,
    advance: Signal<Local, bool>,
    take: Signal<Local, bool>,
    has_tag: Signal<Local, bool>,
    /// Bytes 81 00 as they lie in a beat.
    tag_type: Number<16, 0x0081>,
}

impl Logic for Untag {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_valid, shown, index, shifted, held);
        dff_setup!(self, clock, flush, flush_count, flush_bad, shown_tagged);
        self.busy.next = self.shown_valid.q.val() | self.index.q.val().any() | self.flush.q.val();
        drive!(self, shown_valid.q => source.valid; shown.q => source.data; shown_tagged.q => out_tagged);
        self.advance.next = self.source.ready.val() | !self.shown_valid.q.val();
        self.sink.ready.next = self.advance.val() & !self.flush.q.val();
        self.take.next = self.sink.valid.val() & self.advance.val() & !self.flush.q.val();

        drive!(self, sink.data.val().data => data; sink.data.val().count => count;
            data => halves.from, as_tag.from);
        self.joined.from.next.early = self.held.q.val();
        self.joined.from.next.late = self.halves.to.val().early;
        self.joined_count.next = self.count.val() + 4;
        self.rest_count.next = self.count.val() - 4;
        // FRAME-2: a frame is read without its tag.
        self.has_tag.next = (self.index.q.val() == bits::<2>(1))
            & (self.as_tag.to.val().tag_type == self.tag_type.val())
            & !self.sink.data.val().last;

        if self.advance.val() {
            self.shown_valid.d.next = false;
        }
        if self.advance.val() & self.flush.q.val() {
            self.shown_valid.d.next = true;
            self.shown.d.next.data = bit_cast::<64, 32>(self.held.q.val());
            self.shown.d.next.count = self.flush_count.q.val();
            self.shown.d.next.last = true;
            self.shown_tagged.d.next = true;
            self.shown.d.next.bad = self.flush_bad.q.val();
            self.flush.d.next = false;
        }
        if self.take.val() {
            self.shown_valid.d.next = true;
            self.shown.d.next = self.sink.data.val();
            self.shown_tagged.d.next = self.shifted.q.val();
            self.flush_bad.d.next = self.sink.data.val().bad;
            self.held.d.next = self.halves.to.val().late;
            if self.has_tag.val() {
                self.shown_valid.d.next = false;
                self.shifted.d.next = true;
                self.held.d.next = self.halves.to.val().early;
            }
            if self.shifted.q.val() {
                self.shown.d.next.data = self.joined.to.val();
                self.shown.d.next.count = self.joined_count.val();
                if self.count.val() > bits::<4>(4) {
                    self.shown.d.next.count = bits::<4>(8);
                    self.shown.d.next.last = false;
                    self.shown.d.next.bad = false;
                    self.flush.d.next = self.sink.data.val().last;
                    self.flush_count.d.next = self.rest_count.val();
                }
            }
            if self.index.q.val() != bits::<2>(2) {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.sink.data.val().last {
                self.index.d.next = bits::<2>(0);
                self.shifted.d.next = false;
            }
        }
        if self.reset.val() {
            self.shown_valid.d.next = false;
            self.index.d.next = bits::<2>(0);
            self.shifted.d.next = false;
            self.flush.d.next = false;
        }
    }
}
