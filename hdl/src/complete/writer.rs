//! Writes completions into descriptors, in place: ImmediateData if any, then Length and Status in one write.
//!
//! ```text
//!   receive, send ──►┌────────┐──► access ... verdict ──► write
//!         verdict ──►│ Writer │──► request, request_mark
//!  issued, commit ──►└────────┘──► fault
//! ```
//! Contract: receive and send completions take turns; those of one queue are written in the order in which they come.
//! Data goes to the write engine in the order of the verdicts. The acknowledgement follows the last verdict, with the
//! number of write commands issued by then as its mark: the checker counts a command no later than it gives the
//! verdict. A completion that the checker refuses breaks the VI (COMP_PROT), and its acknowledgement becomes a NAK
//! (remote operational error): the message has not been delivered.
//!
//! Latency and throughput: 4 cycles and the checker's time for a completion, 3 more and once more that time with
//! ImmediateData.
//!
//! Tests: `tests/send/writer.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{COMPLETION_OFFSET, IMMEDIATE_OFFSET};
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;
use viaduct_spec::wire::syndrome;

use crate::bus::{client, Access, AckRequest, Commit, Completion, Fault, Vi, WriteBeat};
use crate::literal::Literal;
use crate::prims::Ram;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Choose,
    Ask,
    Wait,
    Write,
    Acknowledge,
    Break,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Writer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// A receive descriptor to complete, or an acknowledgement.
    pub receive_valid: Signal<In, bool>,
    /// The descriptor.
    pub receive: Signal<In, Completion>,
    /// It is done.
    pub receive_ready: Signal<Out, bool>,
    /// A send descriptor to complete.
    pub send_valid: Signal<In, bool>,
    /// The descriptor.
    pub send: Signal<In, Completion>,
    /// It is done.
    pub send_ready: Signal<Out, bool>,
    /// A table row.
    pub commit_valid: Signal<In, bool>,
    /// RECEIVE rows: their tag is ours.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// Memory to write.
    pub access_valid: Signal<Out, bool>,
    /// Four or eight bytes of a descriptor.
    pub access: Signal<Out, Access>,
    /// It is taken.
    pub access_ready: Signal<In, bool>,
    /// The checker has decided about a write.
    pub verdict_valid: Signal<In, bool>,
    /// Whose.
    pub verdict_client: Signal<In, Bits<2>>,
    /// It may be written.
    pub verdict_ok: Signal<In, bool>,
    /// Data to write.
    pub write_valid: Signal<Out, bool>,
    /// The data.
    pub write: Signal<Out, WriteBeat>,
    /// It is taken.
    pub write_ready: Signal<In, bool>,
    /// Write commands issued, modulo 256.
    pub issued: Signal<In, Bits<8>>,
    /// An acknowledgement to send.
    pub request_valid: Signal<Out, bool>,
    /// The acknowledgement.
    pub request: Signal<Out, AckRequest>,
    /// Write commands that must have retired before, modulo 256.
    pub request_mark: Signal<Out, Bits<8>>,
    /// It is taken.
    pub request_ready: Signal<In, bool>,
    /// A VI must break.
    pub fault_valid: Signal<Out, bool>,
    /// Which, and why.
    pub fault: Signal<Out, Fault>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// Work is held.
    pub busy: Signal<Out, bool>,
    tags: Ram<Bits<16>, { VI_LOG2 }>,
    step: DFF<State>,
    /// The completion at hand is a receive's.
    receiving: DFF<bool>,
    /// Its ImmediateData is being written.
    first: DFF<bool>,
    refused: DFF<bool>,
    mark: DFF<Bits<8>>,
    current: Signal<Local, Completion>,
    vi: Signal<Local, Vi>,
    base: Signal<Local, Bits<64>>,
    descriptor_base: Signal<Local, Bits<64>>,
    finished: Signal<Local, bool>,
    takes_commit: Signal<Local, bool>,
    receive_table: Literal<8, { table::RECEIVE as u64 }>,
    client: Literal<2, { client::COMPLETE }>,
    immediate_offset: Literal<64, { IMMEDIATE_OFFSET }>,
    completion_offset: Literal<64, { COMPLETION_OFFSET }>,
    immediate_lane: Literal<3, { IMMEDIATE_OFFSET % 8 }>,
    protection: Literal<8, { event_code::COMP_PROT as u64 }>,
    operational: Literal<8, { syndrome::NAK_OPERATIONAL as u64 }>,
}

