//! The NIC on a board, as far as it goes: Ethernet to the pins, PCIe to a [`Boundary`].
//!
//! ```text
//!  clock_in ──►┌──────────┐◄─► phy_*
//!  probe_in ──►│ NicBoard │──► probe_out
//!              └──────────┘
//! ```
//! Contract: **no working card yet.** The NIC and its MAC are whole; what is missing is the soft PCIe endpoint, and in its place
//! the boundary keeps the transaction layer's signals alive. Management of the PHY is left alone.
//!
//! Latency: none; wires, clock and reset.
//!
//! Tests: what is inside has its own; this is built by `viaduct-export board`.

use super::{Boundary, Pll, Start, Wiring, STATION};
use crate::mac::Mac;
use crate::nic::Nic;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NicBoard {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// RGMII.
    pub phy_tx_clock: Signal<Out, Bits<1>>,
    /// RGMII.
    pub phy_tx_data: Signal<Out, Bits<4>>,
    /// RGMII.
    pub phy_tx_control: Signal<Out, Bits<1>>,
    /// RGMII.
    pub phy_rx_clock: Signal<In, Clock>,
    /// RGMII.
    pub phy_rx_data: Signal<In, Bits<4>>,
    /// RGMII.
    pub phy_rx_control: Signal<In, Bits<1>>,
    /// Reset of the PHY.
    pub phy_reset_n: Signal<Out, bool>,
    /// The boundary's way in.
    pub probe_in: Signal<In, bool>,
    /// And out.
    pub probe_out: Signal<Out, bool>,
    pll: Pll,
    start: Start,
    mac: Mac,
    nic: Nic,
    boundary: Boundary,
    /// Ticks of 1.024 us: 128 cycles.
    prescaler: DFF<Bits<7>>,
    ticks: DFF<Bits<32>>,
    edge_in: Signal<Local, Bits<148>>,
    edge_out: Signal<Local, Bits<105>>,
    missing: Signal<Local, Bits<4>>,
    lanes: Signal<Local, Bits<8>>,
    eight: Number<4, 8>,
    all_lanes: Number<8, 0xff>,
    station: Number<48, { STATION }>,
}

