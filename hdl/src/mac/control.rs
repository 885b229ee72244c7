//! The core's end of the way in: takes MAC control frames out, and says what became of each frame.
//!
//! ```text
//!    beat ──►┌─────────┐──► rx
//!   reset ──►│ Control │──► pause
//! station ──►│         │──► count_*
//!            └─────────┘
//! ```
//! Contract: every beat is taken. Frames leave as they came, except that those of type 8808 stay here, and so do those of 16 bytes
//! or fewer, which are never good. A good control frame of opcode 1 for the group 01-80-C2-00-00-01 or for our own address is a
//! pause of as many times 512 bits as `pause` says. `station` is our own address, first byte in bits 7:0.
//!
//! A frame that is half way out when `reset` comes is not ended, because the core that reads `rx` is reset too. Its rest is dropped.
//!
//! Latency: a beat leaves 2 cycles after the next one has come, and a last beat 2 cycles after it has come itself. Throughput: one beat
//! every cycle.
//!
//! Example: a good pause frame of 100 quanta comes: nothing leaves at `rx`, `pause` is 100 for one cycle, and `count_received` and
//! `count_paused` are high for one.
//!
//! Tests: `tests/mac/pause.rs`, `tests/mac/receive.rs`.

use super::beat::{reason, MacBeat};
use super::ethernet::{AddressBeat, PauseBeat, TypeBeat, CONTROL_TYPE, PAUSE_GROUP, PAUSE_OPCODE};
use crate::bus::FrameBeat;
use crate::prims::{Cast, Number};
use crate::stream::{FlowSink, FlowSource, Pulse};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Control {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the frame under way.
    pub reset: Signal<In, bool>,
    /// A beat from the receive side, that is from `LineReceiver`, over the crossing.
    pub beat: FlowSink<MacBeat>,
    /// Our own Ethernet address, first byte in bits 7:0; the user of `Mac` drives it.
    pub station: Signal<In, Bits<48>>,
    /// A beat of a frame, to the core.
    pub rx: FlowSource<FrameBeat>,
    /// The peer asks us to pause: for how many times 512 bits. `LineSender` obeys.
    pub pause: FlowSource<Bits<16>>,
    /// Pulses when a good frame has come; control frames count too. `FrameCounters` counts these pulses and those below.
    pub count_received: Pulse,
    /// A frame with a wrong FCS has come.
    pub count_fcs: Pulse,
    /// A frame has come that is too short.
    pub count_runt: Pulse,
    /// A frame has come that is too long.
    pub count_long: Pulse,
    /// A frame has come in which the PHY marked an error.
    pub count_coding: Pulse,
    /// A frame has come that the core did not take in time.
    pub count_overrun: Pulse,
    /// A good pause frame has come.
    pub count_paused: Pulse,
    /// Beats of this frame so far: 0, 1, 2, or 3 for more.
    index: DFF<Bits<2>>,
    /// `held` holds a beat.
    held_valid: DFF<bool>,
    /// The beat before this one.
    held: DFF<MacBeat>,
    /// `out` is given in this cycle.
    out_valid: DFF<bool>,
    /// The beat that goes to the core.
    out: DFF<FrameBeat>,
    /// The frame is for the group of pause frames.
    to_group: DFF<bool>,
    /// The frame is for our own address.
    to_station: DFF<bool>,
    /// The frame is a control frame of opcode 1 for us.
    pausing: DFF<bool>,
    /// The pause that it asks for.
    quanta: DFF<Bits<16>>,
    /// `pause` is given in this cycle.
    obey: DFF<bool>,
    /// A frame has ended in the cycle before.
    ended: DFF<bool>,
    /// The reason of the frame that has ended.
    verdict: DFF<Bits<3>>,
    /// The next beat belongs to the frame under way; it counts through a reset.
    midway: DFF<bool>,
    /// The rest of a frame is dropped.
    dropping: DFF<bool>,
    midway_next: Signal<Local, bool>,
    take: Signal<Local, bool>,
    /// The beat, if it is the first of its frame.
    addresses: Cast<Bits<64>, AddressBeat>,
    /// The beat, if it is the second of its frame.
    types: Cast<Bits<64>, TypeBeat>,
    /// The beat, if it is the third of a pause frame.
    pause_time: Cast<Bits<64>, PauseBeat>,
    beat_last: Signal<Local, bool>,
    group: Number<48, { PAUSE_GROUP }>,
    control_type: Number<16, { CONTROL_TYPE }>,
    opcode: Number<16, { PAUSE_OPCODE }>,
    good: Number<3, { reason::NONE }>,
    fcs: Number<3, { reason::FCS }>,
    runt: Number<3, { reason::RUNT }>,
    long: Number<3, { reason::LONG }>,
    coding: Number<3, { reason::CODING }>,
    overrun: Number<3, { reason::OVERRUN }>,
}

