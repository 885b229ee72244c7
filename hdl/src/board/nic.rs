//! The NIC on a board, as far as it goes: Ethernet to the pins, PCIe to a [`Boundary`].
//!
//! ```text
//!  clock_in ──►┌──────────┐◄─► phy_*
//!  probe_in ──►│ NicBoard │──► probe_out
//!              └──────────┘
//! ```
//! Contract: **no working card yet.** The NIC and its MAC, a [`Card`], are whole; what is missing is the soft PCIe endpoint, and in its place
//! the boundary keeps the transaction layer's signals alive. Management of the PHY is left alone.
//!
//! Latency: none; wires, clock and reset.
//!
//! Example: `time_now` of the card goes up by one in 128 cycles.
//!
//! Tests: what is inside has its own; this is built by `viaduct-export board`.

use super::endpoint_edge::{EndpointGives, EndpointTakes, GIVEN, TAKEN, TAKEN_BESIDE};
use super::{Boundary, Card, Pll, Start, Wiring};
use crate::mac::RgmiiPads;
use crate::prims::Cast;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NicBoard {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The PHY's clock.
    pub phy_rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub phy: RgmiiPads,
    /// Reset of the PHY; low: the PHY is reset.
    pub phy_reset_n: Signal<Out, bool>,
    /// The bits that the boundary shifts into the core's inputs.
    pub probe_in: Signal<In, bool>,
    /// The signature of the core's outputs.
    pub probe_out: Signal<Out, bool>,
    pll: Pll,
    start: Start,
    card: Card,
    boundary: Boundary,
    /// Cycles of the tick under way; a tick of 1.024 us has 128.
    prescaler: DFF<Bits<7>>,
    /// Device time, in ticks.
    ticks: DFF<Bits<32>>,
    /// The core's inputs at the PCIe edge.
    given: Cast<Bits<GIVEN>, EndpointGives>,
    /// The core's outputs at the PCIe edge.
    taken: Signal<Local, EndpointTakes>,
    taken_bits: Cast<EndpointTakes, Bits<TAKEN_BESIDE>>,
}

impl NicBoard {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring) -> Self {
        Self {
            pll: Pll::new(wiring.oscillator),
            card: Card::new(wiring.tx_steps, wiring.rx_steps),
            ..Self::default()
        }
    }
}

impl Logic for NicBoard {
    #[hdl_gen]
    fn update(&mut self) {
        // Clocks and reset.
        self.pll.clock_in.next = self.clock_in.val();
        self.start.clock.next = self.pll.clock_out.val();
        self.start.locked.next = self.pll.locked.val();
        self.card.clock.next = self.pll.clock_out.val();
        self.card.tx_clock.next = self.pll.clock_out.val();
        self.card.rx_clock.next = self.phy_rx_clock.val();
        self.boundary.clock.next = self.pll.clock_out.val();
        self.prescaler.clock.next = self.pll.clock_out.val();
        self.ticks.clock.next = self.pll.clock_out.val();
        self.card.reset.next = self.start.core_reset.val();
        self.phy_reset_n.next = self.start.phy_reset_n.val();
        self.prescaler.d.next = self.prescaler.q.val() + 1;
        self.ticks.d.next = self.ticks.q.val();
        if self.prescaler.q.val() == bits::<7>(127) {
            self.ticks.d.next = self.ticks.q.val() + 1;
        }
        self.card.time_now.next = self.ticks.q.val();

        // Ethernet.
        RgmiiPads::link(&mut self.phy, &mut self.card.pads);

        // The place of the endpoint.
        self.boundary.probe_in.next = self.probe_in.val();
        self.probe_out.next = self.boundary.probe_out.val();
        self.given.from.next = self.boundary.to_core.val();
        self.card.tlp_rx.data.next = self.given.to.val().rx_data;
        self.card.tlp_rx.keep.next = self.given.to.val().rx_keep;
        self.card.tlp_rx.bar.next = self.given.to.val().rx_bar;
        self.card.tlp_rx.valid.next = self.given.to.val().rx_valid;
        self.card.tlp_rx.last.next = self.given.to.val().rx_last;
        self.card.tlp_tx.ready.next = self.given.to.val().tx_ready;
        self.card.credit.ph.next = self.given.to.val().ph;
        self.card.credit.pd.next = self.given.to.val().pd;
        self.card.credit.nph.next = self.given.to.val().nph;
        self.card.credit.ch.next = self.given.to.val().ch;
        self.card.credit.cd.next = self.given.to.val().cd;
        self.card.cfg.requester_id.next = self.given.to.val().requester_id;
        self.card.cfg.max_payload.next = self.given.to.val().max_payload;
        self.card.cfg.max_read.next = self.given.to.val().max_read;
        self.card.cfg.rcb.next = self.given.to.val().rcb;
        self.card.cfg.extended_tag.next = self.given.to.val().extended_tag;
        self.card.cfg.bus_master.next = self.given.to.val().bus_master;
        self.card.cfg.function_reset.next = self.given.to.val().function_reset;
        self.card.cfg.msix_enable.next = self.given.to.val().msix_enable;
        self.card.cfg.msix_mask.next = self.given.to.val().msix_mask;
        self.card.link_down.next = self.given.to.val().link_down;
        self.taken.next.tx_keep = self.card.tlp_tx.keep.val();
        self.taken.next.tx_class = self.card.tlp_tx.class.val();
        self.taken.next.tx_valid = self.card.tlp_tx.valid.val();
        self.taken.next.tx_last = self.card.tlp_tx.last.val();
        self.taken.next.rx_np_ready = self.card.tlp_rx_np_ready.val();
        self.taken.next.function_reset_done = self.card.function_reset_done.val();
        self.taken_bits.from.next = self.taken.val();
        self.boundary.from_core.next = bit_cast::<TAKEN, 64>(self.card.tlp_tx.data.val())
            | (bit_cast::<TAKEN, TAKEN_BESIDE>(self.taken_bits.to.val()) << 64);
    }
}
