//! Makes frames of packets and acknowledgements, in order; reports each message's end in `sent`.
//!
//! ```text
//!   packet, whole ──►┌────────────────────────────────────────────┐──► frame, frame_vlan, frame_loopback
//!             ack ──►│ PacketJudge, AckJudge ──► TransmitSteps    │
//!   commit, state ──►│    ▲                            │          │──► sent, fault, read, failed
//!           epoch ──►│  Sender ──► PsnCount, Heading ──► Framer   │
//!         payload ──►│      PayloadDrop, AnswerFailure, Announce  │──► replied, count_*
//!                    └────────────────────────────────────────────┘
//! ```
//! Contract:
//! - A packet with payload starts when its `whole` is there: a frame never waits for data. Packets and acknowledgements take turns.
//! - A packet whose data was refused or failed is dropped, and so is the rest of its message, which then completes with the error. On a
//!   reliable VI a `fault` breaks the VI first, and the block does nothing else until that is taken. A descriptor error breaks a reliable
//!   VI in the same way. The VI's new state must be broadcast at most two cycles after the fault is taken.
//! - Packets of a VI that is not connected are dropped: the message completes DESC_FLUSHED_ERROR, or TRANSPORT_ERROR if a part of it has
//!   left. Acknowledgements, positive or negative, are sent in every state but Idle: what they say is true of the past, and a VI that
//!   breaks must tell its peer.
//! - Of a reliable VI `sent` tells of each packet that has left, with its PSN; of other VIs it tells of the end of each message. A packet
//!   of an epoch that is not its VI's is dropped and not told; the first one of a new epoch brings its PSN.
//! - An acknowledgement is asked for in the last packet of a message, and where the low 4 bits of the PSN are ones. The first packet of
//!   an RDMA write has a RETH, and so has an RDMA read, which takes the PSNs of its answer; `read` tells receive/reads of it before the
//!   frame leaves.
//! - Packets of answers to peers' reads bring their PSN, and are sent as acknowledgements are. One whose bytes could not be read breaks
//!   its VI, with a NAK, and no ACK of a later request leaves until the VI is connected again.
//! - The payload of a VI of service RAW is the frame. Frames carry no pad to Ethernet's minimum: the MAC adds that.
//!
//! Example: a reliable VI sends 8 bytes, and PSN 100 is its next. `packet` announces them, `whole` says that they are there, and 9
//! cycles later the frame's first beat leaves, with PSN 100. `sent` reports PSN 100 and the message's end.
//!
//! Latency: 9 cycles from a whole packet to its frame's first beat. Throughput: a frame of w words every w + 1 cycles,
//! at least every 5: 10 cycles for a send of 8 bytes.
//!
//! Tests: `tests/send/transmit/`.

mod ack_judge;
mod announce;
mod answer_failure;
mod frame_job;
mod framer;
mod header_patch;
mod heading;
mod packet_judge;
mod payload_drop;
mod psn_count;
mod seal;
mod sender;
mod splice;
mod transmit_steps;

pub use ack_judge::{AckJudge, AckVerdict};
pub use answer_failure::AnswerFailure;
pub use packet_judge::{MessageUnderWay, PacketJudge, PacketVerdict};
pub use psn_count::PsnCount;
pub use sender::SenderNow;

