//! Writes completions into descriptors, in place, and lets the acknowledgement follow; and completion queue entries.
//!
//! ```text
//!   receive, send ──►┌────────┐──► access, write
//!           entry ──►│        │──► entry_end
//!         verdict ──►│ Writer │──► request, request_mark
//!          issued ──►│        │──► fault
//!          commit ──►└────────┘──► ended, closed
//! ```
//! Contract: completions are written in the order in which each input gives them, the two inputs in turn:
//! ImmediateData if any, then Length and Status as one aligned 8-byte write. The acknowledgement is asked for when
//! both are granted, with the number of write commands issued by then. A completion whose memory is refused reports
//! COMP_PROT, breaks the VI, and turns its acknowledgement into a NAK (remote operational error).
//!
//! `ended` and `closed` tell of each completion with `ends`, in order, when its status is granted, or refused, or not to be
//! written: the queue's position moves on whether or not its consumer can see why. The next completion waits until both
//! are taken, an entry does not.
//!
//! `entry` goes before the next completion, as 16 bytes at once; `entry_end` tells when they are granted and gone
//! (true), or refused (false).
//! A row of RECEIVE is a new connection: the last word of the one before is forgotten (`bus::word`).
//!
//! Latency: 2 cycles and the checker's to the status's data, twice that with immediate data.
//!
//! Example: a receive of 8 bytes without immediate data asks `access` for 8 bytes at the descriptor's Length; `verdict` grants them, `write` brings
//! Length and Status, and `request` asks for the acknowledgement with `issued` as its mark.
//!
//! Tests: `tests/complete/writer/`.

use crate::bus::{
    client, word, Access, AckRequest, Closed, Commit, Completion, CqEntry, Fault, Queue, WriteBeat,
    WriteVerdict, QUEUE_LOG2,
};
use crate::prims::{LutRam, Number};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{status, COMPLETION_OFFSET, IMMEDIATE_OFFSET};
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::cq_entry;
use viaduct_spec::wire::syndrome;

// The bits that `update` counts.
const _: () = assert!(status::ERROR_MASK == 0xFF << 1);

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Tag,
    AskImmediate,
    Immediate,
    AskStatus,
    Status,
    Acknowledge,
    Refused,
    AskEntry,
    EntryToken,
    EntryOwner,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Writer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A receive descriptor to complete, and the acknowledgement that follows it.
    pub receive: Sink<Completion>,
    /// A send descriptor to complete.
    pub send: Sink<Completion>,
    /// A row of RECEIVE: the VI's tag, and the beginning of a connection.
    pub commit: Sink<Commit>,
    /// A write that `protect` is asked for.
    pub access: Source<Access>,
    /// The verdict of `protect` on a write of any client; only those of COMPLETE count here.
    pub verdict: FlowSink<WriteVerdict>,
    /// The data of a granted write, to the write engine.
    pub write: Source<WriteBeat>,
    /// Number of write commands issued, modulo 256, from `protect`.
    pub issued: Signal<In, Bits<8>>,
    /// An acknowledgement to send.
    pub request: Source<AckRequest>,
    /// The number of write commands, modulo 256, that must be out before the acknowledgement of `request`.
    pub request_mark: Signal<Out, Bits<8>>,
    /// A VI breaks because a completion's memory is refused.
    pub fault: Source<Fault>,
    /// The work queue of which a descriptor has ended, to `interrupt/notify`.
    pub ended: Source<Queue>,
    /// The descriptor that has ended, to `complete/queues`.
    pub closed: Source<Closed>,
    /// A completion queue entry to write; it holds still until `entry_end`.
    pub entry: FlowSink<CqEntry>,
    /// The entry is done; true: it is written, false: its memory is refused.
    pub entry_end: FlowSource<bool>,
    /// A completion with an error bit is written.
    pub count_error: Pulse,
    /// A completion is under way.
    pub busy: Signal<Out, bool>,
    /// The completion under way is a receive's.
    pub receiving: Signal<Out, bool>,
    step: DFF<Step>,
    /// An access is on show: in the three steps that ask for one.
    asks: DFF<bool>,
    /// The completion at hand.
    at: DFF<Completion>,
    /// The next completion is `send`'s, if it offers one.
    send_turn: DFF<bool>,
    /// The verdict has come, and the write is granted.
    granted: DFF<bool>,
    /// The verdict has come, and the write is refused.
    refused: DFF<bool>,
    /// `ended` is not taken yet.
    ended_waits: DFF<bool>,
    /// The work queue of `ended`.
    queue: DFF<Queue>,
    /// `closed` is not taken yet.
    closing: DFF<bool>,
    /// The descriptor of `closed`.
    ending: DFF<Closed>,
    /// The status written has an error bit.
    wrong: DFF<bool>,
    /// The tag of each VI.
    tags: LutRam<Bits<16>, VI_LOG2>,
    /// The tag of the VI at hand.
    tag: DFF<Bits<16>>,
    take_send: Signal<Local, bool>,
    own_verdict: Signal<Local, bool>,
    base: Signal<Local, Bits<64>>,
    ends: Signal<Local, bool>,
    status: Signal<Local, Bits<20>>,
    rest: Signal<Local, bool>,
    owner: Signal<Local, Bits<64>>,
    phase_bit: Number<64, { 1 << (cq_entry::PHASE.lo - 64) }>,
    receive_bit: Number<64, { 1 << (cq_entry::RECEIVE.lo - 64) }>,
    complete_client: Number<2, { client::COMPLETE }>,
    immediate_offset: Number<64, { IMMEDIATE_OFFSET }>,
    completion_offset: Number<64, { COMPLETION_OFFSET }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
    last_word: Number<2, { word::LAST }>,
    forget: Number<2, { word::FORGET }>,
    nak: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
}

