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

mod framer;
mod heading;

use crate::stream::{FlowSink, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, table, vi_states};
use viaduct_spec::wire::syndrome;

use crate::bus::{
    word, AckRequest, Commit, EpochWrite, Fault, FrameBeat, Packet, PayloadWord, ReadSent, Sent, StateWrite,
    Vi, Whole,
};
use crate::prims::{LutRam, Number, Ram};
use framer::{Framer, TEMPLATE_LOG2};
use heading::Heading;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
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

// The services' numbers are told apart by their bits: reliable ones have one of the two, RAW has both.
const _: () = assert!(
    service::UNRELIABLE == 0
        && service::RELIABLE_DELIVERY == 1
        && service::RELIABLE_RECEPTION == 2
        && service::RAW == 3
);

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
    framer: Framer,
    heading: Heading,
    contexts: Ram<Bits<27>, { VI_LOG2 }>,
    states: LutRam<Bits<2>, { VI_LOG2 }>,
    epochs: LutRam<bool, { VI_LOG2 }>,
    /// Answers of the VI are refused: what is left of them is dropped.
    refusing: LutRam<bool, { VI_LOG2 }>,
    /// What is known of the packet at hand and its VI, as it was in the cycle before: read in State::Look, used in
    /// State::Decide.
    its_row: DFF<Bits<27>>,
    was_connected: DFF<bool>,
    was_idle: DFF<bool>,
    was_stale: DFF<bool>,
    was_refusing: DFF<bool>,
    was_refused: DFF<bool>,
    was_failed: DFF<bool>,
    was_flushed: DFF<bool>,
    has_errors: DFF<bool>,
    bad: Signal<Local, bool>,
    passes: Signal<Local, bool>,
    /// [`Reads`](crate::receive::Reads) knows of the read at hand.
    entered: DFF<bool>,
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
    /// The packet at hand is dropped because its bytes could not be read, or must not be.
    unread: DFF<bool>,
    /// A word of a packet that is dropped has been looked at.
    looked: DFF<bool>,
    /// With `looked`: that word is the packet's last.
    ends: DFF<bool>,
    /// The VI is in Error, and the NAK can be given to `failed`.
    failing: DFF<bool>,
    counted_msn: Signal<Local, Bits<24>>,
    forbidden: DFF<bool>,
    replies: Signal<Local, bool>,
    reads: Signal<Local, bool>,
    enters: Signal<Local, bool>,
    last_psn: Signal<Local, Bits<24>>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
    nak_access: Number<8, { syndrome::NAK_ACCESS as u64 }>,
    nak_operational: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
    last_word: Number<2, { word::LAST }>,
    forget: Number<2, { word::FORGET }>,
    read_prot: Number<8, { event_code::RDMAR_PROT as u64 }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    step: DFF<State>,
    vi: DFF<Vi>,
    acking: DFF<bool>,
    /// A packet of the message has been sent.
    started: DFF<bool>,
    /// The rest of the message is dropped.
    dropping: DFF<bool>,
    errors: DFF<Bits<9>>,
    reliable: DFF<bool>,
    psn: DFF<Bits<24>>,
    breaks: DFF<bool>,
    /// The packet is of a former epoch: nothing is told of it.
    silent: DFF<bool>,
    stale_now: Signal<Local, bool>,
    stale: Signal<Local, bool>,
    /// The packet at hand is not the next one of the message before it.
    begins: Signal<Local, bool>,
    was_started: Signal<Local, bool>,
    was_dropping: Signal<Local, bool>,
    packet_psn: Signal<Local, Bits<24>>,
    context_row: Signal<Local, Bits<27>>,
    context_psn: Signal<Local, Bits<24>>,
    next_psn: Signal<Local, Bits<24>>,
    doubled: Signal<Local, Bits<25>>,
    beyond: Signal<Local, Bits<25>>,
    more: Signal<Local, Bits<25>>,
    is_reliable: Signal<Local, bool>,
    vi_state: Signal<Local, Bits<2>>,
    is_connected: Signal<Local, bool>,
    length: Signal<Local, Bits<13>>,
    has_payload: Signal<Local, bool>,
    packet_there: Signal<Local, bool>,
    takes_ack: Signal<Local, bool>,
    /// The acknowledgement at hand makes no frame.
    untold: Signal<Local, bool>,
    ours: Signal<Local, bool>,
    idle: Signal<Local, bool>,
    /// The VI is not connected, or gather found it so.
    gone: Signal<Local, bool>,
    sends: Signal<Local, bool>,
    negative: Signal<Local, bool>,
    syndrome: Signal<Local, Bits<8>>,
    error: Signal<Local, Bits<9>>,
    done: Signal<Local, bool>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
    template_table: Number<4, { table::TEMPLATE as u64 }>,
    idle_state: Number<2, { vi_states::IDLE as u64 }>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
    no_error: Number<9, 0>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    protection: Number<9, { status::PROTECTION_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
}

