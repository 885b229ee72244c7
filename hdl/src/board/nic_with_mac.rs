//! The NIC and its MAC: what stands between a PCIe endpoint and the pins of a PHY.
//!
//! ```text
//! tlp_*, credit, cfg ◄─►┌────────────┐◄─► pads
//!           time_now ──►│ NicWithMac │◄── rx_clock
//!   idle, *_deadline ◄──└────────────┘◄── tx_clock
//! ```
//! Contract: docs/architecture.md, "The top's ports", for the host's side; docs/boards.md, "The MAC", for the PHY's. Frames that the NIC
//! cannot take in time are held back by pause frames.
//!
//! Latency: the NIC's and the MAC's; the wires between them have none.
//!
//! Example: a packet of the host's stores a doorbell; the frame of that send leaves at `pads`.
//!
//! Tests: `sim/tests/rgmii.rs`: two of them with an Ethernet of the test's between.

use super::STATION;
use crate::edge::{Config, TlpCredits, TlpRx, TlpTx};
use crate::mac::{Mac, RgmiiPads};
use crate::nic::Nic;
use crate::prims::{Keep, LaneCount, Number};
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NicWithMac {
    /// Rising edge: the core's clock, 100 MHz on a board.
    pub clock: Signal<In, Clock>,
    /// Power-up reset, synchronous.
    pub reset: Signal<In, bool>,
    /// Packets from the host, through `PcieEndpoint`.
    pub tlp_rx: TlpRx,
    /// The host may start a non-posted request.
    pub tlp_rx_np_ready: Signal<Out, bool>,
    /// Packets to the host.
    pub tlp_tx: TlpTx,
    /// What may be sent to the host now, by the link partner's credits; from `PcieEndpoint`.
    pub credit: TlpCredits,
    /// The function's configuration space, from `PcieEndpoint`.
    pub cfg: Config,
    /// The function-level reset is done; it stays high until `cfg.function_reset` falls.
    pub function_reset_done: Signal<Out, bool>,
    /// The link is down, or in hot reset: everything is reset at once; from `PcieEndpoint`.
    pub link_down: Signal<In, bool>,
    /// Device time, ticks of 1.024 us, from `Ticks`; it wraps.
    pub time_now: Signal<In, Bits<32>>,
    /// Nothing is in flight and nothing waits; a simulator reads this and the deadlines.
    pub idle: Signal<Out, bool>,
    /// When the oldest read of host memory will have waited too long; given while there is one.
    pub read_deadline: FlowSource<Bits<32>>,
    /// When the first vector that rests may be sent again; given while one rests.
    pub interrupt_deadline: FlowSource<Bits<32>>,
    /// When the first VI's timer ends, or earlier; given while one runs.
    pub send_deadline: FlowSource<Bits<32>>,
    /// 125 MHz for the transmit side; on a board from `Pll`.
    pub tx_clock: Signal<In, Clock>,
    /// The PHY's clock.
    pub rx_clock: Signal<In, Clock>,
    /// The pins of the PHY.
    pub pads: RgmiiPads,
    nic: Nic,
    mac: Mac,
    rx_lanes: Keep,
    tx_lanes: LaneCount,
    station: Number<48, { STATION }>,
}

impl NicWithMac {
    /// With so many steps of 25 ps on the clock to the PHY, and on data and control from it.
    pub fn new(tx_steps: u8, rx_steps: u8) -> Self {
        Self { mac: Mac::new(tx_steps, rx_steps), ..Self::default() }
    }
}

impl Logic for NicWithMac {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, nic, mac);
        drive!(self, tx_clock => mac.tx_clock; rx_clock => mac.rx_clock; reset => nic.reset, mac.reset);

        // The host.
        TlpRx::link(&mut self.tlp_rx, &mut self.nic.tlp_rx);
        TlpTx::link(&mut self.tlp_tx, &mut self.nic.tlp_tx);
        TlpCredits::link(&mut self.credit, &mut self.nic.credit);
        Config::link(&mut self.cfg, &mut self.nic.cfg);
        FlowSource::<Bits<32>>::link(&mut self.read_deadline, &mut self.nic.read_deadline);
        FlowSource::<Bits<32>>::link(&mut self.interrupt_deadline, &mut self.nic.interrupt_deadline);
        FlowSource::<Bits<32>>::link(&mut self.send_deadline, &mut self.nic.send_deadline);
        drive!(self, nic.tlp_rx_np_ready => tlp_rx_np_ready; nic.function_reset_done => function_reset_done;
            link_down => nic.link_down; time_now => nic.time_now; nic.idle => idle);

        // Ethernet.
        RgmiiPads::link(&mut self.pads, &mut self.mac.pads);
        drive!(self, station => mac.station; nic.eth_rx_pause => mac.pause; mac.rx.valid => nic.eth_rx.valid;
            mac.rx.data.val().data => nic.eth_rx.data; mac.rx.data.val().last => nic.eth_rx.last;
            mac.rx.data.val().bad => nic.eth_rx.bad; mac.rx.data.val().count => rx_lanes.count;
            rx_lanes.keep => nic.eth_rx.keep; nic.eth_tx.keep => tx_lanes.keep;
            nic.eth_tx.valid => mac.tx.valid; mac.tx.ready => nic.eth_tx.ready);
        self.mac.counter.index.next = bits::<4>(0);
        fill!(self, mac.tx.data, nic.eth_tx.data => data; nic.eth_tx.last => last; tx_lanes.count => count;
            false => bad);
    }
}
