//! Makes frames of packets and acknowledgements, in order; reports each message's end in `sent`.
//!
//! ```text
//!   packet, whole ──►┌────────────────────────────┐──► frame, frame_vlan, frame_loopback
//!         payload ──►│  schedule ──► Framer       │──► sent
//!             ack ──►│     │ PSN, service         │──► fault
//!   commit, state ──►│  contexts, states          │──► read, replied, failed
//!           epoch ──►│  epochs                    │──► count_*
//!                    └────────────────────────────┘
//! ```
//! Contract: a packet with payload starts when its `whole` is there: a frame never waits for data. Packets and
//! acknowledgements take turns. A packet whose data was refused or failed is dropped, and so is the rest of its
//! message, which then completes with the error; on a reliable VI a `fault` breaks the VI first, and nothing else is
//! done until it is taken. A descriptor error breaks a reliable VI in the same way. The VI's new state must be
//! broadcast at most two cycles after the fault is taken. Packets of a VI that is not connected are dropped: the
//! message completes DESC_FLUSHED_ERROR, or TRANSPORT_ERROR if a part of it has left. Acknowledgements, positive or
//! negative, are sent in every state but Idle: what they say is true of the past, and a VI that breaks must tell its
//! peer. Of a reliable VI each packet that has left is told in `sent`, with its PSN. A packet of an epoch that is not
//! its VI's is dropped and not told; the first one of a new epoch brings its PSN. An acknowledgement is asked for in
//! the last packet of a message, and where the low 4 bits of the PSN are ones. The first packet of an RDMA write has a
//! RETH, and so has an RDMA read, which takes the PSNs of its answer; `read` tells receive/reads of it before the frame leaves. Packets
//! of answers to peers' reads bring their PSN, and are sent as acknowledgements are. One whose bytes could not be read breaks its VI,
//! with a NAK, and no ACK of what was asked for behind it leaves until the VI is connected again. The payload of a VI of service RAW is
//! the frame. Frames carry no pad to Ethernet's minimum: the MAC adds that.
//!
//! Example: a reliable VI sends 8 bytes, and PSN 100 is its next. `packet` announces them, `whole` says that they are there, and 9
//! cycles later the frame's first beat leaves, with PSN 100. `sent` reports PSN 100 and the message's end.
//!
//! Latency: 9 cycles from a whole packet to its frame's first beat. Throughput: a frame of w words every w + 1 cycles,
//! at least every 5: 10 cycles for a send of 8 bytes.
//!
//! Tests: `tests/send/transmit/`.

mod announce;
mod frame_job;
mod framer;
mod header_patch;
mod heading;
mod packet_judge;
mod psn_count;
mod seal;
mod sender;
mod splice;

