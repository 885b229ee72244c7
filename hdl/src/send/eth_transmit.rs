//! Frames to the MAC, and to whoever watches those that turn round inside.
//!
//! ```text
//!                    beat ──►┌─────────────┐──► tx
//!    turns, turn_has_room ──►│ EthTransmit │──► watch
//!                            └─────────────┘
//! ```
//! Contract: a beat goes to `tx` in its cycle, with a mask in place of the number of its bytes. A beat that turns round inside shows the same
//! data at `beat`, without its `valid`: `turns` says in its place that it is offered, and `turn_has_room` that the receive side takes it.
//! `watch` shows such a beat.
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

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EthTransmit {
    /// A beat of a frame, from `send/egress`.
    pub beat: Sink<FrameBeat>,
    /// The beat on show is offered to our own receive side, by `send/egress`.
    pub turns: Signal<In, bool>,
    /// Our own receive side, `receive/ingress`, has room for a beat that turns.
    pub turn_has_room: Signal<In, bool>,
    /// Frames to the MAC.
    pub tx: EthTx,
    /// Frames that turn round inside, for test benches.
    pub watch: EthWatch,
    lanes: Keep,
}

impl Logic for EthTransmit {
    #[hdl_gen]
    fn update(&mut self) {
        self.lanes.count.next = self.beat.data.val().count;
        self.beat.ready.next = self.tx.ready.val();
        self.tx.valid.next = self.beat.valid.val();
        self.tx.data.next = self.beat.data.val().data;
        self.tx.keep.next = self.lanes.keep.val();
        self.tx.last.next = self.beat.data.val().last;
        self.watch.valid.next = self.turns.val();
        self.watch.ready.next = self.turn_has_room.val();
        self.watch.data.next = self.beat.data.val().data;
        self.watch.keep.next = self.lanes.keep.val();
        self.watch.last.next = self.beat.data.val().last;
    }
}
