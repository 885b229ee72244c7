//! Reads of host memory: commands in, read requests out, completions in, data out in the order of the commands.
//!
//! ```text
//!                       command ──►┌─────────┐──► tx
//!                    completion ──►│         │──► beat, retire
//! cfg_*, max_read, extended_tag ──►│ DmaRead │──► deadline, timed_out
//!                      time_now ──►│         │──► busy, outstanding
//!                down, draining ──►└─────────┘──► count_unexpected, count_lost
//! ```
//! Contract: a command is cut into requests of at most `max_read` and 512 bytes, each inside one aligned block of that
//! size. Each takes a slot of 512 bytes before it is sent, so its completions, in whatever pieces and
//! order, always find room. Slots are used and emptied in turn. What leaves is described at `ReadBeat`: an access ends
//! with `last` on the last beat of its last command. A refused command is one beat without bytes, in its
//! turn. A read that failed gives beats of the data that had come, then a beat without bytes that shows `failed`; the last beat of its
//! access shows `failed` again. It never has more beats than if it had not failed.
//!
//! Every command, refused ones too, retires with its last beat.
//!
//! If the oldest request makes no progress for 50.3 ms it has failed, and its slot is not used again before a
//! reset: `timed_out` stays high. When all slots are lost, every read fails at once and nothing is sent.
//! Before a reset of the function or of the core, `Reset` holds new requests back (`draining`) and waits while `outstanding`. That ends
//! at the latest after the time that one request may take. What has not been sent is forgotten with the reset.
//! `extended_tag` changes nothing: 16 tags fit the 5 bits that every function may use.
//!
//! Latency: 3 cycles from a command to its request, 2 from the last beat of a completion to the last beat of its
//! data; the others leave as they come. Throughput: 8 bytes a cycle less one cycle for each slot; a request every 5 cycles.
//!
//! Example: `max_read` is 512 bytes. A command for 600 bytes at address 0x1000 becomes two requests, of 512 bytes with tag 0 and of 88 with
//! tag 1. Whichever is answered first, `beat` brings the 600 bytes in order, and `retire` comes with the last.
//!
//! Tests: `tests/tlp/dma_read/`.

use super::read_drain::ReadDrain;
use super::read_issue::ReadIssue;
use super::read_slots::ReadSlots;
use crate::bus::{DmaCommand, ReadBeat, ReadTag, TlpBeat};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_BYTES, READ_TAGS, READ_TAGS_LOG2};

// The memory's rows, the 5-bit tag and the masks below are made for this.
const _: () = assert!(READ_BYTES == 512 && READ_TAGS_LOG2 == 4);

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DmaRead {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets everything, the slots that are lost too.
    pub reset: Signal<In, bool>,
    /// With `reset`: what comes next at `completion` is a packet's first beat; the NIC's `Reset` drives this.
    pub down: Signal<In, bool>,
    /// A reset is to come and waits for `outstanding`; the NIC's `Reset` drives this.
    pub draining: Signal<In, bool>,
    /// Completions of requests that have left are still to come; `Reset` waits for them.
    pub outstanding: Signal<Out, bool>,
    /// A read, from `protect`.
    pub command: Sink<DmaCommand>,
    /// A beat of a completion, from `edge/receive`.
    pub completion: FlowSink<TlpBeat>,
    /// The function's own bus, device and function number; the configuration space drives this and the two below.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// Largest read request: 128 << n bytes.
    pub max_read: Signal<In, Bits<3>>,
    /// The function may use tags of 8 bits; the block needs 4.
    pub extended_tag: Signal<In, bool>,
    /// Device time in ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// The read requests, to the PCIe edge.
    pub tx: Source<TlpBeat>,
    /// The data that was read, in the order of the commands; each client picks its own: fetch, gather, `receive` and `send/ack`.
    pub beat: FlowSource<ReadBeat>,
    /// A command has ended; the data is its epoch, for `protect`.
    pub retire: FlowSource<bool>,
    /// The time at which the oldest request will have failed, given while there is one; a simulator reads it.
    pub deadline: FlowSource<Bits<32>>,
    /// A request has timed out since reset; the host finds it in `admin/registers`.
    pub timed_out: Signal<Out, bool>,
    /// A command or a slot is under way; `quiet` listens.
    pub busy: Signal<Out, bool>,
    /// Pulses when a completion is dropped because no request waits for it; `admin/counters` listens.
    pub count_unexpected: Pulse,
    /// Pulses when a request has timed out; `admin/counters` listens.
    pub count_lost: Pulse,

    issue: ReadIssue,
    slots: ReadSlots,
    drain: ReadDrain,
    /// The slot that the next request takes; the top bit counts the rounds.
    tail: DFF<Bits<5>>,
    /// The oldest slot; the top bit counts the rounds.
    head: DFF<Bits<5>>,
    /// The slots that wait for completions.
    open: DFF<Bits<READ_TAGS>>,
    /// The slots whose data cannot be used.
    failed: DFF<Bits<READ_TAGS>>,
    /// The slots that have timed out.
    dead: DFF<Bits<READ_TAGS>>,
    /// A slot was struck in the cycle before.
    struck: DFF<bool>,
    /// Every slot is dead: reads fail at once.
    all_lost: DFF<bool>,
    /// Slot `tail` can be used.
    room: DFF<bool>,

    one: Signal<Local, Bits<READ_TAGS>>,
    tail_tag: Signal<Local, ReadTag>,
    tail_bit: Signal<Local, Bits<READ_TAGS>>,
    event_bit: Signal<Local, Bits<READ_TAGS>>,
    head_bit: Signal<Local, Bits<READ_TAGS>>,
    full: Signal<Local, bool>,
    waiting: Signal<Local, bool>,
    lost: Signal<Local, bool>,
    pass: Signal<Local, bool>,
    opening: Signal<Local, Bits<READ_TAGS>>,
    closing: Signal<Local, Bits<READ_TAGS>>,
    clearing: Signal<Local, Bits<READ_TAGS>>,
    spoiling: Signal<Local, Bits<READ_TAGS>>,
    striking: Signal<Local, Bits<READ_TAGS>>,
}