use crate::stream::{FlowSink, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::control;
use viaduct_spec::tables::table;

use crate::bus::{syndrome_class, SyndromeParts};
use crate::bus::{
    word, AckRequest, Commit, EpochWrite, Fault, FrameBeat, Packet, PayloadWord, ReadSent, Sent, StateWrite,
    Whole,
};
use crate::prims::{Cast, Number};
use announce::{Announce, PacketEnd};
use framer::Framer;
use heading::Heading;
use packet_judge::{MessageUnderWay, PacketJudge};
use psn_count::PsnCount;
use sender::Sender;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum TransmitStep {
    Idle,
    Look,
    Decide,
    /// Who waits for the answer hears of the read.
    Enter,
    Drop,
    Break,
    Report,
    Fail,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Transmit {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the frame and the packets under way.
    pub reset: Signal<In, bool>,
    /// A packet that is announced, or the end of a message, from gather.
    pub packet: Sink<Packet>,
    /// Says that the payload of the next packet that has any is all there, or that bytes of it are missing.
    pub whole: Sink<Whole>,
    /// Eight bytes of payload.
    pub payload: Sink<PayloadWord>,
    /// An acknowledgement to send; one whose `kind` is FORGET makes no frame.
    pub ack: Sink<AckRequest>,
    /// A table row on the bus; the block takes the TEMPLATE and TRANSMIT rows.
    pub commit: Sink<Commit>,
    /// A VI changes its state: its number, and the new state.
    pub state: FlowSink<StateWrite>,
    /// A VI changes its epoch: its number, and the new epoch.
    pub epoch: FlowSink<EpochWrite>,
    /// A packet that has left, or a message that has ended, for complete/sends.
    pub sent: Source<Sent>,
    /// An RDMA read that is about to leave, for [`Reads`](crate::receive::Reads).
    pub read: Source<ReadSent>,
    /// Pulses when a packet of an answer has left or was dropped: see [`Requests`](crate::reply::Requests).
    pub replied: Signal<Out, bool>,
    /// The NAK for a packet of an answer whose bytes could not be read, for [`Requests`](crate::reply::Requests).
    pub failed: Source<AckRequest>,
    /// A VI that must break, and why.
    pub fault: Source<Fault>,
    /// A beat of a frame, for egress.
    pub frame: Source<FrameBeat>,
    /// The frame turns round inside the NIC.
    pub frame_loopback: Signal<Out, bool>,
    /// VLAN tag of the frame in wire order; 0: the frame has none.
    pub frame_vlan: Signal<Out, Bits<32>>,
    /// A packet, an acknowledgement or a frame is under way.
    pub busy: Signal<Out, bool>,
    /// Pulses when a positive acknowledgement has been sent.
    pub count_ack: Pulse,
    /// Pulses when a negative acknowledgement has been sent; a receiver-not-ready answer does not count.
    pub count_nak: Pulse,
    /// Bytes of payload of the frame that begins in this cycle; 0: none begins.
    pub count_bytes: Signal<Out, Bits<13>>,
    sender: Sender,
    psn_count: PsnCount,
    judge: PacketJudge,
    heading: Heading,
    framer: Framer,
    announce: Announce,
    step: DFF<TransmitStep>,
    /// It is the acknowledgement's turn.
    acking: DFF<bool>,
    /// What has become of the message under way.
    under_way: DFF<MessageUnderWay>,
    /// How the packet at hand has ended.
    ended: DFF<PacketEnd>,
    /// The VI breaks by the packet that is dropped.
    breaks: DFF<bool>,
    /// The packet is of a former epoch: nothing is told of it.
    silent: DFF<bool>,
    /// [`Reads`](crate::receive::Reads) knows of the read at hand.
    entered: DFF<bool>,
    /// The packet at hand is dropped because its bytes could not be read, or must not be.
    unread: DFF<bool>,
    /// With `unread`: they must not be.
    forbidden: DFF<bool>,
    /// The packet on show has been taken; the next one is on show in the cycle behind this.
    packet_taken: DFF<bool>,
    /// What is known of the packet's payload has been taken as well.
    whole_taken: DFF<bool>,
    /// What `replied` says, from a register.
    reply_left: DFF<bool>,
    /// What `count_ack` says, from a register.
    ack_left: DFF<bool>,
    /// What `count_nak` says, from a register.
    nak_left: DFF<bool>,
    /// A word of a packet that is dropped has been looked at.
    looked: DFF<bool>,
    /// With `looked`: that word is the packet's last.
    ends: DFF<bool>,
    /// The VI is in Error, and the NAK can be given to `failed`.
    failing: DFF<bool>,
    has_payload: Signal<Local, bool>,
    packet_there: Signal<Local, bool>,
    takes_ack: Signal<Local, bool>,
    /// The acknowledgement at hand makes no frame.
    untold: Signal<Local, bool>,
    syndrome: Cast<Bits<8>, SyndromeParts>,
    negative: Signal<Local, bool>,
    /// A TRANSMIT or TEMPLATE row waits.
    ours: Signal<Local, bool>,
    idle: Signal<Local, bool>,
    replies: Signal<Local, bool>,
    /// The packet is a read of which `read` has not told yet.
    enters: Signal<Local, bool>,
    /// What was to be done with the packet is done.
    done: Signal<Local, bool>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
    template_table: Number<4, { table::TEMPLATE as u64 }>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
    forget: Number<2, { word::FORGET }>,
    positive_class: Number<2, { syndrome_class::ACK }>,
    nak_class: Number<2, { syndrome_class::NAK }>,
}

impl Logic for Transmit {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, acking, under_way, ended, breaks, silent, entered, unread, forbidden);
        dff_setup!(
            self,
            clock,
            packet_taken,
            whole_taken,
            reply_left,
            ack_left,
            nak_left,
            looked,
            ends,
            failing
        );
        clock!(self, clock, sender, judge, framer);
        self.framer.reset.next = self.reset.val();

        // What there is to do. A packet with payload waits for it.
        self.judge.packet.next = self.packet.data.val();
        self.judge.whole.next = self.whole.data.val();
        self.judge.now.next = self.sender.now.val();
        self.judge.under_way.next = self.under_way.q.val();
        self.has_payload.next = self.judge.has_payload.val();
        self.packet_there.next = self.packet.valid.val()
            & !self.packet_taken.q.val()
            & (!self.has_payload.val() | (self.whole.valid.val() & !self.whole_taken.q.val()));
        self.takes_ack.next = self.ack.valid.val() & (!self.packet_there.val() | !self.acking.q.val());
        self.sender.choice.next = self.packet.data.val().vi;
        if self.takes_ack.val() {
            self.sender.choice.next = self.ack.data.val().vi;
        }
        self.sender.chooses.next = self.step.q.val() == TransmitStep::Idle;
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.sender.state);
        FlowSink::<EpochWrite>::link(&mut self.epoch, &mut self.sender.epoch);

        // Tables: between frames, before anything else is begun.
        self.ours.next = self.commit.valid.val()
            & ((self.commit.data.val().target == self.transmit_table.val())
                | (self.commit.data.val().target == self.template_table.val()));
        self.idle.next = (self.step.q.val() == TransmitStep::Idle) & !self.framer.running.val();
        self.commit.ready.next = self.idle.val();
        self.framer.template.valid.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.template_table.val());
        self.framer.template.data.next = self.commit.data.val();
        self.sender.commit.valid.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.transmit_table.val());
        self.sender.commit.data.next = self.commit.data.val();

        // The frame, if it comes to that, and what others hear of it.
        self.psn_count.packet.next = self.packet.data.val();
        self.psn_count.known.next = self.sender.now.val().psn;
        self.heading.packet.next = self.packet.data.val();
        self.heading.ack.next = self.ack.data.val();
        self.heading.acking.next = self.acking.q.val();
        self.heading.vi.next = self.sender.vi.val();
        self.heading.now.next = self.sender.now.val();
        self.heading.psn.next = self.psn_count.psn.val();
        self.framer.job.data.next = self.heading.job.val();
        self.framer.payload.next = self.payload.data.val().data;
        self.announce.packet.next = self.packet.data.val();
        self.announce.vi.next = self.sender.vi.val();
        self.announce.psn.next = self.psn_count.psn.val();
        self.announce.ended.next = self.ended.q.val();
        self.announce.forbidden.next = self.forbidden.q.val();
        self.sent.data.next = self.announce.sent.val();
        self.read.data.next = self.announce.read.val();
        self.fault.data.next = self.announce.fault.val();
        self.failed.data.next = self.announce.failed.val();

        self.syndrome.from.next = self.ack.data.val().syndrome;
        self.negative.next = self.syndrome.to.val().class != self.positive_class.val();
        // Nobody is told of an acknowledgement when the VI's connection, or the one that it is of, is no more.
        // RSP-5: nor when it is of what was asked for behind a read that was refused.
        self.untold.next = self.sender.now.val().idle
            | (self.ack.data.val().kind == self.forget.val())
            | (self.sender.now.val().refusing & !self.negative.val());
        self.replies.next = self.packet.data.val().reply;
        self.enters.next = (self.packet.data.val().operation == self.op_read.val()) & !self.entered.q.val();

        self.framer.job.valid.next = false;
        self.sender.advance.valid.next = false;
        self.sender.advance.data.next = self.psn_count.behind.val();
        self.sender.refuses.next = false;
        self.packet_taken.d.next = false;
        self.whole_taken.d.next = false;
        self.reply_left.d.next = false;
        self.ack_left.d.next = false;
        self.nak_left.d.next = false;
        self.looked.d.next = false;
        self.failing.d.next = false;
        self.ack.ready.next = false;
        self.read.valid.next = false;
        self.sent.valid.next = false;
        self.fault.valid.next = false;
        self.failed.valid.next = self.failing.q.val();
        self.payload.ready.next = self.framer.payload_ready.val();
        self.done.next = false;
        match self.step.q.val() {
            TransmitStep::Idle => {
                self.entered.d.next = false;
                if (self.packet_there.val() | self.takes_ack.val()) & !self.ours.val() {
                    self.acking.d.next = self.takes_ack.val();
                    self.step.d.next = TransmitStep::Look;
                }
            }
            TransmitStep::Look => {
                self.step.d.next = TransmitStep::Decide;
            }
            TransmitStep::Decide => {
                self.ended.d.next.reliable = self.sender.now.val().reliable;
                self.ended.d.next.psn = self.psn_count.last.val();
                if self.acking.q.val() {
                    self.framer.job.valid.next = !self.untold.val();
                    if self.untold.val() | self.framer.job.ready.val() {
                        self.ack.ready.next = true;
                        self.step.d.next = TransmitStep::Idle;
                        self.ack_left.d.next = !self.untold.val() & !self.negative.val();
                        self.nak_left.d.next =
                            !self.untold.val() & (self.syndrome.to.val().class == self.nak_class.val());
                    }
                } else if self.judge.verdict.val().sends & self.enters.val() {
                    self.step.d.next = TransmitStep::Enter;
                } else if self.judge.verdict.val().sends & self.replies.val() {
                    self.framer.job.valid.next = true;
                    if self.framer.job.ready.val() {
                        self.whole_taken.d.next = self.has_payload.val();
                        self.reply_left.d.next = true;
                        self.packet_taken.d.next = true;
                        self.step.d.next = TransmitStep::Idle;
                    }
                } else if self.replies.val() {
                    self.unread.d.next = self.judge.verdict.val().unread;
                    self.forbidden.d.next = self.judge.verdict.val().forbidden;
                    self.whole_taken.d.next = self.has_payload.val();
                    self.step.d.next = TransmitStep::Fail;
                    if self.has_payload.val() {
                        self.step.d.next = TransmitStep::Drop;
                    }
                } else if self.judge.verdict.val().sends {
                    self.framer.job.valid.next = true;
                    if self.framer.job.ready.val() {
                        // WQ-3: PSNs of packets that are not sent are the next message's.
                        self.sender.advance.valid.next = true;
                        self.whole_taken.d.next = self.has_payload.val();
                        self.under_way.d.next.started = true;
                        self.under_way.d.next.dropping = false;
                        self.ended.d.next.errors = bits::<9>(0);
                        self.done.next = true;
                    }
                } else {
                    self.whole_taken.d.next = self.has_payload.val();
                    self.breaks.d.next = false;
                    self.under_way.d.next.started = self.judge.verdict.val().started;
                    if !self.judge.verdict.val().dropping {
                        // What has begun to be dropped in its epoch is told though that has passed meanwhile: it may have broken the VI.
                        self.silent.d.next = self.judge.verdict.val().stale;
                        self.ended.d.next.errors = self.judge.verdict.val().error;
                        self.breaks.d.next = self.judge.verdict.val().breaks;
                    }
                    self.under_way.d.next.dropping = true;
                    self.step.d.next = TransmitStep::Break;
                    if self.has_payload.val() {
                        self.step.d.next = TransmitStep::Drop;
                    }
                }
            }
            TransmitStep::Enter => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.entered.d.next = true;
                    self.step.d.next = TransmitStep::Decide;
                }
            }
            TransmitStep::Drop => {
                // The payload of the frames before leaves first. A word comes from a memory, late: it is looked at in one
                // cycle and leaves in the next.
                self.looked.d.next =
                    !self.framer.running.val() & self.payload.valid.val() & !self.looked.q.val();
                self.ends.d.next = self.payload.data.val().last;
                if self.looked.q.val() {
                    self.payload.ready.next = true;
                    if self.ends.q.val() {
                        self.step.d.next = TransmitStep::Break;
                        if self.replies.val() {
                            self.step.d.next = TransmitStep::Fail;
                        }
                    }
                }
            }
            TransmitStep::Break => {
                self.fault.valid.next = self.breaks.q.val();
                self.done.next = !self.breaks.q.val() | self.fault.ready.val();
            }
            TransmitStep::Fail => {
                // The fault, then the NAK: whoever sees that finds the VI in Error.
                self.fault.valid.next = self.unread.q.val() & self.sender.connected.val();
                self.failing.d.next =
                    self.unread.q.val() & !self.sender.connected.val() & !self.state.valid.val();
                if !self.unread.q.val() | (self.failing.q.val() & self.failed.ready.val()) {
                    self.failing.d.next = false;
                    self.reply_left.d.next = true;
                    self.packet_taken.d.next = true;
                    self.step.d.next = TransmitStep::Idle;
                }
                if self.failing.q.val() {
                    self.sender.refuses.next = true;
                }
            }
            TransmitStep::Report => {
                self.sent.valid.next = true;
                if self.sent.ready.val() {
                    self.packet_taken.d.next = true;
                    self.entered.d.next = false;
                    if self.packet.data.val().last {
                        self.under_way.d.next.started = false;
                        self.under_way.d.next.dropping = false;
                    }
                    self.step.d.next = TransmitStep::Idle;
                }
            }
            _ => {}
        }
        if self.done.val() {
            // What has left is told at the message's end, of a reliable VI always; what was dropped at the end, if it is to be told.
            if ((self.step.q.val() == TransmitStep::Decide)
                & (self.sender.now.val().reliable | self.packet.data.val().last))
                | (self.packet.data.val().last & !self.silent.q.val())
            {
                self.step.d.next = TransmitStep::Report;
            } else {
                self.packet_taken.d.next = true;
                self.step.d.next = TransmitStep::Idle;
            }
        }

        // What others go on with comes from registers: no decision here is part of their paths.
        self.packet.ready.next = self.packet_taken.q.val();
        self.whole.ready.next = self.whole_taken.q.val();
        self.replied.next = self.reply_left.q.val();
        self.count_ack.next = self.ack_left.q.val();
        self.count_nak.next = self.nak_left.q.val();
        Source::<FrameBeat>::link(&mut self.frame, &mut self.framer.frame);
        self.frame_loopback.next = self.framer.frame_loopback.val();
        self.frame_vlan.next = self.framer.frame_vlan.val();
        self.count_bytes.next = bits::<13>(0);
        if self.framer.job.valid.val()
            & self.framer.job.ready.val()
            & self.has_payload.val()
            & !self.acking.q.val()
        {
            self.count_bytes.next = self.packet.data.val().length;
        }
        self.busy.next = self.packet.valid.val()
            | self.ack.valid.val()
            | self.framer.busy.val()
            | (self.step.q.val() != TransmitStep::Idle);

        if self.reset.val() {
            self.step.d.next = TransmitStep::Idle;
            self.packet_taken.d.next = false;
            self.whole_taken.d.next = false;
            self.silent.d.next = false;
            self.acking.d.next = false;
            self.under_way.d.next.started = false;
            self.under_way.d.next.dropping = false;
            self.looked.d.next = false;
            self.failing.d.next = false;
        }
    }
}
