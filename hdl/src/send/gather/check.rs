//! Reads a send descriptor, decides whether its message may be sent, and says what cut has to know of it.
//!
//! ```text
//!        waits, head, hold ──►┌────────────────────────────────────────┐──► load, drop, busy
//!                             │ CheckSteps ── step ──► all of these:   │──► seek, read_row
//!               word, late ──►│ ControlCheck FirstSegments SendLimits  │
//!                      now ──►│ ReadGate LengthCheck ──► MessageJudge  │──► message, restart
//!    tail_length, tail_end ──►│ TailPlace                              │──► tail
//!                             └────────────────────────────────────────┘
//! ```
//! Contract: `load` takes the oldest head that waits, and the block works on it until its `message` is taken, or until `drop` says that
//! there is none: the head was stale when its turn came. All segments are read and their lengths summed up before `message` is
//! offered, so a wrong descriptor sends nothing. Segments beyond the first two are read at once, up to 4000 bytes, into the tail memory.
//! While `message` is not offered its data is what is known so far. What it is offered with stands until it is taken; the first
//! segment's words are then the last two that the word reader has shown. A message that may not begin before reads are complete is
//! offered as `parks`; one that is wrong, or of a VI that is not connected, as `ends`, with the reason. A change of state or epoch is
//! heeded a cycle late.
//!
//! Example: a send of 1500 bytes in one segment. The block reads words 1 to 3, and 5 for the segment's length; the VI's GATHER row says
//! that 1500 bytes may be, and `message` is offered with `length` 1500, while the word reader shows words 4 and 5.
//!
//! Latency: 8 cycles from `load` to `message` with one segment, one more with two, one more for RDMA.
//!
//! How: memories take most of a cycle, so their words go straight into registers, and what must be true of a word is
//! looked at in the cycle behind, in `late`. What is known of the VI stands in registers too, from CheckStep::Immediate on.
//!
//! Tests: alone `tests/send/gather/latency.rs`; with the whole of gather the others there.

use crate::stream::{FlowSink, FlowSource, Source};
use rust_hdl::prelude::*;

use super::check_steps::{CheckStep, CheckSteps};
use super::control_check::ControlCheck;
use super::first_segments::FirstSegments;
use super::length_check::LengthCheck;
use super::message::CheckedMessage;
use super::message_judge::{MessageJudge, MessageVerdict};
use super::owner::OwnerNow;
use super::read_gate::ReadGate;
use super::send_limits::SendLimits;
use super::tail::TailEnd;
use super::tail_place::TailPlace;
use crate::bus::{Access, SendHead};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Check {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the descriptor under way.
    pub reset: Signal<In, bool>,
    /// A head waits in the inbox.
    pub waits: Signal<In, bool>,
    /// The head that was loaded last, from the inbox.
    pub head: Signal<In, SendHead>,
    /// No head must be loaded now; the replier drives it.
    pub hold: Signal<In, bool>,
    /// Pulses when the oldest head that waits is to be loaded.
    pub load: Signal<Out, bool>,
    /// Pulses when the head at hand is done with, and there is no message.
    pub drop: Signal<Out, bool>,
    /// A descriptor is being worked on, here or by cut.
    pub busy: Signal<Out, bool>,
    /// What is true of the head's VI.
    pub now: Signal<In, OwnerNow>,
    /// To the owner: the VI's sends come again, and this many of its reads, modulo 8, count as sent.
    pub restart: FlowSource<Bits<3>>,
    /// Number of the word that is to be read.
    pub seek: FlowSource<Bits<9>>,
    /// The GATHER row of the head's VI is read instead of a word.
    pub read_row: Signal<Out, bool>,
    /// The word on show: the one that was asked for in the cycle before, or the row.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// A read of the descriptor's tail, for the protection checker.
    pub tail: Source<Access>,
    /// Length in bytes of a segment of the tail that has come in.
    pub tail_length: FlowSink<Bits<32>>,
    /// The whole tail has come in.
    pub tail_end: FlowSink<TailEnd>,
    /// A message for cut.
    pub message: Source<CheckedMessage>,
    steps: CheckSteps,
    control: ControlCheck,
    segments: FirstSegments,
    limits: SendLimits,
    lengths: LengthCheck,
    reads: ReadGate,
    judge: MessageJudge,
    place: TailPlace,
    /// Something is wrong with the descriptor's form.
    malformed: DFF<bool>,
    /// Segments of the descriptor could not be read.
    unread: DFF<bool>,
    verdict: DFF<MessageVerdict>,
}

