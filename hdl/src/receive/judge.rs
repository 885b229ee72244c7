//! Judges what a packet is to its VI: one of twelve verdicts.
//!
//! ```text
//!        info, peer ──►┌───────┐
//!           message ──►│ Judge │──► judgement
//!  connected, error ──►└───────┘
//! ```
//! Contract: the inputs come in one cycle, the verdict in the next, as long as `info` and `message` stay; `info` has been there
//! for a cycle before. The first line of the table that fits counts:
//!
//! | packet | reliable | unreliable |
//! |---|---|---|
//! | queue pair, generation, peer or service does not fit, or the VI is Idle | Unknown | Unknown |
//! | a raw frame, for a raw VI | | Take |
//! | the connection broke, and this is a request | Over | Unknown |
//! | an acknowledgement, or an answer to an RDMA read | Answer | Unknown |
//! | PSN behind the expected one (serial, within 2^23; unreliable: within 2^16) | Behind | Behind |
//! | PSN ahead of it | Gap | as if expected, but a message in progress has lost something: Partial |
//! | First or Only in a message, Middle or Last of another kind, wrong payload length | Refuse | Partial: it ends, then look again |
//! | Middle or Last in none, at the expected PSN | Refuse | Stray |
//! | Middle or Last in none, ahead of it | Gap | Early |
//! | payload not exactly the MTU (First, Middle), or above it, or none in a Last | Refuse | Stray |
//! | RDMA write: payload not what the RETH left (Last, Only), or not less (First, Middle) | Refuse | Stray |
//! | RDMA read: payload, or more than 2^31 bytes | Refuse | |
//! | an RDMA read request | Read | |
//! | First, Only | Take | Take |
//! | Middle, Last | Continue | Continue |
//!
//! Example: a reliable VI expects PSN 100 and has no message in progress. A SEND Only with PSN 100 and 8 bytes is Take; with PSN 99 it
//! is Behind, with PSN 101 Gap. A SEND Middle with PSN 100 is Refuse.
//!
//! Latency: 1 cycle.
//!
//! Tests: `tests/receive/path/`, `tests/receive/write/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::contexts::{Message, Peer, RAW_MTU};
use super::packet_kind::{Kind, PacketKind};
use crate::arithmetic::{Distance, PathMtu};
use crate::bus::FrameInfo;
use crate::prims::{Cast, Number};
use crate::rows::handle::QueuePair;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Verdict {
    /// For no VI that is connected to its sender.
    Unknown,
    /// A request, but the connection has come to its end (reliable).
    Over,
    /// An acknowledgement or an answer to an RDMA read, for the send side.
    Answer,
    /// The peer reads.
    Read,
    /// A duplicate.
    Behind,
    /// Something in front of it is missing (reliable).
    Gap,
    /// The packet may not come here (reliable): the connection breaks.
    Refuse,
    /// The message in progress has lost something (unreliable); the packet itself is looked at again afterwards.
    Partial,
    /// The packet belongs to no message that can still be whole (unreliable).
    Stray,
    /// A Middle or Last ahead of the expected PSN, with no message in progress (unreliable). The start of its message may still come, so
    /// the expected PSN stays.
    Early,
    /// A message begins.
    Take,
    /// A message goes on.
    Continue,
}

