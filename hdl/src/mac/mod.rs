//! The MAC: the core's frame edge on one side, the pins of an RGMII on the other.
//!
//! ```text
//!      tx ──►┌─────┐◄─► pads
//!      rx ◄──│     │◄── rx_clock
//!   pause ──►│ Mac │──► link, gigabit, duplex
//! station ──►│     │◄── tx_clock
//! counter ──►└─────┘──► count_*
//! ```
//!
//! Contract: docs/boards.md, "The MAC". The core takes every beat of `rx` at once. Once a frame has begun at `tx`, no beat of it may come
//! later than 8 beats' time on the wire. `station` must not change while frames are under way.
//!
//! Latency: from the last byte on the pins to the last beat about 20 cycles; from the first beat to the preamble about 8.
//!
//! Example: the core gives a frame of 60 bytes as 8 beats at `tx`: the wire has 8 bytes of preamble and delimiter, the frame, and 4 of FCS,
//! and `count_sent` is high for one cycle.
//!
//! Tests: `tests/mac/`.

mod beat;
mod control;
mod ddr;
pub mod ethernet;
mod frame_closer;
mod frame_counters;
mod line_receiver;
mod line_sender;
mod mdio;
mod pad_delay;
mod pins;
mod rgmii;

pub use beat::{outcome, reason, LineByte, MacBeat, PhyStatus, LONGEST};
pub use control::Control;
pub use ddr::{DdrIn, DdrOut};
pub use frame_closer::FrameCloser;
pub use frame_counters::{counter, FrameCounters, FrameEvents};
pub use line_receiver::LineReceiver;
pub use line_sender::LineSender;
pub use mdio::{Mdio, MdioCommand, MdioResult};
pub use pad_delay::PadDelay;
pub use pins::{ManagementBus, RgmiiPads};
pub use rgmii::Rgmii;

use crate::bus::FrameBeat;
use crate::clocks::{AsyncFifo, Handover, Synchronizer};
use crate::prims::Number;
use crate::stream::{FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Mac {
    /// Rising edge; the core's clock.
    pub clock: Signal<In, Clock>,
    /// The core starts anew; the line's side does not.
    pub reset: Signal<In, bool>,
    /// A beat of a frame received, to the core.
    pub rx: FlowSource<FrameBeat>,
    /// A beat of a frame to send, from the core.
    pub tx: Sink<FrameBeat>,
    /// The core asks that the peer hold its frames.
    pub pause: Signal<In, bool>,
    /// Our own Ethernet address, first byte in bits 7:0; the user of the MAC drives it.
    pub station: Signal<In, Bits<48>>,
    /// The PHY says that it has a link; this and the next two are for the user of the MAC.
    pub link: Signal<Out, bool>,
    /// The PHY says that its speed is 1000 Mbit/s.
    pub gigabit: Signal<Out, bool>,
    /// The PHY says that its link is full duplex.
    pub duplex: Signal<Out, bool>,
    /// For a counter's number, see [`counter`](counter), which the user of the MAC gives: its value, in the next cycle.
    pub counter: Table<Bits<4>, Bits<32>>,
    /// Pulses when a good frame was received.
    pub count_received: Pulse,
    /// Pulses when a frame was sent.
    pub count_sent: Pulse,
    /// 125 MHz for the transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub pads: RgmiiPads,
    rgmii: Rgmii,
    receiver: LineReceiver,
    arrivals: AsyncFifo<MacBeat, 4, 5>,
    control: Control,
    closer: FrameCloser,
    departures: AsyncFifo<MacBeat, 4, 5>,
    sender: LineSender,
    /// Pauses that the peer asks for, to the transmit side.
    hold: Handover<Bits<16>>,
    /// What was sent, to the core.
    sent: Handover<Bits<2>>,
    /// `pause` in a flip-flop: the crossing wants one in front of it.
    pause_kept: DFF<bool>,
    pause_crossing: Synchronizer,
    link_crossing: Synchronizer,
    gigabit_crossing: Synchronizer,
    duplex_crossing: Synchronizer,
    counters: FrameCounters,
    events: Signal<Local, FrameEvents>,
    sent_frame: Signal<Local, bool>,
    frame: Number<2, { outcome::FRAME }>,
    pause_frame: Number<2, { outcome::PAUSE }>,
    spoiled: Number<2, { outcome::SPOILED }>,
}

impl Mac {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { rgmii: Rgmii::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for Mac {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, pause_kept);
        // In: pins, frames, crossing, core.
        drive!(self, rx_clock => rgmii.rx_clock, receiver.clock, arrivals.write_clock;
            rgmii.rx => receiver.line; clock => arrivals.read_clock, control.clock; reset => control.reset;
            station => control.station; arrivals.source.valid => control.beat.valid;
            arrivals.source.data => control.beat.data);
        RgmiiPads::link(&mut self.pads, &mut self.rgmii.pads);
        join!(self, Source<MacBeat>, receiver.beat => arrivals.sink);
        self.arrivals.source.ready.next = true;
        FlowSource::<FrameBeat>::link(&mut self.rx, &mut self.control.rx);

        // Out: core, crossing, frames, pins.
        drive!(self, clock => closer.clock, departures.write_clock; reset => closer.reset;
            tx_clock => departures.read_clock, sender.clock, rgmii.tx_clock; station => sender.station;
            sender.line => rgmii.tx);
        Sink::<FrameBeat>::link(&mut self.tx, &mut self.closer.tx);
        join!(self, Source<MacBeat>, closer.beat => departures.sink; departures.source => sender.beat);

        // Pauses.
        drive!(self, clock => hold.in_clock; tx_clock => hold.out_clock, pause_crossing.clock;
            pause_kept.q => pause_crossing.in_data; pause_crossing.out_data => sender.pause);
        join!(self, FlowSource<Bits<16>>, control.pause => hold.sink; hold.source => sender.hold);
        self.pause_kept.d.next = self.pause.val() & !self.reset.val();

        // Status and counters.
        clock!(self, clock, link_crossing, gigabit_crossing, duplex_crossing, counters);
        drive!(self, receiver.status.val().link => link_crossing.in_data;
            receiver.status.val().gigabit => gigabit_crossing.in_data;
            receiver.status.val().duplex => duplex_crossing.in_data; link_crossing.out_data => link;
            gigabit_crossing.out_data => gigabit; duplex_crossing.out_data => duplex;
            tx_clock => sent.in_clock; clock => sent.out_clock);
        join!(self, FlowSource<Bits<2>>, sender.outcome => sent.sink);
        self.sent_frame.next =
            self.sent.source.valid.val() & (self.sent.source.data.val() == self.frame.val());
        drive!(self, sent_frame => count_sent; reset => counters.reset);
        fill!(self, events, control.count_received => received; control.count_fcs => fcs;
            control.count_runt => runt; control.count_long => long; control.count_coding => coding;
            control.count_overrun => overrun; control.count_paused => paused; false => spare;
            sent_frame => sent);
        self.events.next.pauses_sent =
            self.sent.source.valid.val() & (self.sent.source.data.val() == self.pause_frame.val());
        self.events.next.spoiled =
            self.sent.source.valid.val() & (self.sent.source.data.val() == self.spoiled.val());
        self.events.next.spares = bits::<5>(0);
        Pulse::link(&mut self.count_received, &mut self.control.count_received);
        self.counters.events.next = self.events.val();
        Table::<Bits<4>, Bits<32>>::link(&mut self.counter, &mut self.counters.read);
    }
}