impl Logic for Check {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, malformed, unread, verdict);
        clock!(self, clock, steps, control, segments, limits, lengths, reads, place);
        self.steps.reset.next = self.reset.val();

        // The steps.
        self.steps.waits.next = self.waits.val();
        self.steps.hold.next = self.hold.val();
        self.steps.lost.next = self.head.val().lost;
        self.steps.stale.next = self.now.val().stale;
        self.steps.connected.next = self.now.val().connected;
        self.steps.fields.next = self.control.fields.val();
        self.steps.malformed.next = self.malformed.q.val();
        self.steps.asked.next = self.tail.ready.val();
        self.steps.ended.next = self.tail_end.valid.val();
        self.steps.taken.next = self.message.ready.val();
        FlowSource::<Bits<9>>::link(&mut self.seek, &mut self.steps.seek);
        self.read_row.next = self.steps.read_row.val();
        self.load.next = self.steps.load.val();
        self.drop.next = self.steps.drop.val();
        self.busy.next = self.steps.step.val() != CheckStep::Idle;

        // What the descriptor and the row say.
        self.control.step.next = self.steps.step.val();
        self.control.word.next = self.word.val();
        self.control.late.next = self.late.val();
        self.control.held.next = self.head.val().words;
        self.control.lost.next = self.head.val().lost;
        self.segments.step.next = self.steps.step.val();
        self.segments.word.next = self.word.val();
        self.segments.late.next = self.late.val();
        self.segments.held.next = self.head.val().words;
        self.segments.rdma.next = self.control.fields.val().rdma;
        self.limits.step.next = self.steps.step.val();
        self.limits.word.next = self.word.val();
        self.limits.late.next = self.late.val();
        self.reads.step.next = self.steps.step.val();
        self.reads.now.next = self.now.val();
        self.reads.fields.next = self.control.fields.val();
        self.reads.reads.next = self.control.reads.val();
        self.reads.allowed.next = self.limits.row.val().rdma_read;
        self.lengths.clear.next = self.steps.step.val() == CheckStep::Idle;
        FlowSource::<Bits<32>>::join(&mut self.segments.length, &mut self.lengths.head_length);
        FlowSink::<Bits<32>>::link(&mut self.tail_length, &mut self.lengths.tail_length);
        self.lengths.length.next = self.control.fields.val().length;
        self.lengths.limit.next = self.limits.row.val().max_transfer;

        // The tail.
        self.place.head.next = self.head.val();
        self.place.segments.next = self.control.fields.val().segments;
        self.place.tag.next = self.limits.limits.val().tag;
        self.tail.valid.next = self.steps.asks.val();
        self.tail.data.next = self.place.access.val();

        // What becomes of the message.
        self.judge.connected.next = self.now.val().connected;
        self.judge.unread.next = self.unread.q.val();
        self.judge.malformed.next = self.malformed.q.val();
        self.judge.fields.next = self.control.fields.val();
        self.judge.reads.next = self.control.reads.val();
        self.judge.may_read.next = self.reads.may_read.val();
        self.judge.raw.next = self.limits.limits.val().raw;
        self.judge.lengths.next = self.lengths.faults.val();
        self.judge.waits.next = self.reads.waits.val();
        // All reads that are not complete come again, unless the VI only goes on.
        self.restart.valid.next = false;
        self.restart.data.next = self.now.val().complete;
        if self.head.val().resume {
            self.restart.data.next = self.now.val().sent;
        }
        if self.control.wrong.val() | self.segments.wrong.val() {
            self.malformed.d.next = true;
        }
        match self.steps.step.val() {
            CheckStep::Idle => {
                self.malformed.d.next = false;
                self.unread.d.next = false;
                self.verdict.d.next.ends = false;
                self.verdict.d.next.parks = false;
                self.verdict.d.next.errors = bits::<9>(0);
            }
            CheckStep::Immediate => {
                self.verdict.d.next.ends = self.head.val().lost;
                self.restart.valid.next = self.head.val().restart & !self.now.val().stale;
            }
            CheckStep::WaitTail => {
                if self.tail_end.valid.val() {
                    self.unread.d.next = self.tail_end.data.val().failed;
                    self.malformed.d.next = self.tail_end.data.val().bad
                        | (self.tail_end.data.val().words != self.place.stop.val());
                }
            }
            CheckStep::Verdict => {
                self.verdict.d.next = self.judge.verdict.val();
            }
            _ => {}
        }

        self.message.valid.next = self.steps.step.val() == CheckStep::Offer;
        self.message.data.next.ends = self.verdict.q.val().ends;
        self.message.data.next.parks = self.verdict.q.val().parks;
        self.message.data.next.errors = self.verdict.q.val().errors;
        self.message.data.next.unread = self.unread.q.val();
        self.message.data.next.reads = self.control.reads.val();
        self.message.data.next.operation = self.control.fields.val().operation;
        self.message.data.next.length = self.control.fields.val().length;
        self.message.data.next.segments = self.control.fields.val().segments;
        self.message.data.next.has_immediate = self.control.fields.val().has_immediate;
        self.message.data.next.immediate = self.control.fields.val().immediate;
        self.message.data.next.remote_address = self.segments.remote.val().address;
        self.message.data.next.rkey = self.segments.remote.val().rkey;
        self.message.data.next.tag = self.limits.limits.val().tag;
        self.message.data.next.mtu = self.limits.limits.val().mtu;
        self.message.data.next.mtu_log2 = self.limits.limits.val().mtu_log2;
        self.message.data.next.skip = bits::<24>(0);
        if self.head.val().restart {
            self.message.data.next.skip = self.head.val().skip;
        }
        self.message.data.next.complete = self.reads.complete.val();
    }
}
