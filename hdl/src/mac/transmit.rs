//! From the beats of a frame to the bytes of the wire, in the transmit clock; and the pauses, both ways.
//!
//! ```text
//!    beat ──►┌──────────┐──► out_data, out_enable, out_error
//!   pause ──►│ Transmit │
//!    hold ──►│          │──► outcome
//! station ──►└──────────┘
//! ```
//! Contract: preamble and delimiter, the frame, zeros up to 60 bytes, FCS, and at least 12 bytes of gap. A frame starts with its first
//! beat; each further beat must be there 8 cycles behind the one before. If it is not, or the last beat has a reason, the frame ends with
//! an inverted FCS and `out_error`; what comes of it later is dropped.
//!
//! `hold` brings the quanta (512 bits, 64 cycles each) of a pause that the peer asked for: no frame of the core's starts until they
//! are over, but for our own pauses. A later one replaces it, 0 ends it.
//!
//! `pause` asks the peer to pause: one frame for 4095 quanta between two frames, another every 2^17 cycles while it stays high (half of the
//! time asked for), and one for 0 when it has fallen. `station` is our own address, first byte in bits 7:0.
//!
//! `outcome` says what was sent: 0 a frame, 1 a pause, 2 a spoiled frame.
//!
//! Latency: 2 cycles to the preamble: a byte is chosen in the first and goes into the FCS, or is one of it, in the second.
//! Throughput: the line's. No reset: see docs/boards.md.
//!
//! Example: a frame of 14 bytes leaves as 8 bytes of preamble and delimiter, the 14, 46 zeros, and 4 bytes of FCS; `outcome` is 0 for it.
//!
//! Tests: `tests/mac/transmit.rs`, `tests/mac/pause.rs`.

use super::beat::MacBeat;
use super::Fcs;
use crate::prims::Number;
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Preamble,
    Data,
    Pad,
    Check,
    Gap,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Transmit {
    /// Rising edge, 125 MHz; the clock of the transmit side.
    pub clock: Signal<In, Clock>,
    /// A beat of a frame to send, over the crossing from the core.
    pub beat: Sink<MacBeat>,
    /// The core asks that the peer hold its frames.
    pub pause: Signal<In, bool>,
    /// The peer asks us to pause: for how many quanta of 512 bits.
    pub hold: FlowSink<Bits<16>>,
    /// Our own Ethernet address, first byte in bits 7:0.
    pub station: Signal<In, Bits<48>>,
    /// The byte for the wire.
    pub out_data: Signal<Out, Bits<8>>,
    /// The byte belongs to a frame or to its preamble.
    pub out_enable: Signal<Out, bool>,
    /// The byte is to arrive as an error.
    pub out_error: Signal<Out, bool>,
    /// Something was sent: 0 a frame, 1 a pause, 2 a spoiled frame.
    pub outcome: FlowSource<Bits<2>>,
    state: DFF<State>,
    fcs: Fcs,
    /// Bytes of the preamble, of the FCS or of the gap.
    step: DFF<Bits<4>>,
    /// Bytes of the frame, up to 60.
    length: DFF<Bits<6>>,
    /// The bytes to send next, the first in bits 7:0.
    word: DFF<Bits<64>>,
    /// How many bytes of `word` are still to be sent.
    left: DFF<Bits<4>>,
    /// `word` is the frame's last.
    word_last: DFF<bool>,
    /// The frame ends damaged.
    spoiled: DFF<bool>,
    /// The frame under way is a pause of our own.
    ours: DFF<bool>,
    /// How much of that pause is loaded.
    part: DFF<Bits<2>>,
    /// The rest of a frame is dropped.
    dropping: DFF<bool>,
    /// The peer was told last to pause.
    told: DFF<bool>,
    /// The time until the peer is told again.
    refresh: DFF<Bits<17>>,
    /// What is left of a pause.
    holding: DFF<Bits<22>>,
    /// A pause that the peer asked for is not over.
    held: DFF<bool>,
    /// The byte that was chosen for the wire.
    chosen: DFF<Bits<8>>,
    /// The FCS covers that byte.
    covered: DFF<bool>,
    /// That byte is one of the FCS.
    check: DFF<bool>,
    /// Which byte of the FCS it is.
    place: DFF<Bits<2>>,
    /// `out_enable` of that byte.
    chosen_enable: DFF<bool>,
    /// `out_error` of that byte.
    chosen_error: DFF<bool>,
    /// `out_data`.
    data: DFF<Bits<8>>,
    /// `out_enable`.
    enable: DFF<bool>,
    /// `out_error`.
    error: DFF<bool>,
    /// `outcome` is given in this cycle.
    happened: DFF<bool>,
    /// What was sent.
    kind: DFF<Bits<2>>,
    tell: Signal<Local, bool>,
    load: Signal<Local, bool>,
    starved: Signal<Local, bool>,
    following: Signal<Local, MacBeat>,
    sum: Signal<Local, Bits<32>>,
    octet: Signal<Local, Bits<8>>,
    long_enough: Signal<Local, bool>,
    preamble: Number<8, 0x55>,
    delimiter: Number<8, 0xd5>,
    shortest: Number<6, 60>,
    group: Number<64, 0x0100_00c2_8001>,
    control_pause: Number<64, 0x0100_0888_0000_0000>,
    /// 4095, high byte first on the wire.
    quanta: Number<64, 0xff0f>,
    zero: Number<64, 0>,
}

