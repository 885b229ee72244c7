//! Checks the checksum of an IPv4 header that lies behind an Ethernet header.
//!
//! ```text
//!  valid, at, data ──►┌──────────┐──► good
//!                     └──────────┘
//! ```
//! Contract: `good` is that of the frame whose beats 1 to 6 came, from beat 7 on, until beat 6 of the next frame. A frame of fewer beats
//! has no answer.
//!
//! Example: the ten 16-bit words of a header, its checksum among them, add up to ffff with the carries added in: `good` is high. With
//! one bit changed it is low.
//!
//! Latency: 1 from beat 6. Tests: with `Parse`, `tests/receive/parse/`.

use super::beats::BeatAt;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;

/// A beat as words of 16 bits, in the byte order of the beats.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct BeatWords {
    word_0: Bits<16>,
    word_1: Bits<16>,
    word_2: Bits<16>,
    word_3: Bits<16>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Checksum {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat is here; `Parse` drives this and the other inputs.
    pub valid: Signal<In, bool>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, BeatAt>,
    /// The beat's bytes, the first in bits 7:0.
    pub data: Signal<In, Bits<64>>,
    /// The checksum of the IP header is right; `Parse` listens.
    pub good: Signal<Out, bool>,
    words: Cast<Bits<64>, BeatWords>,
    word_0: Signal<Local, Bits<18>>,
    word_1: Signal<Local, Bits<18>>,
    word_2: Signal<Local, Bits<18>>,
    word_3: Signal<Local, Bits<18>>,
    sum: DFF<Bits<20>>,
    part: DFF<Bits<18>>,
    fold_low: Signal<Local, Bits<17>>,
    fold_high: Signal<Local, Bits<17>>,
    folded: DFF<Bits<17>>,
    all_ones: Number<17, 0xffff>,
}

impl Logic for Checksum {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sum, part, folded);
        // The words are added in the byte order of the beats, which does not change whether the one's complement sum is all ones.
        self.words.from.next = self.data.val();
        self.word_0.next = bit_cast::<18, 16>(self.words.to.val().word_0);
        self.word_1.next = bit_cast::<18, 16>(self.words.to.val().word_1);
        self.word_2.next = bit_cast::<18, 16>(self.words.to.val().word_2);
        self.word_3.next = bit_cast::<18, 16>(self.words.to.val().word_3);
        if self.valid.val() {
            self.part.d.next =
                (self.word_0.val() + self.word_1.val()) + (self.word_2.val() + self.word_3.val());
            self.sum.d.next = self.sum.q.val() + bit_cast::<20, 18>(self.part.q.val());
        }
        if self.at.val().beat_1 {
            self.part.d.next = self.word_3.val();
            self.sum.d.next = bits::<20>(0);
        }
        if self.at.val().beat_4 {
            self.part.d.next = self.word_0.val();
        }
        self.fold_low.next = bit_cast::<17, 16>(self.sum.q.val().get_bits::<16>(0));
        self.fold_high.next = bit_cast::<17, 4>(self.sum.q.val().get_bits::<4>(16));
        if self.at.val().beat_6 {
            self.folded.d.next = self.fold_low.val() + self.fold_high.val();
        }
        // FRAME-6: the IP checksum.
        self.good.next = self.folded.q.val() == self.all_ones.val();
    }
}
