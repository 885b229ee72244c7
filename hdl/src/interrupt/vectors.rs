//! Keeps the pending interrupts, and sends each as one memory write when the host's system lets it.
//!
//! ```text
//! raise, queue_raise ──►┌─────────┐──► tx
//!    issued, retired ──►│         │──► load_value
//!   commit, time_now ──►│ Vectors │──► pending, busy
//!   mmio_write, load ──►│         │──► deadline
//!     cfg_*, restart ──►└─────────┘──► count_interrupt
//! ```
//! Contract:
//! - A raised vector is pending. Its interrupt leaves when the write engine has retired the commands that were issued in the cycle after it
//!   was raised, the vector is not masked and does not rest, MSI-X is enabled and not masked, and the function is bus master. A vector that
//!   is raised again before the first beat is taken gives one interrupt, which leaves behind the commands of the later time. `queue_raise`
//!   waits while there is a `raise`.
//! - An interrupt leaves as [`InterruptMessage`] says. Until its first beat is taken
//!   it is withdrawn (`tx.valid` falls) as soon as it may not leave any more. So if the system masks a vector and reads its
//!   mask back, no interrupt of that vector comes after that.
//! - When an interrupt leaves, its vector rests for the ticks in its row of MODERATION: see [`Holdoff`]. All raises meanwhile give one
//!   interrupt.
//! - Vectors are served in turn. No vector waits for another's mask or mark.
//! - `restart`, the agent's reset, forgets what is pending and which vectors rest; the table belongs to the host's system and stays.
//!   `reset` clears all of it.
//!
//! Latency: 10 to 17 cycles from `raise` to the first beat, when nothing is in the way. A load 2 to 8 cycles.
//!
//! How: the block looks at one vector in each cycle. A vector's mark is the count of commands issued when it was raised, and `held` vectors
//! wait until as many have retired. The two are compared by signed 8-bit distance, while fewer than 128 commands are under way, and the
//! result is kept. In the cycle after that the block decides whether the vector's interrupt may leave.
//!
//! Example: vector 1 is raised while 3 write commands are under way. It is pending at once; its interrupt leaves when all 3 have retired.
//! If it is raised again before that, there is still one interrupt.
//!
//! Tests: `tests/interrupt/`: `vectors.rs`, `random.rs`, `moderation.rs`; in the whole NIC `nic.rs`.

use super::holdoff::Holdoff;
use super::message::InterruptMessage;
use super::table::{VectorTable, ROW_LOG2};
use crate::arithmetic::Distance;
use crate::bus::{Commit, Mark, MmioWrite, TlpBeat, Vector};
use crate::prims::{LutRam, Number};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{VECTORS, VECTOR_LOG2};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Vectors {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears what is pending, and the table.
    pub reset: Signal<In, bool>,
    /// The agent's reset, from the NIC's `Reset`: clears what is pending, and leaves the table.
    pub restart: Signal<In, bool>,
    /// A store of the host, from `edge/receive`, perhaps to the MSI-X table.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The row of the table that `admin/registers` asks for, given until `load_value`: {vector, which of its two halves}.
    pub load: FlowSink<Bits<ROW_LOG2>>,
    /// The 8 bytes of the row that was asked for, for `admin/registers`.
    pub load_value: FlowSource<Bits<64>>,
    /// One bit for each vector that is pending: the MSI-X pending bits, for `admin/registers`.
    pub pending: Signal<Out, Bits<VECTORS>>,
    /// The vector that [`Notify`](super::Notify) raises for a work queue.
    pub raise: FlowSink<Vector>,
    /// The vector that a completion queue raises, from `complete/queues`.
    pub queue_raise: Sink<Vector>,
    /// Number of write commands issued, modulo 256, from `protect`.
    pub issued: Signal<In, Mark>,
    /// Number of write commands retired, modulo 256, from `dma/write`.
    pub retired: Signal<In, Mark>,
    /// A row of MODERATION, from `admin/broadcast`, for [`Holdoff`].
    pub commit: Sink<Commit>,
    /// Device time, ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// The time at which the first rest of a vector may end, given while a vector rests; a simulator reads it.
    pub deadline: FlowSource<Bits<32>>,
    /// The function's own bus, device and function number; the configuration space drives this and the next three.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// The host's system has enabled MSI-X.
    pub cfg_msix_enable: Signal<In, bool>,
    /// The host's system has masked all vectors.
    pub cfg_msix_mask: Signal<In, bool>,
    /// The function may send memory requests.
    pub cfg_bus_master: Signal<In, bool>,
    /// The interrupts' memory writes, to `edge/transmit`.
    pub tx: Source<TlpBeat>,
    /// An interrupt leaves, or will leave with no further event; `quiet` listens.
    pub busy: Signal<Out, bool>,
    /// Pulses when the first beat of an interrupt is taken; `admin/counters` listens.
    pub count_interrupt: Pulse,
    table_rows: VectorTable,
    holdoff: Holdoff,
    /// For each vector: the commands that were issued when it was raised.
    marks: LutRam<Mark, VECTOR_LOG2>,
    /// The vectors that are pending.
    waiting: DFF<Bits<VECTORS>>,
    /// The vectors that are pending and whose mark is not reached.
    held: DFF<Bits<VECTORS>>,
    /// Interrupts may leave at all.
    allowed: DFF<bool>,
    /// The vector whose mark is looked at in this cycle.
    look: DFF<Vector>,
    /// The vector of the cycle before: it may leave.
    looked: DFF<Vector>,
    message: InterruptMessage,
    /// The vector whose message is made, one-hot.
    chosen: DFF<Bits<VECTORS>>,
    /// `value` answers the load in this cycle.
    done: DFF<bool>,
    /// The row that was loaded.
    value: DFF<Bits<64>>,
    turn: Signal<Local, Bits<VECTORS>>,
    candidate: Signal<Local, Bits<VECTORS>>,
    /// How far the retired commands are beyond the mark that is looked at.
    since: Distance<8>,
    /// The vector in `looked` may leave.
    due: Signal<Local, bool>,
    /// A vector was raised in the cycle before.
    raises: DFF<bool>,
    /// The vector that was raised in the cycle before.
    raising: DFF<Vector>,
    raised: Signal<Local, Bits<VECTORS>>,
    /// The vector in `served` may still leave.
    stays: Signal<Local, bool>,
    row: Signal<Local, Bits<64>>,
    one: Number<VECTORS, 1>,
}