use crate::stream::{FlowSink, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::table;

use crate::bus::{
    AckRequest, Commit, EpochWrite, Fault, FrameBeat, Packet, PayloadWord, ReadSent, Sent, StateWrite, Whole,
};
use crate::prims::Number;
use announce::Announce;
use framer::Framer;
use heading::Heading;
use payload_drop::PayloadDrop;
use sender::Sender;
use transmit_steps::{TransmitStep, TransmitSteps};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Transmit {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the frame and the packets under way.
    pub reset: Signal<In, bool>,
    /// A packet that is announced, or the end of a message, from gather.
    pub packet: Sink<Packet>,
    /// Says that the payload of the next packet that has any is all there, or that bytes of it are missing; from send/gather.
    pub whole: Sink<Whole>,
    /// Up to eight bytes of payload, from send/gather.
    pub payload: Sink<PayloadWord>,
    /// An acknowledgement to send, from send/ack; one whose `kind` is FORGET makes no frame.
    pub ack: Sink<AckRequest>,
    /// A table row, from `admin/broadcast`; the block takes the TEMPLATE and TRANSMIT rows.
    pub commit: Sink<Commit>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI that changes its epoch in this cycle, and the new epoch, from complete/sends.
    pub epoch: FlowSink<EpochWrite>,
    /// A packet that has left, or a message that has ended, for complete/sends.
    pub sent: Source<Sent>,
    /// An RDMA read that is about to leave, for [`Reads`](crate::receive::Reads).
    pub read: Source<ReadSent>,
    /// Pulses when a packet of an answer has left or was dropped, for [`Requests`](crate::reply::Requests).
    pub replied: Signal<Out, bool>,
    /// The NAK for a packet of an answer whose bytes could not be read, for [`Requests`](crate::reply::Requests).
    pub failed: Source<AckRequest>,
    /// A VI that must break, and why, to `vi/state`.
    pub fault: Source<Fault>,
    /// A beat of a frame, for send/egress, which hears the next two as well.
    pub frame: Source<FrameBeat>,
    /// The frame turns round inside the NIC.
    pub frame_loopback: Signal<Out, bool>,
    /// VLAN tag of the frame in wire order; 0: the frame has none.
    pub frame_vlan: Signal<Out, Bits<32>>,
    /// A packet, an acknowledgement or a frame is under way; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    /// Pulses when a positive acknowledgement has been sent.
    pub count_ack: Pulse,
    /// Pulses when a negative acknowledgement has been sent; a receiver-not-ready answer does not count.
    pub count_nak: Pulse,
    /// Bytes of payload of the frame that begins in this cycle, to `admin/counters`; 0: none begins.
    pub count_bytes: Signal<Out, Bits<13>>,
    steps: TransmitSteps,
    sender: Sender,
    psn_count: PsnCount,
    judge: PacketJudge,
    ack_judge: AckJudge,
    heading: Heading,
    framer: Framer,
    payload_drop: PayloadDrop,
    answer_failure: AnswerFailure,
    announce: Announce,
    /// A packet is there, and so is all of its payload.
    packet_there: Signal<Local, bool>,
    takes_ack: Signal<Local, bool>,
    /// A TRANSMIT or TEMPLATE row waits.
    ours: Signal<Local, bool>,
    /// Nothing is at hand, and no frame runs.
    idle: Signal<Local, bool>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
    template_table: Number<4, { table::TEMPLATE as u64 }>,
}

impl Logic for Transmit {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, steps, sender, judge, framer, payload_drop, answer_failure);
        drive!(self, reset => steps.reset, framer.reset, payload_drop.reset, answer_failure.reset);

        // The packet and the acknowledgement that wait. A packet with payload waits for that first.
        drive!(self, packet.data => judge.packet; whole.data => judge.whole;
            sender.now => judge.now, ack_judge.now; steps.under_way => judge.under_way;
            ack.data => ack_judge.ack);
        self.packet_there.next = self.packet.valid.val()
            & !self.steps.packet_taken.val()
            & (!self.judge.has_payload.val() | (self.whole.valid.val() & !self.steps.whole_taken.val()));
        self.takes_ack.next = self.ack.valid.val() & (!self.packet_there.val() | !self.steps.acking.val());
        self.sender.choice.next = self.packet.data.val().vi;
        if self.takes_ack.val() {
            self.sender.choice.next = self.ack.data.val().vi;
        }
        self.sender.chooses.next = self.steps.step.val() == TransmitStep::Idle;
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.sender.state);
        FlowSink::<EpochWrite>::link(&mut self.epoch, &mut self.sender.epoch);

        // Tables: between frames, before anything else is begun.
        self.ours.next = self.commit.valid.val()
            & ((self.commit.data.val().target == self.transmit_table.val())
                | (self.commit.data.val().target == self.template_table.val()));
        self.idle.next = (self.steps.step.val() == TransmitStep::Idle) & !self.framer.running.val();
        drive!(self, idle => commit.ready; commit.data => framer.template.data, sender.commit.data);
        self.framer.template.valid.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.template_table.val());
        self.sender.commit.valid.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.transmit_table.val());

        // The steps.
        self.steps.there.next = (self.packet_there.val() | self.takes_ack.val()) & !self.ours.val();
        drive!(self, takes_ack => steps.takes_ack; packet.data => steps.packet;
            judge.verdict => steps.verdict; judge.has_payload => steps.has_payload;
            psn_count.last => steps.last_psn; sender.now.val().reliable => steps.reliable;
            ack_judge.verdict => steps.ack; framer.job.ready => steps.start_taken;
            read.ready => steps.enter_taken; payload_drop.done => steps.dropped;
            fault.ready => steps.break_taken; answer_failure.done => steps.failure_told;
            sent.ready => steps.report_taken; steps.advances => sender.advance.valid;
            psn_count.behind => sender.advance.data);

        // The frame of the packet or the acknowledgement at hand; the steps say whether it is made.
        drive!(self, packet.data => psn_count.packet, heading.packet; sender.now.val().psn => psn_count.known;
            ack.data => heading.ack; steps.acking => heading.acking; sender.vi => heading.vi;
            sender.now => heading.now; psn_count.psn => heading.psn; steps.starts => framer.job.valid;
            heading.job => framer.job.data; payload.data.val().data => framer.payload;
            framer.frame_loopback => frame_loopback; framer.frame_vlan => frame_vlan);
        Source::<FrameBeat>::link(&mut self.frame, &mut self.framer.frame);
        self.count_bytes.next = bits::<13>(0);
        if self.steps.starts.val()
            & self.framer.job.ready.val()
            & self.judge.has_payload.val()
            & !self.steps.acking.val()
        {
            self.count_bytes.next = self.packet.data.val().length;
        }

        // The payload of a packet that is dropped, and an answer that fails.
        self.payload_drop.drops.next = self.steps.step.val() == TransmitStep::Drop;
        drive!(self, framer.running => payload_drop.running; payload.valid => payload_drop.offered;
            payload.data.val().last => payload_drop.last; steps.unread => answer_failure.unread;
            sender.connected => answer_failure.connected; state.valid => answer_failure.changes;
            failed.ready => answer_failure.taken; answer_failure.refuses => sender.refuses);
        self.payload.ready.next = self.framer.payload_ready.val() | self.payload_drop.takes.val();
        self.answer_failure.fails.next = self.steps.step.val() == TransmitStep::Fail;

        // The outputs to other blocks.
        drive!(self, packet.data => announce.packet; sender.vi => announce.vi; psn_count.psn => announce.psn;
            steps.ended => announce.ended; steps.forbidden => announce.forbidden; steps.reports => sent.valid;
            announce.sent => sent.data; steps.enters => read.valid; announce.read => read.data;
            announce.fault => fault.data; answer_failure.offers => failed.valid;
            announce.failed => failed.data; steps.packet_taken => packet.ready;
            steps.whole_taken => whole.ready; steps.ack_taken => ack.ready; steps.reply_left => replied;
            steps.ack_left => count_ack; steps.nak_left => count_nak);
        self.fault.valid.next = self.steps.breaks.val() | self.answer_failure.faults.val();
        self.busy.next = self.packet.valid.val()
            | self.ack.valid.val()
            | self.framer.busy.val()
            | (self.steps.step.val() != TransmitStep::Idle);
    }
}
