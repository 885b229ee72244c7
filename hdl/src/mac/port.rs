//! The MAC: the core's frame edge on one side, the pins of an RGMII on the other.
//!
//! ```text
//!      tx ──►┌─────┐──► pads_tx_*
//!      rx ◄──│     │◄── rx_clock, pads_rx_*
//!   pause ──►│ Mac │──► link, gigabit, duplex
//! station ──►│     │◄── tx_clock
//! counter ──►└─────┘──► count_*
//! ```
//! Contract: docs/boards.md, "The MAC". `rx` is never refused; `tx`, once a frame has begun, must not wait for more than 8 beats' time on the
//! wire. `station` must not change while frames are under way.
//!
//! Latency: from the last byte on the pins to the last beat about 20 cycles; from the first beat to the preamble about 8.
//!
//! Example: the core gives a frame of 60 bytes as 8 beats at `tx`: the wire has 8 bytes of preamble and delimiter, the frame, and 4 of FCS, and
//! `count_sent` is high for one cycle.
//!
//! Tests: `tests/mac/`.

use super::beat::{counter, MacBeat};
use super::{AsyncFifo, Control, Counters, Handover, Intake, Receive, Rgmii, Synchronizer, Transmit};
use crate::bus::FrameBeat;
use crate::prims::Number;
use crate::stream::{FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;

const _: () = assert!(
    counter::RECEIVED == 0 && counter::PAUSED == 6 && counter::SENT == 8 && counter::SPOILED == 10,
    "the order of `events`"
);

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
    /// Our own Ethernet address, first byte in bits 7:0.
    pub station: Signal<In, Bits<48>>,
    /// The PHY says that it has a link.
    pub link: Signal<Out, bool>,
    /// The PHY says that its speed is 1000 Mbit/s.
    pub gigabit: Signal<Out, bool>,
    /// The PHY says that its link is full duplex.
    pub duplex: Signal<Out, bool>,
    /// For a counter's number, see [`counter`]: its value, in the next cycle.
    pub counter: Table<Bits<4>, Bits<32>>,
    /// A good frame was received.
    pub count_received: Pulse,
    /// A frame was sent.
    pub count_sent: Pulse,
    /// 125 MHz for the transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// RGMII: the clock to the PHY.
    pub pads_tx_clock: Signal<Out, Bits<1>>,
    /// RGMII: data to the PHY, four bits at each edge.
    pub pads_tx_data: Signal<Out, Bits<4>>,
    /// RGMII: control to the PHY.
    pub pads_tx_control: Signal<Out, Bits<1>>,
    /// RGMII: the PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// RGMII: data from the PHY, four bits at each edge.
    pub pads_rx_data: Signal<In, Bits<4>>,
    /// RGMII: control from the PHY.
    pub pads_rx_control: Signal<In, Bits<1>>,
    rgmii: Rgmii,
    receive: Receive,
    arrivals: AsyncFifo<MacBeat, 4, 5>,
    control: Control,
    intake: Intake,
    departures: AsyncFifo<MacBeat, 4, 5>,
    transmit: Transmit,
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
    counters: Counters,
    events: Signal<Local, Bits<16>>,
    speed: Signal<Local, Bits<2>>,
    frame: Number<2, 0>,
    pause_frame: Number<2, 1>,
    spoiled: Number<2, 2>,
}

impl Mac {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { rgmii: Rgmii::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for Mac {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, pause_kept);
        // In: pins, frames, crossing, core.
        self.rgmii.rx_clock.next = self.rx_clock.val();
        self.rgmii.pads_rx_data.next = self.pads_rx_data.val();
        self.rgmii.pads_rx_control.next = self.pads_rx_control.val();
        self.receive.clock.next = self.rx_clock.val();
        FlowSource::<Bits<8>>::join(&mut self.rgmii.rx, &mut self.receive.sink);
        self.receive.in_error.next = self.rgmii.rx_error.val();
        Source::<MacBeat>::join(&mut self.receive.beat, &mut self.arrivals.sink);
        self.arrivals.write_clock.next = self.rx_clock.val();
        self.arrivals.read_clock.next = self.clock.val();
        self.arrivals.source.ready.next = true;
        self.control.clock.next = self.clock.val();
        self.control.reset.next = self.reset.val();
        self.control.station.next = self.station.val();
        self.control.beat.valid.next = self.arrivals.source.valid.val();
        self.control.beat.data.next = self.arrivals.source.data.val();
        FlowSource::<FrameBeat>::link(&mut self.rx, &mut self.control.rx);