impl Logic for Writer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            step,
            asks,
            at,
            send_turn,
            granted,
            refused,
            tag,
            ended_waits,
            queue,
            closing,
            ending,
            wrong
        );
        clock!(self, clock, tags);

        // The VI's tag: RECEIVE's second word, bits 15:0.
        self.tags.write_enable.next = false;
        self.tags.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.tags.write_data.next = bit_cast::<16, 64>(self.commit.data.val().word1);
        self.tags.read_address.next = self.at.q.val().vi;
        self.commit.ready.next = false;

        self.take_send.next = self.send.valid.val() & (self.send_turn.q.val() | !self.receive.valid.val());
        self.receive.ready.next = false;
        self.send.ready.next = false;

        self.base.next = bit_cast::<64, 34>(self.at.q.val().offset) << 6;
        self.access.valid.next = self.asks.q.val();
        if self.access.ready.val() {
            self.asks.d.next = false;
        }
        self.access.data.next.address = self.base.val() | self.completion_offset.val();
        self.access.data.next.span = bits::<32>(8);
        self.access.data.next.length = bits::<13>(8);
        self.access.data.next.region = self.at.q.val().region;
        self.access.data.next.key = bits::<16>(0);
        self.access.data.next.tag = self.tag.q.val();
        self.access.data.next.by_offset = true;
        self.access.data.next.system = false;
        self.access.data.next.write = true;
        self.access.data.next.clip = false;
        self.access.data.next.remote = bits::<2>(0);
        self.access.data.next.user = bits::<8>(0);
        self.write.valid.next = false;
        self.write.data.next.data =
            (bit_cast::<64, 20>(self.at.q.val().status) << 32) | bit_cast::<64, 32>(self.at.q.val().length);
        self.write.data.next.start = bits::<3>(0);
        self.write.data.next.count = bits::<4>(8);

        // An entry's second word: whose it is.
        self.owner.next = bit_cast::<64, VI_LOG2>(self.entry.data.val().vi);
        if self.entry.data.val().receive {
            self.owner.next = bit_cast::<64, VI_LOG2>(self.entry.data.val().vi) | self.receive_bit.val();
        }
        if self.entry.data.val().phase {
            self.owner.next = self.owner.val() | self.phase_bit.val();
        }

        // A verdict is a pulse: keep it until the data has gone.
        self.own_verdict.next =
            self.verdict.valid.val() & (self.verdict.data.val().client == self.complete_client.val());
        if self.own_verdict.val() {
            self.granted.d.next = self.verdict.data.val().ok;
            self.refused.d.next = !self.verdict.data.val().ok;
        }

        self.request.valid.next = false;
        self.request.data.next.vi = self.at.q.val().vi;
        self.request.data.next.psn = self.at.q.val().psn;
        self.request.data.next.msn = self.at.q.val().msn;
        self.request.data.next.syndrome = self.at.q.val().syndrome;
        self.request.data.next.kind = self.at.q.val().kind;
        self.request.data.next.reception = self.at.q.val().reception;
        self.request_mark.next = self.issued.val();
        self.fault.valid.next = false;
        self.fault.data.next.vi = self.at.q.val().vi;
        self.fault.data.next.code = self.comp_prot.val();
        self.fault.data.next.receive = self.at.q.val().receive;
        self.fault.data.next.breaks = true;
        self.busy.next = true;
        self.receiving.next = (self.step.q.val() != Step::Idle) & self.at.q.val().receive;
        self.ended.valid.next = self.ended_waits.q.val();
        self.ended.data.next = self.queue.q.val();
        if self.ended.ready.val() {
            self.ended_waits.d.next = false;
        }
        self.closed.valid.next = self.closing.q.val();
        self.closed.data.next = self.ending.q.val();
        if self.closed.ready.val() {
            self.closing.d.next = false;
        }
        self.ends.next = false;
        self.rest.next = !self.ended_waits.q.val() & !self.closing.q.val();
        self.entry_end.valid.next = false;
        self.entry_end.data.next = false;
        self.status.next = self.at.q.val().status;
        self.wrong.d.next = false;
        self.count_error.next = self.wrong.q.val();

        match self.step.q.val() {
            Step::Idle => {
                self.busy.next = self.receive.valid.val()
                    | self.send.valid.val()
                    | self.entry.valid.val()
                    | self.ended_waits.q.val()
                    | self.closing.q.val();
                self.granted.d.next = false;
                self.refused.d.next = false;
                if self.commit.valid.val() {
                    self.tags.write_enable.next = true;
                    self.commit.ready.next = true;
                    // LIFE-2: the last word of the connection before is forgotten.
                    self.at.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    self.at.d.next.acknowledge = true;
                    self.at.d.next.kind = self.forget.val();
                    self.at.d.next.reception = false;
                    self.step.d.next = Step::Acknowledge;
                } else if self.entry.valid.val() {
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskEntry;
                } else if self.take_send.val() & self.rest.val() {
                    self.at.d.next = self.send.data.val();
                    self.send.ready.next = true;
                    self.send_turn.d.next = false;
                    self.step.d.next = Step::Tag;
                } else if self.receive.valid.val() & self.rest.val() {
                    self.at.d.next = self.receive.data.val();
                    self.receive.ready.next = true;
                    self.send_turn.d.next = true;
                    self.step.d.next = Step::Tag;
                }
            }
            Step::Tag => {
                self.tag.d.next = self.tags.read_data.val();
                if !self.at.q.val().write {
                    self.ends.next = true;
                    self.step.d.next = Step::Acknowledge;
                } else if self.at.q.val().has_immediate {
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskImmediate;
                } else {
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskStatus;
                }
            }
            Step::AskImmediate => {
                // WQ-1: ImmediateData goes first, then Length and Status at once.
                self.access.data.next.address = self.base.val() | self.immediate_offset.val();
                self.access.data.next.span = bits::<32>(4);
                self.access.data.next.length = bits::<13>(4);
                if self.access.ready.val() {
                    self.step.d.next = Step::Immediate;
                }
            }
            Step::Immediate => {
                self.write.valid.next = self.granted.q.val();
                self.write.data.next.data = bit_cast::<64, 32>(self.at.q.val().immediate);
                self.write.data.next.count = bits::<4>(4);
                if self.granted.q.val() & self.write.ready.val() {
                    self.granted.d.next = false;
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskStatus;
                }
                if self.refused.q.val() {
                    self.step.d.next = Step::Refused;
                }
            }
            Step::AskStatus => {
                if self.access.ready.val() {
                    self.step.d.next = Step::Status;
                }
            }
            Step::Status => {
                self.write.valid.next = self.granted.q.val();
                if self.granted.q.val() & self.write.ready.val() {
                    self.granted.d.next = false;
                    // WQ-1: behind the status come the entry and the interrupts.
                    self.ends.next = true;
                    self.wrong.d.next = self.status.val().get_bits::<8>(1).any();
                    self.step.d.next = Step::Idle;
                    if self.at.q.val().acknowledge {
                        self.step.d.next = Step::Acknowledge;
                    }
                }
                if self.refused.q.val() {
                    self.step.d.next = Step::Refused;
                }
            }
            Step::Acknowledge => {
                self.request.valid.next = self.at.q.val().acknowledge;
                if self.request.ready.val() | !self.at.q.val().acknowledge {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Refused => {
                // WQ-7: COMP_PROT. RSP-7: a NAK takes the place of the acknowledgement.
                self.fault.valid.next = true;
                self.at.d.next.syndrome = self.nak.val();
                self.at.d.next.kind = self.last_word.val();
                if self.fault.ready.val() {
                    self.ends.next = true;
                    self.step.d.next = Step::Acknowledge;
                }
            }
            Step::AskEntry => {
                self.access.data.next.address = bit_cast::<64, 40>(self.entry.data.val().address);
                self.access.data.next.span = bits::<32>(16);
                self.access.data.next.length = bits::<13>(16);
                self.access.data.next.region = self.entry.data.val().region;
                self.access.data.next.tag = self.entry.data.val().tag;
                self.access.data.next.system = true;
                if self.access.ready.val() {
                    self.step.d.next = Step::EntryToken;
                }
            }
            Step::EntryToken => {
                self.write.valid.next = self.granted.q.val();
                self.write.data.next.data = self.entry.data.val().token;
                if self.granted.q.val() & self.write.ready.val() {
                    self.step.d.next = Step::EntryOwner;
                }
                // CQ-4: the entry cannot be written.
                if self.refused.q.val() {
                    self.entry_end.valid.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Step::EntryOwner => {
                self.write.valid.next = true;
                self.write.data.next.data = self.owner.val();
                if self.write.ready.val() {
                    self.entry_end.valid.next = true;
                    self.entry_end.data.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.ends.val() {
            self.ended_waits.d.next = self.at.q.val().ends;
            self.closing.d.next = self.at.q.val().ends;
            self.ending.d.next.vi = self.at.q.val().vi;
            self.ending.d.next.receive = self.at.q.val().receive;
            self.ending.d.next.region = self.at.q.val().region;
            self.ending.d.next.offset = self.at.q.val().offset;
            self.ending.d.next.written = self.granted.q.val();
            self.queue.d.next = bit_cast::<QUEUE_LOG2, VI_LOG2>(self.at.q.val().vi) << 1;
            if self.at.q.val().receive {
                self.queue.d.next =
                    (bit_cast::<QUEUE_LOG2, VI_LOG2>(self.at.q.val().vi) << 1) | bits::<QUEUE_LOG2>(1);
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.asks.d.next = false;
            self.granted.d.next = false;
            self.refused.d.next = false;
            self.send_turn.d.next = false;
            self.ended_waits.d.next = false;
            self.closing.d.next = false;
        }
    }
}