impl Logic for DmaRead {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, tail, head, open, failed, dead, all_lost, room, struck);
        clock!(self, clock, issue, slots, drain);
        drive!(self, reset => issue.reset, slots.reset, drain.reset; down => slots.down);

        // Which slot is next. A lost slot is passed over (it is reserved as hollow) as long as there are others.
        self.tail_tag.next = self.tail.q.val().get_bits::<READ_TAGS_LOG2>(0);
        self.waiting.next = self.tail.q.val() != self.head.q.val();
        self.full.next =
            self.waiting.val() & (self.tail_tag.val() == self.head.q.val().get_bits::<READ_TAGS_LOG2>(0));
        self.lost.next = self.dead.q.val().get_bit(self.tail_tag.val().index());
        self.all_lost.d.next = self.dead.q.val().all();
        self.pass.next = self.lost.val() & !self.all_lost.q.val() & !self.full.val();

        Sink::<DmaCommand>::link(&mut self.command, &mut self.issue.command);
        drive!(self, cfg_requester_id => issue.cfg_requester_id; max_read => issue.max_read;
            tail_tag => issue.tag; room.q => issue.room; all_lost.q => issue.silent);
        Source::<TlpBeat>::link(&mut self.tx, &mut self.issue.tx);

        FlowSink::<TlpBeat>::link(&mut self.completion, &mut self.slots.completion);
        drive!(self, cfg_requester_id => slots.cfg_requester_id; open.q => slots.open;
            issue.reserve => slots.reserve; tail_tag => slots.reserve_tag; issue.piece => slots.piece;
            slots.reserve_ready => issue.reserve_ready; drain.read_row => slots.read_row);
        Pulse::link(&mut self.count_unexpected, &mut self.slots.count_unexpected);

        self.drain.reserve.next = self.issue.reserve.val() | self.pass.val();
        drive!(self, tail_tag => drain.reserve_tag; issue.piece => drain.piece; pass => drain.hollow;
            waiting => drain.waiting; open.q => drain.open; slots.flowing => drain.flowing;
            slots.tag => drain.flow_tag; slots.fill => drain.fill; time_now => drain.time_now;
            draining => drain.draining; slots.read_data => drain.read_data; struck.q => count_lost);
        self.drain.faulty.next = self.failed.q.val() | self.dead.q.val();
        self.drain.progress.next = self.slots.accept.val() & (self.slots.tag.val() == self.drain.head.val());
        FlowSource::<ReadBeat>::link(&mut self.beat, &mut self.drain.beat);
        FlowSource::<bool>::link(&mut self.retire, &mut self.drain.retire);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.drain.deadline);
        self.timed_out.next = self.dead.q.val().any();
        self.struck.d.next = self.drain.strike.val();
        self.outstanding.next = self.issue.leaving.val() | self.open.q.val().any();
        self.busy.next = self.issue.busy.val() | self.waiting.val() | self.drain.beat.valid.val();

        self.room.d.next = !self.full.val() & (!self.lost.val() | self.all_lost.q.val());
        if self.issue.issued.val() | self.pass.val() {
            self.room.d.next = false;
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.drain.taken.val() {
            self.head.d.next = self.head.q.val() + 1;
        }

        // The state of each slot.
        self.one.next = bits::<READ_TAGS>(1);
        self.tail_bit.next = self.one.val() << self.tail_tag.val();
        self.event_bit.next = self.one.val() << self.slots.tag.val();
        self.head_bit.next = self.one.val() << self.drain.head.val();
        self.opening.next = bits::<READ_TAGS>(0);
        self.clearing.next = bits::<READ_TAGS>(0);
        self.closing.next = bits::<READ_TAGS>(0);
        self.spoiling.next = bits::<READ_TAGS>(0);
        self.striking.next = bits::<READ_TAGS>(0);
        if self.issue.issued.val() {
            self.clearing.next = self.tail_bit.val();
        }
        if self.issue.opened.val() {
            self.opening.next = self.tail_bit.val();
        }
        if self.slots.close.val() {
            self.closing.next = self.event_bit.val();
        }
        if self.slots.spoil.val() {
            self.spoiling.next = self.event_bit.val();
        }
        if self.drain.strike.val() {
            self.striking.next = self.head_bit.val();
        }
        self.open.d.next =
            (self.open.q.val() | self.opening.val()) & !(self.closing.val() | self.striking.val());
        self.failed.d.next = (self.failed.q.val() & !self.clearing.val()) | self.spoiling.val();
        self.dead.d.next = self.dead.q.val() | self.striking.val();

        if self.reset.val() {
            self.tail.d.next = bits::<5>(0);
            self.head.d.next = bits::<5>(0);
            self.open.d.next = bits::<READ_TAGS>(0);
            self.failed.d.next = bits::<READ_TAGS>(0);
            self.dead.d.next = bits::<READ_TAGS>(0);
            self.all_lost.d.next = false;
            self.room.d.next = false;
            self.struck.d.next = false;
        }
    }
}
