//! Judges a send descriptor: whether its message may be sent; and says what cut has to know of it.
//!
//! ```text
//!  waits, head, found, hold ──►┌────────────────────────────────────────┐──► load, drop, busy
//!                              │ CheckSteps ── step ──► all of these:   │──► seek, read_row
//!                      late ──►│ SendLimits Extensions ReadGate         │
//!                       now ──►│ LengthCheck ──► MessageJudge           │──► message, prepares, restart
//!     tail_length, tail_end ──►│ TailPlace                              │──► tail
//!                              └────────────────────────────────────────┘
//! ```
//! Contract: `load` takes the oldest head that waits, and the block works on it until its `message` is taken, or until `drop` says that
//! there is none: the head was stale when its turn came. What its first 64 bytes are is in `found` already, see
//! [`HeadCheck`](super::HeadCheck). Segments beyond the first two are read at once, up to 4000 bytes, into the tail memory, and their lengths
//! summed up before `message` is offered, so a wrong descriptor sends nothing. Until
//! `message` is offered its data is what is known so far; from then on it stands until it is taken, and the first segment's words are the
//! last two that the word reader has shown. A message that may not begin before reads are complete is offered as `parks`; one that is
//! wrong, or of a VI that is not connected, as `ends`, with the reason. A change of state or epoch shows a cycle late.
//!
//! Example: a send of 1500 bytes in one segment. The VI's GATHER row says that 1500 bytes may be, and `message` is offered with `length` 1500,
//! while the word reader shows words 4 and 5.
//!
//! Latency: 4 cycles from `load` to `message`, one more with immediate data, two more for RDMA.
//!
//! How: a memory gives its word late in the cycle, so words go straight into registers, and the block looks at a word in the cycle behind,
//! in `late`. What is known of the VI stands in registers too, from the steps TailRow and Limits on.
//!
//! Tests: alone `tests/send/gather/latency.rs`; with the whole of gather the others there.

