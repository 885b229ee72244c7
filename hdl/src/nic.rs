//! The NIC: the blocks of docs/architecture.md and the wires between them, nothing else.
//!
//! ```text
//!   tlp_rx, tlp_tx, credit_*, cfg_* ◄──►┌─────┐◄──► eth_rx, eth_tx
//!                          time_now ───►│ Nic │───► idle, *_deadline
//!                                       └─────┘
//! ```
//! Contract and ports: "The top's ports" in docs/architecture.md. `reset`, `link_down`, `cfg_function_reset` and the agent's RESET
//! bit clear everything, the registers included. The first two do at once. The other two wait until nothing of the core's is half way over the
//! PCIe edge, which lives on; meanwhile STATE says busy. The agent's bit leaves the MSI-X table alone, and loads are answered.
//!
//! Latency: that of the blocks; there is no logic here but the counters' order and the reset.
//!
//! Tests: the co-simulation suite in `tests/`.

use crate::admin::{Broadcast, Command, Counters, Registers};
use crate::bus::{
    Access, AckRequest, Acknowledged, AheadWord, Arm, Closed, Completion, CqEntry, CqStore, DmaCommand,
    DoorbellRow, EpochWrite, Event, Filled, FrameBeat, MmioRead, MmioWrite, Packet, PayloadWord, Position,
    Queue, QueueId, ReadBeat, ReadRequest, ReadSent, Reply, Rewind, SendHead, Sent, StateWrite, TlpBeat,
    Vector, Vi, Whole, WriteBeat, WriteVerdict,
};
use crate::complete::{Queues, Sends, Writer};
use crate::dma::{DmaRead, DmaWrite};
use crate::doorbell::{CqPages, Doorbell};
use crate::edge::{TlpComplete, TlpReceive, TlpTransmit};
use crate::fetch::Fetch;
use crate::interrupt::VECTOR_ROW_LOG2;
use crate::interrupt::{Notify, Vectors};
use crate::prims::Number;
use crate::protect::Protect;
use crate::receive::Receive;
use crate::reply::Requests;
use crate::send::{Ack, Egress, Gather, Transmit};
use crate::stream::{FlowSource, LookUp, Source};
use crate::vi::ViState;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Nic {
    /// Rising edge, 125 MHz.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset.
    pub reset: Signal<In, bool>,

    /// A beat from the host.
    pub tlp_rx_valid: Signal<In, bool>,
    /// Two double words.
    pub tlp_rx_data: Signal<In, Bits<64>>,
    /// Which are there: 01 or 11.
    pub tlp_rx_keep: Signal<In, Bits<2>>,
    /// Last beat of the packet.
    pub tlp_rx_last: Signal<In, bool>,
    /// BAR that a request hits: 0 or 2.
    pub tlp_rx_bar: Signal<In, Bits<3>>,
    /// A non-posted request may be started.
    pub tlp_rx_np_ready: Signal<Out, bool>,

    /// A beat to the host.
    pub tlp_tx_valid: Signal<Out, bool>,
    /// It is taken.
    pub tlp_tx_ready: Signal<In, bool>,
    /// Two double words.
    pub tlp_tx_data: Signal<Out, Bits<64>>,
    /// Which are there: 01 or 11.
    pub tlp_tx_keep: Signal<Out, Bits<2>>,
    /// Last beat of the packet.
    pub tlp_tx_last: Signal<Out, bool>,
    /// `viaduct_spec::tlp::class` of the packet.
    pub tlp_tx_class: Signal<Out, Bits<2>>,
    /// Posted headers that may be sent now.
    pub credit_ph: Signal<In, Bits<8>>,
    /// Posted data, units of 16 bytes.
    pub credit_pd: Signal<In, Bits<12>>,
    /// Non-posted headers.
    pub credit_nph: Signal<In, Bits<8>>,
    /// Completion headers.
    pub credit_ch: Signal<In, Bits<8>>,
    /// Completion data, units of 16 bytes.
    pub credit_cd: Signal<In, Bits<12>>,

    /// Own bus, device and function number.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// MaxPayload, 128 << n bytes.
    pub cfg_max_payload: Signal<In, Bits<3>>,
    /// MaxReadRequest, 128 << n bytes.
    pub cfg_max_read: Signal<In, Bits<3>>,
    /// Read completion boundary, 1 = 128 bytes: not looked at, our own completions are of 8 bytes at most.
    pub cfg_rcb: Signal<In, bool>,
    /// 8-bit tags are allowed.
    pub cfg_extended_tag: Signal<In, bool>,
    /// Memory requests may be sent.
    pub cfg_bus_master: Signal<In, bool>,
    /// Function-level reset; stays until `function_reset_done`.
    pub cfg_function_reset: Signal<In, bool>,
    /// It is done: stays until `cfg_function_reset` falls.
    pub function_reset_done: Signal<Out, bool>,
    /// The link is down, or in hot reset: everything is reset at once.
    pub link_down: Signal<In, bool>,
    /// MSI-X is enabled.
    pub cfg_msix_enable: Signal<In, bool>,
    /// All vectors are masked.
    pub cfg_msix_mask: Signal<In, bool>,

    /// A beat from the MAC.
    pub eth_rx_valid: Signal<In, bool>,
    /// Eight bytes.
    pub eth_rx_data: Signal<In, Bits<64>>,
    /// Which are there: all but in the last beat.
    pub eth_rx_keep: Signal<In, Bits<8>>,
    /// Last beat of the frame.
    pub eth_rx_last: Signal<In, bool>,
    /// With `last`: the frame is damaged.
    pub eth_rx_bad: Signal<In, bool>,
    /// The peer should hold its frames.
    pub eth_rx_pause: Signal<Out, bool>,
    /// A beat to the MAC.
    pub eth_tx_valid: Signal<Out, bool>,
    /// It is taken.
    pub eth_tx_ready: Signal<In, bool>,
    /// Eight bytes.
    pub eth_tx_data: Signal<Out, Bits<64>>,
    /// Which are there: all but in the last beat.
    pub eth_tx_keep: Signal<Out, Bits<8>>,
    /// Last beat of the frame.
    pub eth_tx_last: Signal<Out, bool>,
    /// A beat of a frame that turns round inside, from one VI to another or to itself: shown to test benches, for which loopback
    /// connections would have no frames otherwise.
    pub loopback_valid: Signal<Out, bool>,
    /// The receive side takes it.
    pub loopback_ready: Signal<Out, bool>,
    /// Eight bytes.
    pub loopback_data: Signal<Out, Bits<64>>,
    /// Which are there: all but in the last beat.
    pub loopback_keep: Signal<Out, Bits<8>>,
    /// Last beat of the frame.
    pub loopback_last: Signal<Out, bool>,

    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// Nothing is in flight and nothing waits.
    pub idle: Signal<Out, bool>,
    /// A read of host memory waits for its completions.
    pub read_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub read_deadline: Signal<Out, Bits<32>>,
    /// A vector rests.
    pub interrupt_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub interrupt_deadline: Signal<Out, Bits<32>>,
    /// A VI waits for an acknowledgement, or to send again.
    pub send_deadline_valid: Signal<Out, bool>,
    /// Until then.
    pub send_deadline: Signal<Out, Bits<32>>,

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
    queues: Queues,
    requests: Requests,
    // Interrupts.
    notify: Notify,
    vectors: Vectors,

    /// Everything but the PCIe edge: the agent's RESET bit leaves that alone. It lasts until nothing is left of the cycle before it in any
    /// register that it does not clear.
    clear: DFF<bool>,
    /// For so many cycles more.
    clearing: DFF<Bits<4>>,
    /// A reset of the agent's or of the function waits until nothing of the core's is half way over the edge.
    ending: DFF<bool>,
    /// It has come to that.
    ended: Signal<Local, bool>,
    /// The function is reset.
    function_done: DFF<bool>,
    /// The link is no more; packets end where they are.
    down: Signal<Local, bool>,
    /// All of the system's goes, too.
    hard: Signal<Local, bool>,
    rx_beat: Signal<Local, TlpBeat>,
    eth_beat: Signal<Local, FrameBeat>,
    missing: Signal<Local, Bits<4>>,
    eight: Number<4, 8>,
    all_lanes: Number<8, 0xFF>,
    events: Signal<Local, Bits<39>>,
    faults: Signal<Local, Bits<6>>,
    taken: Signal<Local, Bits<13>>,
    state: Signal<Local, Bits<4>>,
    quiet: DFF<bool>,
}

