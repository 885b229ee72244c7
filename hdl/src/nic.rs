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
use crate::bus::{FrameBeat, TlpBeat};
use crate::complete::{Queues, Sends, Writer};
use crate::dma::{DmaRead, DmaWrite};
use crate::doorbell::{CqPages, Doorbell};
use crate::edge::{TlpComplete, TlpReceive, TlpTransmit};
use crate::fetch::Fetch;
use crate::interrupt::{Notify, Vectors};
use crate::prims::Number;
use crate::protect::Protect;
use crate::receive::Receive;
use crate::reply::Requests;
use crate::send::{Ack, Egress, Gather, Transmit};
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
        self.tlp_receive.rx_valid.next = self.tlp_rx_valid.val();
        self.tlp_receive.rx.next = self.rx_beat.val();
        self.tlp_receive.rx_bar.next = self.tlp_rx_bar.val();
        self.tlp_rx_np_ready.next = self.tlp_receive.np_ready.val();
        self.tlp_receive.read_ready.next = self.tlp_complete.read_ready.val();
        self.tlp_complete.read_valid.next = self.tlp_receive.mmio_read_valid.val();
        self.tlp_complete.read.next = self.tlp_receive.mmio_read.val();
        self.tlp_complete.answer_valid.next = self.registers.answer_valid.val();
        self.tlp_complete.answer.next = self.registers.answer.val();
        self.tlp_complete.cfg_requester_id.next = self.cfg_requester_id.val();
        self.tlp_complete.tx_ready.next = self.tlp_transmit.completion_ready.val();

        // To the host.
        self.tlp_transmit.posted_valid.next = self.dma_write.tx_valid.val();
        self.tlp_transmit.posted.next = self.dma_write.tx.val();
        self.tlp_transmit.message_valid.next = self.vectors.tx_valid.val();
        self.tlp_transmit.message.next = self.vectors.tx.val();
        self.tlp_transmit.nonposted_valid.next = self.dma_read.tx_valid.val();
        self.tlp_transmit.nonposted.next = self.dma_read.tx.val();
        self.tlp_transmit.completion_valid.next = self.tlp_complete.tx_valid.val();
        self.tlp_transmit.completion.next = self.tlp_complete.tx.val();
        self.tlp_transmit.credit_ph.next = self.credit_ph.val();
        self.tlp_transmit.credit_pd.next = self.credit_pd.val();
        self.tlp_transmit.credit_nph.next = self.credit_nph.val();
        self.tlp_transmit.credit_ch.next = self.credit_ch.val();
        self.tlp_transmit.credit_cd.next = self.credit_cd.val();
        self.tlp_transmit.bus_master.next = self.cfg_bus_master.val();
        self.tlp_transmit.max_payload.next = self.dma_write.cut.val();
        self.tlp_transmit.tx_ready.next = self.tlp_tx_ready.val();
        self.tlp_tx_valid.next = self.tlp_transmit.tx_valid.val();
        self.tlp_tx_data.next = self.tlp_transmit.tx.val().data;
        self.tlp_tx_keep.next = self.tlp_transmit.tx.val().keep;
        self.tlp_tx_last.next = self.tlp_transmit.tx.val().last;
        self.tlp_tx_class.next = self.tlp_transmit.tx_class.val();

        // DMA.
        self.dma_read.command_valid.next = self.protect.read_valid.val();
        self.dma_read.command.next = self.protect.read.val();
        self.dma_read.completion_valid.next = self.tlp_receive.completion_valid.val();
        self.dma_read.completion.next = self.tlp_receive.completion.val();
        self.dma_read.cfg_requester_id.next = self.cfg_requester_id.val();
        self.dma_read.max_read.next = self.cfg_max_read.val();
        self.dma_read.extended_tag.next = self.cfg_extended_tag.val();
        self.dma_read.time_now.next = self.time_now.val();
        self.dma_read.tx_ready.next = self.tlp_transmit.nonposted_ready.val();
        self.dma_write.command_valid.next = self.protect.write_valid.val();
        self.dma_write.command.next = self.protect.write.val();
        self.dma_write.scatter_valid.next = self.receive.write_valid.val();
        self.dma_write.scatter.next = self.receive.write.val();
        self.dma_write.complete_valid.next = self.writer.write_valid.val();
        self.dma_write.complete.next = self.writer.write.val();
        self.dma_write.cfg_requester_id.next = self.cfg_requester_id.val();
        self.dma_write.max_payload.next = self.cfg_max_payload.val();
        self.dma_write.tx_ready.next = self.tlp_transmit.posted_ready.val();

        // The checker: every access to host memory.
        self.protect.fetch_valid.next = self.fetch.access_valid.val();
        self.protect.fetch.next = self.fetch.access.val();
        self.protect.gather_valid.next = self.gather.access_valid.val();
        self.protect.gather.next = self.gather.access.val();
        self.protect.scatter_valid.next = self.receive.access_valid.val();
        self.protect.scatter.next = self.receive.access.val();
        // The writer goes first; the other one reads.
        self.protect.complete_valid.next = self.writer.access_valid.val() | self.ack.access_valid.val();
        self.protect.complete.next = self.ack.access.val();
        if self.writer.access_valid.val() {
            self.protect.complete.next = self.writer.access.val();
        }
        self.protect.drain.next = self.command.drain.val();
        self.protect.read_retire_valid.next = self.dma_read.retire_valid.val();
        self.protect.read_retire_epoch.next = self.dma_read.retire_epoch.val();
        self.protect.write_retire_valid.next = self.dma_write.retire_valid.val();
        self.protect.write_retire_epoch.next = self.dma_write.retire_epoch.val();
        self.protect.read_ready.next = self.dma_read.command_ready.val();
        self.protect.write_ready.next = self.dma_write.command_ready.val();

        // Registers, commands, commits.
        self.registers.mmio_write_valid.next = self.tlp_receive.mmio_write_valid.val();
        self.registers.mmio_write.next = self.tlp_receive.mmio_write.val();
        self.registers.load_valid.next = self.tlp_complete.load_valid.val();
        self.registers.load_address.next = self.tlp_complete.load_address.val();
        self.registers.result.next = self.command.result.val();
        self.registers.time_now.next = self.time_now.val();
        self.registers.counter_done.next = self.counters.read_done.val();
        self.registers.counter_value.next = self.counters.read_value.val();
        self.registers.vector_done.next = self.vectors.load_done.val();
        self.registers.vector_value.next = self.vectors.load_value.val();
        self.registers.vectors_pending.next = self.vectors.pending.val();
        self.counters.read_valid.next = self.registers.counter_valid.val();
        self.counters.read_index.next = self.registers.counter_index.val();
        self.command.command_valid.next = self.registers.command_valid.val();
        self.command.command.next = self.registers.command.val();
        self.command.stage0.next = self.registers.stage0.val();
        self.command.stage1.next = self.registers.stage1.val();
        self.command.stage2.next = self.registers.stage2.val();
        self.vi_state.settle.next = self.command.settle.val();
        self.vi_state.event_writing.next = self.queues.event_writing.val();
        self.command.settling.next = self.vi_state.settling.val();
        self.command.draining.next = self.protect.draining.val();
        self.command.query_state.next = self.vi_state.query_state.val();
        self.command.commit_ready.next = self.broadcast.commit_ready.val();
        self.broadcast.commit_valid.next = self.command.commit_valid.val();
        self.broadcast.target.next = self.command.commit.val().target;
        self.protect.commit_valid.next = self.broadcast.valid.val().get_bit(0);
        self.fetch.commit_valid.next = self.broadcast.valid.val().get_bit(1);
        self.doorbell.commit_valid.next = self.broadcast.valid.val().get_bit(2);
        self.receive.commit_valid.next = self.broadcast.valid.val().get_bit(3);
        self.transmit.commit_valid.next = self.broadcast.valid.val().get_bit(4);
        self.sends.commit_valid.next = self.broadcast.valid.val().get_bit(5);
        self.gather.commit_valid.next = self.broadcast.valid.val().get_bit(6);
        self.writer.commit_valid.next = self.broadcast.valid.val().get_bit(7);
        self.vi_state.commit_valid.next = self.broadcast.valid.val().get_bit(8);
        self.notify.commit_valid.next = self.broadcast.valid.val().get_bit(9);
        self.queues.commit_valid.next = self.broadcast.valid.val().get_bit(10);
        self.vectors.commit_valid.next = self.broadcast.valid.val().get_bit(11);
        self.requests.commit_valid.next = self.broadcast.valid.val().get_bit(12);
        self.requests.commit.next = self.command.commit.val();
        self.protect.commit.next = self.command.commit.val();
        self.fetch.commit.next = self.command.commit.val();
        self.doorbell.commit.next = self.command.commit.val();
        self.receive.commit.next = self.command.commit.val();
        self.transmit.commit.next = self.command.commit.val();
        self.sends.commit.next = self.command.commit.val();
        self.gather.commit.next = self.command.commit.val();
        self.writer.commit.next = self.command.commit.val();
        self.vi_state.commit.next = self.command.commit.val();
        self.notify.commit.next = self.command.commit.val();
        self.taken.next = bits::<13>(0);
        self.queues.commit.next = self.command.commit.val();
        self.vectors.commit.next = self.command.commit.val();
        self.command.written.next = self.queues.result.val();
        self.taken.next = self.taken.val().replace_bit(0, self.protect.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(1, self.fetch.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(2, self.doorbell.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(3, self.receive.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(4, self.transmit.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(5, self.sends.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(6, self.gather.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(7, self.writer.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(8, self.vi_state.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(9, self.notify.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(10, self.queues.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(11, self.vectors.commit_ready.val());
        self.taken.next = self.taken.val().replace_bit(12, self.requests.commit_ready.val());
        self.broadcast.taken.next = self.taken.val();

        // VI states: faults in, states out to every copy.
        self.faults.next = bits::<6>(0);
        self.faults.next = self.faults.val().replace_bit(0, self.fetch.fault_valid.val());
        self.faults.next = self.faults.val().replace_bit(1, self.transmit.fault_valid.val());
        self.faults.next = self.faults.val().replace_bit(2, self.receive.fault_valid.val());
        self.faults.next = self.faults.val().replace_bit(3, self.sends.fault_valid.val());
        self.faults.next = self.faults.val().replace_bit(4, self.writer.fault_valid.val());
        self.faults.next = self.faults.val().replace_bit(5, self.queues.fault_valid.val());
        self.vi_state.fault_valid.next = self.faults.val();
        self.vi_state.fetch_fault.next = self.fetch.fault.val();
        self.vi_state.transmit_fault.next = self.transmit.fault.val();
        self.vi_state.receive_fault.next = self.receive.fault.val();
        self.vi_state.sends_fault.next = self.sends.fault.val();
        self.vi_state.writer_fault.next = self.writer.fault.val();
        self.vi_state.queues_fault.next = self.queues.fault.val();
        self.fetch.fault_ready.next = self.vi_state.fault_ready.val().get_bit(0);
        self.transmit.fault_ready.next = self.vi_state.fault_ready.val().get_bit(1);
        self.receive.fault_ready.next = self.vi_state.fault_ready.val().get_bit(2);
        self.sends.fault_ready.next = self.vi_state.fault_ready.val().get_bit(3);
        self.writer.fault_ready.next = self.vi_state.fault_ready.val().get_bit(4);
        self.vi_state.query_vi.next = self.command.query_vi.val();
        self.gather.epoch_valid.next = self.sends.epoch_valid.val();
        self.gather.epoch.next = self.sends.epoch.val();
        self.transmit.epoch_valid.next = self.sends.epoch_valid.val();
        self.transmit.epoch.next = self.sends.epoch.val();
        self.fetch.rewind_valid.next = self.sends.rewind_valid.val();
        self.fetch.rewind.next = self.sends.rewind.val();
        self.sends.rewind_ready.next = self.fetch.rewind_ready.val();
        self.sends.time_now.next = self.time_now.val();
        self.gather.state_valid.next = self.vi_state.state_valid.val();
        self.gather.state.next = self.vi_state.state.val();
        self.transmit.state_valid.next = self.vi_state.state_valid.val();
        self.transmit.state.next = self.vi_state.state.val();
        self.receive.state_valid.next = self.vi_state.state_valid.val();
        self.receive.state.next = self.vi_state.state.val();
        self.sends.state_valid.next = self.vi_state.state_valid.val();
        self.sends.state.next = self.vi_state.state.val();

        // Doorbells and fetch.
        self.doorbell.mmio_write_valid.next = self.tlp_receive.mmio_write_valid.val();
        self.doorbell.mmio_write.next = self.tlp_receive.mmio_write.val();
        self.doorbell.again_fetch_valid.next = self.fetch.again_valid.val();
        self.doorbell.again_fetch_vi.next = self.fetch.again_vi.val();
        self.doorbell.again_fetch_receive.next = self.fetch.again_receive.val();
        self.doorbell.again_receive_valid.next = self.receive.again_receive_valid.val();
        self.doorbell.again_receive_vi.next = self.receive.again_receive_vi.val();
        self.doorbell.again_send_valid.next = self.sends.again_send_valid.val();
        self.doorbell.again_send_vi.next = self.sends.again_send_vi.val();
        self.doorbell.send_ready.next = self.fetch.send_ready.val();
        self.doorbell.receive_ready.next = self.fetch.receive_ready.val();
        self.doorbell.row_address.next = self.fetch.row_address.val();
        self.doorbell.posted_vi.next = self.receive.posted_vi.val();
        self.fetch.enabled.next = self.registers.send_enable.val();
        self.fetch.send_valid.next = self.doorbell.send_valid.val();
        self.fetch.send_vi.next = self.doorbell.send_vi.val();
        self.fetch.receive_valid.next = self.doorbell.receive_valid.val();
        self.fetch.receive_vi.next = self.doorbell.receive_vi.val();
        self.fetch.row_token.next = self.doorbell.row_token.val();
        self.fetch.row_posted.next = self.doorbell.row_posted.val();
        self.fetch.row_inline.next = self.doorbell.row_inline.val();
        self.fetch.beat_valid.next = self.dma_read.beat_valid.val();
        self.fetch.beat.next = self.dma_read.beat.val();
        self.fetch.access_ready.next = self.protect.fetch_ready.val();
        self.fetch.completed_position.next = self.sends.completed_position.val();
        self.fetch.consumed_position.next = self.receive.consumed_position.val();
        self.fetch.head_taken.next = self.gather.head_taken.val();
        self.fetch.again_ready.next = self.doorbell.again_fetch_ready.val();

        // Out.
        self.gather.head_valid.next = self.fetch.head_valid.val();
        self.gather.head.next = self.fetch.head.val();
        self.gather.word_valid.next = self.fetch.word_valid.val();
        self.gather.word.next = self.fetch.word.val();
        self.gather.beat_valid.next = self.dma_read.beat_valid.val();
        self.gather.beat.next = self.dma_read.beat.val();
        self.gather.access_ready.next = self.protect.gather_ready.val();
        self.gather.packet_ready.next = self.transmit.packet_ready.val();
        self.gather.payload_ready.next = self.transmit.payload_ready.val();
        self.gather.whole_ready.next = self.transmit.whole_ready.val();
        self.transmit.packet_valid.next = self.gather.packet_valid.val();
        self.transmit.packet.next = self.gather.packet.val();
        self.transmit.whole_valid.next = self.gather.whole_valid.val();
        self.transmit.whole_refused.next = self.gather.whole_refused.val();
        self.transmit.whole_failed.next = self.gather.whole_failed.val();
        self.transmit.payload_valid.next = self.gather.payload_valid.val();
        self.transmit.payload.next = self.gather.payload.val();
        self.transmit.payload_last.next = self.gather.payload_last.val();
        self.transmit.ack_valid.next = self.ack.ack_valid.val();
        self.transmit.ack.next = self.ack.ack.val();
        self.transmit.sent_ready.next = self.sends.sent_ready.val();
        self.transmit.frame_ready.next = self.egress.frame_ready.val();
        self.ack.request_valid.next = self.writer.request_valid.val();
        self.ack.request.next = self.writer.request.val();
        self.ack.request_mark.next = self.writer.request_mark.val();
        self.ack.retired.next = self.dma_write.retired.val();
        self.ack.ack_ready.next = self.transmit.ack_ready.val();
        self.egress.frame_valid.next = self.transmit.frame_valid.val();
        self.egress.frame.next = self.transmit.frame.val();
        self.egress.frame_loopback.next = self.transmit.frame_loopback.val();
        self.egress.frame_vlan.next = self.transmit.frame_vlan.val();
        self.egress.tx_ready.next = self.eth_tx_ready.val();
        self.egress.loopback_ready.next = self.receive.loopback_ready.val();
        self.eth_tx_valid.next = self.egress.tx_valid.val();
        self.eth_tx_data.next = self.egress.tx.val().data;
        self.eth_tx_last.next = self.egress.tx.val().last;
        self.missing.next = self.eight.val() - self.egress.tx.val().count;
        self.eth_tx_keep.next = self.all_lanes.val() >> self.missing.val();
        self.loopback_valid.next = self.egress.loopback_valid.val();
        self.loopback_ready.next = self.receive.loopback_ready.val();
        self.loopback_data.next = self.egress.loopback.val().data;
        self.loopback_last.next = self.egress.loopback.val().last;
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
        self.receive.rx_valid.next = self.eth_rx_valid.val();
        self.receive.rx.next = self.eth_beat.val();
        self.eth_rx_pause.next = self.receive.pause.val();
        self.receive.loopback_valid.next = self.egress.loopback_valid.val();
        self.receive.loopback.next = self.egress.loopback.val();
        self.receive.enabled.next = self.registers.receive_enable.val();
        self.receive.mac.next = self.registers.mac.val();
        self.receive.ip.next = self.registers.ip.val();
        self.receive.pkey.next = self.registers.pkey.val();
        self.receive.raw_open.next = self.registers.raw_open.val();
        self.receive.raw_broadcast.next = self.registers.raw_broadcast.val();
        self.receive.raw_multicast.next = self.registers.raw_multicast.val();
        self.receive.raw_any.next = self.registers.raw_any.val();
        self.receive.raw_vi.next = self.registers.raw_vi.val();
        self.receive.ahead_valid.next = self.fetch.ahead_valid.val();
        self.receive.ahead_vi.next = self.fetch.ahead_vi.val();
        self.receive.ahead_slot.next = self.fetch.ahead_slot.val();
        self.receive.ahead_word.next = self.fetch.ahead_word.val();
        self.receive.ahead_data.next = self.fetch.ahead_data.val();
        self.receive.filled_valid.next = self.fetch.filled_valid.val();
        self.receive.filled_vi.next = self.fetch.filled_vi.val();
        self.receive.filled_slot.next = self.fetch.filled_slot.val();
        self.receive.filled_region.next = self.fetch.filled_region.val();
        self.receive.filled_offset.next = self.fetch.filled_offset.val();
        self.receive.filled_words.next = self.fetch.filled_words.val();
        self.receive.filled_lost.next = self.fetch.filled_lost.val();
        self.receive.filled_position.next = self.fetch.filled_position.val();
        self.receive.posted_position.next = self.doorbell.posted_position.val();
        self.receive.consumed_vi.next = self.fetch.consumed_vi.val();
        self.receive.again_receive_ready.next = self.doorbell.again_receive_ready.val();
        self.receive.access_ready.next = self.protect.scatter_ready.val();
        self.receive.verdict_valid.next = self.protect.verdict_valid.val();
        self.receive.verdict_client.next = self.protect.verdict_client.val();
        self.receive.verdict_ok.next = self.protect.verdict_ok.val();
        self.receive.beat_valid.next = self.dma_read.beat_valid.val();
        self.receive.beat.next = self.dma_read.beat.val();
        self.receive.write_ready.next = self.dma_write.scatter_ready.val();
        self.receive.completion_ready.next = self.writer.receive_ready.val();
        self.receive.acknowledged_ready.next = self.sends.acknowledged_ready.val();

        // RDMA reads: what peers ask for, and what is asked of them.
        self.requests.request_valid.next = self.receive.request_valid.val();
        self.requests.request.next = self.receive.request.val();
        self.receive.request_done.next = self.requests.answer_valid.val();
        self.receive.request_ok.next = self.requests.answer_ok.val();
        self.receive.request_denied.next = self.requests.answer_denied.val();
        self.receive.request_packets.next = self.requests.answer_packets.val();
        self.requests.issued.next = self.protect.issued.val();
        self.requests.retired.next = self.dma_write.retired.val();
        // The way of a completion: receive, writer, ack, in order. None follows while a request is looked at.
        self.requests.settled.next =
            !self.receive.completion_valid.val() & !self.writer.receiving.val() & !self.ack.waits.val();
        self.requests.reply_ready.next = self.gather.reply_ready.val();
        self.gather.reply_valid.next = self.requests.reply_valid.val();
        self.gather.reply.next = self.requests.reply.val();
        self.requests.gone.next = self.transmit.replied.val();
        self.requests.failed_valid.next = self.transmit.failed_valid.val();
        self.requests.failed.next = self.transmit.failed.val();
        self.transmit.failed_ready.next = self.requests.failed_ready.val();
        self.requests.word_ready.next = self.ack.word_ready.val();
        self.ack.word_valid.next = self.requests.word_valid.val();
        self.ack.word.next = self.requests.word.val();
        self.requests.held_vi.next = self.ack.held_vi.val();
        self.ack.held.next = self.requests.held.val();
        self.requests.free_ready.next = self.ack.free_ready.val();
        self.ack.free_valid.next = self.requests.free_valid.val();
        self.ack.free_vi.next = self.requests.free_vi.val();
        self.receive.read_valid.next = self.transmit.read_valid.val();
        self.receive.read.next = self.transmit.read.val();
        self.transmit.read_ready.next = self.receive.read_ready.val();
        self.sends.reads_vi.next = self.gather.reads_vi.val();
        self.gather.reads_done.next = self.sends.reads_done.val();
        self.sends.placing.next = self.receive.placing.val();
        self.sends.placing_vis.next = self.receive.placing_vis.val();

        // The end of a descriptor.
        self.sends.sent_valid.next = self.transmit.sent_valid.val();
        self.sends.sent.next = self.transmit.sent.val();
        self.sends.acknowledged_valid.next = self.receive.acknowledged_valid.val();
        self.sends.acknowledged.next = self.receive.acknowledged.val();
        self.sends.completion_ready.next = self.writer.send_ready.val();
        self.sends.again_send_ready.next = self.doorbell.again_send_ready.val();
        self.sends.completed_vi.next = self.fetch.completed_vi.val();
        self.writer.receive_valid.next = self.receive.completion_valid.val();
        self.writer.receive.next = self.receive.completion.val();
        self.writer.send_valid.next = self.sends.completion_valid.val();
        self.writer.send.next = self.sends.completion.val();
        self.writer.access_ready.next = self.protect.complete_ready.val();
        self.writer.verdict_valid.next = self.protect.verdict_valid.val();
        self.writer.verdict_client.next = self.protect.verdict_client.val();
        self.writer.verdict_ok.next = self.protect.verdict_ok.val();
        self.writer.write_ready.next = self.dma_write.complete_ready.val();
        self.writer.issued.next = self.protect.issued.val();
        self.writer.request_ready.next = self.ack.request_ready.val();
        self.writer.ended_ready.next = self.notify.ended_ready.val();
        self.ack.commit_valid.next = self.broadcast.valid.val().get_bit(1);
        self.ack.commit.next = self.command.commit.val();
        self.ack.access_ready.next = (self.protect.complete_ready.val() & !self.writer.access_valid.val())
            | self.protect.complete_issued.val();
        self.ack.beat_valid.next = self.dma_read.beat_valid.val();
        self.ack.beat.next = self.dma_read.beat.val();

        // Completion queues.
        self.cq_pages.mmio_write_valid.next = self.tlp_receive.mmio_write_valid.val();
        self.cq_pages.mmio_write.next = self.tlp_receive.mmio_write.val();
        self.queues.store_valid.next = self.cq_pages.store_valid.val();
        self.queues.store.next = self.cq_pages.store.val();
        self.queues.closed_valid.next = self.writer.closed_valid.val();
        self.queues.closed.next = self.writer.closed.val();
        self.queues.event_valid.next = self.vi_state.event_valid.val();
        self.queues.event_word.next = self.vi_state.event_word.val();
        self.queues.entry_done.next = self.writer.entry_done.val();
        self.queues.entry_ok.next = self.writer.entry_ok.val();
        self.queues.raise_ready.next = self.vectors.queue_raise_ready.val();
        self.queues.fault_ready.next = self.vi_state.fault_ready.val().get_bit(5);
        self.vi_state.event_ready.next = self.queues.event_ready.val();
        self.writer.closed_ready.next = self.queues.closed_ready.val();
        self.writer.entry_valid.next = self.queues.entry_valid.val();
        self.writer.entry.next = self.queues.entry.val();

        // Interrupts.
        self.notify.arm_valid.next = self.doorbell.arm_valid.val();
        self.notify.arm_queue.next = self.doorbell.arm_queue.val();
        self.notify.arm_position.next = self.doorbell.arm_position.val();
        self.notify.ended_valid.next = self.writer.ended_valid.val();
        self.notify.ended_queue.next = self.writer.ended_queue.val();
        self.vectors.mmio_write_valid.next = self.tlp_receive.mmio_write_valid.val();
        self.vectors.mmio_write.next = self.tlp_receive.mmio_write.val();
        self.vectors.load_valid.next = self.registers.vector_valid.val();
        self.vectors.load_row.next = self.registers.vector_row.val();
        self.vectors.raise_valid.next = self.notify.raise_valid.val();
        self.vectors.raise_vector.next = self.notify.raise_vector.val();
        self.vectors.queue_raise_valid.next = self.queues.raise_valid.val();
        self.vectors.queue_raise_vector.next = self.queues.raise_vector.val();
        self.vectors.issued.next = self.protect.issued.val();
        self.vectors.retired.next = self.dma_write.retired.val();
        self.vectors.time_now.next = self.time_now.val();
        self.vectors.cfg_requester_id.next = self.cfg_requester_id.val();
        self.vectors.cfg_msix_enable.next = self.cfg_msix_enable.val();
        self.vectors.cfg_msix_mask.next = self.cfg_msix_mask.val();
        self.vectors.cfg_bus_master.next = self.cfg_bus_master.val();
        self.vectors.tx_ready.next = self.tlp_transmit.message_ready.val();

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
            | self.tlp_transmit.tx_valid.val()
            | self.egress.tx_valid.val()
            | self.egress.loopback_valid.val());
        self.idle.next = self.quiet.q.val();
        // Whoever skips time takes the earliest.
        self.read_deadline_valid.next = self.dma_read.deadline_valid.val();
        self.read_deadline.next = self.dma_read.deadline.val();
        self.interrupt_deadline_valid.next = self.vectors.deadline_valid.val();
        self.interrupt_deadline.next = self.vectors.deadline.val();
        self.send_deadline_valid.next = self.sends.deadline_valid.val();
        self.send_deadline.next = self.sends.deadline.val();
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