impl Logic for Writer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, receiving, first, refused, mark);
        clock!(self, clock, tags);

        self.current.next = self.send.val();
        if self.receiving.q.val() {
            self.current.next = self.receive.val();
        }
        self.vi.next = self.current.val().vi;
        self.tags.read_address.next = self.vi.val();
        // Not in a cycle after which the tag is looked at; and nothing waits for a commit.
        self.takes_commit.next = (self.step.q.val() != State::Choose)
            & (self.step.q.val() != State::Ask)
            & (self.step.q.val() != State::Write);
        self.tags.write_enable.next = self.commit_valid.val()
            & self.takes_commit.val()
            & (self.commit.val().target == self.receive_table.val());
        self.tags.write_address.next = bit_cast::<{ VI_LOG2 }, 16>(self.commit.val().row);
        self.tags.write_data.next = bit_cast::<16, 64>(self.commit.val().word1);
        self.commit_ready.next = self.takes_commit.val();

        // ImmediateData and Length with Status lie in the descriptor's control segment, at 20 and 24.
        self.descriptor_base.next = bit_cast::<64, 34>(self.current.val().offset) << 6;
        self.base.next = self.descriptor_base.val() | self.completion_offset.val();
        self.access.next.span = bits::<32>(8);
        self.access.next.length = bits::<13>(8);
        self.write.next.data = (bit_cast::<64, 20>(self.current.val().status) << 32)
            | bit_cast::<64, 32>(self.current.val().length);
        self.write.next.start = bits::<3>(0);
        self.write.next.count = bits::<4>(8);
        if self.first.q.val() {
            self.base.next = self.descriptor_base.val() | self.immediate_offset.val();
            self.access.next.span = bits::<32>(4);
            self.access.next.length = bits::<13>(4);
            self.write.next.data = bit_cast::<64, 32>(self.current.val().immediate) << 32;
            self.write.next.start = self.immediate_lane.val();
            self.write.next.count = bits::<4>(4);
        }
        self.access.next.address = self.base.val();
        self.access.next.region = self.current.val().region;
        self.access.next.key = bits::<16>(0);
        self.access.next.tag = self.tags.read_data.val();
        self.access.next.by_offset = true;
        self.access.next.system = false;
        self.access.next.write = true;
        self.access.next.clip = false;
        self.access.next.user = bits::<8>(0);
        self.request.next.vi = self.vi.val();
        self.request.next.psn = self.current.val().psn;
        self.request.next.msn = self.current.val().msn;
        self.request.next.syndrome = self.current.val().syndrome;
        if self.refused.q.val() {
            self.request.next.syndrome = self.operational.val();
        }
        self.request_mark.next = self.mark.q.val();
        self.fault.next.vi = self.vi.val();
        self.fault.next.code = self.protection.val();
        self.fault.next.receive = self.receiving.q.val();
        self.fault.next.breaks = true;

        self.access_valid.next = self.step.q.val() == State::Ask;
        self.write_valid.next = self.step.q.val() == State::Write;
        self.request_valid.next = self.step.q.val() == State::Acknowledge;
        self.fault_valid.next = self.step.q.val() == State::Break;
        self.finished.next = false;
        match self.step.q.val() {
            State::Idle => {
                // Turns: whoever was not last goes first.
                self.refused.d.next = false;
                self.receiving.d.next =
                    self.receive_valid.val() & (!self.receiving.q.val() | !self.send_valid.val());
                if self.receive_valid.val() | self.send_valid.val() {
                    self.step.d.next = State::Choose;
                }
            }
            State::Choose => {
                self.first.d.next = self.current.val().has_immediate;
                self.mark.d.next = self.issued.val();
                self.step.d.next = State::Ask;
                if !self.current.val().write {
                    self.finished.next = true;
                }
            }
            State::Ask => {
                if self.access_ready.val() {
                    self.step.d.next = State::Wait;
                }
            }
            State::Wait => {
                if self.verdict_valid.val() & (self.verdict_client.val() == self.client.val()) {
                    self.step.d.next = State::Write;
                    if !self.verdict_ok.val() {
                        self.refused.d.next = true;
                        self.step.d.next = State::Break;
                    }
                }
            }
            State::Write => {
                self.mark.d.next = self.issued.val();
                if self.write_ready.val() {
                    self.first.d.next = false;
                    self.step.d.next = State::Ask;
                    self.finished.next = !self.first.q.val();
                }
            }
            State::Break => {
                self.mark.d.next = self.issued.val();
                self.finished.next = self.fault_ready.val();
            }
            State::Acknowledge => {
                if self.request_ready.val() {
                    self.step.d.next = State::Idle;
                }
            }
            _ => {}
        }
        if self.finished.val() {
            self.step.d.next = State::Idle;
            if self.current.val().acknowledge {
                self.step.d.next = State::Acknowledge;
            }
        }
        self.receive_ready.next = false;
        self.send_ready.next = false;
        if (self.finished.val() & !self.current.val().acknowledge)
            | (self.request_ready.val() & (self.step.q.val() == State::Acknowledge))
        {
            self.receive_ready.next = self.receiving.q.val();
            self.send_ready.next = !self.receiving.q.val();
        }
        self.busy.next = (self.step.q.val() != State::Idle) | self.receive_valid.val() | self.send_valid.val();
        if self.reset.val() {
            self.step.d.next = State::Idle;
            self.receiving.d.next = false;
        }
    }
}
