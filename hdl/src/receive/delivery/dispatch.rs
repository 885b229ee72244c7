//! Puts together what `Delivery` hands over to other blocks for an order: a job, a read request, or an answer.
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
//! Example: the second packet of a send comes, of 256 bytes, and the first one put 256 bytes into segment 0 of the receive: `job` has
//! `index` 0, `position` 256 and `length` 256.
//!
//! Latency: none, no state. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

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
use viaduct_dialect::wires;
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
    /// What scatter is to place; `Delivery` hands on this and the other outputs.
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
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, order.val().peer => peer; order.val().message => message; order.val().packet => packet;
            order.val().receive => receive; order.val().consumed => consumed;
            message.val().place => place.from);
        self.answers.next = self.order.val().verdict == Verdict::Answer;

        self.job.next.vi = self.order.val().vi;
        self.job.next.slot = self.consumed.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        fill!(self, job, peer.val().tag => tag; receive.val().region => region;
            receive.val().offset => offset; receive.val().segments => segments; place.to.val().index => index;
            place.to.val().position => position; order.val().writes => remote);
        if self.order.val().writes {
            self.job.next.position = self.message.val().received;
        }
        // A message begins with this packet, and `message` is still that of before.
        if (self.order.val().verdict == Verdict::Take) & !self.order.val().flush {
            self.job.next.index = bits::<8>(0);
            self.job.next.position = bits::<32>(0);
        }
        fill!(self, job, message.val().place => place; message.val().rkey => handle;
            message.val().left => left; packet.val().length => length; answers => reading;
            target.val().fresh => fresh);
        if self.answers.val() {
            fill!(self, job, target.val().region => region; target.val().offset => offset;
                target.val().segments => segments; target.val().index => index;
                target.val().position => position);
        }

        self.request.next.vi = self.order.val().vi;
        self.request.next.again = self.order.val().verdict == Verdict::Behind;
        fill!(self, request, packet.val().address => address; packet.val().rkey => rkey;
            packet.val().size => length; packet.val().psn => psn; next_msn => msn;
            message.val().reception => reception);

        drive!(self, packet.val().opcode => decoded.opcode; decoded.kind => kind;
            packet.val().extension => extension.from);
        self.answer.next.vi = self.order.val().vi;
        self.answer.next.mtu = self.peer.val().mtu;
        self.answer.next.response = self.answers.val() & self.kind.val().responds;
        fill!(self, answer, kind.val().first => first; kind.val().last => last; packet.val().psn => psn;
            packet.val().length => length; extension.to.val().syndrome => syndrome);
    }
}
