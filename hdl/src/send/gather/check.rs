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
//! there is none: the head was stale when its turn came. All segments are read and their lengths summed up before `message` is offered,
//! so a wrong descriptor sends nothing. Segments beyond the first two are read at once, up to 4000 bytes, into the tail memory. Until
//! `message` is offered its data is what is known so far; from then on it stands until it is taken, and the first segment's words are the
//! last two that the word reader has shown. A message that may not begin before reads are complete is offered as `parks`; one that is
//! wrong, or of a VI that is not connected, as `ends`, with the reason. A change of state or epoch shows a cycle late.
//!
//! Example: a send of 1500 bytes in one segment. The block reads words 1 to 3, and 5 for the segment's length; the VI's GATHER row says
//! that 1500 bytes may be, and `message` is offered with `length` 1500, while the word reader shows words 4 and 5.
//!
//! Latency: 8 cycles from `load` to `message` with one segment, one more with two, one more for RDMA.
//!
//! How: a memory gives its word late in the cycle, so words go straight into registers, and the block tests a word in the cycle behind,
//! in `late`. What is known of the VI stands in registers too, from CheckStep::Immediate on.
//!
//! Tests: alone `tests/send/gather/latency.rs`; with the whole of gather the others there.

use crate::stream::{FlowSink, FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

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
    /// A head waits in the inbox, which drives it.
    pub waits: Signal<In, bool>,
    /// The head that was loaded last, from the inbox.
    pub head: Signal<In, SendHead>,
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
    /// The word on show: the one that was asked for in the cycle before, or the row.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// A read of the descriptor's tail, which `protect` checks.
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
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, malformed, unread, verdict);
        clock!(self, clock, steps, control, segments, limits, lengths, reads, place);
        self.steps.reset.next = self.reset.val();

        // The steps.
        drive!(self, waits => steps.waits; hold => steps.hold; head.val().lost => steps.lost;
            now.val().stale => steps.stale; now.val().connected => steps.connected;
            control.fields => steps.fields; malformed.q => steps.malformed; tail.ready => steps.asked;
            tail_end.valid => steps.ended; message.ready => steps.taken; steps.read_row => read_row;
            steps.load => load; steps.drop => drop);
        FlowSource::<Bits<9>>::link(&mut self.seek, &mut self.steps.seek);
        self.busy.next = self.steps.step.val() != CheckStep::Idle;

        // The fields of the descriptor and of the row.
        drive!(self, steps.step => control.step, segments.step, limits.step, reads.step;
            word => control.word, segments.word, limits.word;
            late => control.late, segments.late, limits.late; head.val().words => control.held, segments.held;
            head.val().lost => control.lost; control.fields.val().rdma => segments.rdma; now => reads.now;
            control.fields => reads.fields; control.reads => reads.reads;
            limits.row.val().rdma_read => reads.allowed; control.fields.val().length => lengths.length;
            limits.row.val().max_transfer => lengths.limit);
        self.lengths.clear.next = self.steps.step.val() == CheckStep::Idle;
        join!(self, FlowSource<Bits<32>>, segments.length => lengths.head_length);
        FlowSink::<Bits<32>>::link(&mut self.tail_length, &mut self.lengths.tail_length);

        // The tail.
        drive!(self, head => place.head; control.fields.val().segments => place.segments;
            limits.limits.val().tag => place.tag; steps.asks => tail.valid; place.access => tail.data);

        // The verdict on the message.
        drive!(self, now.val().connected => judge.connected; unread.q => judge.unread;
            malformed.q => judge.malformed; control.fields => judge.fields; control.reads => judge.reads;
            reads.may_read => judge.may_read; limits.limits.val().raw => judge.raw;
            lengths.faults => judge.lengths; reads.waits => judge.waits);
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
        fill!(self, message.data, verdict.q.val().ends => ends; verdict.q.val().parks => parks;
            verdict.q.val().errors => errors; unread.q => unread; control.reads => reads;
            control.fields.val().operation => operation; control.fields.val().length => length;
            control.fields.val().segments => segments; control.fields.val().has_immediate => has_immediate;
            control.fields.val().immediate => immediate; segments.remote.val().address => remote_address;
            segments.remote.val().rkey => rkey; limits.limits.val().tag => tag;
            limits.limits.val().mtu => mtu; limits.limits.val().mtu_log2 => mtu_log2);
        self.message.data.next.skip = bits::<24>(0);
        if self.head.val().restart {
            self.message.data.next.skip = self.head.val().skip;
        }
        self.message.data.next.complete = self.reads.complete.val();
    }
}
