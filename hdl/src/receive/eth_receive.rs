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
    #[hdl_gen]
    fn update(&mut self) {
        self.lanes.keep.next = self.rx.keep.val();
        self.beat.valid.next = self.rx.valid.val();
        self.beat.data.next.data = self.rx.data.val();
        self.beat.data.next.count = self.lanes.count.val();
        self.beat.data.next.last = self.rx.last.val();
        self.beat.data.next.bad = self.rx.bad.val();
    }
}
