//! Writes completions into descriptors, in place, and lets the acknowledgement follow; and completion queue entries.
//!
//! ```text
//!    receive, send ──►┌────────────────┐──► access, write
//!            entry ──►│     Writer     │──► entry_end
//!          verdict ──►│ WriterSteps    │──► request, request_mark
//!           issued ──►│ Written        │──► fault, receiving
//!           commit ──►│ DescriptorEnds │──► ended, closed
//!                     └────────────────┘
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
//! How: [`WriterSteps`] has the order of what is done, [`Written`] says what is written in each step, and [`DescriptorEnds`] tells of the
//! descriptors that have ended.
//!
//! Latency: 1 cycle and those of `protect` to the status's data, twice that with immediate data.
//!
//! Example: a receive of 8 bytes without immediate data asks `access` for 8 bytes at the descriptor's Length; `verdict` grants them,
//! `write` brings Length and Status, and `request` asks for the acknowledgement with `issued` as its mark.
//!
//! Tests: `tests/complete/writer/`.

mod ends;
mod steps;
mod written;

use ends::DescriptorEnds;
use steps::{WriterJob, WriterStep, WriterSteps};
use written::Written;

use crate::bus::{
    client, word, Access, AckRequest, Closed, Commit, Completion, CqEntry, Fault, Queue, WriteBeat,
    WriteVerdict,
};
use crate::prims::{LutRam, Number, Unpack};
use crate::rows::tables::ReceiveRow;
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Writer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A receive descriptor to complete, and the acknowledgement that follows it, from receive.
    pub receive: Sink<Completion>,
    /// A send descriptor to complete, from complete/sends.
    pub send: Sink<Completion>,
    /// A row of RECEIVE, from `admin/broadcast`: the VI's tag, and the beginning of a connection.
    pub commit: Sink<Commit>,
    /// A write that `protect` is asked for.
    pub access: Source<Access>,
    /// The verdict of `protect` on a write of any client; only those of COMPLETE count here.
    pub verdict: FlowSink<WriteVerdict>,
    /// The data of a granted write, to `dma/write`.
    pub write: Source<WriteBeat>,
    /// Number of write commands issued, modulo 256, from `protect`.
    pub issued: Signal<In, Bits<8>>,
    /// An acknowledgement to send, to send/ack.
    pub request: Source<AckRequest>,
    /// The number of write commands, modulo 256, that must be out before the acknowledgement of `request`.
    pub request_mark: Signal<Out, Bits<8>>,
    /// A VI breaks because a completion's memory is refused; to `vi/state`.
    pub fault: Source<Fault>,
    /// The work queue of which a descriptor has ended, to `interrupt/notify`.
    pub ended: Source<Queue>,
    /// The descriptor that has ended, to `complete/queues`.
    pub closed: Source<Closed>,
    /// A completion queue entry to write, from `complete/queues`; it holds still until `entry_end`.
    pub entry: FlowSink<CqEntry>,
    /// The entry is done; true: it is written, false: its memory is refused. To `complete/queues`.
    pub entry_end: FlowSource<bool>,
    /// A completion with an error bit is written.
    pub count_error: Pulse,
    /// A completion is under way; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    /// The completion under way is a receive's; reply/requests waits for it.
    pub receiving: Signal<Out, bool>,
    steps: WriterSteps,
    written: Written,
    descriptor_ends: DescriptorEnds,
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
    /// The status written has an error bit.
    wrong: DFF<bool>,
    /// The tag of each VI.
    tags: LutRam<Bits<16>, VI_LOG2>,
    /// The tag of the VI at hand.
    tag: DFF<Bits<16>>,
    row: Unpack<Commit, ReceiveRow>,
    /// The next completion is one of `send`.
    sends: Signal<Local, bool>,
    /// The completion that is taken next.
    chosen: Signal<Local, Completion>,
    job: Signal<Local, WriterJob>,
    step: Signal<Local, WriterStep>,
    own_verdict: Signal<Local, bool>,
    /// The completion is over.
    ends: Signal<Local, bool>,
    /// The write is granted.
    may: Signal<Local, bool>,
    /// The write is granted, and the write engine has room for its bytes.
    goes: Signal<Local, bool>,
    /// Bits of a status that say that something went wrong.
    error_bits: Number<20, { status::ERROR_MASK as u64 }>,
    complete_client: Number<2, { client::COMPLETE }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
    last_word: Number<2, { word::LAST }>,
    forget: Number<2, { word::FORGET }>,
    nak: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
}

