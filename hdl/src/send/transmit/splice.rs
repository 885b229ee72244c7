//! Makes a frame's words from byte 48 on: the end of the headers, then RETH, extension header, payload and pad without gaps.
//!
//! ```text
//!           job, place ──►┌────────┐──► word
//!       patch, payload ──►│ Splice │──► from_template
//!  active, load, words ──►│        │──► takes
//!                moves ──►└────────┘
//! ```
//! Contract: word 6 begins with the last 6 bytes of the headers, which come from `patch` and the template. RETH, extension header, and
//! payload without an extension header lie 6 bytes off; payload behind an extension header lies 2 bytes off. Bytes that do not fit into a
//! word stay for the next one. `from_template` says that the word also has bytes of the template, which are not in `word`. `takes` asks
//! for the next word of payload, and `moves` says that the word on show goes on. Behind the payload's last byte its last word is 0, and
//! so is the pad.
//!
//! Latency: none; a word goes on in each cycle with `moves`.
//!
//! Example: a send of 8 bytes. Word 6 has 6 bytes of headers and the payload's first two, word 7 its other six and 2 bytes of 0.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use rust_hdl::prelude::*;

use super::frame_job::FrameJob;
use crate::prims::Number;

/// Which word of a frame is made.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FramePlace {
    /// Word 6, where the headers end.
    pub six: bool,
    /// Word 7.
    pub seven: bool,
    /// Word 8.
    pub eight: bool,
    /// The end of the word comes from RETH, extension header or payload.
    pub tail: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Splice {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The frame to make; the framer drives this and the other inputs, but `patch`.
    pub job: Signal<In, FrameJob>,
    /// A frame is made, so `job` and `place` count.
    pub active: Signal<In, bool>,
    /// Pulses in the cycle before `active` for a new job.
    pub load: Signal<In, bool>,
    /// With `load`: words of payload of the new job.
    pub words: Signal<In, Bits<10>>,
    /// Which word of the frame is made.
    pub place: Signal<In, FramePlace>,
    /// The bytes of headers in the word that are not the template's, from `HeaderPatch`.
    pub patch: Signal<In, Bits<64>>,
    /// The next word of payload, from gather's payload queue.
    pub payload: Signal<In, Bits<64>>,
    /// The word goes on to the seal.
    pub moves: Signal<In, bool>,
    /// The word of payload is taken.
    pub takes: Signal<Out, bool>,
    /// The word, without the template's part.
    pub word: Signal<Out, Bits<64>>,
    /// The template has a part in the word.
    pub from_template: Signal<Out, bool>,
    words_left: DFF<Bits<10>>,
    /// There are words of payload left.
    words_any: DFF<bool>,
    /// The bytes of the part before that did not fit into its word.
    carry: DFF<Bits<48>>,
    at_reth: Signal<Local, bool>,
    at_extension: Signal<Local, bool>,
    consumes: Signal<Local, bool>,
    reth: Signal<Local, Bits<128>>,
    part: Signal<Local, Bits<64>>,
    base: Signal<Local, Bits<64>>,
    over: Signal<Local, Bits<48>>,
    one_word: Number<10, 1>,
}

impl Logic for Splice {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, words_left, words_any, carry);
        self.at_reth.next = (self.place.val().six | self.place.val().seven) & self.job.val().has_reth;
        self.at_extension.next = self.place.val().six & self.job.val().extended;
        if self.job.val().has_reth {
            self.at_extension.next = self.place.val().eight & self.job.val().extended;
        }
        self.consumes.next = self.active.val()
            & self.place.val().tail
            & !self.at_reth.val()
            & !self.at_extension.val()
            & self.words_any.q.val();
        self.takes.next = self.consumes.val() & self.moves.val();
        if self.consumes.val() & self.moves.val() {
            self.words_left.d.next = self.words_left.q.val() - 1;
            self.words_any.d.next = self.words_left.q.val() != self.one_word.val();
        }
        if self.load.val() {
            self.words_left.d.next = self.words.val();
            self.words_any.d.next = self.words.val().any();
        }

        self.reth.next = self.job.val().reth;
        self.part.next = bits::<64>(0);
        if self.consumes.val() {
            self.part.next = self.payload.val();
        }
        if self.at_extension.val() {
            self.part.next = bit_cast::<64, 32>(self.job.val().extension);
        }
        if self.at_reth.val() {
            self.part.next = self.reth.val().get_bits::<64>(0);
            if self.place.val().seven {
                self.part.next = self.reth.val().get_bits::<64>(64);
            }
        }
        self.from_template.next = !self.job.val().raw;
        self.base.next = self.patch.val();
        if self.place.val().tail & !self.place.val().six {
            self.from_template.next = false;
            self.base.next = bit_cast::<64, 48>(self.carry.q.val());
        }
        if self.job.val().extended & !self.at_extension.val() & !self.at_reth.val() {
            self.word.next = self.base.val() | (self.part.val() << 16);
            self.over.next = bit_cast::<48, 64>(self.part.val() >> 48);
        } else {
            self.word.next = self.base.val() | (self.part.val() << 48);
            self.over.next = bit_cast::<48, 64>(self.part.val() >> 16);
        }
        // The payload of a raw frame is the frame.
        if self.job.val().raw {
            self.word.next = self.part.val();
        }
        if self.moves.val() {
            self.carry.d.next = self.over.val();
        }
    }
}
