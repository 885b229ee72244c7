//! Puts together what delivery hands over to others of an order: a job, a read request, an answer.
//!
//! ```text
//!     order ──►┌──────────┐──► job       (scatter's)
//!  next_msn ──►│ Dispatch │──► request   (reply/requests')
//!    target ──►└──────────┘──► answer    (Reads')
//! ```
//! Contract: the job is about the frame's payload. A send goes on in its receive descriptor where the packet before ended, an RDMA write
//! behind the bytes that have come, and the answer to a read of ours in the read's own descriptor, at `target`. `request` is the frame as
//! a read that a peer asks for, and `answer` the frame as an acknowledgement or an answer to a read.
//!
//! Example: the second packet of a send comes, of 256 bytes, and the first one filled the receive's segment 0 with 256: `job` has `index` 0,
//! `position` 256 and `length` 256.
//!
//! Latency: none, no state. Tests: with the path, `tests/receive/path/`, `tests/receive/write/`.

use crate::bus::{Answer, FrameInfo, Position, ReadRequest};
use crate::prims::Cast;
use crate::receive::ahead::AheadMeta;
use crate::receive::contexts::{Message, Peer, SendPlace};
use crate::receive::job::{ReadTarget, ScatterJob};
use crate::receive::judge::Verdict;
use crate::receive::order::Order;
use crate::receive::packet_kind::{Kind, PacketKind};
use crate::rows::wire::Aeth;
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Dispatch {
    /// The order; `Delivery` drives this and the other inputs.
    pub order: Signal<In, Order>,
    /// Messages completed, modulo 2^24, with the one that ends now; from `Standing`.
    pub next_msn: Signal<In, Bits<24>>,
    /// Where the payload of an answer to a read goes, from `Reads`.
    pub target: Signal<In, ReadTarget>,
    /// What scatter is to place.
    pub job: Signal<Out, ScatterJob>,
    /// The read that a peer asks for.
    pub request: Signal<Out, ReadRequest>,
    /// The acknowledgement, or the answer to a read of ours.
    pub answer: Signal<Out, Answer>,
    peer: Signal<Local, Peer>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    receive: Signal<Local, AheadMeta>,
    consumed: Signal<Local, Position>,
    place: Cast<Bits<64>, SendPlace>,
    /// The frame is an answer.
    answers: Signal<Local, bool>,
    /// An answer's extension is its AETH.
    extension: Cast<Bits<32>, Aeth>,
    decoded: PacketKind,
    kind: Signal<Local, Kind>,
}

impl Logic for Dispatch {
    #[hdl_gen]
    fn update(&mut self) {
        self.peer.next = self.order.val().peer;
        self.message.next = self.order.val().message;
        self.packet.next = self.order.val().packet;
        self.receive.next = self.order.val().receive;
        self.consumed.next = self.order.val().consumed;
        self.place.from.next = self.message.val().place;
        self.answers.next = self.order.val().verdict == Verdict::Answer;

        self.job.next.vi = self.order.val().vi;
        self.job.next.slot = self.consumed.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        self.job.next.tag = self.peer.val().tag;
        self.job.next.region = self.receive.val().region;
        self.job.next.offset = self.receive.val().offset;
        self.job.next.segments = self.receive.val().segments;
        self.job.next.index = self.place.to.val().index;
        self.job.next.position = self.place.to.val().position;
        self.job.next.remote = self.order.val().writes;
        if self.order.val().writes {
            self.job.next.position = self.message.val().received;
        }
        // The message is still that of before.
        if (self.order.val().verdict == Verdict::Take) & !self.order.val().flush {
            self.job.next.index = bits::<8>(0);
            self.job.next.position = bits::<32>(0);
        }
        self.job.next.place = self.message.val().place;
        self.job.next.handle = self.message.val().rkey;
        self.job.next.left = self.message.val().left;
        self.job.next.length = self.packet.val().length;
        self.job.next.reading = self.answers.val();
        self.job.next.fresh = self.target.val().fresh;
        if self.answers.val() {
            self.job.next.region = self.target.val().region;
            self.job.next.offset = self.target.val().offset;
            self.job.next.segments = self.target.val().segments;
            self.job.next.index = self.target.val().index;
            self.job.next.position = self.target.val().position;
        }

        self.request.next.vi = self.order.val().vi;
        self.request.next.again = self.order.val().verdict == Verdict::Behind;
        self.request.next.address = self.packet.val().address;
        self.request.next.rkey = self.packet.val().rkey;
        self.request.next.length = self.packet.val().size;
        self.request.next.psn = self.packet.val().psn;
        self.request.next.msn = self.next_msn.val();
        self.request.next.reception = self.message.val().reception;

        self.decoded.opcode.next = self.packet.val().opcode;
        self.kind.next = self.decoded.kind.val();
        self.extension.from.next = self.packet.val().extension;
        self.answer.next.vi = self.order.val().vi;
        self.answer.next.mtu = self.peer.val().mtu;
        self.answer.next.response = self.answers.val() & self.kind.val().responds;
        self.answer.next.first = self.kind.val().first;
        self.answer.next.last = self.kind.val().last;
        self.answer.next.psn = self.packet.val().psn;
        self.answer.next.length = self.packet.val().length;
        self.answer.next.syndrome = self.extension.to.val().syndrome;
    }
}
