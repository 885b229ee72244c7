//! A station of an Ethernet that answers ARP and ping, from the pins of its PHY on.
//!
//! ```text
//!  station, address ──►┌──────┐──► pads_tx_*
//!    clock, tx_clock ─►│ Echo │◄── rx_clock, pads_rx_*
//!            lights ◄──└──────┘◄─► mdc, mdio_*
//! ```
//! Contract: answers what [`Question`] takes for a question, with frames of up to 4224 bytes, and of up to 1518
//! at the line's rate, two of the largest being more than it keeps. `lights`: bit 0 the PHY
//! has a link (it says so on the management bus), 1 the PHY was found there, 2 a good frame came in the last 67 ms, 3 one was sent.
//!
//! Latency: store and forward; about 50 cycles behind the end of a question.
//!
//! Example: somebody pings `address`: light 2 goes on with the request and light 3 with the answer, each for 67 ms.
//!
//! Tests: `tests/mac/echo.rs`, with frames that Scapy made.

use super::{Answer, Finder, Question};
use crate::bus::FrameBeat;
use crate::mac::{Mac, Mdio};
use crate::stream::{FlowSource, Source};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Echo {
    /// Rising edge, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, bool>,
    /// Our Ethernet address, first byte in bits 7:0.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
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
    /// The clock of the management bus.
    pub mdc: Signal<Out, bool>,
    /// The management bus's bit to the PHY.
    pub mdio_out: Signal<Out, bool>,
    /// The pin drives `mdio_out`.
    pub mdio_enable: Signal<Out, bool>,
    /// The management bus's bit from the PHY.
    pub mdio_in: Signal<In, bool>,
    /// What a person may look at: see the contract.
    pub lights: Signal<Out, Bits<4>>,
    mac: Mac,
    question: Question,
    answer: Answer,
    mdio: Mdio,
    finder: Finder,
    /// Cycles for which light 2 stays on.
    received: DFF<Bits<23>>,
    /// Cycles for which light 3 stays on.
    sent: DFF<Bits<23>>,
    /// `lights`.
    shown: DFF<Bits<4>>,
}

impl Echo {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { mac: Mac::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for Echo {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, received, sent, shown);
        clock!(self, clock, mac, question, answer, mdio, finder);
        self.mac.reset.next = self.reset.val();
        self.question.reset.next = self.reset.val();
        self.answer.reset.next = self.reset.val();
        self.mdio.reset.next = self.reset.val();
        self.finder.reset.next = self.reset.val();

        self.mac.tx_clock.next = self.tx_clock.val();
        self.pads_tx_clock.next = self.mac.pads_tx_clock.val();
        self.pads_tx_data.next = self.mac.pads_tx_data.val();
        self.pads_tx_control.next = self.mac.pads_tx_control.val();
        self.mac.rx_clock.next = self.rx_clock.val();
        self.mac.pads_rx_data.next = self.pads_rx_data.val();
        self.mac.pads_rx_control.next = self.pads_rx_control.val();
        self.mac.station.next = self.station.val();
        self.mac.counter.index.next = bits::<4>(0);

        self.question.station.next = self.station.val();
        self.question.address.next = self.address.val();
        FlowSource::<FrameBeat>::join(&mut self.mac.rx, &mut self.question.rx);
        self.answer.station.next = self.station.val();
        self.answer.address.next = self.address.val();
        FlowSource::<FrameBeat>::join(&mut self.mac.rx, &mut self.answer.rx);
        self.answer.decided.next = self.question.decided.val();
        self.answer.keep.next = self.question.keep.val();
        self.answer.asked.next = self.question.asked.val();
        self.mac.pause.next = self.answer.pause.val();
        Source::<FrameBeat>::join(&mut self.answer.tx, &mut self.mac.tx);

        self.mdio.command_valid.next = self.finder.command_valid.val();
        self.mdio.write.next = false;
        self.mdio.phy.next = self.finder.address.val();
        self.mdio.phy_register.next = self.finder.phy_register.val();
        self.mdio.data.next = bits::<16>(0);
        self.mdio.mdio_in.next = self.mdio_in.val();
        self.finder.command_ready.next = self.mdio.command_ready.val();
        self.finder.done.next = self.mdio.done.val();
        self.finder.value.next = self.mdio.value.val();
        self.finder.answered.next = self.mdio.answered.val();
        self.mdc.next = self.mdio.mdc.val();
        self.mdio_out.next = self.mdio.mdio_out.val();
        self.mdio_enable.next = self.mdio.mdio_enable.val();

        if self.received.q.val().any() {
            self.received.d.next = self.received.q.val() - 1;
        }
        if self.mac.count_received.val() {
            self.received.d.next = bits::<23>(0x7f_ffff);
        }
        if self.sent.q.val().any() {
            self.sent.d.next = self.sent.q.val() - 1;
        }
        if self.mac.count_sent.val() {
            self.sent.d.next = bits::<23>(0x7f_ffff);
        }
        self.shown.d.next = self.shown.q.val().replace_bit(0, self.finder.link.val());
        self.shown.d.next = self.shown.d.val().replace_bit(1, self.finder.found.val());
        self.shown.d.next = self.shown.d.val().replace_bit(2, self.received.q.val().any());
        self.shown.d.next = self.shown.d.val().replace_bit(3, self.sent.q.val().any());
        self.lights.next = self.shown.q.val();
        if self.reset.val() {
            self.received.d.next = bits::<23>(0);
            self.sent.d.next = bits::<23>(0);
        }
    }
}
