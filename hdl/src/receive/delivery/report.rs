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
//! Example: a message of 8 bytes in the packet with PSN 100 ends a receive. The completion in `close` writes Length 8 to the descriptor,
//! and acknowledges PSN 100 if the packet asks for that.
//!
//! Latency: none, no state. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

use super::outcome::Ending;
use crate::bus::{Completion, FrameInfo};
use crate::prims::Number;
use crate::receive::ahead::AheadMeta;
use crate::receive::closing::Close;
use crate::receive::contexts::Message;
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
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
    /// What is left of the order when it closes, for `Closing`; the VI in its completion is valid in any case.
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
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, came.val().situation => situation; order.val().message => message;
            order.val().packet => packet; order.val().receive => receive);
        // A packet that is placed or refused has the expected PSN; an answer that is said again is for the PSN before it.
        self.one_back.next = bits::<1>(0);
        if (self.situation.val() == Situation::Behind) | (self.situation.val() == Situation::Over) {
            self.one_back.next = bits::<1>(1);
        }
        self.answered_psn.next = self.message.val().psn - bit_cast::<24, 1>(self.one_back.val());
        fill!(self, completion, order.val().vi => vi; true => receive; ending.val().write => write;
            receive.val().region => region; receive.val().offset => offset; after.val().received => length);
        // The bytes of a failed RDMA write are not in the receive that tells of the failure, so its Length is 0.
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
        fill!(self, completion, ending.val().immediate => has_immediate; packet.val().extension => immediate;
            ending.val().acknowledge => acknowledge; answered_psn => psn; after.val().msn => msn;
            ending.val().syndrome => syndrome; ending.val().kind => kind; ending.val().consume => ends;
            message.val().reception => reception);
        fill!(self, close, completion => completion; ending.val().completes => completes;
            ending.val().faulty => faulty; ending.val().code => code; ending.val().breaks => breaks);
    }
}
