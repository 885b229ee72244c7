//! Moves the message of the VI on, as its order is carried out.
//!
//! ```text
//!      order, begins ──►┌──────────────┐──► moved
//!       places, done ──►│ MovedMessage │
//!   closes, received ──►└──────────────┘
//! ```
//! Contract: the block has no state. `moved` is the order's message in the next cycle. It stays as it is, except that
//!
//! * with `begins` a packet that starts a message (verdict Take) says where the message's bytes go and how many there are; nothing of
//!   such a message is received yet,
//! * with `places` the message goes on where scatter stopped; a write does not, its address moves on in [`Standing`](super::Standing),
//! * with `closes` the bytes of this packet are received.
//!
//! Latency: none.
//!
//! Example: the first packet of an RDMA write of 8192 bytes to address 4096: with `begins`, `moved` has the place 4096 and 8192 bytes left.
//!
//! Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

use super::super::contexts::{Message, SendPlace};
use super::super::job::ScatterDone;
use super::super::judge::Verdict;
use super::super::order::Order;
use crate::bus::FrameInfo;
use crate::prims::Cast;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct MovedMessage {
    /// The order under way; [`Delivery`](super::Delivery) drives this and the other inputs.
    pub order: Signal<In, Order>,
    /// Pulse: the order's verdict is acted on.
    pub begins: Signal<In, bool>,
    /// Pulse: scatter is done with a payload that the message brought.
    pub places: Signal<In, bool>,
    /// With `places`: how far scatter came.
    pub done: Signal<In, ScatterDone>,
    /// Pulse: the order is closed.
    pub closes: Signal<In, bool>,
    /// With `closes`: bytes of the message received so far, this packet's included.
    pub received: Signal<In, Bits<32>>,
    /// The message in the next cycle, for `Delivery`.
    pub moved: Signal<Out, Message>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    place: Cast<Bits<64>, SendPlace>,
    /// Where a send goes on.
    send_place: Cast<SendPlace, Bits<64>>,
}

impl Logic for MovedMessage {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, order.val().message => message; order.val().packet => packet;
            message.val().place => place.from);
        self.send_place.from.next = self.place.to.val();
        self.send_place.from.next.index = self.done.val().index;
        self.send_place.from.next.position = self.done.val().position;

        self.moved.next = self.message.val();
        if self.begins.val() {
            if (self.order.val().verdict == Verdict::Take) & !self.order.val().flush {
                self.moved.next.place = bits::<64>(0);
                if self.order.val().writes {
                    self.moved.next.place = self.packet.val().address;
                }
                self.moved.next.rkey = self.packet.val().rkey;
                self.moved.next.left = self.packet.val().size;
                self.moved.next.received = bits::<32>(0);
            }
            if !self.message.val().active {
                self.moved.next.received = bits::<32>(0);
            }
        }
        if self.places.val() & !self.order.val().writes {
            self.moved.next.place = self.send_place.to.val();
        }
        if self.closes.val() {
            // The far half is written a cycle later, and `received` has bits in both.
            self.moved.next.received = self.received.val();
        }
    }
}
