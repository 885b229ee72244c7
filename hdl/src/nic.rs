//! The NIC: the blocks of docs/architecture.md and the wires between them, nothing else.
//!
//! ```text
//!   tlp_rx, tlp_tx, credit, cfg ◄──►┌─────┐◄──► eth_rx, eth_tx
//!                      time_now ───►│ Nic │───► idle, *_deadline
//!                                   └─────┘
//! ```
//! Contract and ports: "The top's ports" in docs/architecture.md; what is reset when: [`Reset`].
//!
//! Latency: that of the blocks.
//!
//! Example: docs/pictures/send.svg follows an 8-byte send through these blocks, cycle by cycle; it is drawn from a run.
//!
//! Tests: the co-simulation suite in `tests/`.

use crate::admin::{Broadcast, Command, Counters, Registers};
use crate::bus::{
    Access, AckRequest, Acknowledged, Admission, AheadWord, Arm, Closed, Commit, Completion, CqEntry,
    CqStore, DmaCommand, DoorbellRow, EpochWrite, Fault, Filled, FrameBeat, MmioRead, MmioWrite, Packet,
    PayloadWord, Position, Queue, QueueId, ReadBeat, ReadRequest, ReadSent, Reply, Rewind, SendHead, Sent,
    StateWrite, TlpBeat, Vector, Vi, Whole, WriteBeat, WriteVerdict,
};
use crate::complete::{CompletionQueues, Sends, Writer};
use crate::dma::{DmaRead, DmaWrite};
use crate::doorbell::{CqPages, Doorbell};
use crate::edge::{
    Config, Credits, EthRx, EthTx, EthWatch, TlpComplete, TlpReceive, TlpRx, TlpTransmit, TlpTx,
};
use crate::fetch::Fetch;
use crate::interrupt::{Notify, Vectors, VECTOR_ROW_LOG2};
use crate::prims::{Keep, LaneCount};
use crate::protect::Protect;
use crate::receive::{Receive, StationSource};
use crate::reply::Requests;
use crate::reset::Reset;
use crate::rows::register::{CommandWord, EventWord};
use crate::send::{Ack, Egress, Gather, Transmit};
use crate::stream::{FlowSource, LookUp, Source};
use crate::vi::ViState;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Nic {
    /// Rising edge, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Power-up reset, synchronous.
    pub reset: Signal<In, bool>,
    /// Packets from the host.
    pub tlp_rx: TlpRx,
    /// The host may start a non-posted request.
    pub tlp_rx_np_ready: Signal<Out, bool>,
    /// Packets to the host.
    pub tlp_tx: TlpTx,
    /// What may be sent to the host now, by the link partner's credits.
    pub credit: Credits,
    /// The function's configuration space.
    pub cfg: Config,
    /// The function-level reset is done; it stays high until `cfg.function_reset` falls.
    pub function_reset_done: Signal<Out, bool>,
    /// The link is down, or in hot reset: everything is reset at once.
    pub link_down: Signal<In, bool>,
    /// Frames from the MAC.
    pub eth_rx: EthRx,
    /// The peer should hold its frames: room for them runs short.
    pub eth_rx_pause: Signal<Out, bool>,
    /// Frames to the MAC.
    pub eth_tx: EthTx,
    /// Frames that turn round inside, for test benches.
    pub loopback: EthWatch,
    /// Device time, ticks of 1.024 us; it wraps.
    pub time_now: Signal<In, Bits<32>>,
    /// Nothing is in flight and nothing waits.
    pub idle: Signal<Out, bool>,
    /// When the oldest read of host memory will have waited too long; given while there is one.
    pub read_deadline: FlowSource<Bits<32>>,
    /// When the first vector that rests may be sent again; given while one rests.
    pub interrupt_deadline: FlowSource<Bits<32>>,
    /// When the first VI's timer ends, or earlier; given while one runs.
    pub send_deadline: FlowSource<Bits<32>>,

    resets: Reset,
    // PCIe edge.
    tlp_receive: TlpReceive,
    tlp_complete: TlpComplete,
    tlp_transmit: TlpTransmit,
    dma_read: DmaRead,
    dma_write: DmaWrite,
    protect: Protect,
    // The agent's side.
    registers: Registers,
    command: Command,
    broadcast: Broadcast,
    counters: Counters,
    vi_state: ViState,
    // Work queues.
    doorbell: Doorbell,
    cq_pages: CqPages,
    fetch: Fetch,
    // Out, in, and the end of a descriptor.
    gather: Gather,
    transmit: Transmit,
    ack: Ack,
    egress: Egress,
    receive: Receive,
    sends: Sends,
    writer: Writer,
    queues: CompletionQueues,
    requests: Requests,
    // Interrupts.
    notify: Notify,
    vectors: Vectors,
    rx_lanes: LaneCount,
    tx_lanes: Keep,
    rx_beat: Signal<Local, TlpBeat>,
    eth_beat: Signal<Local, FrameBeat>,
    events: Signal<Local, Bits<39>>,
    busy: Signal<Local, bool>,
    quiet: DFF<bool>,
}

