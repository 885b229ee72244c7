//! The NIC and its MAC: what stands between a PCIe endpoint and the pins of a PHY.
//!
//! ```text
//!  tlp_*, credit_*, cfg_* ◄─►┌──────┐──► pads_tx_*
//!                time_now ──►│ Card │◄── rx_clock, pads_rx_*
//!        idle, *_deadline ◄──└──────┘◄── tx_clock
//! ```
//! Contract: docs/architecture.md, "The top's ports", for the host's side; docs/boards.md, "The MAC", for the PHY's. Frames that the NIC
//! cannot take in time are held back by pause frames.
//!
//! Latency: the NIC's and the MAC's; the wires between them have none.
//!
//! Tests: `sim/tests/rgmii.rs`: two of them with an Ethernet of the test's between.

use super::STATION;
use crate::mac::Mac;
use crate::nic::Nic;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Card {
    /// Rising edge, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, bool>,
    /// A beat from the host.
    pub tlp_rx_valid: Signal<In, bool>,
    /// Two double words.
    pub tlp_rx_data: Signal<In, Bits<64>>,
    /// Which are there: 01 or 11.
    pub tlp_rx_keep: Signal<In, Bits<2>>,
    /// Last beat of the packet.
    pub tlp_rx_last: Signal<In, bool>,
    /// BAR that a request hits: 0 or 2.
    pub tlp_rx_bar: Signal<In, Bits<3>>,
    /// A non-posted request may be started.
    pub tlp_rx_np_ready: Signal<Out, bool>,

    /// A beat to the host.
    pub tlp_tx_valid: Signal<Out, bool>,
    /// It is taken.
    pub tlp_tx_ready: Signal<In, bool>,
    /// Two double words.
    pub tlp_tx_data: Signal<Out, Bits<64>>,
    /// Which are there: 01 or 11.
    pub tlp_tx_keep: Signal<Out, Bits<2>>,
    /// Last beat of the packet.
    pub tlp_tx_last: Signal<Out, bool>,
    /// `viaduct_spec::tlp::class` of the packet.
    pub tlp_tx_class: Signal<Out, Bits<2>>,
    /// Posted headers that may be sent now.
    pub credit_ph: Signal<In, Bits<8>>,
    /// Posted data, units of 16 bytes.
    pub credit_pd: Signal<In, Bits<12>>,
    /// Non-posted headers.
    pub credit_nph: Signal<In, Bits<8>>,
    /// Completion headers.
    pub credit_ch: Signal<In, Bits<8>>,
    /// Completion data, units of 16 bytes.
    pub credit_cd: Signal<In, Bits<12>>,

    /// Own bus, device and function number.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// MaxPayload, 128 << n bytes.
    pub cfg_max_payload: Signal<In, Bits<3>>,
    /// MaxReadRequest, 128 << n bytes.
    pub cfg_max_read: Signal<In, Bits<3>>,
    /// Read completion boundary, 1 = 128 bytes: not looked at, our own completions are of 8 bytes at most.
    pub cfg_rcb: Signal<In, bool>,
    /// 8-bit tags are allowed.
    pub cfg_extended_tag: Signal<In, bool>,
    /// Memory requests may be sent.
    pub cfg_bus_master: Signal<In, bool>,
    /// Function-level reset.
    pub cfg_function_reset: Signal<In, bool>,
    /// It is done.
    pub function_reset_done: Signal<Out, bool>,
    /// The link is down, or in hot reset.
    pub link_down: Signal<In, bool>,
    /// MSI-X is enabled.
    pub cfg_msix_enable: Signal<In, bool>,
    /// All vectors are masked.
    pub cfg_msix_mask: Signal<In, bool>,
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// Nothing is in flight and nothing waits.
    pub idle: Signal<Out, bool>,
    /// A read of host memory waits for its completions.
    pub read_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub read_deadline: Signal<Out, Bits<32>>,
    /// A vector rests.
    pub interrupt_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub interrupt_deadline: Signal<Out, Bits<32>>,
    /// A VI waits for an acknowledgement, or to send again.
    pub send_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub send_deadline: Signal<Out, Bits<32>>,
    /// 125 MHz for the way out to the PHY.
    pub tx_clock: Signal<In, Clock>,
    /// Clock to the PHY.
    pub pads_tx_clock: Signal<Out, Bits<1>>,
    /// Data to the PHY.
    pub pads_tx_data: Signal<Out, Bits<4>>,
    /// Control to the PHY.
    pub pads_tx_control: Signal<Out, Bits<1>>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// Data from the PHY.
    pub pads_rx_data: Signal<In, Bits<4>>,
    /// Control from the PHY.
    pub pads_rx_control: Signal<In, Bits<1>>,
    nic: Nic,
    mac: Mac,
    missing: Signal<Local, Bits<4>>,
    lanes: Signal<Local, Bits<8>>,
    eight: Number<4, 8>,
    all_lanes: Number<8, 0xff>,
    station: Number<48, { STATION }>,
}

impl Card {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { mac: Mac::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for Card {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, nic, mac);
        self.mac.tx_clock.next = self.tx_clock.val();
        self.mac.rx_clock.next = self.rx_clock.val();
        self.nic.reset.next = self.reset.val();
        self.mac.reset.next = self.reset.val();

