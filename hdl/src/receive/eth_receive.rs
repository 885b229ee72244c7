//! Frames from the MAC, as the beats that the NIC works with.
//!
//! ```text
//!   rx ──►┌────────────┐──► beat
//!         │ EthReceive │
//!         └────────────┘
//! ```
//! Contract: each beat of `rx` is given in its cycle, with the number of its bytes in place of `keep`.
//!
//! Latency: none; logic alone.
//!
//! Example: `rx.keep` is `00011111` in a frame's last beat: the beat has a count of 5.
//!
//! Tests: `tests/receive/eth_receive.rs`.

use crate::bus::FrameBeat;
use crate::edge::EthRx;
use crate::prims::LaneCount;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EthReceive {
    /// Frames from the MAC.
    pub rx: EthRx,
    /// A beat of a frame, to [`Ingress`](super::Ingress).
    pub beat: FlowSource<FrameBeat>,
    lanes: LaneCount,
}

impl Logic for EthReceive {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, rx.keep => lanes.keep; rx.valid => beat.valid);
        fill!(self, beat.data, rx.data => data; lanes.count => count; rx.last => last; rx.bad => bad);
    }
}
