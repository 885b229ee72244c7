//! Puts together what is told of an order when it closes: a completion, an acknowledgement, a fault.
//!
//! ```text
//!    order, came ──►┌────────┐
//!  ending, after ──►│ Report │──► close
//!                   └────────┘
//! ```
//! Contract: docs/semantics.md, "Reliable service: the responder (RSP)". The descriptor's Length is what arrived of its message. The
//! acknowledgement's PSN is the newest one executed, or the one expected.
//!
//! Example: a message of 8 bytes in the packet with PSN 100 ends a receive. The completion in `close` writes Length 8 to the descriptor, and
//! acknowledges PSN 100 if the packet asks for that.
//!
//! Latency: none, no state. Tests: with the path, `tests/receive/path/`, `tests/receive/write/`.

use super::outcome::Ending;
use crate::bus::{Completion, FrameInfo};
use crate::prims::Number;
use crate::receive::ahead::AheadMeta;
use crate::receive::closing::Close;
use crate::receive::contexts::Message;
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Report {
    /// The order; `Delivery` drives this and the other inputs.
    pub order: Signal<In, Order>,
    /// What came of the order.
    pub came: Signal<In, Came>,
    /// How the order ends, from `Outcome`.
    pub ending: Signal<In, Ending>,
    /// Where the VI stands behind the order, from `Standing`.
    pub after: Signal<In, Message>,
    /// What is left of the order when it closes; the VI in its completion is valid in any case.
    pub close: Signal<Out, Close>,
    situation: Signal<Local, Situation>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    receive: Signal<Local, AheadMeta>,
    completion: Signal<Local, Completion>,
    one_back: Signal<Local, Bits<1>>,
    answered_psn: Signal<Local, Bits<24>>,
    status: Signal<Local, Bits<20>>,
    status_receive: Number<20, { (status::DONE | status::OP_RECEIVE) as u64 }>,
    status_write: Number<20, { (status::DONE | status::OP_REMOTE_RDMA_WRITE) as u64 }>,
    status_immediate: Number<20, { status::IMMEDIATE as u64 }>,
}

impl Logic for Report {
    #[hdl_gen]
    fn update(&mut self) {
        self.situation.next = self.came.val().situation;
        self.message.next = self.order.val().message;
        self.packet.next = self.order.val().packet;
        self.receive.next = self.order.val().receive;
        // What is placed or refused is the PSN expected; what is said again lies before it.
        self.one_back.next = bits::<1>(0);
        if (self.situation.val() == Situation::Behind) | (self.situation.val() == Situation::Over) {
            self.one_back.next = bits::<1>(1);
        }
        self.answered_psn.next = self.message.val().psn - bit_cast::<24, 1>(self.one_back.val());
        self.completion.next.vi = self.order.val().vi;
        self.completion.next.receive = true;
        self.completion.next.write = self.ending.val().write;
        self.completion.next.region = self.receive.val().region;
        self.completion.next.offset = self.receive.val().offset;
        self.completion.next.length = self.after.val().received;
        // The bytes of an RDMA write that failed are not those of the receive that says so.
        if self.message.val().writing
            & (self.situation.val() != Situation::Placed)
            & (self.situation.val() != Situation::Lost)
        {
            self.completion.next.length = bits::<32>(0);
        }
        self.status.next = self.status_receive.val();
        if self.ending.val().remote {
            self.status.next = self.status_write.val();
        }
        self.completion.next.status = self.status.val() | bit_cast::<20, 9>(self.ending.val().errors);
        if self.ending.val().immediate {
            self.completion.next.status = self.status.val() | self.status_immediate.val();
        }
        self.completion.next.has_immediate = self.ending.val().immediate;
        self.completion.next.immediate = self.packet.val().extension;
        self.completion.next.acknowledge = self.ending.val().acknowledge;
        self.completion.next.psn = self.answered_psn.val();
        self.completion.next.msn = self.after.val().msn;
        self.completion.next.syndrome = self.ending.val().syndrome;
        self.completion.next.kind = self.ending.val().kind;
        self.completion.next.ends = self.ending.val().consume;
        self.completion.next.reception = self.message.val().reception;
        self.close.next.completion = self.completion.val();
        self.close.next.completes = self.ending.val().completes;
        self.close.next.faulty = self.ending.val().faulty;
        self.close.next.code = self.ending.val().code;
        self.close.next.breaks = self.ending.val().breaks;
    }
}