impl Logic for Nic {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, quiet);
        clock!(self, clock, resets, tlp_receive, tlp_complete, tlp_transmit, dma_read, dma_write, protect);
        clock!(self, clock, registers, command, broadcast, counters, vi_state, doorbell, cq_pages, fetch);
        clock!(self, clock, gather, transmit, ack, egress, receive, sends, writer, queues, requests);
        clock!(self, clock, notify, vectors);

        // Resets.
        self.resets.reset.next = self.reset.val();
        self.resets.link_down.next = self.link_down.val();
        self.resets.function_reset.next = self.cfg.function_reset.val();
        self.resets.agent.next = self.registers.soft_reset.val();
        self.resets.settled.next = self.tlp_transmit.settled.val();
        self.resets.outstanding.next = self.dma_read.outstanding.val();
        self.function_reset_done.next = self.resets.function_reset_done.val();
        self.tlp_transmit.reset.next = self.resets.down.val();
        self.tlp_transmit.hold.next = self.resets.hold.val();
        self.tlp_transmit.mute.next = self.cfg.function_reset.val();
        self.tlp_receive.down.next = self.resets.down.val();
        drive!(self, resets.hard => tlp_receive.reset, tlp_complete.reset, registers.restart, dma_read.down);
        self.dma_read.draining.next = self.resets.ending.val();
        // The vectors are the system's, not the agent's.
        self.vectors.reset.next = self.resets.hard.val();
        drive!(self, resets.clear => vectors.restart, registers.reset, dma_read.reset, dma_write.reset,
            protect.reset, command.reset, broadcast.reset, counters.reset, vi_state.reset, doorbell.reset,
            cq_pages.reset, fetch.reset, gather.reset, transmit.reset, ack.reset, egress.reset, receive.reset,
            sends.reset, writer.reset, queues.reset, requests.reset, notify.reset);

        // PCIe: stores, loads and completions in; four kinds of packets out.
        self.rx_beat.next.data = self.tlp_rx.data.val();
        self.rx_beat.next.keep = self.tlp_rx.keep.val();
        self.rx_beat.next.last = self.tlp_rx.last.val();
        self.tlp_receive.rx.valid.next = self.tlp_rx.valid.val();
        self.tlp_receive.rx.data.next = self.rx_beat.val();
        self.tlp_receive.rx_bar.next = self.tlp_rx.bar.val();
        self.tlp_rx_np_ready.next = self.tlp_receive.np_ready.val();
        join!(self, Source<MmioRead>, tlp_receive.mmio_read => tlp_complete.read);
        join!(self, FlowSource<Bits<20>>, tlp_complete.load => registers.load);
        join!(self, FlowSource<Bits<64>>, registers.answer => tlp_complete.answer);
        join!(self, FlowSource<TlpBeat>, tlp_receive.completion => dma_read.completion);
        join!(self, FlowSource<MmioWrite>,
            tlp_receive.mmio_write => registers.mmio_write, doorbell.mmio_write, cq_pages.mmio_write, vectors.mmio_write);
        join!(self, Source<TlpBeat>, dma_write.tx => tlp_transmit.posted; vectors.tx => tlp_transmit.message;
            dma_read.tx => tlp_transmit.nonposted; tlp_complete.tx => tlp_transmit.completion);
        Credits::link(&mut self.credit, &mut self.tlp_transmit.credit);
        self.tlp_transmit.tx.ready.next = self.tlp_tx.ready.val();
        self.tlp_tx.valid.next = self.tlp_transmit.tx.valid.val();
        self.tlp_tx.data.next = self.tlp_transmit.tx.data.val().data;
        self.tlp_tx.keep.next = self.tlp_transmit.tx.data.val().keep;
        self.tlp_tx.last.next = self.tlp_transmit.tx.data.val().last;
        self.tlp_tx.class.next = self.tlp_transmit.tx_class.val();
        drive!(self, cfg.requester_id => tlp_complete.cfg_requester_id, dma_read.cfg_requester_id,
            dma_write.cfg_requester_id, vectors.cfg_requester_id);
        drive!(self, cfg.bus_master => tlp_transmit.bus_master, vectors.cfg_bus_master);
        self.vectors.cfg_msix_enable.next = self.cfg.msix_enable.val();
        self.vectors.cfg_msix_mask.next = self.cfg.msix_mask.val();
        self.dma_read.max_read.next = self.cfg.max_read.val();
        self.dma_read.extended_tag.next = self.cfg.extended_tag.val();
        self.dma_write.max_payload.next = self.cfg.max_payload.val();
        self.tlp_transmit.max_payload.next = self.dma_write.cut.val();

        // Every access to host memory passes the checker, and becomes a command or a verdict.
        join!(self, Source<Access>, fetch.access => protect.fetch; gather.access => protect.gather;
            receive.access => protect.scatter);
        // The writer goes first; the other one reads.
        self.protect.complete.valid.next = self.writer.access.valid.val() | self.ack.access.valid.val();
        self.protect.complete.data.next = self.ack.access.data.val();
        if self.writer.access.valid.val() {
            self.protect.complete.data.next = self.writer.access.data.val();
        }
        self.writer.access.ready.next = self.protect.complete.ready.val();
        self.ack.access.ready.next = (self.protect.complete.ready.val() & !self.writer.access.valid.val())
            | self.protect.complete_issued.val();
        join!(self, Source<DmaCommand>, protect.read => dma_read.command; protect.write => dma_write.command);
        join!(self, FlowSource<bool>, dma_read.retire => protect.read_retire;
            dma_write.retire => protect.write_retire);
        join!(self, FlowSource<WriteVerdict>, protect.verdict => receive.verdict, writer.verdict);
        join!(self, Source<WriteBeat>, receive.write => dma_write.scatter;
            writer.write => dma_write.complete);
        join!(self, FlowSource<ReadBeat>, dma_read.beat => fetch.beat, gather.beat, receive.beat, ack.beat);
        drive!(self, protect.issued => writer.issued, requests.issued, vectors.issued);
        drive!(self, dma_write.retired => ack.retired, requests.retired, vectors.retired);

        // The agent's side: registers, commands, commits.
        join!(self, FlowSource<Bits<6>>, registers.counter => counters.read);
        join!(self, FlowSource<Bits<36>>, counters.read_value => registers.counter_value);
        join!(self, FlowSource<Bits<VECTOR_ROW_LOG2>>, registers.vector_row => vectors.load);
        join!(self, FlowSource<Bits<64>>, vectors.load_value => registers.vector_value);
        join!(self, FlowSource<CommandWord>, registers.command => command.command);
        StationSource::join(&mut self.registers.station, &mut self.receive.station);
        self.registers.result.next = self.command.result.val();
        self.registers.vectors_pending.next = self.vectors.pending.val();
        self.command.stage0.next = self.registers.stage0.val();
        self.command.stage1.next = self.registers.stage1.val();
        self.command.stage2.next = self.registers.stage2.val();
        self.command.written.next = self.queues.result.val();
        self.command.settling.next = self.vi_state.settling.val();
        self.command.draining.next = self.protect.draining.val();
        self.protect.drain.next = self.command.drain.val();
        self.vi_state.settle.next = self.command.settle.val();
        self.vi_state.event_writing.next = self.queues.event_writing.val();
        self.fetch.enabled.next = self.registers.send_enable.val();
        self.receive.enabled.next = self.registers.receive_enable.val();
        join!(self, Source<Commit>, command.commit => broadcast.commit; broadcast.protect => protect.commit;
            broadcast.fetch => fetch.commit; broadcast.doorbell => doorbell.commit;
            broadcast.receive => receive.commit; broadcast.transmit => transmit.commit;
            broadcast.sends => sends.commit; broadcast.gather => gather.commit;
            broadcast.writer => writer.commit; broadcast.state => vi_state.commit;
            broadcast.notify => notify.commit; broadcast.queues => queues.commit;
            broadcast.vectors => vectors.commit; broadcast.requests => requests.commit);
        // Who keeps the last word of a VI looks on, and is not waited for.
        self.ack.commit.valid.next = self.broadcast.fetch.valid.val();
        self.ack.commit.data.next = self.broadcast.fetch.data.val();

        // VI states: faults in, states out to every copy.
        join!(self, Source<Fault>, fetch.fault => vi_state.fetch_fault;
            transmit.fault => vi_state.transmit_fault; receive.fault => vi_state.receive_fault;
            sends.fault => vi_state.sends_fault; writer.fault => vi_state.writer_fault;
            queues.fault => vi_state.queues_fault);
        join!(self, FlowSource<StateWrite>,
            vi_state.state => gather.state, transmit.state, receive.state, sends.state);
        join!(self, LookUp<Vi, Bits<2>>, command.query => vi_state.query);
        join!(self, Source<EventWord>, vi_state.ring_event => queues.ring_event);

        // Doorbells and fetch.
        join!(self, Source<Vi>, doorbell.send => fetch.send; doorbell.receive => fetch.receive);
        join!(self, LookUp<Queue, DoorbellRow>, fetch.row => doorbell.row);
        join!(self, LookUp<Vi, Position>, receive.posted => doorbell.posted);
        join!(self, Source<QueueId>, fetch.again => doorbell.again_fetch);
        join!(self, Source<Vi>, receive.again_receive => doorbell.again_receive;
            sends.again_send => doorbell.again_send);
        join!(self, LookUp<Vi, Position>, fetch.completed => sends.completed;
            fetch.consumed => receive.consumed);
        join!(self, FlowSource<AheadWord>, fetch.ahead => receive.ahead);
        join!(self, FlowSource<Filled>, fetch.filled => receive.filled);
        join!(self, Source<Rewind>, sends.rewind => fetch.rewind);
        join!(self, FlowSource<EpochWrite>, sends.epoch => gather.epoch, transmit.epoch);

        // Out.
        join!(self, FlowSource<SendHead>, fetch.head => gather.head);
        join!(self, FlowSource<Bits<64>>, fetch.word => gather.word);
        self.fetch.head_taken.next = self.gather.head_taken.val();
        join!(self, Source<Packet>, gather.packet => transmit.packet);
        join!(self, Source<PayloadWord>, gather.payload => transmit.payload);
        join!(self, Source<Whole>, gather.whole => transmit.whole);
        join!(self, Source<AckRequest>, ack.ack => transmit.ack);
        join!(self, Source<FrameBeat>, transmit.frame => egress.frame);
        self.egress.frame_loopback.next = self.transmit.frame_loopback.val();
        self.egress.frame_vlan.next = self.transmit.frame_vlan.val();
        self.egress.tx.ready.next = self.eth_tx.ready.val();
        self.eth_tx.valid.next = self.egress.tx.valid.val();
        self.eth_tx.data.next = self.egress.tx.data.val().data;
        self.eth_tx.last.next = self.egress.tx.data.val().last;
        self.tx_lanes.count.next = self.egress.tx.data.val().count;
        self.eth_tx.keep.next = self.tx_lanes.keep.val();

        // In. What turns round inside has the bytes that `eth_tx` shows, and a valid of its own.
        join!(self, Source<FrameBeat>, egress.loopback => receive.loopback);
        self.loopback.valid.next = self.egress.loopback.valid.val();
        self.loopback.ready.next = self.receive.loopback.ready.val();
        self.loopback.data.next = self.egress.loopback.data.val().data;
        self.loopback.last.next = self.egress.loopback.data.val().last;
        self.loopback.keep.next = self.tx_lanes.keep.val();
        self.rx_lanes.keep.next = self.eth_rx.keep.val();
        self.eth_beat.next.data = self.eth_rx.data.val();
        self.eth_beat.next.last = self.eth_rx.last.val();
        self.eth_beat.next.bad = self.eth_rx.bad.val();
        self.eth_beat.next.count = self.rx_lanes.count.val();
        self.receive.rx.valid.next = self.eth_rx.valid.val();
        self.receive.rx.data.next = self.eth_beat.val();
        self.eth_rx_pause.next = self.receive.pause.val();

        // RDMA reads: what peers ask for, and what is asked of them.
        join!(self, FlowSource<ReadRequest>, receive.request => requests.request);
        join!(self, FlowSource<Admission>, requests.answer => receive.admission);
        // The way of a completion: receive, writer, ack, in order. None follows while a request is looked at.
        self.requests.settled.next =
            !self.receive.completion.valid.val() & !self.writer.receiving.val() & !self.ack.waits.val();
        join!(self, Source<Reply>, requests.reply => gather.reply);
        self.requests.gone.next = self.transmit.replied.val();
        join!(self, Source<AckRequest>, transmit.failed => requests.failed; requests.word => ack.word);
        join!(self, Source<Vi>, requests.free => ack.free);
        join!(self, LookUp<Vi, bool>, ack.held => requests.held);
        join!(self, Source<ReadSent>, transmit.read => receive.read);
        join!(self, LookUp<Vi, Bits<3>>, gather.reads => sends.reads);
        self.sends.placing.next = self.receive.placing.val();

        // The end of a descriptor: completions, completion queues, acknowledgements, interrupts.
        join!(self, Source<Sent>, transmit.sent => sends.sent);
        join!(self, Source<Acknowledged>, receive.acknowledged => sends.acknowledged);
        join!(self, Source<Completion>, receive.completion => writer.receive;
            sends.completion => writer.send);
        join!(self, Source<AckRequest>, writer.request => ack.request);
        self.ack.request_mark.next = self.writer.request_mark.val();
        join!(self, Source<Closed>, writer.closed => queues.closed);
        join!(self, FlowSource<CqStore>, cq_pages.store => queues.store);
        join!(self, FlowSource<CqEntry>, queues.entry => writer.entry);
        join!(self, FlowSource<bool>, writer.entry_end => queues.entry_end);
        join!(self, Source<Queue>, writer.ended => notify.ended);
        join!(self, FlowSource<Arm>, doorbell.arm => notify.arm);
        join!(self, FlowSource<Vector>, notify.raise => vectors.raise);
        join!(self, Source<Vector>, queues.raise => vectors.queue_raise);

        // Time.
        drive!(self, time_now => registers.time_now, dma_read.time_now, sends.time_now, vectors.time_now);
        FlowSource::<Bits<32>>::link(&mut self.read_deadline, &mut self.dma_read.deadline);
        FlowSource::<Bits<32>>::link(&mut self.interrupt_deadline, &mut self.vectors.deadline);
        FlowSource::<Bits<32>>::link(&mut self.send_deadline, &mut self.sends.deadline);

        // Counters, in the order of `viaduct_spec::register::counter`.
        self.events.next = bits::<39>(0);
        self.events.next = self.events.val().replace_bit(0, self.egress.count_frame.val());
        self.events.next = self.events.val().replace_bit(1, self.receive.count_frame.val());
        self.events.next = self.events.val().replace_bit(2, self.transmit.count_ack.val());
        self.events.next = self.events.val().replace_bit(3, self.sends.count_ack.val());
        self.events.next = self.events.val().replace_bit(4, self.sends.count_message.val());
        self.events.next = self.events.val().replace_bit(5, self.receive.delivery_events.val().message);
        self.events.next = self.events.val().replace_bit(6, self.receive.parse_events.val().malformed);
        self.events.next = self.events.val().replace_bit(7, self.receive.parse_events.val().icrc);
        self.events.next = self.events.val().replace_bit(8, self.receive.parse_events.val().not_ours);
        self.events.next = self.events.val().replace_bit(9, self.receive.parse_events.val().bth);
        self.events.next = self.events.val().replace_bit(10, self.receive.delivery_events.val().no_vi);
        self.events.next = self.events.val().replace_bit(11, self.receive.delivery_events.val().psn);
        self.events.next = self.events.val().replace_bit(12, self.receive.delivery_events.val().no_receive);
        self.events.next = self.events.val().replace_bit(13, self.receive.count_overflow.val());
        self.events.next = self.events.val().replace_bit(14, self.protect.count_refused.val());
        self.events.next = self.events.val().replace_bit(
            15,
            self.doorbell.count_ignored.val()
                | self.cq_pages.count_ignored.val()
                | self.queues.count_ignored.val(),
        );
        self.events.next = self
            .events
            .val()
            .replace_bit(16, self.tlp_receive.count_dropped.val() | self.dma_read.count_unexpected.val());
        self.events.next = self.events.val().replace_bit(17, self.command.count_ignored.val());
        self.events.next =
            self.events.val().replace_bit(18, self.vi_state.count_lost.val() | self.queues.count_lost.val());
        self.events.next = self.events.val().replace_bit(19, self.transmit.count_nak.val());
        self.events.next = self.events.val().replace_bit(20, self.sends.count_nak.val());
        self.events.next = self.events.val().replace_bit(21, self.receive.delivery_events.val().partial);
        self.events.next = self.events.val().replace_bit(25, self.ack.count_rnr.val());
        self.events.next = self.events.val().replace_bit(26, self.receive.delivery_events.val().duplicate);
        self.events.next = self.events.val().replace_bit(22, self.sends.count_again.val());
        self.events.next = self.events.val().replace_bit(23, self.sends.count_timeout.val());
        self.events.next = self.events.val().replace_bit(24, self.sends.count_rnr.val());
        self.events.next = self
            .events
            .val()
            .replace_bit(27, self.sends.count_ghost.val() | self.receive.delivery_events.val().response);
        self.events.next = self.events.val().replace_bit(29, self.receive.delivery_events.val().raw);
        self.events.next = self.events.val().replace_bit(30, self.receive.delivery_events.val().raw_dropped);
        self.events.next = self.events.val().replace_bit(31, self.requests.count_request.val());
        self.events.next = self.events.val().replace_bit(28, self.receive.parse_events.val().congestion);
        self.events.next = self.events.val().replace_bit(34, self.queues.count_overrun.val());
        self.events.next = self.events.val().replace_bit(35, self.vectors.count_interrupt.val());
        self.events.next = self.events.val().replace_bit(36, self.writer.count_error.val());
        self.events.next = self.events.val().replace_bit(37, self.vi_state.count_broken.val());
        self.events.next = self.events.val().replace_bit(38, self.dma_read.count_lost.val());
        self.counters.events.next = self.events.val();
        self.counters.bytes_sent.next = self.transmit.count_bytes.val();
        self.counters.bytes_received.next = self.receive.count_bytes.val();

        // Idle, and what the STATE register shows.
        self.busy.next = self.command.busy.val()
            | self.registers.soft_reset.val()
            | self.resets.ending.val()
            | self.resets.clear.val();
        self.quiet.d.next = !(self.busy.val()
            | self.doorbell.busy.val()
            | self.fetch.busy.val()
            | self.protect.busy.val()
            | self.dma_read.busy.val()
            | self.dma_write.busy.val()
            | self.gather.busy.val()
            | self.transmit.busy.val()
            | self.requests.busy.val()
            | self.ack.busy.val()
            | self.receive.busy.val()
            | self.sends.busy.val()
            | self.writer.busy.val()
            | self.queues.busy.val()
            | self.notify.busy.val()
            | self.vectors.busy.val()
            | self.tlp_transmit.tx.valid.val()
            | self.egress.tx.valid.val()
            | self.egress.loopback.valid.val());
        self.idle.next = self.quiet.q.val();
        self.registers.command_busy.next = self.busy.val();
        self.registers.command_error.next = self.command.error.val();
        self.registers.idle.next = self.quiet.q.val();
        self.registers.read_timeout.next = self.dma_read.timed_out.val();
    }
}
