//! Makes beats of 64 bits for the core out of 16-bit words of TLPs.
//!
//! ```text
//!  words ──►┌───────┐──► beats
//!  reset ──►└───────┘
//! ```
//! Contract: a TLP's first double words are its header, 3 or 4 as its first byte says. Of those the byte that was first on the wire comes to
//! lie in bits 31:24, of all others in bits 7:0 (docs/bring-up.md, "Lanes and bytes"). A beat is complete with its second double word, or
//! with the TLP's last word.
//!
//! Latency: 1 cycle from a beat's last word. Throughput: one word every cycle.
//!
//! Example: six words, the header of a read: two beats; the second one has one double word.
//!
//! Tests: `tests/pcie/crossing/`.

use super::HostBeat;
use crate::pcie::bus::CoreWord;
use crate::prims::{Number, Unpack};
use crate::rows::tlp::TlpKind;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Widen {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the TLP under way.
    pub reset: Signal<In, bool>,
    /// The words of TLPs, from `transaction`.
    pub words: FlowSink<CoreWord>,
    /// The beats, for the core.
    pub beats: FlowSource<HostBeat>,
    /// Which word of its beat comes.
    place: DFF<Bits<2>>,
    /// Words of the header that come behind this one.
    header: DFF<Bits<3>>,
    in_header: DFF<bool>,
    /// The first word of the double word.
    half: DFF<Bits<16>>,
    /// The double words of the beat. They stand until the next one is whole, and no beat has one sooner than two cycles after the last.
    low: DFF<Bits<32>>,
    high: DFF<Bits<32>>,
    both: DFF<bool>,
    last: DFF<bool>,
    bar: DFF<Bits<3>>,
    non_posted: DFF<bool>,
    complete: DFF<bool>,
    word: Signal<Local, CoreWord>,
    data: Signal<Local, Bits<16>>,
    /// The word as a TLP's first one: the kind is the first byte.
    kind: Unpack<Bits<16>, TlpKind>,
    /// The word is of the header.
    heads: Signal<Local, bool>,
    swapped_half: Signal<Local, Bits<16>>,
    swapped_data: Signal<Local, Bits<16>>,
    /// The double word that ends with this word: of the header, and behind it.
    header_double: Signal<Local, Bits<32>>,
    data_double: Signal<Local, Bits<32>>,
    double: Signal<Local, Bits<32>>,
    five: Number<3, 5>,
    seven: Number<3, 7>,
}

impl Logic for Widen {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, place, header, in_header, half, low, high, both, last, bar, non_posted, complete
        );
        drive!(self, words.data => word; complete.q => beats.valid);
        fill!(self, beats.data, last.q => last; bar.q => bar; non_posted.q => non_posted);
        self.beats.data.next.data =
            bit_cast::<64, 32>(self.low.q.val()) | (bit_cast::<64, 32>(self.high.q.val()) << 32);
        self.beats.data.next.keep = bits::<2>(1);
        if self.both.q.val() {
            self.beats.data.next.keep = bits::<2>(3);
        }

        self.data.next = self.word.val().data;
        drive!(self, data => kind.from);
        self.heads.next = self.in_header.q.val() | self.word.val().first;
        self.swapped_half.next = (self.half.q.val() << 8) | (self.half.q.val() >> 8);
        self.swapped_data.next = (self.data.val() << 8) | (self.data.val() >> 8);
        self.header_double.next =
            (bit_cast::<32, 16>(self.swapped_half.val()) << 16) | bit_cast::<32, 16>(self.swapped_data.val());
        self.data_double.next =
            (bit_cast::<32, 16>(self.data.val()) << 16) | bit_cast::<32, 16>(self.half.q.val());
        self.double.next = self.data_double.val();
        if self.heads.val() {
            self.double.next = self.header_double.val();
        }
        self.complete.d.next = false;
        if self.words.valid.val() {
            self.half.d.next = self.data.val();
            self.place.d.next = self.place.q.val() + 1;
            if self.place.q.val() == bits::<2>(1) {
                self.low.d.next = self.double.val();
            }
            if self.place.q.val() == bits::<2>(3) {
                self.high.d.next = self.double.val();
            }
            if self.word.val().first {
                self.in_header.d.next = true;
                self.header.d.next = self.five.val();
                if self.kind.to.val().long {
                    self.header.d.next = self.seven.val();
                }
            } else if self.in_header.q.val() {
                self.header.d.next = self.header.q.val() - 1;
                self.in_header.d.next = self.header.q.val() != bits::<3>(1);
            }
            self.complete.d.next = self.word.val().last | (self.place.q.val() == bits::<2>(3));
            if self.word.val().last {
                self.place.d.next = bits::<2>(0);
            }
            self.both.d.next = self.place.q.val() == bits::<2>(3);
            self.last.d.next = self.word.val().last;
            self.bar.d.next = self.word.val().bar;
            self.non_posted.d.next = self.word.val().non_posted;
        }
        if self.reset.val() {
            self.place.d.next = bits::<2>(0);
            self.in_header.d.next = false;
            self.complete.d.next = false;
        }
    }
}