impl Logic for Writer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, asks, at, send_turn, granted, refused, tag, wrong);
        clock!(self, clock, tags, steps, descriptor_ends);
        drive!(self, reset => steps.reset, descriptor_ends.reset; steps.step => step);

        // The VI's tag.
        drive!(self, commit.data => row.from; row.to.val().tag => tags.write_data);
        self.tags.write_enable.next = false;
        self.tags.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);

        // A verdict is a pulse: keep it until the data has gone.
        self.own_verdict.next =
            self.verdict.valid.val() & (self.verdict.data.val().client == self.complete_client.val());
        if self.own_verdict.val() {
            self.granted.d.next = self.verdict.data.val().ok;
            self.refused.d.next = !self.verdict.data.val().ok;
        }

        // The access and the bytes of each step.
        drive!(self, step => written.step; at.q => written.at; tag.q => written.tag;
            entry.data => written.entry; asks.q => access.valid; written.access => access.data;
            written.beat => write.data);
        if self.access.ready.val() {
            self.asks.d.next = false;
        }
        self.write.valid.next = false;
        self.may.next = self.granted.q.val() | (self.own_verdict.val() & self.verdict.data.val().ok);
        self.goes.next = self.may.val() & self.write.ready.val();

        // The steps.
        drive!(self, commit.valid => steps.row; entry.valid => steps.entry; receive.valid => steps.receive;
            at.q => steps.at; access.ready => steps.asked; goes => steps.written; write.ready => steps.taken;
            refused.q => steps.refused; request.ready => steps.acknowledged; fault.ready => steps.broken;
            steps.job => job);
        self.sends.next = self.send.valid.val() & (self.send_turn.q.val() | !self.receive.valid.val());
        self.chosen.next = self.receive.data.val();
        if self.sends.val() {
            self.chosen.next = self.send.data.val();
        }
        drive!(self, sends => steps.send; chosen.val().write => steps.writes;
            chosen.val().has_immediate => steps.has_immediate; chosen.val().vi => tags.read_address);
        self.steps.rest.next = !self.descriptor_ends.waits.val();
        drive!(self, false => commit.ready, receive.ready, send.ready);

        self.request.valid.next = (self.step.val() == WriterStep::Acknowledge) & self.at.q.val().acknowledge;
        fill!(self, request.data, at.q.val().vi => vi; at.q.val().psn => psn; at.q.val().msn => msn;
            at.q.val().syndrome => syndrome; at.q.val().kind => kind; at.q.val().reception => reception);
        drive!(self, issued => request_mark; wrong.q => count_error);
        self.fault.valid.next = self.step.val() == WriterStep::Refused;
        fill!(self, fault.data, at.q.val().vi => vi; comp_prot => code; at.q.val().receive => receive;
            true => breaks);
        self.busy.next = (self.step.val() != WriterStep::Idle)
            | self.receive.valid.val()
            | self.send.valid.val()
            | self.entry.valid.val()
            | self.descriptor_ends.waits.val();
        self.receiving.next = (self.step.val() != WriterStep::Idle) & self.at.q.val().receive;
        self.ends.next = false;
        self.entry_end.valid.next = false;
        self.entry_end.data.next = self.step.val() == WriterStep::EntryOwner;
        self.wrong.d.next = false;

        if (self.job.val() == WriterJob::Send) | (self.job.val() == WriterJob::Receive) {
            self.at.d.next = self.chosen.val();
            self.tag.d.next = self.tags.read_data.val();
            self.asks.d.next = self.chosen.val().write;
        }
        match self.job.val() {
            WriterJob::Row => {
                self.commit.ready.next = true;
                self.tags.write_enable.next = true;
                // LIFE-2: the last word of the connection before is forgotten.
                self.at.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                self.at.d.next.acknowledge = true;
                self.at.d.next.kind = self.forget.val();
                self.at.d.next.reception = false;
            }
            WriterJob::Entry => {
                self.asks.d.next = true;
            }
            WriterJob::Send => {
                self.send.ready.next = true;
                self.send_turn.d.next = false;
            }
            WriterJob::Receive => {
                self.receive.ready.next = true;
                self.send_turn.d.next = true;
            }
            _ => {}
        }
        match self.step.val() {
            WriterStep::Idle => {
                self.granted.d.next = false;
                self.refused.d.next = false;
            }
            WriterStep::Unwritten => {
                self.ends.next = true;
            }
            WriterStep::Immediate => {
                self.write.valid.next = self.may.val();
                if self.goes.val() {
                    self.granted.d.next = false;
                    self.asks.d.next = true;
                }
            }
            WriterStep::Status => {
                self.write.valid.next = self.may.val();
                if self.goes.val() {
                    self.granted.d.next = false;
                    // WQ-1: behind the status come the entry and the interrupts.
                    self.ends.next = true;
                    self.wrong.d.next = (self.at.q.val().status & self.error_bits.val()).any();
                }
            }
            WriterStep::Refused => {
                // WQ-7: the fault is COMP_PROT. RSP-7: a NAK takes the place of the acknowledgement.
                self.at.d.next.syndrome = self.nak.val();
                self.at.d.next.kind = self.last_word.val();
                self.ends.next = self.fault.ready.val();
            }
            WriterStep::EntryToken => {
                self.write.valid.next = self.may.val();
                // CQ-4: the entry cannot be written.
                self.entry_end.valid.next = self.refused.q.val();
            }
            WriterStep::EntryOwner => {
                self.write.valid.next = true;
                self.entry_end.valid.next = self.write.ready.val();
            }
            _ => {}
        }
        drive!(self, ends => descriptor_ends.ends; at.q => descriptor_ends.at;
            may => descriptor_ends.written);
        Source::<Queue>::link(&mut self.ended, &mut self.descriptor_ends.ended);
        Source::<Closed>::link(&mut self.closed, &mut self.descriptor_ends.closed);
        if self.reset.val() {
            self.asks.d.next = false;
            self.granted.d.next = false;
            self.refused.d.next = false;
            self.send_turn.d.next = false;
        }
    }
}
