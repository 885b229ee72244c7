//! The NIC: the blocks of docs/architecture.md and the wires between them, and nothing else.
//!
//! ```text
//!   tlp_rx, tlp_tx, credit, cfg ◄──►┌─────┐◄──► eth_rx, eth_tx
//!                      time_now ───►│ Nic │───► idle, *_deadline
//!                                   └─────┘
//! ```
//! Contract and ports: "The top's ports" in docs/architecture.md; [`Reset`] says what is reset when.
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
    Config, EthRx, EthTx, EthWatch, TlpComplete, TlpCredits, TlpReceive, TlpRx, TlpTransmit, TlpTx,
};
use crate::fetch::Fetch;
use crate::interrupt::{Notify, Vectors, VECTOR_ROW_LOG2};
use crate::protect::Protect;
use crate::quiet::Quiet;
use crate::receive::{Receive, StationSource};
use crate::reply::Requests;
use crate::reset::Reset;
use crate::rows::register::{CommandWord, EventWord};
use crate::send::{Ack, Egress, EthTransmit, Gather, Transmit};
use crate::stream::{FlowSource, LookUp, Source};
use crate::vi::ViState;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Nic {
    /// Rising edge; 100 MHz on a board, 125 in the simulator.
    pub clock: Signal<In, Clock>,
    /// Power-up reset, synchronous.
    pub reset: Signal<In, bool>,
    /// Packets from the host.
    pub tlp_rx: TlpRx,
    /// The NIC has room for a non-posted request from the host.
    pub tlp_rx_np_ready: Signal<Out, bool>,
    /// Packets to the host.
    pub tlp_tx: TlpTx,
    /// The link partner's credits: how much may be sent to the host now.
    pub credit: TlpCredits,
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
    /// Frames that the NIC sends to itself, for test benches.
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
    quiet: Quiet,
    // The edge to PCIe.
    tlp_receive: TlpReceive,
    tlp_complete: TlpComplete,
    tlp_transmit: TlpTransmit,
    // The way to host memory.
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
    // Out, in, and the end of a descriptor, with its interrupts.
    gather: Gather,
    transmit: Transmit,
    ack: Ack,
    egress: Egress,
    eth_transmit: EthTransmit,
    receive: Receive,
    sends: Sends,
    writer: Writer,
    queues: CompletionQueues,
    requests: Requests,
    notify: Notify,
    vectors: Vectors,
}