impl Logic for Transmit {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, step, length, word, left, word_last, spoiled, ours, part, dropping);
        dff_setup!(self, clock, told, refresh, holding, held, data, enable, error, happened, kind);
        dff_setup!(self, clock, chosen, covered, check, place, chosen_enable, chosen_error);
        clock!(self, clock, fcs);
        self.out_data.next = self.data.q.val();
        self.out_enable.next = self.enable.q.val();
        self.out_error.next = self.error.q.val();
        self.outcome.valid.next = self.happened.q.val();
        self.outcome.data.next = self.kind.q.val();

        // The peer's pause, and ours.
        if self.holding.q.val().any() {
            self.holding.d.next = self.holding.q.val() - 1;
        }
        if self.hold.valid.val() {
            self.holding.d.next = bit_cast::<22, 16>(self.hold.data.val()) << 6;
        }
        self.held.d.next = self.holding.q.val().any();
        if self.refresh.q.val().any() {
            self.refresh.d.next = self.refresh.q.val() - 1;
        }
        self.tell.next =
            (self.pause.val() ^ self.told.q.val()) | (self.pause.val() & !self.refresh.q.val().any());

        // The next word of the frame: a pause's, or the core's.
        self.following.next = self.beat.data.val();
        self.starved.next = !self.beat.valid.val() & !self.ours.q.val();
        if self.ours.q.val() {
            self.following.next.count = bits::<4>(8);
            self.following.next.last = false;
            self.following.next.reason = bits::<3>(0);
            self.following.next.data = self.group.val() | (bit_cast::<64, 48>(self.station.val()) << 48);
            if self.part.q.val().get_bit(0) {
                self.following.next.data =
                    self.control_pause.val() | bit_cast::<64, 48>(self.station.val() >> 16);
            }
            if self.part.q.val().get_bit(1) {
                self.following.next.data = self.zero.val();
                if self.told.q.val() {
                    self.following.next.data = self.quanta.val();
                }
                self.following.next.count = bits::<4>(2);
                self.following.next.last = true;
            }
        }

        // The line.
        self.load.next = false;
        self.octet.next = bits::<8>(0);
        self.fcs.start.next = false;
        self.covered.d.next = false;
        self.check.d.next = false;
        self.place.d.next = bit_cast::<2, 4>(self.step.q.val());
        self.chosen_enable.d.next = true;
        self.chosen_error.d.next = false;
        self.happened.d.next = false;
        self.long_enough.next = self.length.q.val() == self.shortest.val();
        if (self.state.q.val() == State::Data) | (self.state.q.val() == State::Pad) {
            self.covered.d.next = true;
            if !self.long_enough.val() {
                self.length.d.next = self.length.q.val() + 1;
            }
        }
        match self.state.q.val() {
            State::Idle => {
                self.chosen_enable.d.next = false;
                self.fcs.start.next = true;
                self.step.d.next = bits::<4>(0);
                self.length.d.next = bits::<6>(0);
                self.spoiled.d.next = false;
                self.part.d.next = bits::<2>(0);
                self.ours.d.next = false;
                if self.tell.val() {
                    self.ours.d.next = true;
                    self.told.d.next = self.pause.val();
                    self.refresh.d.next = bits::<17>(0x1_ffff);
                    self.state.d.next = State::Preamble;
                } else if self.beat.valid.val() & !self.dropping.q.val() & !self.held.q.val() {
                    self.state.d.next = State::Preamble;
                }
            }
            State::Preamble => {
                self.octet.next = self.preamble.val();
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val() == bits::<4>(7) {
                    self.octet.next = self.delimiter.val();
                    self.step.d.next = bits::<4>(0);
                    self.state.d.next = State::Data;
                    self.load.next = true;
                }
            }
            State::Data => {
                self.octet.next = self.word.q.val().get_bits::<8>(0);
                self.word.d.next = self.word.q.val() >> 8;
                self.left.d.next = self.left.q.val() - 1;
                if self.left.q.val() == bits::<4>(1) {
                    if self.word_last.q.val() {
                        self.state.d.next = State::Pad;
                        if self.length.q.val() > bits::<6>(58) {
                            self.state.d.next = State::Check;
                        }
                    } else {
                        self.load.next = true;
                    }
                }
            }
            State::Pad => {
                if self.length.q.val() > bits::<6>(58) {
                    self.state.d.next = State::Check;
                }
            }
            State::Check => {
                self.check.d.next = true;
                self.chosen_error.d.next = self.spoiled.q.val();
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val() == bits::<4>(3) {
                    self.step.d.next = bits::<4>(0);
                    self.state.d.next = State::Gap;
                    self.happened.d.next = true;
                    self.kind.d.next = bits::<2>(0);
                    if self.ours.q.val() {
                        self.kind.d.next = bits::<2>(1);
                    }
                    if self.spoiled.q.val() {
                        self.kind.d.next = bits::<2>(2);
                    }
                }
            }
            State::Gap => {
                // Idle has the twelfth byte.
                self.chosen_enable.d.next = false;
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val() == bits::<4>(10) {
                    self.state.d.next = State::Idle;
                }
            }
        }
        self.chosen.d.next = self.octet.val();

        // The byte chosen, in front of the pins.
        self.fcs.sink.valid.next = self.covered.q.val();
        self.fcs.sink.data.next = self.chosen.q.val();
        self.sum.next = !self.fcs.value.val();
        if self.spoiled.q.val() {
            self.sum.next = self.fcs.value.val();
        }
        self.data.d.next = self.chosen.q.val();
        if self.check.q.val() {
            self.data.d.next = self.sum.val().get_bits::<8>(0);
            if self.place.q.val() == bits::<2>(1) {
                self.data.d.next = self.sum.val().get_bits::<8>(8);
            }
            if self.place.q.val() == bits::<2>(2) {
                self.data.d.next = self.sum.val().get_bits::<8>(16);
            }
            if self.place.q.val() == bits::<2>(3) {
                self.data.d.next = self.sum.val().get_bits::<8>(24);
            }
        }
        self.enable.d.next = self.chosen_enable.q.val();
        self.error.d.next = self.chosen_error.q.val();

        self.beat.ready.next = self.dropping.q.val() | (self.load.val() & !self.ours.q.val());
        if self.dropping.q.val() & self.beat.valid.val() & self.beat.data.val().last {
            self.dropping.d.next = false;
        }
        if self.load.val() {
            self.word.d.next = self.following.val().data;
            self.left.d.next = self.following.val().count;
            self.word_last.d.next = self.following.val().last;
            self.part.d.next = self.part.q.val() + 1;
            if self.starved.val() {
                self.dropping.d.next = true;
                self.spoiled.d.next = true;
                self.state.d.next = State::Check;
            } else if self.following.val().reason.any() {
                self.spoiled.d.next = true;
                if !self.following.val().count.any() {
                    self.state.d.next = State::Check;
                }
            }
        }
    }
}
