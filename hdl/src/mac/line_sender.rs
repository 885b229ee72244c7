//! Makes the bytes of the wire from the beats of a frame, in the transmit clock; and obeys and sends pauses.
//!
//! ```text
//!    beat ──►┌────────────┐──► line
//!   pause ──►│ LineSender │──► outcome
//!    hold ──►│            │
//! station ──►└────────────┘
//! ```
//! Contract: the wire gets preamble and delimiter, the frame, zeros up to 60 bytes, FCS, and at least 12 bytes of gap. A frame starts with
//! its first beat; each further beat must be there 8 cycles after the one before. If it is not, or if the last beat has a reason, the
//! frame ends with an inverted FCS and marked as an error; what comes of it later is dropped.
//!
//! `hold` brings the quanta (512 bits, 64 cycles each) of a pause that the peer asked for. Until they are over no frame of the core's
//! starts; our own pause frames do. A later `hold` replaces it, and 0 ends it.
//!
//! `pause` asks the peer to pause: the block sends a pause frame for 4095 quanta between two frames, another one every 2^17 cycles while
//! `pause` stays high (half of the time asked for), and one for 0 when it has fallen. `station` is our own address, first byte in bits 7:0.
//!
//! `outcome` says what was sent: a frame, a pause, or a spoiled frame.
//!
//! Latency: 2 cycles to the preamble. A byte is chosen in the first; in the second it goes into the FCS, or is one of the FCS.
//! Throughput: the line's. No reset: see docs/boards.md.
//!
//! Example: a frame of 14 bytes leaves as 8 bytes of preamble and delimiter, the 14, 46 zeros, and 4 bytes of FCS; `outcome` says FRAME.
//!
//! Tests: `tests/mac/transmit.rs`, `tests/mac/pause.rs`.

use super::beat::{outcome, LineByte, MacBeat};
use super::ethernet::{
    AddressBeat, PauseBeat, SplitAddress, TypeBeat, CONTROL_TYPE, PAUSE_GROUP, PAUSE_OPCODE,
};
use crate::prims::{Cast, NarrowCrc32, Number};
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

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
pub struct LineSender {
    /// Rising edge, 125 MHz; the clock of the transmit side.
    pub clock: Signal<In, Clock>,
    /// A beat of a frame to send, from `FrameCloser`, over the crossing from the core.
    pub beat: Sink<MacBeat>,
    /// The core asks that the peer hold its frames; from `Mac`, over the crossing.
    pub pause: Signal<In, bool>,
    /// The peer asks us to pause: for how many quanta of 512 bits; from `Control`, over the crossing.
    pub hold: FlowSink<Bits<16>>,
    /// Our own Ethernet address, first byte in bits 7:0; the user of `Mac` drives it.
    pub station: Signal<In, Bits<48>>,
    /// The byte for the wire, for `Rgmii`.
    pub line: Signal<Out, LineByte>,
    /// Something was sent: see [`outcome`]; for `FrameCounters`, over the crossing to the core's clock.
    pub outcome: FlowSource<Bits<2>>,
    state: DFF<State>,
    fcs: NarrowCrc32<8>,
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
    /// The byte is one of the FCS.
    check: DFF<bool>,
    /// Which byte of the FCS it is.
    place: DFF<Bits<2>>,
    /// The byte belongs to a frame or to its preamble.
    chosen_enable: DFF<bool>,
    /// The byte is to arrive as an error.
    chosen_error: DFF<bool>,
    /// The byte that is shown.
    shown: DFF<LineByte>,
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
    /// Our address, in two parts.
    own: Cast<Bits<48>, SplitAddress>,
    /// The three beats of our own pause.
    first_fields: Signal<Local, AddressBeat>,
    first_beat: Cast<AddressBeat, Bits<64>>,
    second_fields: Signal<Local, TypeBeat>,
    second_beat: Cast<TypeBeat, Bits<64>>,
    third_fields: Signal<Local, PauseBeat>,
    third_beat: Cast<PauseBeat, Bits<64>>,
    group: Number<48, { PAUSE_GROUP }>,
    control_type: Number<16, { CONTROL_TYPE }>,
    opcode: Number<16, { PAUSE_OPCODE }>,
    /// 4095 quanta: the high byte and the low one.
    quanta_high: Number<8, 0x0f>,
    quanta_low: Number<8, 0xff>,
    frame_outcome: Number<2, { outcome::FRAME }>,
    pause_outcome: Number<2, { outcome::PAUSE }>,
    spoiled_outcome: Number<2, { outcome::SPOILED }>,
}