        // Out: core, crossing, frames, pins.
        self.intake.clock.next = self.clock.val();
        self.intake.reset.next = self.reset.val();
        Sink::<FrameBeat>::link(&mut self.tx, &mut self.intake.tx);
        Source::<MacBeat>::join(&mut self.intake.beat, &mut self.departures.sink);
        self.departures.write_clock.next = self.clock.val();
        self.departures.read_clock.next = self.tx_clock.val();
        Source::<MacBeat>::join(&mut self.departures.source, &mut self.transmit.beat);
        self.transmit.clock.next = self.tx_clock.val();
        self.transmit.station.next = self.station.val();
        self.rgmii.tx_clock.next = self.tx_clock.val();
        self.rgmii.tx_data.next = self.transmit.out_data.val();
        self.rgmii.tx_enable.next = self.transmit.out_enable.val();
        self.rgmii.tx_error.next = self.transmit.out_error.val();
        self.pads_tx_clock.next = self.rgmii.pads_tx_clock.val();
        self.pads_tx_data.next = self.rgmii.pads_tx_data.val();
        self.pads_tx_control.next = self.rgmii.pads_tx_control.val();

        // Pauses.
        self.hold.in_clock.next = self.clock.val();
        FlowSource::<Bits<16>>::join(&mut self.control.pause, &mut self.hold.sink);
        self.hold.out_clock.next = self.tx_clock.val();
        FlowSource::<Bits<16>>::join(&mut self.hold.source, &mut self.transmit.hold);
        self.pause_kept.d.next = self.pause.val() & !self.reset.val();
        self.pause_crossing.clock.next = self.tx_clock.val();
        self.pause_crossing.in_data.next = self.pause_kept.q.val();
        self.transmit.pause.next = self.pause_crossing.out_data.val();

        // Status and counters.
        self.speed.next = self.receive.speed.val();
        clock!(self, clock, link_crossing, gigabit_crossing, duplex_crossing, counters);
        self.link_crossing.in_data.next = self.receive.link.val();
        self.gigabit_crossing.in_data.next = self.speed.val().get_bit(1);
        self.duplex_crossing.in_data.next = self.receive.duplex.val();
        self.link.next = self.link_crossing.out_data.val();
        self.gigabit.next = self.gigabit_crossing.out_data.val();
        self.duplex.next = self.duplex_crossing.out_data.val();
        self.sent.in_clock.next = self.tx_clock.val();
        FlowSource::<Bits<2>>::join(&mut self.transmit.outcome, &mut self.sent.sink);
        self.sent.out_clock.next = self.clock.val();
        self.events.next = bits::<16>(0);
        self.events.next = self.events.val().replace_bit(0, self.control.count_received.val());
        self.events.next = self.events.val().replace_bit(1, self.control.count_fcs.val());
        self.events.next = self.events.val().replace_bit(2, self.control.count_runt.val());
        self.events.next = self.events.val().replace_bit(3, self.control.count_long.val());
        self.events.next = self.events.val().replace_bit(4, self.control.count_coding.val());
        self.events.next = self.events.val().replace_bit(5, self.control.count_overrun.val());
        self.events.next = self.events.val().replace_bit(6, self.control.count_paused.val());
        self.count_sent.next =
            self.sent.source.valid.val() & (self.sent.source.data.val() == self.frame.val());
        if self.sent.source.valid.val() {
            self.events.next =
                self.events.val().replace_bit(8, self.sent.source.data.val() == self.frame.val());
            self.events.next =
                self.events.val().replace_bit(9, self.sent.source.data.val() == self.pause_frame.val());
            self.events.next =
                self.events.val().replace_bit(10, self.sent.source.data.val() == self.spoiled.val());
        }
        Pulse::link(&mut self.count_received, &mut self.control.count_received);
        self.counters.reset.next = self.reset.val();
        self.counters.events.next = self.events.val();
        Table::<Bits<4>, Bits<32>>::link(&mut self.counter, &mut self.counters.read);
    }
}
