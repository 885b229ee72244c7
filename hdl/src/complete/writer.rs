//! Writes completions into descriptors, in place, and lets the acknowledgement follow; and completion queue entries.
//!
//! ```text
//!  receive: Completion ──►┌────────┐──► access, write
//!     send: Completion ──►│ Writer │──► request, request_mark
//!   entry: CqEntry     ──►│        │──► entry_done, entry_ok
//!    verdict, issued   ──►│        │──► fault
//!                         └────────┘──► ended, closed
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
//! `entry` goes before the next completion, as 16 bytes at once; `entry_done` tells when they are granted and gone
//! (`entry_ok`), or refused.
//! A row of RECEIVE is a new connection: the last word of the one before is forgotten (`bus::word`).
//!
//! Latency: 2 cycles and the checker's to the status's data, twice that with immediate data.
//!
//! Tests: `tests/complete/writer/`.

use crate::bus::{
    client, word, Access, AckRequest, Closed, Commit, Completion, CqEntry, Fault, Queue, WriteBeat,
    QUEUE_LOG2,
};
use crate::prims::{LutRam, Number};
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
    /// A receive completion.
    pub receive_valid: Signal<In, bool>,
    /// Which.
    pub receive: Signal<In, Completion>,
    /// It is taken.
    pub receive_ready: Signal<Out, bool>,
    /// A send completion.
    pub send_valid: Signal<In, bool>,
    /// Which.
    pub send: Signal<In, Completion>,
    /// It is taken.
    pub send_ready: Signal<Out, bool>,
    /// A row of RECEIVE: the VI's tag.
    pub commit_valid: Signal<In, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// Memory to write.
    pub access_valid: Signal<Out, bool>,
    /// The access.
    pub access: Signal<Out, Access>,
    /// It is taken.
    pub access_ready: Signal<In, bool>,
    /// The checker has decided about a write.
    pub verdict_valid: Signal<In, bool>,
    /// Whose.
    pub verdict_client: Signal<In, Bits<2>>,
    /// Granted.
    pub verdict_ok: Signal<In, bool>,
    /// Data of a granted write.
    pub write_valid: Signal<Out, bool>,
    /// The data.
    pub write: Signal<Out, WriteBeat>,
    /// It is taken.
    pub write_ready: Signal<In, bool>,
    /// Write commands issued, modulo 256.
    pub issued: Signal<In, Bits<8>>,
    /// An acknowledgement is asked for.
    pub request_valid: Signal<Out, bool>,
    /// Which.
    pub request: Signal<Out, AckRequest>,
    /// Write commands that must be out first.
    pub request_mark: Signal<Out, Bits<8>>,
    /// It is taken.
    pub request_ready: Signal<In, bool>,
    /// A completion could not be written.
    pub fault_valid: Signal<Out, bool>,
    /// Whose.
    pub fault: Signal<Out, Fault>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// A descriptor has ended.
    pub ended_valid: Signal<Out, bool>,
    /// Its queue.
    pub ended_queue: Signal<Out, Queue>,
    /// It is taken.
    pub ended_ready: Signal<In, bool>,
    /// A descriptor has ended.
    pub closed_valid: Signal<Out, bool>,
    /// Which.
    pub closed: Signal<Out, Closed>,
    /// It is taken.
    pub closed_ready: Signal<In, bool>,
    /// An entry to write, until it is done.
    pub entry_valid: Signal<In, bool>,
    /// The entry.
    pub entry: Signal<In, CqEntry>,
    /// The entry is written or refused, this cycle only.
    pub entry_done: Signal<Out, bool>,
    /// It is written.
    pub entry_ok: Signal<Out, bool>,
    /// A completion with an error bit is written.
    pub count_error: Signal<Out, bool>,
    /// A completion is under way.
    pub busy: Signal<Out, bool>,
    /// A receive's completion is being written.
    pub receiving: Signal<Out, bool>,
    step: DFF<Step>,
    /// An access is asked for: in the three steps that do.
    asks: DFF<bool>,
    at: DFF<Completion>,
    /// The send queue's turn.
    send_turn: DFF<bool>,
    granted: DFF<bool>,
    refused: DFF<bool>,
    ended: DFF<bool>,
    queue: DFF<Queue>,
    closing: DFF<bool>,
    ending: DFF<Closed>,
    wrong: DFF<bool>,
    tags: LutRam<Bits<16>, VI_LOG2>,
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
            self, clock, step, asks, at, send_turn, granted, refused, tag, ended, queue, closing, ending,
            wrong
        );
        clock!(self, clock, tags);

        // The VI's tag: RECEIVE's second word, bits 15:0.
        self.tags.write_enable.next = false;
        self.tags.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
        self.tags.write_data.next = bit_cast::<16, 64>(self.commit.val().word1);
        self.tags.read_address.next = self.at.q.val().vi;
        self.commit_ready.next = false;

        self.take_send.next = self.send_valid.val() & (self.send_turn.q.val() | !self.receive_valid.val());
        self.receive_ready.next = false;
        self.send_ready.next = false;

        self.base.next = bit_cast::<64, 34>(self.at.q.val().offset) << 6;
        self.access_valid.next = self.asks.q.val();
        if self.access_ready.val() {
            self.asks.d.next = false;
        }
        self.access.next.address = self.base.val() | self.completion_offset.val();
        self.access.next.span = bits::<32>(8);
        self.access.next.length = bits::<13>(8);
        self.access.next.region = self.at.q.val().region;
        self.access.next.key = bits::<16>(0);
        self.access.next.tag = self.tag.q.val();
        self.access.next.by_offset = true;
        self.access.next.system = false;
        self.access.next.write = true;
        self.access.next.clip = false;
        self.access.next.remote = bits::<2>(0);
        self.access.next.user = bits::<8>(0);
        self.write_valid.next = false;
        self.write.next.data =
            (bit_cast::<64, 20>(self.at.q.val().status) << 32) | bit_cast::<64, 32>(self.at.q.val().length);
        self.write.next.start = bits::<3>(0);
        self.write.next.count = bits::<4>(8);

        // An entry's second word: whose it is.
        self.owner.next = bit_cast::<64, VI_LOG2>(self.entry.val().vi);
        if self.entry.val().receive {
            self.owner.next = bit_cast::<64, VI_LOG2>(self.entry.val().vi) | self.receive_bit.val();
        }
        if self.entry.val().phase {
            self.owner.next = self.owner.val() | self.phase_bit.val();
        }

        // A verdict is a pulse: keep it until the data has gone.
        self.own_verdict.next =
            self.verdict_valid.val() & (self.verdict_client.val() == self.complete_client.val());
        if self.own_verdict.val() {
            self.granted.d.next = self.verdict_ok.val();
            self.refused.d.next = !self.verdict_ok.val();
        }

        self.request_valid.next = false;
        self.request.next.vi = self.at.q.val().vi;
        self.request.next.psn = self.at.q.val().psn;
        self.request.next.msn = self.at.q.val().msn;
        self.request.next.syndrome = self.at.q.val().syndrome;
        self.request.next.kind = self.at.q.val().kind;
        self.request.next.reception = self.at.q.val().reception;
        self.request_mark.next = self.issued.val();
        self.fault_valid.next = false;
        self.fault.next.vi = self.at.q.val().vi;
        self.fault.next.code = self.comp_prot.val();
        self.fault.next.receive = self.at.q.val().receive;
        self.fault.next.breaks = true;
        self.busy.next = true;
        self.receiving.next = (self.step.q.val() != Step::Idle) & self.at.q.val().receive;
        self.ended_valid.next = self.ended.q.val();
        self.ended_queue.next = self.queue.q.val();
        if self.ended_ready.val() {
            self.ended.d.next = false;
        }
        self.closed_valid.next = self.closing.q.val();
        self.closed.next = self.ending.q.val();
        if self.closed_ready.val() {
            self.closing.d.next = false;
        }
        self.ends.next = false;
        self.rest.next = !self.ended.q.val() & !self.closing.q.val();
        self.entry_done.next = false;
        self.entry_ok.next = false;
        self.status.next = self.at.q.val().status;
        self.wrong.d.next = false;
        self.count_error.next = self.wrong.q.val();

        match self.step.q.val() {
            Step::Idle => {
                self.busy.next = self.receive_valid.val()
                    | self.send_valid.val()
                    | self.entry_valid.val()
                    | self.ended.q.val()
                    | self.closing.q.val();
                self.granted.d.next = false;
                self.refused.d.next = false;
                if self.commit_valid.val() {
                    self.tags.write_enable.next = true;
                    self.commit_ready.next = true;
                    // LIFE-2: the last word of the connection before is forgotten.
                    self.at.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
                    self.at.d.next.acknowledge = true;
                    self.at.d.next.kind = self.forget.val();
                    self.at.d.next.reception = false;
                    self.step.d.next = Step::Acknowledge;
                } else if self.entry_valid.val() {
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskEntry;
                } else if self.take_send.val() & self.rest.val() {
                    self.at.d.next = self.send.val();
                    self.send_ready.next = true;
                    self.send_turn.d.next = false;
                    self.step.d.next = Step::Tag;
                } else if self.receive_valid.val() & self.rest.val() {
                    self.at.d.next = self.receive.val();
                    self.receive_ready.next = true;
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
                self.access.next.address = self.base.val() | self.immediate_offset.val();
                self.access.next.span = bits::<32>(4);
                self.access.next.length = bits::<13>(4);
                if self.access_ready.val() {
                    self.step.d.next = Step::Immediate;
                }
            }
            Step::Immediate => {
                self.write_valid.next = self.granted.q.val();
                self.write.next.data = bit_cast::<64, 32>(self.at.q.val().immediate);
                self.write.next.count = bits::<4>(4);
                if self.granted.q.val() & self.write_ready.val() {
                    self.granted.d.next = false;
                    self.asks.d.next = true;
                    self.step.d.next = Step::AskStatus;
                }
                if self.refused.q.val() {
                    self.step.d.next = Step::Refused;
                }
            }
            Step::AskStatus => {
                if self.access_ready.val() {
                    self.step.d.next = Step::Status;
                }
            }
            Step::Status => {
                self.write_valid.next = self.granted.q.val();
                if self.granted.q.val() & self.write_ready.val() {
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
                self.request_valid.next = self.at.q.val().acknowledge;
                if self.request_ready.val() | !self.at.q.val().acknowledge {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Refused => {
                // WQ-7: COMP_PROT. RSP-7: a NAK takes the place of the acknowledgement.
                self.fault_valid.next = true;
                self.at.d.next.syndrome = self.nak.val();
                self.at.d.next.kind = self.last_word.val();
                if self.fault_ready.val() {
                    self.ends.next = true;
                    self.step.d.next = Step::Acknowledge;
                }
            }
            Step::AskEntry => {
                self.access.next.address = bit_cast::<64, 40>(self.entry.val().address);
                self.access.next.span = bits::<32>(16);
                self.access.next.length = bits::<13>(16);
                self.access.next.region = self.entry.val().region;
                self.access.next.tag = self.entry.val().tag;
                self.access.next.system = true;
                if self.access_ready.val() {
                    self.step.d.next = Step::EntryToken;
                }
            }
            Step::EntryToken => {
                self.write_valid.next = self.granted.q.val();
                self.write.next.data = self.entry.val().token;
                if self.granted.q.val() & self.write_ready.val() {
                    self.step.d.next = Step::EntryOwner;
                }
                // CQ-4: the entry cannot be written.
                if self.refused.q.val() {
                    self.entry_done.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Step::EntryOwner => {
                self.write_valid.next = true;
                self.write.next.data = self.owner.val();
                if self.write_ready.val() {
                    self.entry_done.next = true;
                    self.entry_ok.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.ends.val() {
            self.ended.d.next = self.at.q.val().ends;
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
            self.ended.d.next = false;
            self.closing.d.next = false;
        }
    }
}
