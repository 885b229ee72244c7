//! Measures how long a frame is.
//!
//! ```text
//!         valid, at, count ──►┌──────┐──► short, long
//!         last, was_tagged ──►│ Size │──► bytes, has_tag
//!                  decided ──►└──────┘
//! ```
//! Contract: after a frame's last beat, `bytes` is its length, its tag among them; `short` says that it has fewer than 14 bytes without
//! the tag. `long` is high behind byte 4224 (the tag not counted) until the frame is `decided`.
//!
//! Example: a frame had a tag and comes here with 64 bytes, in 8 beats. In the cycle after the last one `bytes` is 68 and `has_tag` is
//! high.
//!
//! Latency: 1 cycle. Tests: with `Parse`, `tests/receive/parse/`.

use super::beats::BeatAt;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Bytes of the longest frame, without FCS and tag.
const LONGEST_FRAME: usize = 4224;
const _: () = assert!(LONGEST_FRAME % 8 == 0);

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Size {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, no frame counts as too long.
    pub reset: Signal<In, bool>,
    /// A beat is here; `Parse` drives this and the other inputs.
    pub valid: Signal<In, bool>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, BeatAt>,
    /// How many bytes the beat has, 1 to 8.
    pub count: Signal<In, Bits<4>>,
    /// The beat that is here is the frame's last.
    pub last: Signal<In, bool>,
    /// With `last`: the frame had a tag, which was dropped.
    pub was_tagged: Signal<In, bool>,
    /// Pulses when a frame has ended and what it is has been noted.
    pub decided: Signal<In, bool>,
    /// The frame is too short to be one; `Parse` listens to all outputs.
    pub short: Signal<Out, bool>,
    /// The frame is longer than any may be.
    pub long: Signal<Out, bool>,
    /// Bytes of the frame, its tag among them.
    pub bytes: Signal<Out, Bits<13>>,
    /// The frame had a tag.
    pub has_tag: Signal<Out, bool>,
    /// Beats in front of the one here.
    beats: DFF<Bits<10>>,
    so_far: Signal<Local, Bits<10>>,
    too_long: DFF<bool>,
    runt: DFF<bool>,
    tail_bytes: Signal<Local, Bits<13>>,
    length: DFF<Bits<13>>,
    tag: DFF<bool>,
    longest_beats: Number<10, { (LONGEST_FRAME / 8) as u64 }>,
}

impl Logic for Size {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, beats, too_long, runt, length, tag);
        drive!(self, runt.q => short; too_long.q => long; length.q => bytes; tag.q => has_tag);
        // FRAME-4: less than 14 bytes.
        if self.at.val().beat_0 {
            self.runt.d.next = self.last.val();
        }
        if self.at.val().beat_1 & (self.count.val() < bits::<4>(6)) {
            self.runt.d.next = true;
        }
        self.so_far.next = self.beats.q.val();
        if self.at.val().beat_0 {
            self.so_far.next = bits::<10>(0);
        }
        if self.valid.val() {
            self.beats.d.next = self.so_far.val() + 1;
            // FRAME-4: more than 4224 bytes.
            if self.so_far.val() == self.longest_beats.val() {
                self.beats.d.next = self.so_far.val();
                self.too_long.d.next = true;
            }
        }
        // Bytes of the whole frame, if this beat is its last.
        self.tail_bytes.next = bit_cast::<13, 4>(self.count.val());
        if self.was_tagged.val() {
            self.tail_bytes.next = bit_cast::<13, 4>(self.count.val()) + 4;
        }
        if self.valid.val() {
            self.length.d.next = (bit_cast::<13, 10>(self.so_far.val()) << 3) + self.tail_bytes.val();
            self.tag.d.next = self.was_tagged.val();
        }
        if self.decided.val() | self.reset.val() {
            self.too_long.d.next = false;
        }
    }
}
