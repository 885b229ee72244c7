//! Says what came of an order whose payload scatter has placed, or could not place.
//!
//! ```text
//!  order ──►┌───────────┐
//!   done ──►│ Placement │──► came
//!           └───────────┘
//! ```
//! Contract: the block has no state; `came` is right in the cycle in which `done` is. An RDMA write that could not be placed is Denied,
//! whatever the reason; a send is TooLong, Refused or Failed. In each of these cases the message is lost.
//!
//! Example: scatter finds the receive's segments full while it places a send: `came` is TooLong, fails, and consumes the receive.
//!
//! Latency: none. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

use crate::receive::ahead::AheadMeta;
use crate::receive::contexts::Peer;
use crate::receive::job::{ScatterDone, ScatterResult};
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Placement {
    /// The order; `Delivery` drives both inputs.
    pub order: Signal<In, Order>,
    /// How scatter's job ended.
    pub done: Signal<In, ScatterDone>,
    /// What came of the order, for `Delivery`.
    pub came: Signal<Out, Came>,
    peer: Signal<Local, Peer>,
    receive: Signal<Local, AheadMeta>,
}

impl Logic for Placement {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, order.val().peer => peer; order.val().receive => receive);
        // WQ-2: a segment's error is found when its bytes move.
        self.came.next.situation = Situation::Failed;
        if self.done.val().result == ScatterResult::Refused {
            self.came.next.situation = Situation::Refused;
        }
        if self.done.val().result == ScatterResult::TooLong {
            self.came.next.situation = Situation::TooLong;
        }
        self.came.next.consumes = true;
        if self.order.val().writes {
            self.came.next.situation = Situation::Denied;
            self.came.next.consumes =
                self.order.val().immediate & self.order.val().present & !self.receive.val().lost;
        }
        // UNR-4: an unreliable VI goes on behind what it has lost.
        self.came.next.fails = true;
        self.came.next.advances = !self.peer.val().reliable;
        if self.done.val().result == ScatterResult::Placed {
            self.came.next.situation = Situation::Placed;
            self.came.next.consumes =
                self.order.val().ends & (!self.order.val().writes | self.order.val().immediate);
            self.came.next.fails = false;
            self.came.next.advances = true;
        }
    }
}
