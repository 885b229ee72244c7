//! Makes 16-bit words of TLPs out of the core's beats of 64 bits.
//!
//! ```text
//!  beats ──►┌────────┐──► words
//!  reset ──►└────────┘
//! ```
//! Contract: the inverse of [`Widen`](super::Widen). While `reset` is high all that comes is dropped.
//!
//! Latency: 1 cycle to a beat's first word. Throughput: one word every cycle.
//!
//! Example: a write of one double word comes as two beats: eight words leave, the first one with `first`, the last one with `last`.
//!
//! Tests: `tests/pcie/crossing/`.

use crate::bus::TlpBeat;
use crate::pcie::bus::TlpWord;
use crate::prims::Cast;
use crate::rows::tlp::{FirstWord, TlpKind};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Narrow {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the TLP under way.
    pub reset: Signal<In, bool>,
    /// The core's packets, through an `AsyncFifo`.
    pub beats: Sink<TlpBeat>,
    /// Their words, for `transaction`.
    pub words: Source<TlpWord>,
    /// Which word of the beat leaves next.
    place: DFF<Bits<2>>,
    /// The beat's number in its TLP; 2 for all from the third one on.
    number: DFF<Bits<2>>,
    /// The header has four double words.
    long: DFF<bool>,
    shown: DFF<TlpWord>,
    shows: DFF<bool>,
    beat: Signal<Local, TlpBeat>,
    data: Signal<Local, Bits<64>>,
    /// The double word that the word is of.
    double: Signal<Local, Bits<32>>,
    /// `double`, as the first double word of a packet.
    first: Cast<Bits<32>, FirstWord>,
    kind: Cast<Bits<8>, TlpKind>,
    /// The word is of the header.
    heads: Signal<Local, bool>,
    half: Signal<Local, Bits<16>>,
    ends: Signal<Local, bool>,
    moves: Signal<Local, bool>,
    /// The word is the first of its TLP.
    begins: Signal<Local, bool>,
}

impl Logic for Narrow {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, place, number, long, shown, shows);
        drive!(self, beats.data => beat; beat.val().data => data; shows.q => words.valid; shown.q => words.data);
        self.double.next = bit_cast::<32, 64>(self.data.val());
        if self.place.q.val().get_bit(1) {
            self.double.next = bit_cast::<32, 64>(self.data.val() >> 32);
        }
        drive!(self, double => first.from; first.to.val().kind => kind.from);
        self.heads.next = !self.number.q.val().any()
            | ((self.number.q.val() == bits::<2>(1)) & (!self.place.q.val().get_bit(1) | self.long.q.val()));
        self.begins.next = !self.number.q.val().any() & !self.place.q.val().any();
        // The word that goes first: of a header's double word the high half, of another the low one.
        self.half.next = bit_cast::<16, 32>(self.double.val());
        if self.heads.val() ^ self.place.q.val().get_bit(0) {
            self.half.next = bit_cast::<16, 32>(self.double.val() >> 16);
        }
        self.ends.next = (self.place.q.val() == bits::<2>(3))
            | (self.place.q.val().get_bit(0) & (self.beat.val().keep == bits::<2>(1)));
        self.moves.next = self.beats.valid.val() & (self.words.ready.val() | !self.shows.q.val());
        self.beats.ready.next = (self.moves.val() & self.ends.val()) | self.reset.val();
        if self.words.ready.val() {
            self.shows.d.next = false;
        }
        if self.moves.val() {
            self.shows.d.next = true;
            self.shown.d.next.data = self.half.val();
            if self.heads.val() {
                self.shown.d.next.data = (self.half.val() << 8) | (self.half.val() >> 8);
            }
            self.shown.d.next.first = self.begins.val();
            self.shown.d.next.last = self.ends.val() & self.beat.val().last;
            self.place.d.next = self.place.q.val() + 1;
            if self.begins.val() {
                self.long.d.next = self.kind.to.val().long;
            }
            if self.ends.val() {
                self.place.d.next = bits::<2>(0);
                if !self.number.q.val().get_bit(1) {
                    self.number.d.next = self.number.q.val() + 1;
                }
                if self.beat.val().last {
                    self.number.d.next = bits::<2>(0);
                }
            }
        }
        if self.reset.val() {
            self.shows.d.next = false;
            self.place.d.next = bits::<2>(0);
            self.number.d.next = bits::<2>(0);
        }
    }
}
