//! A station of an Ethernet that answers ARP and ping, from the pins of its PHY on.
//!
//! ```text
//!  station, address ──►┌──────┐◄─► pads
//!   clock, tx_clock ──►│ Echo │◄── rx_clock
//!            lights ◄──└──────┘◄─► bus
//! ```
//! Inside:
//!
//! ```text
//!          ┌─────┐ rx  ┌──────────┐ verdict, fields ┌──────────┐ tx
//!  pads ◄─►│ Mac │────►│ Question │────────────────►│ Answerer │────► Mac
//!          └─────┘  │  └──────────┘                 └──────────┘
//!                   └────────────────────────────────────▲        Finder ◄─► Mdio ◄─► bus
//! ```
//! [`Echo`] is all of it. [`Question`] tells which frames are ARP requests or pings for us, by [`ArpRequest`], [`PingRequest`] and
//! [`PingSums`]; [`Answerer`] keeps the frames and sends them back; [`Finder`] looks for the PHY.
//!
//! Contract: the block answers what [`Question`] takes for a question, in frames of up to 4224 bytes. At the line's rate it answers frames
//! of up to 1518 bytes, because two of the largest are more than it can keep. `lights` are for a person to look at.
//!
//! Latency: store and forward; about 50 cycles after the end of a question.
//!
//! Example: somebody pings `address`: `lights.received` goes on with the request and `lights.sent` with the answer, each for 67 ms.
//!
//! Tests: `tests/mac/echo.rs`, with frames that Scapy made.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod answerer;
mod arp_request;
mod beats;
mod finder;
mod ping_request;
mod ping_sums;
mod question;

pub use answerer::Answerer;
pub use arp_request::ArpRequest;
pub use beats::{SplitIp, Words};
pub use finder::Finder;
pub use ping_request::PingRequest;
pub use ping_sums::PingSums;
pub use question::{AnswerFields, Question};

use crate::bus::FrameBeat;
use crate::mac::{Mac, ManagementBus, Mdio, MdioCommand, MdioResult, RgmiiPads};
use crate::stream::{FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What a person may look at. A board with fewer lights has the first of them.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EchoLights {
    /// The PHY has a link: it says so on the management bus.
    pub link: bool,
    /// The PHY was found on that bus.
    pub found: bool,
    /// A good frame came in the last 67 ms.
    pub received: bool,
    /// A frame was sent in the last 67 ms.
    pub sent: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Echo {
    /// Rising edge, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, bool>,
    /// Our Ethernet address, first byte in bits 7:0; the board's top drives this and `address`.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
    /// 125 MHz for the transmit side.
    pub tx_clock: Signal<In, Clock>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub pads: RgmiiPads,
    /// The pins of the PHY's management.
    pub bus: ManagementBus,
    /// What a person may look at.
    pub lights: Signal<Out, EchoLights>,
    mac: Mac,
    question: Question,
    answerer: Answerer,
    mdio: Mdio,
    finder: Finder,
    /// Cycles for which `lights.received` stays on.
    received: DFF<Bits<23>>,
    /// Cycles for which `lights.sent` stays on.
    sent: DFF<Bits<23>>,
    /// `lights`.
    shown: DFF<EchoLights>,
}

impl Echo {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { mac: Mac::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for Echo {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, received, sent, shown);
        clock!(self, clock, mac, question, answerer, mdio, finder);
        drive!(self, reset => mac.reset, question.reset, answerer.reset, mdio.reset, finder.reset);

        drive!(self, tx_clock => mac.tx_clock; rx_clock => mac.rx_clock; station => mac.station);
        RgmiiPads::link(&mut self.pads, &mut self.mac.pads);
        self.mac.counter.index.next = bits::<4>(0);

        drive!(self, station => question.station, answerer.station;
            address => question.address, answerer.address; question.fields => answerer.fields;
            answerer.pause => mac.pause);
        join!(self, FlowSource<FrameBeat>, mac.rx => question.rx; mac.rx => answerer.rx);
        join!(self, FlowSource<bool>, question.verdict => answerer.verdict);
        join!(self, Source<FrameBeat>, answerer.tx => mac.tx);

        join!(self, Source<MdioCommand>, finder.command => mdio.command);
        join!(self, FlowSource<MdioResult>, mdio.done => finder.done);
        ManagementBus::link(&mut self.bus, &mut self.mdio.bus);

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
        self.shown.d.next.link = self.finder.link.val();
        self.shown.d.next.found = self.finder.found.val();
        self.shown.d.next.received = self.received.q.val().any();
        self.shown.d.next.sent = self.sent.q.val().any();
        self.lights.next = self.shown.q.val();
        if self.reset.val() {
            self.received.d.next = bits::<23>(0);
            self.sent.d.next = bits::<23>(0);
        }
    }
}