impl Logic for Transmit {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, acking, started, dropping, errors, reliable, psn, breaks, silent);
        dff_setup!(self, clock, entered, unread, forbidden, its_row, was_connected, was_idle, was_stale);
        dff_setup!(self, clock, failing, looked, ends);
        dff_setup!(self, clock, packet_taken, whole_taken, reply_left, ack_left, nak_left);
        dff_setup!(self, clock, was_refusing, was_refused, was_failed, was_flushed, has_errors);
        clock!(self, clock, framer, contexts, states, epochs, refusing);
        self.framer.reset.next = self.reset.val();

        // What there is to do. A packet with payload waits for it.
        self.length.next = self.packet.data.val().length;
        self.has_payload.next = self.packet.data.val().send & self.length.val().any();
        self.packet_there.next = self.packet.valid.val()
            & !self.packet_taken.q.val()
            & (!self.has_payload.val() | (self.whole.valid.val() & !self.whole_taken.q.val()));
        self.takes_ack.next = self.ack.valid.val() & (!self.packet_there.val() | !self.acking.q.val());

        // Tables: between frames, before anything else is begun.
        self.ours.next = self.commit.valid.val()
            & ((self.commit.data.val().target == self.transmit_table.val())
                | (self.commit.data.val().target == self.template_table.val()));
        self.idle.next = (self.step.q.val() == State::Idle) & !self.framer.running.val();
        self.commit.ready.next = self.idle.val();
        self.framer.template_write.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.template_table.val());
        self.framer.template_row.next = bit_cast::<{ TEMPLATE_LOG2 }, 16>(self.commit.data.val().row);
        self.framer.template_word.next = self.commit.data.val().word0;
        self.states.write_enable.next = self.state.valid.val();
        self.states.write_address.next = self.state.data.val().vi;
        self.states.write_data.next = self.state.data.val().state;
        self.states.read_address.next = self.vi.q.val();
        self.vi_state.next = self.states.read_data.val();
        self.is_connected.next = self.vi_state.val() == self.connected.val();

        self.epochs.write_enable.next = self.epoch.valid.val();
        self.epochs.write_address.next = self.epoch.data.val().vi;
        self.epochs.write_data.next = self.epoch.data.val().epoch;
        self.epochs.read_address.next = self.vi.q.val();
        self.replies.next = self.packet.data.val().reply;
        self.reads.next = self.packet.data.val().operation == self.op_read.val();
        self.stale_now.next =
            (self.packet.data.val().epoch != self.epochs.read_data.val()) & !self.replies.val();
        self.refusing.write_enable.next =
            self.state.valid.val() & (self.state.data.val().state == self.connected.val());
        self.refusing.write_address.next = self.state.data.val().vi;
        self.refusing.write_data.next = false;
        self.refusing.read_address.next = self.vi.q.val();
        self.begins.next = self.packet.data.val().first | self.packet.data.val().restart;
        self.was_started.next = self.started.q.val() & !self.begins.val();
        self.was_dropping.next = self.dropping.q.val() & !self.begins.val();

        self.was_connected.d.next = self.is_connected.val();
        self.was_idle.d.next = self.vi_state.val() == self.idle_state.val();
        self.was_stale.d.next = self.stale_now.val();
        self.stale.next = self.was_stale.q.val();
        self.was_refusing.d.next = self.refusing.read_data.val();
        self.was_refused.d.next = self.whole.data.val().refused & self.has_payload.val();
        self.was_failed.d.next = self.whole.data.val().failed & self.has_payload.val();
        self.was_flushed.d.next = self.packet.data.val().errors == self.flushed.val();
        self.has_errors.d.next = self.packet.data.val().errors.any();
        self.its_row.d.next = self.contexts.read_data.val();
        self.context_row.next = self.its_row.q.val();
        self.context_psn.next = self.context_row.val().get_bits::<24>(0);
        self.packet_psn.next = self.context_psn.val();
        if self.packet.data.val().restart | self.replies.val() {
            self.packet_psn.next = self.packet.data.val().psn;
        }
        // WIRE-4: a PSN for each packet; a read takes those of its answer.
        self.last_psn.next = self.packet_psn.val() + self.packet.data.val().beyond;
        // One adder: the one more is a carry from below.
        self.doubled.next = (bit_cast::<25, 24>(self.packet_psn.val()) << 1) | bits::<25>(1);
        self.beyond.next = (bit_cast::<25, 24>(self.packet.data.val().beyond) << 1) | bits::<25>(1);
        self.more.next = self.doubled.val() + self.beyond.val();
        self.next_psn.next = self.more.val().get_bits::<24>(1);
        self.is_reliable.next = self.context_row.val().get_bit(24) ^ self.context_row.val().get_bit(25);
        self.contexts.read_address.next = self.vi.q.val();
        self.contexts.write_enable.next = self.commit.valid.val()
            & self.idle.val()
            & (self.commit.data.val().target == self.transmit_table.val());
        self.contexts.write_address.next = bit_cast::<{ VI_LOG2 }, 16>(self.commit.data.val().row);
        self.contexts.write_data.next = bit_cast::<27, 64>(self.commit.data.val().word0);

        // The job, if it comes to that.
        self.syndrome.next = self.ack.data.val().syndrome;
        self.negative.next = self.syndrome.val().get_bits::<2>(5).any();
        self.heading.packet.next = self.packet.data.val();
        self.heading.ack.next = self.ack.data.val();
        self.heading.acking.next = self.acking.q.val();
        self.heading.vi.next = self.vi.q.val();
        self.heading.psn.next = self.packet_psn.val();
        self.heading.row.next = self.context_row.val();
        self.framer.job.next = self.heading.job.val();

        // What is wrong with the packet, if anything; the first reason of a message is the one it completes with.
        self.error.next = self.no_error.val();
        // WQ-8: its data could not be read.
        if self.was_failed.q.val() {
            self.error.next = self.transport.val();
        }
        // WQ-2: a segment was refused when its bytes moved.
        if self.was_refused.q.val() {
            self.error.next = self.protection.val();
        }
        if !self.packet.data.val().send {
            self.error.next = self.packet.data.val().errors;
        }
        self.gone.next =
            !self.was_connected.q.val() | (!self.packet.data.val().send & self.was_flushed.q.val());
        // WQ-4: DESC_FLUSHED_ERROR, or TRANSPORT_ERROR if a packet went out.
        if self.gone.val() & (self.packet.data.val().send | self.has_errors.q.val()) {
            self.error.next = self.flushed.val();
            if self.was_started.val() {
                self.error.next = self.transport.val();
            }
        }
        // Answers are true of the past, as acknowledgements are.
        self.bad.next = self.was_refused.q.val() | self.was_failed.q.val();
        if self.replies.val() {
            self.error.next = self.no_error.val();
            if self.bad.val() {
                self.error.next = self.protection.val();
            }
            if self.was_idle.q.val() | self.was_refusing.q.val() {
                self.error.next = self.flushed.val();
            }
        }
        // The same without the error's number: there is none.
        self.passes.next = self.was_connected.q.val() & !self.was_dropping.val();
        if self.replies.val() {
            self.passes.next = !self.was_idle.q.val() & !self.was_refusing.q.val();
        }
        self.sends.next =
            self.packet.data.val().send & self.passes.val() & !self.bad.val() & !self.stale.val();
        self.enters.next = self.reads.val() & !self.entered.q.val();
        self.read.valid.next = false;
        self.read.data.next.vi = self.vi.q.val();
        self.read.data.next.number = self.packet.data.val().number;
        self.read.data.next.region = self.packet.data.val().region;
        self.read.data.next.offset = self.packet.data.val().offset;
        self.read.data.next.segments = self.packet.data.val().segments;
        self.read.data.next.length = self.packet.data.val().message_length;
        self.read.data.next.psn = self.packet_psn.val();
        self.reply_left.d.next = false;
        self.failing.d.next = false;
        self.looked.d.next = false;
        self.failed.valid.next = self.failing.q.val();
        self.failed.data.next.vi = self.vi.q.val();
        self.failed.data.next.psn = self.packet.data.val().psn;
        // RSP-7: MSN counts the messages executed.
        // The read was counted when its request was taken; it is not executed after all.
        self.counted_msn.next = bit_cast::<24, 32>(self.packet.data.val().immediate);
        self.failed.data.next.msn = self.counted_msn.val() - 1;
        // WQ-8: NAK_OPERATIONAL. RSP-5, RSP-6: NAK_ACCESS, if it is the memory that is refused.
        self.failed.data.next.syndrome = self.nak_operational.val();
        if self.forbidden.q.val() {
            self.failed.data.next.syndrome = self.nak_access.val();
        }
        self.failed.data.next.kind = self.last_word.val();
        self.failed.data.next.reception = false;
        self.framer.job_valid.next = false;
        self.packet_taken.d.next = false;
        self.whole_taken.d.next = false;
        self.ack.ready.next = false;
        self.sent.valid.next = false;
        self.fault.valid.next = false;
        self.ack_left.d.next = false;
        self.nak_left.d.next = false;
        self.done.next = false;
        self.payload.ready.next = self.framer.payload_ready.val();
        // RSP-5: what was asked for behind a refused read has no answer.
        // Nobody is told: the VI's connection, or the one that the acknowledgement is of, is no more; or it would be of what was asked for
        // behind an answer that was refused.
        self.untold.next = self.was_idle.q.val()
            | (self.ack.data.val().kind == self.forget.val())
            | (self.was_refusing.q.val() & !self.negative.val());
        match self.step.q.val() {
            State::Idle => {
                self.entered.d.next = false;
                self.vi.d.next = self.packet.data.val().vi;
                if self.takes_ack.val() {
                    self.vi.d.next = self.ack.data.val().vi;
                }
                // The context is read for the VI chosen now.
                self.contexts.read_address.next = self.packet.data.val().vi;
                if self.takes_ack.val() {
                    self.contexts.read_address.next = self.ack.data.val().vi;
                }
                if (self.packet_there.val() | self.takes_ack.val()) & !self.ours.val() {
                    self.acking.d.next = self.takes_ack.val();
                    self.step.d.next = State::Look;
                }
            }
            State::Look => {
                self.step.d.next = State::Decide;
            }
            State::Decide => {
                self.reliable.d.next = self.is_reliable.val();
                self.psn.d.next = self.last_psn.val();
                if self.acking.q.val() {
                    self.framer.job_valid.next = !self.untold.val();
                    if self.untold.val() | self.framer.job_ready.val() {
                        self.ack.ready.next = true;
                        self.step.d.next = State::Idle;
                        self.ack_left.d.next = !self.untold.val() & !self.negative.val();
                        self.nak_left.d.next = !self.untold.val() & self.syndrome.val().get_bit(6);
                    }
                } else if self.sends.val() & self.enters.val() {
                    self.step.d.next = State::Enter;
                } else if self.sends.val() & self.replies.val() {
                    self.framer.job_valid.next = true;
                    if self.framer.job_ready.val() {
                        self.whole_taken.d.next = self.has_payload.val();
                        self.reply_left.d.next = true;
                        self.packet_taken.d.next = true;
                        self.step.d.next = State::Idle;
                    }
                } else if self.replies.val() {
                    self.unread.d.next = self.bad.val() & !self.was_idle.q.val() & !self.was_refusing.q.val();
                    self.forbidden.d.next = self.was_refused.q.val();
                    self.whole_taken.d.next = self.has_payload.val();
                    self.step.d.next = State::Fail;
                    if self.has_payload.val() {
                        self.step.d.next = State::Drop;
                    }
                } else if self.sends.val() {
                    self.framer.job_valid.next = true;
                    if self.framer.job_ready.val() {
                        // WQ-3: PSNs of packets that are not sent are the next message's.
                        self.contexts.write_enable.next = true;
                        self.contexts.write_address.next = self.vi.q.val();
                        self.contexts.write_data.next =
                            (bit_cast::<27, 3>(self.context_row.val().get_bits::<3>(24)) << 24)
                                | bit_cast::<27, 24>(self.next_psn.val());
                        self.whole_taken.d.next = self.has_payload.val();
                        self.started.d.next = true;
                        self.dropping.d.next = false;
                        self.errors.d.next = bits::<9>(0);
                        self.done.next = true;
                    }
                } else {
                    self.whole_taken.d.next = self.has_payload.val();
                    self.breaks.d.next = false;
                    self.started.d.next = self.was_started.val();
                    if !self.was_dropping.val() {
                        // What has begun to be dropped in its epoch is told though that has passed meanwhile: it may have broken the VI.
                        self.silent.d.next = self.stale.val();
                        self.errors.d.next = self.error.val();
                        // Not what a VI that is not connected does to its messages; nor a lost descriptor,
                        // which is reported by who lost it.
                        // WQ-3: a reliable VI breaks by a descriptor's own error.
                        self.breaks.d.next = self.is_reliable.val()
                            & self.error.val().any()
                            & !self.gone.val()
                            & !self.stale.val();
                    }
                    self.dropping.d.next = true;
                    self.step.d.next = State::Break;
                    if self.has_payload.val() {
                        self.step.d.next = State::Drop;
                    }
                }
            }
            State::Enter => {
                self.read.valid.next = true;
                if self.read.ready.val() {
                    self.entered.d.next = true;
                    self.step.d.next = State::Decide;
                }
            }
            State::Drop => {
                // The payload of the frames before leaves first. A word comes from a memory, late: it is looked at in one
                // cycle and leaves in the next.
                self.looked.d.next =
                    !self.framer.running.val() & self.payload.valid.val() & !self.looked.q.val();
                self.ends.d.next = self.payload.data.val().last;
                if self.looked.q.val() {
                    self.payload.ready.next = true;
                    if self.ends.q.val() {
                        self.step.d.next = State::Break;
                        if self.replies.val() {
                            self.step.d.next = State::Fail;
                        }
                    }
                }
            }
            State::Break => {
                self.fault.valid.next = self.breaks.q.val();
                self.done.next = !self.breaks.q.val() | self.fault.ready.val();
            }
            State::Fail => {
                // The fault, then the NAK: whoever sees that finds the VI in Error.
                self.fault.valid.next = self.unread.q.val() & self.is_connected.val();
                self.failing.d.next =
                    self.unread.q.val() & !self.is_connected.val() & !self.state.valid.val();
                if !self.unread.q.val() | (self.failing.q.val() & self.failed.ready.val()) {
                    self.failing.d.next = false;
                    self.reply_left.d.next = true;
                    self.packet_taken.d.next = true;
                    self.step.d.next = State::Idle;
                }
                if self.failing.q.val() {
                    self.refusing.write_enable.next = true;
                    self.refusing.write_address.next = self.vi.q.val();
                    self.refusing.write_data.next = true;
                }
            }
            State::Report => {
                self.sent.valid.next = true;
                if self.sent.ready.val() {
                    self.packet_taken.d.next = true;
                    self.entered.d.next = false;
                    if self.packet.data.val().last {
                        self.started.d.next = false;
                        self.dropping.d.next = false;
                    }
                    self.step.d.next = State::Idle;
                }
            }
            _ => {}
        }
        if self.done.val() {
            // What has left is told at the message's end, of a reliable VI always; what was dropped at the end, if it is to be told.
            if ((self.step.q.val() == State::Decide) & (self.is_reliable.val() | self.packet.data.val().last))
                | (self.packet.data.val().last & !self.silent.q.val())
            {
                self.step.d.next = State::Report;
            } else {
                self.packet_taken.d.next = true;
                self.step.d.next = State::Idle;
            }
        }

        // What others go on with comes from registers: no decision here is part of their paths.
        self.packet.ready.next = self.packet_taken.q.val();
        self.whole.ready.next = self.whole_taken.q.val();
        self.replied.next = self.reply_left.q.val();
        self.count_ack.next = self.ack_left.q.val();
        self.count_nak.next = self.nak_left.q.val();
        self.framer.payload.next = self.payload.data.val().data;
        self.sent.data.next.vi = self.vi.q.val();
        self.sent.data.next.region = self.packet.data.val().region;
        self.sent.data.next.offset = self.packet.data.val().offset;
        self.sent.data.next.length = bits::<32>(0);
        self.sent.data.next.acknowledged = false;
        if !self.errors.q.val().any() {
            self.sent.data.next.length = self.packet.data.val().message_length;
            self.sent.data.next.acknowledged = self.reliable.q.val() & !self.packet.data.val().lost;
        }
        self.sent.data.next.errors = self.errors.q.val();
        self.sent.data.next.ends = self.packet.data.val().last;
        self.sent.data.next.epoch = self.packet.data.val().epoch;
        self.sent.data.next.operation = self.packet.data.val().operation;
        self.sent.data.next.psn = self.psn.q.val();
        self.sent.data.next.lost = self.packet.data.val().lost;
        self.sent.data.next.parked = self.packet.data.val().parked;
        self.sent.data.next.number = self.packet.data.val().number;
        self.fault.data.next.vi = self.vi.q.val();
        self.fault.data.next.code = bits::<8>(0);
        // REQ-7: what is sent again is not the same. (WQ-8: segments that could not be read are an error of the descriptor's own, which says it.)
        if !self.packet.data.val().send
            & !self.packet.data.val().unread
            & (self.packet.data.val().errors == self.transport.val())
        {
            self.fault.data.next.code = self.post_desc.val();
        }
        self.fault.data.next.receive = false;
        if self.replies.val() {
            self.fault.data.next.receive = true;
            self.fault.data.next.code = self.conn_lost.val();
            if self.forbidden.q.val() {
                self.fault.data.next.code = self.read_prot.val();
            }
        }
        self.fault.data.next.breaks = true;

        self.frame.valid.next = self.framer.frame_valid.val();
        self.frame.data.next = self.framer.frame.val();
        self.frame_loopback.next = self.framer.frame_loopback.val();
        self.frame_vlan.next = self.framer.frame_vlan.val();
        self.framer.frame_ready.next = self.frame.ready.val();
        self.count_bytes.next = bits::<13>(0);
        if self.framer.job_valid.val()
            & self.framer.job_ready.val()
            & self.has_payload.val()
            & !self.acking.q.val()
        {
            self.count_bytes.next = self.length.val();
        }
        self.busy.next = self.packet.valid.val()
            | self.ack.valid.val()
            | self.framer.busy.val()
            | (self.step.q.val() != State::Idle);

        if self.reset.val() {
            self.step.d.next = State::Idle;
            self.packet_taken.d.next = false;
            self.whole_taken.d.next = false;
            self.silent.d.next = false;
            self.acking.d.next = false;
            self.started.d.next = false;
            self.looked.d.next = false;
            self.failing.d.next = false;
            self.dropping.d.next = false;
        }
    }
}