impl Logic for LineSender {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, step, length, word, left, word_last, spoiled, ours, part, dropping);
        dff_setup!(self, clock, told, refresh, holding, held, shown, happened, kind);
        dff_setup!(self, clock, chosen, covered, check, place, chosen_enable, chosen_error);
        clock!(self, clock, fcs);
        drive!(self, shown.q => line; happened.q => outcome.valid; kind.q => outcome.data);

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

        // Our own pause: for 4095 quanta, or for 0 to end it.
        self.own.from.next = self.station.val();
        self.first_fields.next.destination = self.group.val();
        self.first_fields.next.source_first = self.own.to.val().first;
        self.first_beat.from.next = self.first_fields.val();
        fill!(self, second_fields, own.to.val().rest => source_rest; control_type => ethertype;
            opcode => content);
        self.second_beat.from.next = self.second_fields.val();
        self.third_fields.next.quanta_high = bits::<8>(0);
        self.third_fields.next.quanta_low = bits::<8>(0);
        self.third_fields.next.zeros = bits::<48>(0);
        if self.told.q.val() {
            self.third_fields.next.quanta_high = self.quanta_high.val();
            self.third_fields.next.quanta_low = self.quanta_low.val();
        }
        self.third_beat.from.next = self.third_fields.val();

        // The next word of the frame: a pause's, or the core's.
        self.following.next = self.beat.data.val();
        self.starved.next = !self.beat.valid.val() & !self.ours.q.val();
        if self.ours.q.val() {
            self.following.next.count = bits::<4>(8);
            self.following.next.last = false;
            self.following.next.reason = bits::<3>(0);
            self.following.next.data = self.first_beat.to.val();
            if self.part.q.val().get_bit(0) {
                self.following.next.data = self.second_beat.to.val();
            }
            if self.part.q.val().get_bit(1) {
                self.following.next.data = self.third_beat.to.val();
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
                    self.kind.d.next = self.frame_outcome.val();
                    if self.ours.q.val() {
                        self.kind.d.next = self.pause_outcome.val();
                    }
                    if self.spoiled.q.val() {
                        self.kind.d.next = self.spoiled_outcome.val();
                    }
                }
            }
            State::Gap => {
                // The twelfth byte of the gap is sent in Idle.
                self.chosen_enable.d.next = false;
                self.step.d.next = self.step.q.val() + 1;
                if self.step.q.val() == bits::<4>(10) {
                    self.state.d.next = State::Idle;
                }
            }
        }
        self.chosen.d.next = self.octet.val();

        // The chosen byte goes to the register in front of the pins.
        drive!(self, covered.q => fcs.sink.valid; chosen.q => fcs.sink.data);
        self.sum.next = !self.fcs.value.val();
        if self.spoiled.q.val() {
            self.sum.next = self.fcs.value.val();
        }
        self.shown.d.next.data = self.chosen.q.val();
        if self.check.q.val() {
            self.shown.d.next.data = self.sum.val().get_bits::<8>(0);
            if self.place.q.val() == bits::<2>(1) {
                self.shown.d.next.data = self.sum.val().get_bits::<8>(8);
            }
            if self.place.q.val() == bits::<2>(2) {
                self.shown.d.next.data = self.sum.val().get_bits::<8>(16);
            }
            if self.place.q.val() == bits::<2>(3) {
                self.shown.d.next.data = self.sum.val().get_bits::<8>(24);
            }
        }
        self.shown.d.next.valid = self.chosen_enable.q.val();
        self.shown.d.next.error = self.chosen_error.q.val();

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