        // The host.
        self.nic.tlp_rx_valid.next = self.tlp_rx_valid.val();
        self.nic.tlp_rx_data.next = self.tlp_rx_data.val();
        self.nic.tlp_rx_keep.next = self.tlp_rx_keep.val();
        self.nic.tlp_rx_last.next = self.tlp_rx_last.val();
        self.nic.tlp_rx_bar.next = self.tlp_rx_bar.val();
        self.tlp_rx_np_ready.next = self.nic.tlp_rx_np_ready.val();
        self.tlp_tx_valid.next = self.nic.tlp_tx_valid.val();
        self.nic.tlp_tx_ready.next = self.tlp_tx_ready.val();
        self.tlp_tx_data.next = self.nic.tlp_tx_data.val();
        self.tlp_tx_keep.next = self.nic.tlp_tx_keep.val();
        self.tlp_tx_last.next = self.nic.tlp_tx_last.val();
        self.tlp_tx_class.next = self.nic.tlp_tx_class.val();
        self.nic.credit_ph.next = self.credit_ph.val();
        self.nic.credit_pd.next = self.credit_pd.val();
        self.nic.credit_nph.next = self.credit_nph.val();
        self.nic.credit_ch.next = self.credit_ch.val();
        self.nic.credit_cd.next = self.credit_cd.val();
        self.nic.cfg_requester_id.next = self.cfg_requester_id.val();
        self.nic.cfg_max_payload.next = self.cfg_max_payload.val();
        self.nic.cfg_max_read.next = self.cfg_max_read.val();
        self.nic.cfg_rcb.next = self.cfg_rcb.val();
        self.nic.cfg_extended_tag.next = self.cfg_extended_tag.val();
        self.nic.cfg_bus_master.next = self.cfg_bus_master.val();
        self.nic.cfg_function_reset.next = self.cfg_function_reset.val();
        self.function_reset_done.next = self.nic.function_reset_done.val();
        self.nic.link_down.next = self.link_down.val();
        self.nic.cfg_msix_enable.next = self.cfg_msix_enable.val();
        self.nic.cfg_msix_mask.next = self.cfg_msix_mask.val();
        self.nic.time_now.next = self.time_now.val();
        self.idle.next = self.nic.idle.val();
        self.read_deadline_valid.next = self.nic.read_deadline_valid.val();
        self.read_deadline.next = self.nic.read_deadline.val();
        self.interrupt_deadline_valid.next = self.nic.interrupt_deadline_valid.val();
        self.interrupt_deadline.next = self.nic.interrupt_deadline.val();
        self.send_deadline_valid.next = self.nic.send_deadline_valid.val();
        self.send_deadline.next = self.nic.send_deadline.val();

        // Ethernet.
        self.mac.pads_rx_data.next = self.pads_rx_data.val();
        self.mac.pads_rx_control.next = self.pads_rx_control.val();
        self.pads_tx_clock.next = self.mac.pads_tx_clock.val();
        self.pads_tx_data.next = self.mac.pads_tx_data.val();
        self.pads_tx_control.next = self.mac.pads_tx_control.val();
        self.mac.station.next = self.station.val();
        self.mac.counter.index.next = bits::<4>(0);
        self.mac.pause.next = self.nic.eth_rx_pause.val();
        self.nic.eth_rx_valid.next = self.mac.rx.valid.val();
        self.nic.eth_rx_data.next = self.mac.rx.data.val().data;
        self.nic.eth_rx_last.next = self.mac.rx.data.val().last;
        self.nic.eth_rx_bad.next = self.mac.rx.data.val().bad;
        self.missing.next = self.eight.val() - self.mac.rx.data.val().count;
        self.nic.eth_rx_keep.next = self.all_lanes.val() >> self.missing.val();
        self.mac.tx.valid.next = self.nic.eth_tx_valid.val();
        self.nic.eth_tx_ready.next = self.mac.tx.ready.val();
        self.mac.tx.data.next.data = self.nic.eth_tx_data.val();
        self.mac.tx.data.next.last = self.nic.eth_tx_last.val();
        self.mac.tx.data.next.bad = false;
        self.lanes.next = self.nic.eth_tx_keep.val();
        self.mac.tx.data.next.count = bits::<4>(8);
        if !self.lanes.val().get_bit(7) {
            self.mac.tx.data.next.count = bits::<4>(7);
        }
        if !self.lanes.val().get_bit(6) {
            self.mac.tx.data.next.count = bits::<4>(6);
        }
        if !self.lanes.val().get_bit(5) {
            self.mac.tx.data.next.count = bits::<4>(5);
        }
        if !self.lanes.val().get_bit(4) {
            self.mac.tx.data.next.count = bits::<4>(4);
        }
        if !self.lanes.val().get_bit(3) {
            self.mac.tx.data.next.count = bits::<4>(3);
        }
        if !self.lanes.val().get_bit(2) {
            self.mac.tx.data.next.count = bits::<4>(2);
        }
        if !self.lanes.val().get_bit(1) {
            self.mac.tx.data.next.count = bits::<4>(1);
        }
    }
}