impl Logic for Vectors {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, held, allowed, look, looked, chosen, done, value, raises, raising);
        clock!(self, clock, table_rows, marks, holdoff, message);
        self.table_rows.reset.next = self.reset.val();
        FlowSink::<MmioWrite>::link(&mut self.mmio_write, &mut self.table_rows.mmio_write);

        self.holdoff.reset.next = self.restart.val() | self.reset.val();
        Sink::<Commit>::link(&mut self.commit, &mut self.holdoff.commit);
        drive!(self, look.q => holdoff.look; time_now => holdoff.time_now;
            message.begins => holdoff.left.valid, count_interrupt; message.served => holdoff.left.data);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.holdoff.deadline);

        // The table is read for the message if it needs a row, otherwise for a load.
        self.table_rows.row.next = bit_cast::<ROW_LOG2, VECTOR_LOG2>(self.message.served.val()) << 1;
        if !self.message.reading.val() {
            self.table_rows.row.next = self.load.data.val();
        } else if self.message.data_row.val() {
            self.table_rows.row.next =
                (bit_cast::<ROW_LOG2, VECTOR_LOG2>(self.message.served.val()) << 1) | bits::<ROW_LOG2>(1);
        }
        drive!(self, table_rows.data => row; done.q => load_value.valid; value.q => load_value.data);
        self.value.d.next = self.row.val();
        self.done.d.next = self.load.valid.val() & !self.message.reading.val() & !self.done.q.val();

        // For one vector in each cycle: is its mark reached? For the vector of the cycle before: may its interrupt leave?
        self.look.d.next = self.look.q.val() + 1;
        self.turn.next = self.one.val() << self.look.q.val();
        drive!(self, look.q => marks.read_address; retired => since.number; marks.read_data => since.from);
        if !self.since.behind.val() {
            self.held.d.next = self.held.q.val() & !self.turn.val();
        }
        self.looked.d.next = self.look.q.val();
        self.candidate.next = self.one.val() << self.looked.q.val();
        self.due.next = self.allowed.q.val()
            & (self.waiting.q.val()
                & self.table_rows.open.val()
                & !self.holdoff.resting.val()
                & !self.held.q.val()
                & self.candidate.val())
            .any();

        // A vector that is raised is pending again, whatever else happens to it in this cycle.
        if self.message.begins.val() {
            self.waiting.d.next = self.waiting.q.val() & !self.chosen.q.val();
        }
        self.raises.d.next = self.raise.valid.val() | self.queue_raise.valid.val();
        self.raising.d.next = self.queue_raise.data.val();
        if self.raise.valid.val() {
            self.raising.d.next = self.raise.data.val();
        }
        self.queue_raise.ready.next = !self.raise.valid.val();
        self.raised.next = self.one.val() << self.raising.q.val();
        drive!(self, raises.q => marks.write_enable; raising.q => marks.write_address;
            issued => marks.write_data; waiting.q => pending);
        if self.raises.q.val() {
            self.waiting.d.next = self.waiting.d.val() | self.raised.val();
            self.held.d.next = self.held.d.val() | self.raised.val();
        }
        if self.restart.val() | self.reset.val() {
            self.waiting.d.next = bits::<VECTORS>(0);
            self.held.d.next = bits::<VECTORS>(0);
            self.raises.d.next = false;
        }
        self.allowed.d.next =
            self.cfg_msix_enable.val() & !self.cfg_msix_mask.val() & self.cfg_bus_master.val();

        // The chosen vector's interrupt may still leave, by the state of now and not by that in which it was chosen. The message does not
        // ask in the cycle in which it takes the vector, so `idle`, which is known late, has no part in it. A vector raised again is held.
        self.stays.next = self.allowed.q.val()
            & !self.restart.val()
            & !(self.raises.q.val() & (self.raising.q.val() == self.message.served.val()))
            & (self.chosen.q.val() & self.waiting.q.val() & !self.held.q.val() & self.table_rows.open.val())
                .any();

        drive!(self, reset => message.reset; due => message.due; looked.q => message.candidate;
            stays => message.stays; row => message.row; cfg_requester_id => message.requester_id);
        Source::<TlpBeat>::link(&mut self.tx, &mut self.message.tx);
        // `chosen` follows the candidate until the message takes one.
        if self.message.idle.val() {
            self.chosen.d.next = self.candidate.val();
        }
        self.busy.next = !self.message.idle.val()
            | self.table_rows.busy.val()
            | self.raises.q.val()
            | (self.allowed.q.val()
                & (self.waiting.q.val() & self.table_rows.open.val() & !self.holdoff.resting.val()).any());

        if self.reset.val() {
            self.done.d.next = false;
        }
    }
}