impl Logic for Control {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, index, held_valid, held, out_valid, out, to_group, to_station);
        dff_setup!(self, clock, pausing, quanta, obey, ended, verdict, midway, dropping);
        drive!(self, out_valid.q => rx.valid; out.q => rx.data; obey.q => pause.valid;
            quanta.q => pause.data);

        drive!(self, beat.data.val().data => addresses.from, types.from, pause_time.from;
            beat.data.val().last => beat_last);
        self.midway_next.next = self.midway.q.val();
        if self.beat.valid.val() {
            self.midway_next.next = !self.beat_last.val();
        }
        self.midway.d.next = self.midway_next.val();
        self.take.next = self.beat.valid.val() & !self.dropping.q.val();
        if self.beat.valid.val() & self.beat_last.val() {
            self.dropping.d.next = false;
        }

        // The beat before leaves when it is known what the frame is.
        self.out_valid.d.next = self.held_valid.q.val() & (self.take.val() | self.held.q.val().last);
        self.out.d.next.data = self.held.q.val().data;
        self.out.d.next.count = self.held.q.val().count;
        self.out.d.next.last = self.held.q.val().last;
        self.out.d.next.bad = self.held.q.val().reason != self.good.val();
        if self.held.q.val().last {
            self.held_valid.d.next = false;
        }
        self.obey.d.next = false;
        self.ended.d.next = false;
        if self.take.val() {
            self.held.d.next = self.beat.data.val();
            if self.index.q.val() != bits::<2>(3) {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.index.q.val() == bits::<2>(0) {
                self.held_valid.d.next = !self.beat_last.val();
                self.pausing.d.next = false;
                self.to_group.d.next = self.addresses.to.val().destination == self.group.val();
                self.to_station.d.next = self.addresses.to.val().destination == self.station.val();
            }
            if (self.index.q.val() == bits::<2>(1))
                & (self.beat_last.val() | (self.types.to.val().ethertype == self.control_type.val()))
            {
                // A control frame, or a frame of two beats, is dropped here before any of it has gone out.
                self.out_valid.d.next = false;
                self.held_valid.d.next = false;
                self.pausing.d.next = (self.to_group.q.val() | self.to_station.q.val())
                    & (self.types.to.val().content == self.opcode.val());
            }
            if self.index.q.val() == bits::<2>(2) {
                self.quanta.d.next = (bit_cast::<16, 8>(self.pause_time.to.val().quanta_high) << 8)
                    | bit_cast::<16, 8>(self.pause_time.to.val().quanta_low);
            }
            if self.beat_last.val() {
                self.index.d.next = bits::<2>(0);
                self.ended.d.next = true;
                self.verdict.d.next = self.beat.data.val().reason;
                self.obey.d.next = self.pausing.q.val() & (self.beat.data.val().reason == self.good.val());
            }
        }

        self.count_received.next = self.ended.q.val() & (self.verdict.q.val() == self.good.val());
        self.count_fcs.next = self.ended.q.val() & (self.verdict.q.val() == self.fcs.val());
        self.count_runt.next = self.ended.q.val() & (self.verdict.q.val() == self.runt.val());
        self.count_long.next = self.ended.q.val() & (self.verdict.q.val() == self.long.val());
        self.count_coding.next = self.ended.q.val() & (self.verdict.q.val() == self.coding.val());
        self.count_overrun.next = self.ended.q.val() & (self.verdict.q.val() == self.overrun.val());
        self.count_paused.next = self.obey.q.val();

        if self.reset.val() {
            self.index.d.next = bits::<2>(0);
            self.held_valid.d.next = false;
            self.out_valid.d.next = false;
            self.pausing.d.next = false;
            self.obey.d.next = false;
            self.ended.d.next = false;
            self.dropping.d.next = self.midway_next.val();
        }
    }
}
