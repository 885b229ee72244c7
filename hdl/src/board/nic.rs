//! The NIC on a board, without a PCIe endpoint: Ethernet goes to the pins, PCIe to a [`Boundary`].
//!
//! ```text
//!  clock_in ──►┌──────────┐◄─► phy_*
//!  probe_in ──►│ NicBoard │──► probe_out
//!              └──────────┘
//! ```
//! Contract: **no working card yet.** The NIC and its MAC, a [`Card`], are whole; what is missing is the soft PCIe endpoint, and in its
//! place the boundary keeps the transaction layer's signals alive. Management of the PHY is left alone.
//!
//! Latency: none; wires, clock and reset.
//!
//! Example: the core's clock is `Pll`'s of 107.1 MHz, and its MAC sends by the one of 125.
//!
//! The core runs at 107.1 MHz and not at 125: three placements of three then have more than 5 % to spare (docs/boards.md).
//!
//! Tests: what is inside has its own; this is built by `viaduct-export board`.

use super::endpoint_edge::{EndpointGives, EndpointTakes, GIVEN, TAKEN, TAKEN_BESIDE};
use super::{Boundary, Card, Pll, Start, Ticks, Wiring};
use crate::mac::RgmiiPads;
use crate::prims::Cast;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

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
    ticks: Ticks,
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
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        // Clocks and reset.
        drive!(self, clock_in => pll.clock_in;
            pll.core_clock_out => start.clock, card.clock, boundary.clock, ticks.clock;
            pll.clock_out => card.tx_clock; pll.locked => start.locked; phy_rx_clock => card.rx_clock;
            start.core_reset => card.reset; start.phy_reset_n => phy_reset_n; ticks.time_now => card.time_now);

        // Ethernet.
        RgmiiPads::link(&mut self.phy, &mut self.card.pads);

        // The place of the endpoint.
        drive!(self, probe_in => boundary.probe_in; boundary.probe_out => probe_out;
            boundary.to_core => given.from; given.to.val().rx_data => card.tlp_rx.data;
            given.to.val().rx_keep => card.tlp_rx.keep; given.to.val().rx_bar => card.tlp_rx.bar;
            given.to.val().rx_valid => card.tlp_rx.valid; given.to.val().rx_last => card.tlp_rx.last;
            given.to.val().tx_ready => card.tlp_tx.ready; given.to.val().ph => card.credit.ph;
            given.to.val().pd => card.credit.pd; given.to.val().nph => card.credit.nph;
            given.to.val().ch => card.credit.ch; given.to.val().cd => card.credit.cd;
            given.to.val().requester_id => card.cfg.requester_id;
            given.to.val().max_payload => card.cfg.max_payload; given.to.val().max_read => card.cfg.max_read;
            given.to.val().rcb => card.cfg.rcb; given.to.val().extended_tag => card.cfg.extended_tag;
            given.to.val().bus_master => card.cfg.bus_master;
            given.to.val().function_reset => card.cfg.function_reset;
            given.to.val().msix_enable => card.cfg.msix_enable;
            given.to.val().msix_mask => card.cfg.msix_mask; given.to.val().link_down => card.link_down);
        fill!(self, taken, card.tlp_tx.keep => tx_keep; card.tlp_tx.class => tx_class;
            card.tlp_tx.valid => tx_valid; card.tlp_tx.last => tx_last; card.tlp_rx_np_ready => rx_np_ready;
            card.function_reset_done => function_reset_done);
        self.taken_bits.from.next = self.taken.val();
        self.boundary.from_core.next = bit_cast::<TAKEN, 64>(self.card.tlp_tx.data.val())
            | (bit_cast::<TAKEN, TAKEN_BESIDE>(self.taken_bits.to.val()) << 64);
    }
}
