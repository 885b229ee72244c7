//! Gives frames to the MAC, and shows a test bench the frames that turn round inside the NIC.
//!
//! ```text
//!                    beat ──►┌─────────────┐──► tx
//!    turns, turn_has_room ──►│ EthTransmit │──► watch
//!                            └─────────────┘
//! ```
//! Contract: a beat goes to `tx` in its cycle, with a mask in place of the number of its bytes. Of a beat that turns round inside, `beat`
//! has the same data but no `valid`. In its place `turns` says that egress offers the beat, and `turn_has_room` that the receive side
//! takes it; `watch` shows the beat.
//!
//! Latency: none; logic alone.
//!
//! Example: a frame's last beat has a count of 5: `tx.keep` is `00011111`.
//!
//! Tests: `tests/send/eth_transmit.rs`.

use crate::bus::FrameBeat;
use crate::edge::{EthTx, EthWatch};
use crate::prims::Keep;
use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EthTransmit {
    /// A beat of a frame, from `send/egress`.
    pub beat: Sink<FrameBeat>,
    /// The beat on show is offered to our own receive side, by `send/egress`.
    pub turns: Signal<In, bool>,
    /// Our own receive side, `receive/ingress`, has room for a beat that turns, and drives this.
    pub turn_has_room: Signal<In, bool>,
    /// Frames to the MAC.
    pub tx: EthTx,
    /// Frames that turn round inside, for test benches.
    pub watch: EthWatch,
    lanes: Keep,
}

impl Logic for EthTransmit {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, beat.data.val().count => lanes.count; tx.ready => beat.ready; beat.valid => tx.valid;
            beat.data.val().data => tx.data, watch.data; lanes.keep => tx.keep, watch.keep;
            beat.data.val().last => tx.last, watch.last; turns => watch.valid; turn_has_room => watch.ready);
    }
}