/// What a packet is to its VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Judgement {
    /// See the module's table.
    pub verdict: Verdict,
    /// The verdict is Take or Continue.
    pub takes: bool,
    /// The verdict is Partial.
    pub partial: bool,
    /// The packet begins a message.
    pub first: bool,
    /// The packet ends a message.
    pub ends: bool,
    /// The packet is of an RDMA write.
    pub writes: bool,
    /// The packet is an RDMA read request.
    pub reading: bool,
    /// With `reading`: the request is well formed. It has no payload and asks for at most 2^31 bytes.
    pub reads: bool,
    /// The packet carries immediate data.
    pub immediate: bool,
    /// The packet has payload.
    pub some: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Judge {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The packet to judge, from the store; `Lookup` drives this and the other inputs.
    pub info: Signal<In, FrameInfo>,
    /// Peer of the VI that the packet names.
    pub peer: Signal<In, Peer>,
    /// Where the receive side of that VI is.
    pub message: Signal<In, Message>,
    /// The VI is connected.
    pub connected: Signal<In, bool>,
    /// The VI is in Error.
    pub error: Signal<In, bool>,
    /// What the packet is to its VI, for `Lookup`.
    pub judgement: Signal<Out, Judgement>,
    /// `info` of the cycle before; it comes out of a memory, which takes most of a cycle.
    packet: DFF<FrameInfo>,
    reading: DFF<bool>,
    huge: DFF<bool>,
    size: Signal<Local, Bits<32>>,
    /// The queue pair, the generation, the peer and the service fit.
    known: DFF<bool>,
    over_now: DFF<bool>,
    writing: DFF<bool>,
    carries: DFF<bool>,
    /// RDMA write: the payload is all that is to come.
    exact: DFF<bool>,
    /// RDMA write: the payload is less than all that is to come.
    less: DFF<bool>,
    /// The PSN is the expected one.
    expected: DFF<bool>,
    /// The PSN is behind the expected one.
    behind: DFF<bool>,
    psns: Distance<24>,
    delta: Signal<Local, Bits<24>>,
    /// The payload is exactly the MTU.
    full: DFF<bool>,
    /// The payload is more than the MTU.
    over: DFF<bool>,
    reliable: DFF<bool>,
    kind: PacketKind,
    what: Signal<Local, Kind>,
    number: Cast<Bits<24>, QueuePair>,
    /// The VI that the queue pair number names, as far as there are VIs.
    named: Signal<Local, Bits<10>>,
    length: Signal<Local, Bits<13>>,
    path_mtu: PathMtu,
    raw_mtu: Number<3, RAW_MTU>,
    /// The VI has raw frames only.
    takes_raw: Signal<Local, bool>,
    begins: DFF<bool>,
    last: DFF<bool>,
    answer: DFF<bool>,
    /// The packet has payload.
    some: DFF<bool>,
    /// The packet is an acknowledgement or an answer to a read.
    answers: Signal<Local, bool>,
    from_peer: Signal<Local, bool>,
    left: Signal<Local, Bits<32>>,
    /// A message in progress is of the other kind.
    differs: Signal<Local, bool>,
    active: Signal<Local, bool>,
    /// The packet is for its VI, and it is no answer and no duplicate.
    in_question: Signal<Local, bool>,
    fits: Signal<Local, bool>,
}

// A VI's index is the low bits of a queue pair number.
const _: () = assert!(VI_LOG2 <= 10);