impl Logic for Nic {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, resets, quiet, tlp_receive, tlp_complete, tlp_transmit, dma_read, dma_write);
        clock!(self, clock, protect, registers, command, broadcast, counters, vi_state, doorbell, cq_pages);
        clock!(self, clock, fetch, gather, transmit, ack, egress, receive, sends, writer, queues, requests);
        clock!(self, clock, notify, vectors);

        // Resets. The agent's reset does not touch the edge, nor the vectors, which are the system's.
        drive!(self, reset => resets.reset; link_down => resets.link_down; resets.hold => tlp_transmit.hold;
            cfg.function_reset => resets.function_reset, tlp_transmit.mute;
            registers.soft_reset => resets.agent; resets.ending => dma_read.draining;
            tlp_transmit.settled => resets.settled; dma_read.outstanding => resets.outstanding;
            resets.down => tlp_transmit.reset, tlp_receive.down;
            resets.function_reset_done => function_reset_done; resets.hard => tlp_receive.reset,
            tlp_complete.reset, registers.restart, dma_read.down, vectors.reset;
            resets.clear => vectors.restart, registers.reset, dma_read.reset, dma_write.reset, protect.reset,
            command.reset, broadcast.reset, counters.reset, vi_state.reset, doorbell.reset, cq_pages.reset,
            fetch.reset, gather.reset, transmit.reset, ack.reset, egress.reset, receive.reset, sends.reset,
            writer.reset, queues.reset, requests.reset, notify.reset);

        // PCIe: stores, loads and completions in; four kinds of packets out.
        TlpRx::link(&mut self.tlp_rx, &mut self.tlp_receive.rx);
        join!(self, Source<MmioRead>, tlp_receive.mmio_read => tlp_complete.read);
        join!(self, FlowSource<Bits<20>>, tlp_complete.load => registers.load);
        join!(self, FlowSource<TlpBeat>, tlp_receive.completion => dma_read.completion);
        join!(self, FlowSource<MmioWrite>, tlp_receive.mmio_write => registers.mmio_write,
            doorbell.mmio_write, cq_pages.mmio_write, vectors.mmio_write);
        join!(self, Source<TlpBeat>, dma_write.tx => tlp_transmit.posted; vectors.tx => tlp_transmit.message;
            dma_read.tx => tlp_transmit.nonposted; tlp_complete.tx => tlp_transmit.completion);
        TlpCredits::link(&mut self.credit, &mut self.tlp_transmit.credit);
        TlpTx::link(&mut self.tlp_tx, &mut self.tlp_transmit.tx);
        drive!(self, tlp_receive.np_ready => tlp_rx_np_ready;
            cfg.requester_id => tlp_complete.cfg_requester_id, dma_read.cfg_requester_id,
            dma_write.cfg_requester_id, vectors.cfg_requester_id;
            cfg.bus_master => tlp_transmit.bus_master, vectors.cfg_bus_master;
            cfg.msix_enable => vectors.cfg_msix_enable; cfg.msix_mask => vectors.cfg_msix_mask;
            cfg.max_read => dma_read.max_read; cfg.extended_tag => dma_read.extended_tag;
            cfg.max_payload => dma_write.max_payload; dma_write.cut => tlp_transmit.max_payload);

        // Every access to host memory passes `protect`, and becomes a command or a verdict.
        join!(self, Source<Access>, fetch.access => protect.fetch; gather.access => protect.gather;
            receive.access => protect.scatter; writer.access => protect.complete;
            ack.access => protect.flush);
        join!(self, Source<DmaCommand>, protect.read => dma_read.command; protect.write => dma_write.command);
        join!(self, FlowSource<bool>, dma_read.retire => protect.read_retire;
            dma_write.retire => protect.write_retire);
        join!(self, FlowSource<WriteVerdict>, protect.verdict => receive.verdict, writer.verdict);
        join!(self, Source<WriteBeat>, receive.write => dma_write.scatter;
            writer.write => dma_write.complete);
        join!(self, FlowSource<ReadBeat>, dma_read.beat => fetch.beat, gather.beat, receive.beat, ack.beat);
        drive!(self, protect.issued => writer.issued, requests.issued, vectors.issued;
            dma_write.retired => ack.retired, requests.retired, vectors.retired);

        // The agent's side: registers, commands, commits.
        join!(self, FlowSource<Bits<6>>, registers.counter => counters.read);
        join!(self, FlowSource<Bits<36>>, counters.read_value => registers.counter_value);
        join!(self, FlowSource<Bits<VECTOR_ROW_LOG2>>, registers.vector_row => vectors.load);
        join!(self, FlowSource<Bits<64>>, vectors.load_value => registers.vector_value;
            registers.answer => tlp_complete.answer);
        join!(self, FlowSource<CommandWord>, registers.command => command.command);
        join!(self, StationSource, registers.station => receive.station);
        drive!(self, registers.stage0 => command.stage0; registers.stage1 => command.stage1;
            registers.stage2 => command.stage2; command.result => registers.result;
            queues.result => command.written; queues.event_writing => vi_state.event_writing;
            command.settle => vi_state.settle; vi_state.settling => command.settling;
            command.drain => protect.drain; protect.draining => command.draining;
            registers.send_enable => fetch.enabled; registers.receive_enable => receive.enabled;
            vectors.pending => registers.vectors_pending; command.error => registers.command_error;
            dma_read.timed_out => registers.read_timeout);
        join!(self, Source<Commit>, command.commit => broadcast.commit; broadcast.protect => protect.commit;
            broadcast.fetch => fetch.commit; broadcast.doorbell => doorbell.commit;
            broadcast.receive => receive.commit; broadcast.transmit => transmit.commit;
            broadcast.sends => sends.commit; broadcast.gather => gather.commit;
            broadcast.writer => writer.commit; broadcast.state => vi_state.commit;
            broadcast.notify => notify.commit; broadcast.queues => queues.commit;
            broadcast.vectors => vectors.commit; broadcast.requests => requests.commit);
        join!(self, FlowSource<Commit>, broadcast.ack => ack.commit);

        // VI states: faults in, states out to every copy.
        join!(self, Source<Fault>, fetch.fault => vi_state.fetch_fault; sends.fault => vi_state.sends_fault;
            transmit.fault => vi_state.transmit_fault; receive.fault => vi_state.receive_fault;
            writer.fault => vi_state.writer_fault; queues.fault => vi_state.queues_fault);
        join!(self, FlowSource<StateWrite>, vi_state.state => gather.state, transmit.state, receive.state,
            sends.state);
        join!(self, LookUp<Vi, Bits<2>>, command.query => vi_state.query);
        join!(self, Source<EventWord>, vi_state.ring_event => queues.ring_event);

        // Doorbells and fetch.
        join!(self, Source<Vi>, doorbell.send => fetch.send; doorbell.receive => fetch.receive;
            receive.again_receive => doorbell.again_receive; sends.again_send => doorbell.again_send);
        join!(self, Source<QueueId>, fetch.again => doorbell.again_fetch);
        join!(self, LookUp<Queue, DoorbellRow>, fetch.row => doorbell.row);
        join!(self, LookUp<Vi, Position>, receive.posted => doorbell.posted;
            fetch.completed => sends.completed; fetch.consumed => receive.consumed);
        join!(self, FlowSource<AheadWord>, fetch.ahead => receive.ahead);
        join!(self, FlowSource<Filled>, fetch.filled => receive.filled);
        join!(self, Source<Rewind>, sends.rewind => fetch.rewind);
        join!(self, FlowSource<EpochWrite>, sends.epoch => gather.epoch, transmit.epoch);

        // Out and in: from a descriptor's head to a frame, and from a frame to `receive`.
        join!(self, FlowSource<SendHead>, fetch.head => gather.head);
        join!(self, FlowSource<Bits<64>>, fetch.word => gather.word);
        join!(self, Source<Packet>, gather.packet => transmit.packet);
        join!(self, Source<PayloadWord>, gather.payload => transmit.payload);
        join!(self, Source<Whole>, gather.whole => transmit.whole);
        join!(self, Source<FrameBeat>, transmit.frame => egress.frame; egress.tx => eth_transmit.beat;
            egress.loopback => receive.loopback);
        drive!(self, gather.head_taken => fetch.head_taken; transmit.frame_loopback => egress.frame_loopback;
            transmit.frame_vlan => egress.frame_vlan; egress.loopback.valid => eth_transmit.turns;
            receive.loopback.ready => eth_transmit.turn_has_room; receive.pause => eth_rx_pause);
        EthTx::link(&mut self.eth_tx, &mut self.eth_transmit.tx);
        EthWatch::link(&mut self.loopback, &mut self.eth_transmit.watch);
        EthRx::link(&mut self.eth_rx, &mut self.receive.rx);

        // Acknowledgements, and RDMA reads: what peers ask for, and what is asked of them.
        join!(self, Source<AckRequest>, writer.request => ack.request; ack.ack => transmit.ack;
            transmit.failed => requests.failed; requests.word => ack.word);
        join!(self, FlowSource<ReadRequest>, receive.request => requests.request);
        join!(self, FlowSource<Admission>, requests.answer => receive.admission);
        join!(self, Source<Reply>, requests.reply => gather.reply);
        join!(self, Source<Vi>, requests.free => ack.free);
        join!(self, LookUp<Vi, bool>, ack.held => requests.held);
        join!(self, Source<ReadSent>, transmit.read => receive.read);
        join!(self, LookUp<Vi, Bits<3>>, gather.reads => sends.reads);
        drive!(self, receive.completion.valid | writer.receiving | ack.waits => requests.arriving;
            transmit.replied => requests.gone; receive.placing => sends.placing;
            writer.request_mark => ack.request_mark);

        // The end of a descriptor: completions, completion queues, interrupts.
        join!(self, Source<Sent>, transmit.sent => sends.sent);
        join!(self, Source<Acknowledged>, receive.acknowledged => sends.acknowledged);
        join!(self, Source<Completion>, receive.completion => writer.receive;
            sends.completion => writer.send);
        join!(self, Source<Closed>, writer.closed => queues.closed);
        join!(self, FlowSource<CqStore>, cq_pages.store => queues.store);
        join!(self, FlowSource<CqEntry>, queues.entry => writer.entry);
        join!(self, FlowSource<bool>, writer.entry_end => queues.entry_end);
        join!(self, Source<Queue>, writer.ended => notify.ended);
        join!(self, FlowSource<Arm>, doorbell.arm => notify.arm);
        join!(self, FlowSource<Vector>, notify.raise => vectors.raise);
        join!(self, Source<Vector>, queues.raise => vectors.queue_raise);

        // Time, counters (those of bytes have ports of their own), and whether the NIC is busy.
        FlowSource::<Bits<32>>::link(&mut self.read_deadline, &mut self.dma_read.deadline);
        FlowSource::<Bits<32>>::link(&mut self.interrupt_deadline, &mut self.vectors.deadline);
        FlowSource::<Bits<32>>::link(&mut self.send_deadline, &mut self.sends.deadline);
        fill!(self, counters.events, egress.count_frame => frames_sent; transmit.count_ack => acks_sent;
            transmit.count_nak => naks_sent; ack.count_rnr => rnr_sent; sends.count_message => messages_sent;
            sends.count_ack => acks_received; sends.count_nak => naks_received;
            sends.count_rnr => rnr_received; sends.count_again => retransmitted;
            sends.count_timeout => timeouts; requests.count_request => reads_served;
            sends.count_ghost | receive.handled.val().response => drop_response;
            receive.count_frame => frames_received; receive.count_overflow => drop_overflow;
            receive.parsed.val().malformed => drop_malformed; receive.parsed.val().icrc => drop_icrc;
            receive.parsed.val().bth => drop_bth; receive.parsed.val().not_ours => drop_not_ours;
            receive.parsed.val().congestion => congestion; receive.handled.val().no_vi => drop_no_vi;
            receive.handled.val().psn => drop_psn; receive.handled.val().no_receive => drop_no_receive;
            receive.handled.val().partial => drop_partial; receive.handled.val().duplicate => duplicates;
            receive.handled.val().message => messages_received; receive.handled.val().raw => raw_received;
            receive.handled.val().raw_dropped => raw_dropped; protect.count_refused => access_refused;
            dma_read.count_lost => reads_lost; command.count_ignored => command_ignored;
            tlp_receive.count_dropped | dma_read.count_unexpected => tlp_dropped;
            doorbell.count_ignored | cq_pages.count_ignored | queues.count_ignored => doorbell_ignored;
            vi_state.count_lost | queues.count_lost => event_lost; vi_state.count_broken => vis_broken;
            writer.count_error => descriptor_errors; queues.count_overrun => cq_overruns;
            vectors.count_interrupt => interrupts; false => bytes_sent, bytes_received);
        drive!(self, time_now => registers.time_now, dma_read.time_now, sends.time_now, vectors.time_now;
            transmit.count_bytes => counters.bytes_sent; receive.count_bytes => counters.bytes_received;
            command.busy => quiet.commanded; quiet.busy => registers.command_busy;
            quiet.idle => idle, registers.idle;
            registers.soft_reset | resets.ending | resets.clear => quiet.resetting;
            doorbell.busy | fetch.busy | protect.busy | dma_read.busy | dma_write.busy | gather.busy
            | transmit.busy | requests.busy | ack.busy | receive.busy | sends.busy | writer.busy | queues.busy
            | notify.busy | vectors.busy | tlp_transmit.tx.valid | egress.tx.valid | egress.loopback.valid
            => quiet.works);
    }
}