impl NicBoard {
    /// For a board that is wired so.
    pub fn new(wiring: Wiring) -> Self {
        Self {
            pll: Pll::new(wiring.oscillator),
            mac: Mac::new(wiring.tx_steps, wiring.rx_steps),
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
        self.mac.clock.next = self.pll.clock_out.val();
        self.mac.tx_clock.next = self.pll.clock_out.val();
        self.mac.rx_clock.next = self.phy_rx_clock.val();
        self.nic.clock.next = self.pll.clock_out.val();
        self.boundary.clock.next = self.pll.clock_out.val();
        self.prescaler.clock.next = self.pll.clock_out.val();
        self.ticks.clock.next = self.pll.clock_out.val();
        self.mac.reset.next = self.start.core_reset.val();
        self.nic.reset.next = self.start.core_reset.val();
        self.phy_reset_n.next = self.start.phy_reset_n.val();
        self.prescaler.d.next = self.prescaler.q.val() + 1;
        self.ticks.d.next = self.ticks.q.val();
        if self.prescaler.q.val() == bits::<7>(127) {
            self.ticks.d.next = self.ticks.q.val() + 1;
        }
        self.nic.time_now.next = self.ticks.q.val();

        // Ethernet.
        self.mac.pads_rx_data.next = self.phy_rx_data.val();
        self.mac.pads_rx_control.next = self.phy_rx_control.val();
        self.phy_tx_clock.next = self.mac.pads_tx_clock.val();
        self.phy_tx_data.next = self.mac.pads_tx_data.val();
        self.phy_tx_control.next = self.mac.pads_tx_control.val();
        self.mac.station.next = self.station.val();
        self.mac.counter_row.next = bits::<4>(0);
        self.mac.pause.next = self.nic.eth_rx_pause.val();
        self.nic.eth_rx_valid.next = self.mac.rx_valid.val();
        self.nic.eth_rx_data.next = self.mac.rx.val().data;
        self.nic.eth_rx_last.next = self.mac.rx.val().last;
        self.nic.eth_rx_bad.next = self.mac.rx.val().bad;
        self.missing.next = self.eight.val() - self.mac.rx.val().count;
        self.nic.eth_rx_keep.next = self.all_lanes.val() >> self.missing.val();
        self.mac.tx_valid.next = self.nic.eth_tx_valid.val();
        self.nic.eth_tx_ready.next = self.mac.tx_ready.val();
        self.mac.tx.next.data = self.nic.eth_tx_data.val();
        self.mac.tx.next.last = self.nic.eth_tx_last.val();
        self.mac.tx.next.bad = false;
        self.lanes.next = self.nic.eth_tx_keep.val();
        self.mac.tx.next.count = bits::<4>(8);
        if !self.lanes.val().get_bit(7) {
            self.mac.tx.next.count = bits::<4>(7);
        }
        if !self.lanes.val().get_bit(6) {
            self.mac.tx.next.count = bits::<4>(6);
        }
        if !self.lanes.val().get_bit(5) {
            self.mac.tx.next.count = bits::<4>(5);
        }
        if !self.lanes.val().get_bit(4) {
            self.mac.tx.next.count = bits::<4>(4);
        }
        if !self.lanes.val().get_bit(3) {
            self.mac.tx.next.count = bits::<4>(3);
        }
        if !self.lanes.val().get_bit(2) {
            self.mac.tx.next.count = bits::<4>(2);
        }
        if !self.lanes.val().get_bit(1) {
            self.mac.tx.next.count = bits::<4>(1);
        }

        // The place of the endpoint.
        self.boundary.probe_in.next = self.probe_in.val();
        self.probe_out.next = self.boundary.probe_out.val();
        self.edge_in.next = self.boundary.to_core.val();
        self.nic.tlp_rx_data.next = self.edge_in.val().get_bits::<64>(0);
        self.nic.tlp_rx_keep.next = self.edge_in.val().get_bits::<2>(64);
        self.nic.tlp_rx_bar.next = self.edge_in.val().get_bits::<3>(66);
        self.nic.tlp_rx_valid.next = self.edge_in.val().get_bit(69);
        self.nic.tlp_rx_last.next = self.edge_in.val().get_bit(70);
        self.nic.tlp_tx_ready.next = self.edge_in.val().get_bit(71);
        self.nic.credit_ph.next = self.edge_in.val().get_bits::<8>(72);
        self.nic.credit_pd.next = self.edge_in.val().get_bits::<12>(80);
        self.nic.credit_nph.next = self.edge_in.val().get_bits::<8>(92);
        self.nic.credit_ch.next = self.edge_in.val().get_bits::<8>(100);
        self.nic.credit_cd.next = self.edge_in.val().get_bits::<12>(108);
        self.nic.cfg_requester_id.next = self.edge_in.val().get_bits::<16>(120);
        self.nic.cfg_max_payload.next = self.edge_in.val().get_bits::<3>(136);
        self.nic.cfg_max_read.next = self.edge_in.val().get_bits::<3>(139);
        self.nic.cfg_rcb.next = self.edge_in.val().get_bit(142);
        self.nic.cfg_extended_tag.next = self.edge_in.val().get_bit(143);
        self.nic.cfg_bus_master.next = self.edge_in.val().get_bit(144);
        self.nic.cfg_function_reset.next = self.edge_in.val().get_bit(145);
        self.nic.cfg_msix_enable.next = self.edge_in.val().get_bit(146);
        self.nic.cfg_msix_mask.next = self.edge_in.val().get_bit(147);
        self.edge_out.next = bit_cast::<105, 64>(self.nic.tlp_tx_data.val())
            | (bit_cast::<105, 2>(self.nic.tlp_tx_keep.val()) << 64)
            | (bit_cast::<105, 2>(self.nic.tlp_tx_class.val()) << 66)
            | (bit_cast::<105, 32>(self.nic.deadline.val()) << 68);
        self.edge_out.next = self.edge_out.val().replace_bit(100, self.nic.tlp_tx_valid.val());
        self.edge_out.next = self.edge_out.val().replace_bit(101, self.nic.tlp_tx_last.val());
        self.edge_out.next = self.edge_out.val().replace_bit(102, self.nic.tlp_rx_np_ready.val());
        self.edge_out.next = self.edge_out.val().replace_bit(103, self.nic.idle.val());
        self.edge_out.next = self.edge_out.val().replace_bit(104, self.nic.deadline_valid.val());
        self.boundary.from_core.next = self.edge_out.val();
    }
}