impl Logic for Nic {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, clear, clearing, ending, function_done, quiet);
        clock!(self, clock, tlp_receive, tlp_complete, tlp_transmit, dma_read, dma_write, protect);
        clock!(self, clock, registers, command, broadcast, counters, vi_state, doorbell, fetch);
        clock!(self, clock, cq_pages, queues);
        clock!(self, clock, gather, transmit, ack, egress, receive, sends, writer, requests);
        clock!(self, clock, notify, vectors);

        // Reset.
        self.down.next = self.reset.val() | self.link_down.val();
        self.hard.next = self.down.val() | self.function_done.q.val();
        // The edge lives on: it must not be left with half a packet, nor be brought the answer to a read of before.
        self.ended.next =
            self.ending.q.val() & self.tlp_transmit.settled.val() & !self.dma_read.outstanding.val();
        self.ending.d.next = (self.ending.q.val()
            | self.registers.soft_reset.val()
            | (self.cfg_function_reset.val() & !self.function_done.q.val()))
            & !self.ended.val();
        self.function_done.d.next =
            self.cfg_function_reset.val() & (self.function_done.q.val() | self.ended.val());
        if self.down.val() {
            self.ending.d.next = false;
            self.function_done.d.next = false;
        }
        self.function_reset_done.next = self.function_done.q.val();
        self.clear.d.next = self.hard.val() | self.ended.val() | self.clearing.q.val().any();
        if self.hard.val() | self.ended.val() {
            self.clearing.d.next = bits::<4>(15);
        } else if self.clearing.q.val().any() {
            self.clearing.d.next = self.clearing.q.val() - 1;
        }
        self.tlp_transmit.hold.next = self.ending.q.val() | self.function_done.q.val();
        self.tlp_transmit.mute.next = self.cfg_function_reset.val();
        self.registers.restart.next = self.hard.val();
        self.tlp_receive.reset.next = self.hard.val();
        self.tlp_complete.reset.next = self.hard.val();
        self.tlp_receive.down.next = self.down.val();
        self.tlp_transmit.reset.next = self.down.val();
        self.registers.reset.next = self.clear.q.val();
        self.dma_read.reset.next = self.clear.q.val();
        self.dma_read.down.next = self.hard.val();
        self.dma_read.draining.next = self.ending.q.val();
        self.dma_write.reset.next = self.clear.q.val();
        self.protect.reset.next = self.clear.q.val();
        self.command.reset.next = self.clear.q.val();
        self.broadcast.reset.next = self.clear.q.val();
        self.counters.reset.next = self.clear.q.val();
        self.vi_state.reset.next = self.clear.q.val();
        self.doorbell.reset.next = self.clear.q.val();
        self.fetch.reset.next = self.clear.q.val();
        self.gather.reset.next = self.clear.q.val();
        self.transmit.reset.next = self.clear.q.val();
        self.ack.reset.next = self.clear.q.val();
        self.egress.reset.next = self.clear.q.val();
        self.receive.reset.next = self.clear.q.val();
        self.sends.reset.next = self.clear.q.val();
        self.writer.reset.next = self.clear.q.val();
        self.cq_pages.reset.next = self.clear.q.val();
        self.queues.reset.next = self.clear.q.val();
        self.requests.reset.next = self.clear.q.val();
        self.notify.reset.next = self.clear.q.val();
        // The vectors are the system's, not the agent's.
        self.vectors.reset.next = self.hard.val();
        self.vectors.restart.next = self.clear.q.val();

        // From the host: stores, loads, completions.
        self.rx_beat.next.data = self.tlp_rx_data.val();
        self.rx_beat.next.keep = self.tlp_rx_keep.val();
        self.rx_beat.next.last = self.tlp_rx_last.val();
        self.tlp_receive.rx.valid.next = self.tlp_rx_valid.val();
        self.tlp_receive.rx.data.next = self.rx_beat.val();
        self.tlp_receive.rx_bar.next = self.tlp_rx_bar.val();
        self.tlp_rx_np_ready.next = self.tlp_receive.np_ready.val();
        Source::<MmioRead>::join(&mut self.tlp_receive.mmio_read, &mut self.tlp_complete.read);
        FlowSource::<Bits<64>>::join(&mut self.registers.answer, &mut self.tlp_complete.answer);
        self.tlp_complete.cfg_requester_id.next = self.cfg_requester_id.val();
        Source::<TlpBeat>::join(&mut self.tlp_complete.tx, &mut self.tlp_transmit.completion);

        // To the host.
        Source::<TlpBeat>::join(&mut self.dma_write.tx, &mut self.tlp_transmit.posted);
        Source::<TlpBeat>::join(&mut self.vectors.tx, &mut self.tlp_transmit.message);
        Source::<TlpBeat>::join(&mut self.dma_read.tx, &mut self.tlp_transmit.nonposted);
        self.tlp_transmit.credit_ph.next = self.credit_ph.val();
        self.tlp_transmit.credit_pd.next = self.credit_pd.val();
        self.tlp_transmit.credit_nph.next = self.credit_nph.val();
        self.tlp_transmit.credit_ch.next = self.credit_ch.val();
        self.tlp_transmit.credit_cd.next = self.credit_cd.val();
        self.tlp_transmit.bus_master.next = self.cfg_bus_master.val();
        self.tlp_transmit.max_payload.next = self.dma_write.cut.val();
        self.tlp_transmit.tx.ready.next = self.tlp_tx_ready.val();
        self.tlp_tx_valid.next = self.tlp_transmit.tx.valid.val();
        self.tlp_tx_data.next = self.tlp_transmit.tx.data.val().data;
        self.tlp_tx_keep.next = self.tlp_transmit.tx.data.val().keep;
        self.tlp_tx_last.next = self.tlp_transmit.tx.data.val().last;
        self.tlp_tx_class.next = self.tlp_transmit.tx_class.val();

        // DMA.
        Source::<DmaCommand>::join(&mut self.protect.read, &mut self.dma_read.command);
        FlowSource::<TlpBeat>::join(&mut self.tlp_receive.completion, &mut self.dma_read.completion);
        self.dma_read.cfg_requester_id.next = self.cfg_requester_id.val();
        self.dma_read.max_read.next = self.cfg_max_read.val();
        self.dma_read.extended_tag.next = self.cfg_extended_tag.val();
        self.dma_read.time_now.next = self.time_now.val();
        Source::<DmaCommand>::join(&mut self.protect.write, &mut self.dma_write.command);
        Source::<WriteBeat>::join(&mut self.receive.write, &mut self.dma_write.scatter);
        Source::<WriteBeat>::join(&mut self.writer.write, &mut self.dma_write.complete);
        self.dma_write.cfg_requester_id.next = self.cfg_requester_id.val();
        self.dma_write.max_payload.next = self.cfg_max_payload.val();

        // The checker: every access to host memory.
        Source::<Access>::join(&mut self.fetch.access, &mut self.protect.fetch);
        Source::<Access>::join(&mut self.gather.access, &mut self.protect.gather);
        Source::<Access>::join(&mut self.receive.access, &mut self.protect.scatter);
        // The writer goes first; the other one reads.
        self.protect.complete.valid.next = self.writer.access.valid.val() | self.ack.access.valid.val();
        self.protect.complete.data.next = self.ack.access.data.val();
        if self.writer.access.valid.val() {
            self.protect.complete.data.next = self.writer.access.data.val();
        }
        self.protect.drain.next = self.command.drain.val();
        FlowSource::<bool>::join(&mut self.dma_read.retire, &mut self.protect.read_retire);
        FlowSource::<bool>::join(&mut self.dma_write.retire, &mut self.protect.write_retire);

        // Registers, commands, commits.
        FlowSource::<MmioWrite>::join(&mut self.tlp_receive.mmio_write, &mut self.registers.mmio_write);
        FlowSource::<Bits<20>>::join(&mut self.tlp_complete.load, &mut self.registers.load);
        self.registers.result.next = self.command.result.val();
        self.registers.time_now.next = self.time_now.val();
        FlowSource::<Bits<36>>::join(&mut self.counters.read_value, &mut self.registers.counter_value);
        FlowSource::<Bits<64>>::join(&mut self.vectors.load_value, &mut self.registers.vector_value);
        self.registers.vectors_pending.next = self.vectors.pending.val();
        FlowSource::<Bits<6>>::join(&mut self.registers.counter, &mut self.counters.read);
        FlowSource::<Bits<32>>::join(&mut self.registers.command, &mut self.command.command);
        self.command.stage0.next = self.registers.stage0.val();
        self.command.stage1.next = self.registers.stage1.val();
        self.command.stage2.next = self.registers.stage2.val();
        self.vi_state.settle.next = self.command.settle.val();
        self.vi_state.event_writing.next = self.queues.event_writing.val();
        self.command.settling.next = self.vi_state.settling.val();
        self.command.draining.next = self.protect.draining.val();
        LookUp::<Vi, Bits<2>>::join(&mut self.command.query, &mut self.vi_state.query);
        self.command.commit.ready.next = self.broadcast.commit_ready.val();
        self.broadcast.commit_valid.next = self.command.commit.valid.val();
        self.broadcast.target.next = self.command.commit.data.val().target;
        self.protect.commit.valid.next = self.broadcast.valid.val().get_bit(0);
        self.fetch.commit.valid.next = self.broadcast.valid.val().get_bit(1);
        self.doorbell.commit.valid.next = self.broadcast.valid.val().get_bit(2);
        self.receive.commit.valid.next = self.broadcast.valid.val().get_bit(3);
        self.transmit.commit.valid.next = self.broadcast.valid.val().get_bit(4);
        self.sends.commit.valid.next = self.broadcast.valid.val().get_bit(5);
        self.gather.commit.valid.next = self.broadcast.valid.val().get_bit(6);
        self.writer.commit.valid.next = self.broadcast.valid.val().get_bit(7);
        self.vi_state.commit.valid.next = self.broadcast.valid.val().get_bit(8);
        self.notify.commit.valid.next = self.broadcast.valid.val().get_bit(9);
        self.queues.commit.valid.next = self.broadcast.valid.val().get_bit(10);
        self.vectors.commit.valid.next = self.broadcast.valid.val().get_bit(11);
        self.requests.commit.valid.next = self.broadcast.valid.val().get_bit(12);
        self.requests.commit.data.next = self.command.commit.data.val();
        self.protect.commit.data.next = self.command.commit.data.val();
        self.fetch.commit.data.next = self.command.commit.data.val();
        self.doorbell.commit.data.next = self.command.commit.data.val();
        self.receive.commit.data.next = self.command.commit.data.val();
        self.transmit.commit.data.next = self.command.commit.data.val();
        self.sends.commit.data.next = self.command.commit.data.val();
        self.gather.commit.data.next = self.command.commit.data.val();
        self.writer.commit.data.next = self.command.commit.data.val();
        self.vi_state.commit.data.next = self.command.commit.data.val();
        self.notify.commit.data.next = self.command.commit.data.val();
        self.taken.next = bits::<13>(0);
        self.queues.commit.data.next = self.command.commit.data.val();
        self.vectors.commit.data.next = self.command.commit.data.val();
        self.command.written.next = self.queues.result.val();
        self.taken.next = self.taken.val().replace_bit(0, self.protect.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(1, self.fetch.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(2, self.doorbell.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(3, self.receive.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(4, self.transmit.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(5, self.sends.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(6, self.gather.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(7, self.writer.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(8, self.vi_state.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(9, self.notify.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(10, self.queues.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(11, self.vectors.commit.ready.val());
        self.taken.next = self.taken.val().replace_bit(12, self.requests.commit.ready.val());
        self.broadcast.taken.next = self.taken.val();

        // VI states: faults in, states out to every copy.
        self.faults.next = bits::<6>(0);
        self.faults.next = self.faults.val().replace_bit(0, self.fetch.fault.valid.val());
        self.faults.next = self.faults.val().replace_bit(1, self.transmit.fault.valid.val());
        self.faults.next = self.faults.val().replace_bit(2, self.receive.fault.valid.val());
        self.faults.next = self.faults.val().replace_bit(3, self.sends.fault.valid.val());
        self.faults.next = self.faults.val().replace_bit(4, self.writer.fault.valid.val());
        self.faults.next = self.faults.val().replace_bit(5, self.queues.fault.valid.val());
        self.vi_state.fault_valid.next = self.faults.val();
        self.vi_state.fetch_fault.next = self.fetch.fault.data.val();
        self.vi_state.transmit_fault.next = self.transmit.fault.data.val();
        self.vi_state.receive_fault.next = self.receive.fault.data.val();
        self.vi_state.sends_fault.next = self.sends.fault.data.val();
        self.vi_state.writer_fault.next = self.writer.fault.data.val();
        self.vi_state.queues_fault.next = self.queues.fault.data.val();
        self.fetch.fault.ready.next = self.vi_state.fault_ready.val().get_bit(0);
        self.transmit.fault.ready.next = self.vi_state.fault_ready.val().get_bit(1);
        self.receive.fault.ready.next = self.vi_state.fault_ready.val().get_bit(2);
        self.sends.fault.ready.next = self.vi_state.fault_ready.val().get_bit(3);
        self.writer.fault.ready.next = self.vi_state.fault_ready.val().get_bit(4);
        FlowSource::<EpochWrite>::join(&mut self.sends.epoch, &mut self.gather.epoch);
        FlowSource::<EpochWrite>::join(&mut self.sends.epoch, &mut self.transmit.epoch);
        Source::<Rewind>::join(&mut self.sends.rewind, &mut self.fetch.rewind);
        self.sends.time_now.next = self.time_now.val();
        FlowSource::<StateWrite>::join(&mut self.vi_state.state, &mut self.gather.state);
        FlowSource::<StateWrite>::join(&mut self.vi_state.state, &mut self.transmit.state);
        FlowSource::<StateWrite>::join(&mut self.vi_state.state, &mut self.receive.state);
        FlowSource::<StateWrite>::join(&mut self.vi_state.state, &mut self.sends.state);

        // Doorbells and fetch.
        FlowSource::<MmioWrite>::join(&mut self.tlp_receive.mmio_write, &mut self.doorbell.mmio_write);
        Source::<QueueId>::join(&mut self.fetch.again, &mut self.doorbell.again_fetch);
        Source::<Vi>::join(&mut self.receive.again_receive, &mut self.doorbell.again_receive);
        Source::<Vi>::join(&mut self.sends.again_send, &mut self.doorbell.again_send);
        Source::<Vi>::join(&mut self.doorbell.send, &mut self.fetch.send);
        Source::<Vi>::join(&mut self.doorbell.receive, &mut self.fetch.receive);
        LookUp::<Queue, DoorbellRow>::join(&mut self.fetch.row, &mut self.doorbell.row);
        LookUp::<Vi, Position>::join(&mut self.receive.posted, &mut self.doorbell.posted);
        self.fetch.enabled.next = self.registers.send_enable.val();
        FlowSource::<ReadBeat>::join(&mut self.dma_read.beat, &mut self.fetch.beat);
        LookUp::<Vi, Position>::join(&mut self.fetch.completed, &mut self.sends.completed);
        LookUp::<Vi, Position>::join(&mut self.fetch.consumed, &mut self.receive.consumed);
        self.fetch.head_taken.next = self.gather.head_taken.val();

        // Out.
        FlowSource::<SendHead>::join(&mut self.fetch.head, &mut self.gather.head);
        FlowSource::<Bits<64>>::join(&mut self.fetch.word, &mut self.gather.word);
        FlowSource::<ReadBeat>::join(&mut self.dma_read.beat, &mut self.gather.beat);
        Source::<Packet>::join(&mut self.gather.packet, &mut self.transmit.packet);
        Source::<PayloadWord>::join(&mut self.gather.payload, &mut self.transmit.payload);
        Source::<Whole>::join(&mut self.gather.whole, &mut self.transmit.whole);
        Source::<AckRequest>::join(&mut self.ack.ack, &mut self.transmit.ack);
        Source::<Sent>::join(&mut self.transmit.sent, &mut self.sends.sent);
        Source::<FrameBeat>::join(&mut self.transmit.frame, &mut self.egress.frame);
        Source::<AckRequest>::join(&mut self.writer.request, &mut self.ack.request);
        self.ack.request_mark.next = self.writer.request_mark.val();
        self.ack.retired.next = self.dma_write.retired.val();
        self.egress.frame_loopback.next = self.transmit.frame_loopback.val();
        self.egress.frame_vlan.next = self.transmit.frame_vlan.val();
        self.egress.tx.ready.next = self.eth_tx_ready.val();
        Source::<FrameBeat>::join(&mut self.egress.loopback, &mut self.receive.loopback);
        self.eth_tx_valid.next = self.egress.tx.valid.val();
        self.eth_tx_data.next = self.egress.tx.data.val().data;
        self.eth_tx_last.next = self.egress.tx.data.val().last;
        self.missing.next = self.eight.val() - self.egress.tx.data.val().count;
        self.eth_tx_keep.next = self.all_lanes.val() >> self.missing.val();
        self.loopback_valid.next = self.egress.loopback.valid.val();
        self.loopback_ready.next = self.receive.loopback.ready.val();
        self.loopback_data.next = self.egress.loopback.data.val().data;
        self.loopback_last.next = self.egress.loopback.data.val().last;
        self.loopback_keep.next = self.all_lanes.val() >> self.missing.val();

        // In.
        self.eth_beat.next.data = self.eth_rx_data.val();
        self.eth_beat.next.last = self.eth_rx_last.val();
        self.eth_beat.next.bad = self.eth_rx_bad.val();
        self.eth_beat.next.count = bits::<4>(8);
        if !self.eth_rx_keep.val().get_bit(7) {
            self.eth_beat.next.count = bits::<4>(7);
        }
        if !self.eth_rx_keep.val().get_bit(6) {
            self.eth_beat.next.count = bits::<4>(6);
        }
        if !self.eth_rx_keep.val().get_bit(5) {
            self.eth_beat.next.count = bits::<4>(5);
        }
        if !self.eth_rx_keep.val().get_bit(4) {
            self.eth_beat.next.count = bits::<4>(4);
        }
        if !self.eth_rx_keep.val().get_bit(3) {
            self.eth_beat.next.count = bits::<4>(3);
        }
        if !self.eth_rx_keep.val().get_bit(2) {
            self.eth_beat.next.count = bits::<4>(2);
        }
        if !self.eth_rx_keep.val().get_bit(1) {
            self.eth_beat.next.count = bits::<4>(1);
        }
        self.receive.rx.valid.next = self.eth_rx_valid.val();
        self.receive.rx.data.next = self.eth_beat.val();
        self.eth_rx_pause.next = self.receive.pause.val();
        self.receive.enabled.next = self.registers.receive_enable.val();
        self.receive.mac.next = self.registers.mac.val();
        self.receive.ip.next = self.registers.ip.val();
        self.receive.pkey.next = self.registers.pkey.val();
        self.receive.raw_open.next = self.registers.raw_open.val();
        self.receive.raw_broadcast.next = self.registers.raw_broadcast.val();
        self.receive.raw_multicast.next = self.registers.raw_multicast.val();
        self.receive.raw_any.next = self.registers.raw_any.val();
        self.receive.raw_vi.next = self.registers.raw_vi.val();
        FlowSource::<AheadWord>::join(&mut self.fetch.ahead, &mut self.receive.ahead);
        FlowSource::<Filled>::join(&mut self.fetch.filled, &mut self.receive.filled);
        FlowSource::<WriteVerdict>::join(&mut self.protect.verdict, &mut self.receive.verdict);
        FlowSource::<ReadBeat>::join(&mut self.dma_read.beat, &mut self.receive.beat);
        Source::<Completion>::join(&mut self.receive.completion, &mut self.writer.receive);
        Source::<Acknowledged>::join(&mut self.receive.acknowledged, &mut self.sends.acknowledged);

        // RDMA reads: what peers ask for, and what is asked of them.
        FlowSource::<ReadRequest>::join(&mut self.receive.request, &mut self.requests.request);
        self.receive.admission.valid.next = self.requests.answer.valid.val();
        self.receive.admission.data.next.ok = self.requests.answer.data.val().ok;
        self.receive.admission.data.next.denied = self.requests.answer.data.val().denied;
        self.receive.admission.data.next.packets = self.requests.answer.data.val().packets;
        self.requests.issued.next = self.protect.issued.val();
        self.requests.retired.next = self.dma_write.retired.val();
        // The way of a completion: receive, writer, ack, in order. None follows while a request is looked at.
        self.requests.settled.next =
            !self.receive.completion.valid.val() & !self.writer.receiving.val() & !self.ack.waits.val();
        Source::<Reply>::join(&mut self.requests.reply, &mut self.gather.reply);
        self.requests.gone.next = self.transmit.replied.val();
        Source::<AckRequest>::join(&mut self.transmit.failed, &mut self.requests.failed);
        Source::<AckRequest>::join(&mut self.requests.word, &mut self.ack.word);
        LookUp::<Vi, bool>::join(&mut self.ack.held, &mut self.requests.held);
        Source::<Vi>::join(&mut self.requests.free, &mut self.ack.free);
        Source::<ReadSent>::join(&mut self.transmit.read, &mut self.receive.read);
        LookUp::<Vi, Bits<3>>::join(&mut self.gather.reads, &mut self.sends.reads);
        self.sends.placing.next = self.receive.placing.val();
        self.sends.placing_vis.next = self.receive.placing_vis.val();

        // The end of a descriptor.
        Source::<Completion>::join(&mut self.sends.completion, &mut self.writer.send);
        self.writer.access.ready.next = self.protect.complete.ready.val();
        FlowSource::<WriteVerdict>::join(&mut self.protect.verdict, &mut self.writer.verdict);
        self.writer.issued.next = self.protect.issued.val();
        Source::<Queue>::join(&mut self.writer.ended, &mut self.notify.ended);
        self.ack.commit.valid.next = self.broadcast.valid.val().get_bit(1);
        self.ack.commit.data.next = self.command.commit.data.val();
        self.ack.access.ready.next = (self.protect.complete.ready.val() & !self.writer.access.valid.val())
            | self.protect.complete_issued.val();
        FlowSource::<ReadBeat>::join(&mut self.dma_read.beat, &mut self.ack.beat);

        // Completion queues.
        FlowSource::<MmioWrite>::join(&mut self.tlp_receive.mmio_write, &mut self.cq_pages.mmio_write);
        FlowSource::<CqStore>::join(&mut self.cq_pages.store, &mut self.queues.store);
        Source::<Closed>::join(&mut self.writer.closed, &mut self.queues.closed);
        Source::<Event>::join(&mut self.vi_state.event, &mut self.queues.event);
        FlowSource::<bool>::join(&mut self.writer.entry_end, &mut self.queues.entry_end);
        Source::<Vector>::join(&mut self.queues.raise, &mut self.vectors.queue_raise);
        self.queues.fault.ready.next = self.vi_state.fault_ready.val().get_bit(5);
        FlowSource::<CqEntry>::join(&mut self.queues.entry, &mut self.writer.entry);

        // Interrupts.
        FlowSource::<Arm>::join(&mut self.doorbell.arm, &mut self.notify.arm);
        FlowSource::<MmioWrite>::join(&mut self.tlp_receive.mmio_write, &mut self.vectors.mmio_write);
        FlowSource::<Bits<VECTOR_ROW_LOG2>>::join(&mut self.registers.vector, &mut self.vectors.load);
        FlowSource::<Vector>::join(&mut self.notify.raise, &mut self.vectors.raise);
        self.vectors.issued.next = self.protect.issued.val();
        self.vectors.retired.next = self.dma_write.retired.val();
        self.vectors.time_now.next = self.time_now.val();
        self.vectors.cfg_requester_id.next = self.cfg_requester_id.val();
        self.vectors.cfg_msix_enable.next = self.cfg_msix_enable.val();
        self.vectors.cfg_msix_mask.next = self.cfg_msix_mask.val();
        self.vectors.cfg_bus_master.next = self.cfg_bus_master.val();

        // Counters, in the order of `viaduct_spec::register::counter`.
        self.events.next = bits::<39>(0);
        self.events.next = self.events.val().replace_bit(0, self.egress.count_frame.val());
        self.events.next = self.events.val().replace_bit(1, self.receive.count_frame.val());
        self.events.next = self.events.val().replace_bit(2, self.transmit.count_ack.val());
        self.events.next = self.events.val().replace_bit(3, self.sends.count_ack.val());
        self.events.next = self.events.val().replace_bit(4, self.sends.count_message.val());
        self.events.next = self.events.val().replace_bit(5, self.receive.count_message.val());
        self.events.next = self.events.val().replace_bit(6, self.receive.count_malformed.val());
        self.events.next = self.events.val().replace_bit(7, self.receive.count_icrc.val());
        self.events.next = self.events.val().replace_bit(8, self.receive.count_not_ours.val());
        self.events.next = self.events.val().replace_bit(9, self.receive.count_bth.val());
        self.events.next = self.events.val().replace_bit(10, self.receive.count_no_vi.val());
        self.events.next = self.events.val().replace_bit(11, self.receive.count_psn.val());
        self.events.next = self.events.val().replace_bit(12, self.receive.count_no_receive.val());
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
        self.events.next = self.events.val().replace_bit(21, self.receive.count_partial.val());
        self.events.next = self.events.val().replace_bit(25, self.ack.count_rnr.val());
        self.events.next = self.events.val().replace_bit(26, self.receive.count_duplicate.val());
        self.events.next = self.events.val().replace_bit(22, self.sends.count_again.val());
        self.events.next = self.events.val().replace_bit(23, self.sends.count_timeout.val());
        self.events.next = self.events.val().replace_bit(24, self.sends.count_rnr.val());
        self.events.next = self
            .events
            .val()
            .replace_bit(27, self.sends.count_ghost.val() | self.receive.count_response.val());
        self.events.next = self.events.val().replace_bit(29, self.receive.count_raw.val());
        self.events.next = self.events.val().replace_bit(30, self.receive.count_raw_dropped.val());
        self.events.next = self.events.val().replace_bit(31, self.requests.count_request.val());
        self.events.next = self.events.val().replace_bit(28, self.receive.count_congestion.val());
        self.events.next = self.events.val().replace_bit(34, self.queues.count_overrun.val());
        self.events.next = self.events.val().replace_bit(35, self.vectors.count_interrupt.val());
        self.events.next = self.events.val().replace_bit(36, self.writer.count_error.val());
        self.events.next = self.events.val().replace_bit(37, self.vi_state.count_broken.val());
        self.events.next = self.events.val().replace_bit(38, self.dma_read.count_lost.val());
        self.counters.events.next = self.events.val();
        self.counters.bytes_sent.next = self.transmit.count_bytes.val();
        self.counters.bytes_received.next = self.receive.count_bytes.val();

        // Idle, and what the STATE register shows.
        self.quiet.d.next = !(self.command.busy.val()
            | self.registers.soft_reset.val()
            | self.ending.q.val()
            | self.clear.q.val()
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
        // Whoever skips time takes the earliest.
        self.read_deadline_valid.next = self.dma_read.deadline.valid.val();
        self.read_deadline.next = self.dma_read.deadline.data.val();
        self.interrupt_deadline_valid.next = self.vectors.deadline.valid.val();
        self.interrupt_deadline.next = self.vectors.deadline.data.val();
        self.send_deadline_valid.next = self.sends.deadline.valid.val();
        self.send_deadline.next = self.sends.deadline.data.val();
        self.state.next = bits::<4>(0);
        self.state.next = self.state.val().replace_bit(
            0,
            self.command.busy.val()
                | self.registers.soft_reset.val()
                | self.ending.q.val()
                | self.clear.q.val(),
        );
        self.state.next = self.state.val().replace_bit(1, self.command.error.val());
        self.state.next = self.state.val().replace_bit(2, self.quiet.q.val());
        self.state.next = self.state.val().replace_bit(3, self.dma_read.timed_out.val());
        self.registers.state.next = self.state.val();
    }
}
