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

use super::{Boundary, Card, Pll, Start, Wiring};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NicBoard {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// RGMII: the clock to the PHY.
    pub phy_tx_clock: Signal<Out, Bits<1>>,
    /// RGMII: data to the PHY, four bits at each edge.
    pub phy_tx_data: Signal<Out, Bits<4>>,
    /// RGMII: control to the PHY.
    pub phy_tx_control: Signal<Out, Bits<1>>,
    /// RGMII: the PHY's clock.
    pub phy_rx_clock: Signal<In, Clock>,
    /// RGMII: data from the PHY, four bits at each edge.
    pub phy_rx_data: Signal<In, Bits<4>>,
    /// RGMII: control from the PHY.
    pub phy_rx_control: Signal<In, Bits<1>>,
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
    edge_in: Signal<Local, Bits<149>>,
    /// The core's outputs at the PCIe edge.
    edge_out: Signal<Local, Bits<72>>,
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
        self.card.pads_rx_data.next = self.phy_rx_data.val();
        self.card.pads_rx_control.next = self.phy_rx_control.val();
        self.phy_tx_clock.next = self.card.pads_tx_clock.val();
        self.phy_tx_data.next = self.card.pads_tx_data.val();
        self.phy_tx_control.next = self.card.pads_tx_control.val();

        // The place of the endpoint.
        self.boundary.probe_in.next = self.probe_in.val();
        self.probe_out.next = self.boundary.probe_out.val();
        self.edge_in.next = self.boundary.to_core.val();
        self.card.tlp_rx.data.next = self.edge_in.val().get_bits::<64>(0);
        self.card.tlp_rx.keep.next = self.edge_in.val().get_bits::<2>(64);
        self.card.tlp_rx.bar.next = self.edge_in.val().get_bits::<3>(66);
        self.card.tlp_rx.valid.next = self.edge_in.val().get_bit(69);
        self.card.tlp_rx.last.next = self.edge_in.val().get_bit(70);
        self.card.tlp_tx.ready.next = self.edge_in.val().get_bit(71);
        self.card.credit.ph.next = self.edge_in.val().get_bits::<8>(72);
        self.card.credit.pd.next = self.edge_in.val().get_bits::<12>(80);
        self.card.credit.nph.next = self.edge_in.val().get_bits::<8>(92);
        self.card.credit.ch.next = self.edge_in.val().get_bits::<8>(100);
        self.card.credit.cd.next = self.edge_in.val().get_bits::<12>(108);
        self.card.cfg.requester_id.next = self.edge_in.val().get_bits::<16>(120);
        self.card.cfg.max_payload.next = self.edge_in.val().get_bits::<3>(136);
        self.card.cfg.max_read.next = self.edge_in.val().get_bits::<3>(139);
        self.card.cfg.rcb.next = self.edge_in.val().get_bit(142);
        self.card.cfg.extended_tag.next = self.edge_in.val().get_bit(143);
        self.card.cfg.bus_master.next = self.edge_in.val().get_bit(144);
        self.card.cfg.function_reset.next = self.edge_in.val().get_bit(145);
        self.card.cfg.msix_enable.next = self.edge_in.val().get_bit(146);
        self.card.cfg.msix_mask.next = self.edge_in.val().get_bit(147);
        self.card.link_down.next = self.edge_in.val().get_bit(148);
        self.edge_out.next = bit_cast::<72, 64>(self.card.tlp_tx.data.val())
            | (bit_cast::<72, 2>(self.card.tlp_tx.keep.val()) << 64)
            | (bit_cast::<72, 2>(self.card.tlp_tx.class.val()) << 66);
        self.edge_out.next = self.edge_out.val().replace_bit(68, self.card.tlp_tx.valid.val());
        self.edge_out.next = self.edge_out.val().replace_bit(69, self.card.tlp_tx.last.val());
        self.edge_out.next = self.edge_out.val().replace_bit(70, self.card.tlp_rx_np_ready.val());
        self.edge_out.next = self.edge_out.val().replace_bit(71, self.card.function_reset_done.val());
        self.boundary.from_core.next = self.edge_out.val();
    }
}