use crate::stream::{FlowSink, FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::check_steps::{CheckStep, CheckSteps};
use super::extensions::Extensions;
use super::head_check::{DescriptorRequest, HeadFindings};
use super::length_check::LengthCheck;
use super::message::CheckedMessage;
use super::message_judge::{MessageJudge, MessageVerdict};
use super::owner::OwnerNow;
use super::read_gate::ReadGate;
use super::send_limits::SendLimits;
use super::tail::TailEnd;
use super::tail_place::TailPlace;
use crate::bus::{Access, SendHead};
use crate::prims::Number;
use viaduct_spec::descriptor::control;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Check {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the descriptor under way.
    pub reset: Signal<In, bool>,
    /// A head waits in the inbox, which drives it.
    pub waits: Signal<In, bool>,
    /// The head that was loaded last, from the inbox.
    pub head: Signal<In, SendHead>,
    /// What was found in the first 64 bytes of that head's descriptor, from the inbox.
    pub found: Signal<In, HeadFindings>,
    /// No head must be loaded now; the replier drives it.
    pub hold: Signal<In, bool>,
    /// Pulses when the oldest head that waits is to be loaded.
    pub load: Signal<Out, bool>,
    /// Pulses when the block is done with the head at hand and there is no message.
    pub drop: Signal<Out, bool>,
    /// A descriptor is being worked on, here or by cut.
    pub busy: Signal<Out, bool>,
    /// State and reads of the head's VI, and whether the head is stale, from the owner.
    pub now: Signal<In, OwnerNow>,
    /// To the owner: the VI's sends come again, and this many of its reads, modulo 8, count as sent.
    pub restart: FlowSource<Bits<3>>,
    /// Number of the word that is to be read.
    pub seek: FlowSource<Bits<9>>,
    /// The GATHER row of the head's VI is read instead of a word.
    pub read_row: Signal<Out, bool>,
    /// The word that was asked for two cycles before, or the row; from the word reader.
    pub late: Signal<In, Bits<64>>,
    /// A read of the descriptor's tail, which `protect` checks.
    pub tail: Source<Access>,
    /// Length in bytes of a segment of the tail that has come in, from `Tail`.
    pub tail_length: FlowSink<Bits<32>>,
    /// The whole tail has come in; `Tail` drives it.
    pub tail_end: FlowSink<TailEnd>,
    /// A message for cut.
    pub message: Source<CheckedMessage>,
    /// No message is offered; for cut.
    pub prepares: Signal<Out, bool>,
    steps: CheckSteps,
    extensions: Extensions,
    limits: SendLimits,
    lengths: LengthCheck,
    reads: ReadGate,
    judge: MessageJudge,
    place: TailPlace,
    /// The tail is not as long as it has to be, or was refused.
    bad_tail: DFF<bool>,
    /// Segments of the descriptor could not be read.
    unread: DFF<bool>,
    verdict: DFF<MessageVerdict>,
    request: Signal<Local, DescriptorRequest>,
    malformed: Signal<Local, bool>,
    has_tail: Signal<Local, bool>,
    rdma: Signal<Local, bool>,
    reads_memory: Signal<Local, bool>,
    /// What is known of the VI is there for the first time.
    begins: Signal<Local, bool>,
    two: Number<8, 2>,
    read_code: Number<2, { control::OP_RDMAREAD as u64 }>,
}

impl Logic for Check {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, bad_tail, unread, verdict);
        clock!(self, clock, steps, extensions, limits, lengths, reads, place);
        self.steps.reset.next = self.reset.val();

        // What the descriptor asks for: nothing, if it is lost.
        self.request.next = self.found.val().request;
        if self.head.val().lost {
            self.request.next.operation = bits::<2>(0);
        }
        self.rdma.next = self.request.val().operation.any();
        self.reads_memory.next = self.request.val().operation == self.read_code.val();
        self.malformed.next = self.found.val().malformed | self.bad_tail.q.val();
        self.has_tail.next = (self.request.val().segments > self.two.val())
            & !self.found.val().malformed
            & !self.head.val().lost;

        // The steps.
        drive!(self, waits => steps.waits; hold => steps.hold; head.val().lost => steps.lost;
            now.val().stale => steps.stale; now.val().connected => steps.connected; has_tail => steps.has_tail;
            rdma => steps.rdma; request.val().has_immediate => steps.has_immediate; tail.ready => steps.asked;
            tail_end.valid => steps.ended; message.ready => steps.taken; steps.read_row => read_row;
            steps.load => load; steps.drop => drop);
        FlowSource::<Bits<9>>::link(&mut self.seek, &mut self.steps.seek);
        self.busy.next = self.steps.step.val() != CheckStep::Idle;
        self.begins.next = (self.steps.step.val() == CheckStep::TailRow)
            | ((self.steps.step.val() == CheckStep::Limits) & !self.has_tail.val());

        // The row, and the words for extension headers.
        drive!(self, steps.step => extensions.step, limits.step, reads.step; late => extensions.late, limits.late;
            head => reads.head; now => reads.now; request => reads.request; reads_memory => reads.reads;
            limits.row.val().rdma_read => reads.allowed);

        // The length.
        drive!(self, found.val().length => lengths.length; found.val().sum => lengths.head_sum.data;
            limits.row.val().max_transfer => lengths.limit.data);
        self.lengths.head_sum.valid.next = self.steps.step.val() == CheckStep::Load;
        self.lengths.limit.valid.next = self.steps.step.val() == CheckStep::Limits;
        FlowSink::<Bits<32>>::link(&mut self.tail_length, &mut self.lengths.tail_length);

        // The tail.
        drive!(self, head => place.head; request.val().segments => place.segments;
            limits.limits.val().tag => place.tag; steps.asks => tail.valid; place.access => tail.data;
            steps.offers => message.valid; steps.prepares => prepares);

        // The verdict on the message.
        drive!(self, now.val().connected => judge.connected; unread.q => judge.unread;
            malformed => judge.malformed; request => judge.request; reads_memory => judge.reads;
            reads.may_read => judge.may_read; limits.limits.val().raw => judge.raw;
            lengths.faults => judge.lengths; reads.waits => judge.waits);
        // All reads that are not complete come again, unless the VI only goes on.
        self.restart.valid.next = self.begins.val() & self.head.val().restart & !self.now.val().stale;
        self.restart.data.next = self.now.val().complete;
        if self.head.val().resume {
            self.restart.data.next = self.now.val().sent;
        }
        match self.steps.step.val() {
            CheckStep::Idle => {
                self.bad_tail.d.next = false;
                self.unread.d.next = false;
                self.verdict.d.next.ends = false;
                self.verdict.d.next.parks = false;
                self.verdict.d.next.errors = bits::<9>(0);
            }
            CheckStep::Limits => {
                self.verdict.d.next.ends = self.head.val().lost;
            }
            CheckStep::WaitTail => {
                if self.tail_end.valid.val() {
                    self.unread.d.next = self.tail_end.data.val().failed;
                    self.bad_tail.d.next = self.tail_end.data.val().bad
                        | (self.tail_end.data.val().words != self.place.stop.val());
                }
            }
            CheckStep::Verdict => {
                self.verdict.d.next = self.judge.verdict.val();
            }
            _ => {}
        }

        fill!(self, message.data, verdict.q.val().ends => ends; verdict.q.val().parks => parks;
            verdict.q.val().errors => errors; unread.q => unread; reads_memory => reads;
            request.val().operation => operation; found.val().length => length;
            request.val().segments => segments; request.val().has_immediate => has_immediate;
            extensions.immediate => immediate; extensions.remote.val().address => remote_address;
            extensions.remote.val().rkey => rkey; limits.limits.val().tag => tag;
            limits.limits.val().mtu => mtu; limits.limits.val().mtu_log2 => mtu_log2);
        self.message.data.next.skip = bits::<24>(0);
        if self.head.val().restart {
            self.message.data.next.skip = self.head.val().skip;
        }
        self.message.data.next.complete = self.reads.complete.val();
    }
}