impl Logic for Judge {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, packet, over_now, writing, carries, exact, less, reading, huge);
        dff_setup!(self, clock, known, expected, behind, full, over, reliable, begins, last, answer, some);
        self.packet.d.next = self.info.val();
        drive!(self, packet.q.val().opcode => kind.opcode; kind.kind => what;
            packet.q.val().queue_pair => number.from; packet.q.val().length => length);
        self.named.next = bit_cast::<10, VI_LOG2>(bit_cast::<VI_LOG2, 10>(self.number.to.val().vi));

        // First cycle: everything that is compared.
        self.answers.next = self.what.val().responds | self.what.val().acknowledges;
        self.size.next = self.packet.q.val().size;
        self.reading.d.next = self.what.val().reads;
        self.huge.d.next = self.size.val().get_bit(31) & self.size.val().get_bits::<31>(0).any();
        self.takes_raw.next = self.peer.val().mtu == self.raw_mtu.val();
        // FRAME-10: queue pair, generation, peer and service.
        self.from_peer.next = (self.named.val() == self.number.to.val().vi)
            & !self.takes_raw.val()
            & !self.packet.q.val().raw
            & (self.number.to.val().generation == self.peer.val().generation)
            & (self.packet.q.val().source_ip == self.peer.val().ip)
            & (self.what.val().unreliable ^ self.peer.val().reliable);
        if self.packet.q.val().raw {
            self.from_peer.next = self.takes_raw.val() & (self.named.val() == self.number.to.val().vi);
        }
        // FRAME-10: and the VI is connected.
        self.known.d.next = self.from_peer.val() & self.connected.val() & !self.message.val().broken;
        // RSP-8: a request of a connection that broke.
        self.over_now.d.next = self.from_peer.val()
            & self.peer.val().reliable
            & !self.answers.val()
            & (self.error.val() | (self.connected.val() & self.message.val().broken));
        // RSP-1: at the expected PSN, or behind it. UNR-2: behind it by 2^16 at most.
        self.psns.number.next = self.packet.q.val().psn;
        self.psns.from.next = self.message.val().psn;
        self.expected.d.next = self.psns.same.val();
        self.delta.next = self.psns.distance.val();
        // Raw frames have no PSN. Unreliable: 2^16 back at most.
        self.behind.d.next = self.psns.behind.val()
            & (self.peer.val().reliable | self.delta.val().get_bits::<7>(16).all())
            & !self.packet.q.val().raw;
        self.reliable.d.next = self.peer.val().reliable;
        self.path_mtu.code.next = self.peer.val().mtu;
        self.full.d.next = self.length.val() == self.path_mtu.bytes.val();
        self.over.d.next = (self.length.val() > self.path_mtu.bytes.val()) & !self.packet.q.val().raw;

        self.begins.d.next = self.what.val().first;
        self.last.d.next = self.what.val().last;
        self.writing.d.next = self.what.val().writes;
        self.carries.d.next = self.packet.q.val().extended;
        self.left.next = self.message.val().left;
        if self.what.val().first {
            self.left.next = self.packet.q.val().size;
        }
        self.exact.d.next = bit_cast::<32, 13>(self.length.val()) == self.left.val();
        self.less.d.next = bit_cast::<32, 13>(self.length.val()) < self.left.val();
        self.answer.d.next = self.answers.val();
        self.some.d.next = self.length.val().any();

        // Second cycle.
        fill!(self, judgement, last.q => ends; begins.q => first; writing.q => writes; reading.q => reading;
            carries.q => immediate; some.q => some);
        self.active.next = self.message.val().active;
        // RSP-2, UNR-3: the payload has the length of its place.
        self.fits.next = self.full.q.val() & (self.less.q.val() | !self.writing.q.val());
        if self.last.q.val() {
            self.fits.next = !self.over.q.val()
                & (self.begins.q.val() | self.some.q.val())
                & (self.exact.q.val() | !self.writing.q.val());
        }
        if self.reading.q.val() {
            self.fits.next = !self.some.q.val() & !self.huge.q.val();
        }
        self.judgement.next.reads = self.reading.q.val() & self.fits.val();
        self.differs.next =
            self.active.val() & !self.begins.q.val() & (self.writing.q.val() ^ self.message.val().writing);

        // These two are worked out beside the verdict, because `Lookup` decides by them in the same cycle.
        self.in_question.next =
            self.known.q.val() & !self.over_now.q.val() & !self.answer.q.val() & !self.behind.q.val();
        self.judgement.next.takes = self.in_question.val()
            & !self.reading.q.val()
            & self.fits.val()
            & (self.begins.q.val() ^ self.active.val())
            & !self.differs.val()
            & (self.expected.q.val() | (self.begins.q.val() & !self.reliable.q.val()));
        self.judgement.next.partial = self.in_question.val()
            & !self.reliable.q.val()
            & self.active.val()
            & (self.begins.q.val() | !self.expected.q.val() | !self.fits.val() | self.differs.val());

        self.judgement.next.verdict = Verdict::Continue;
        if self.begins.q.val() {
            self.judgement.next.verdict = Verdict::Take;
        }
        if self.reading.q.val() {
            self.judgement.next.verdict = Verdict::Read;
        }
        if self.reliable.q.val() {
            // RSP-2: out of place.
            if (self.begins.q.val() == self.active.val()) | !self.fits.val() | self.differs.val() {
                self.judgement.next.verdict = Verdict::Refuse;
            }
            // RSP-1: ahead of the expected PSN.
            if !self.expected.q.val() {
                self.judgement.next.verdict = Verdict::Gap;
            }
        } else {
            if (!self.begins.q.val() & !self.active.val()) | !self.fits.val() {
                self.judgement.next.verdict = Verdict::Stray;
            }
            // UNR-2: MIDDLE and LAST are taken at the expected PSN only.
            if !self.begins.q.val() & !self.expected.q.val() {
                self.judgement.next.verdict = Verdict::Early;
            }
            // UNR-3: a gap inside the message in progress.
            if self.active.val()
                & (self.begins.q.val() | !self.expected.q.val() | !self.fits.val() | self.differs.val())
            {
                self.judgement.next.verdict = Verdict::Partial;
            }
        }
        if self.behind.q.val() {
            self.judgement.next.verdict = Verdict::Behind;
        }
        if self.answer.q.val() {
            self.judgement.next.verdict = Verdict::Answer;
        }
        if !self.known.q.val() {
            self.judgement.next.verdict = Verdict::Unknown;
        }
        if self.over_now.q.val() {
            self.judgement.next.verdict = Verdict::Over;
        }
    }
}
