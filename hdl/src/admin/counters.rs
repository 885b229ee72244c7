//! Counts events in 37 counters and bytes in two, of 36 bits each.
//!
//! ```text
//!                     events ──►┌──────────┐
//! bytes_sent, bytes_received ──►│ Counters │──► read_value
//!                       read ──►└──────────┘
//! ```
//! Contract: each field of `events` adds one to its counter, whose number is the field's place. Nothing is lost as long as no event comes
//! in more than every second cycle, which no block's can: each takes two beats at least. `bytes_*` are added to their counters, in every
//! cycle; nothing is lost as long as those of 39 cycles are fewer than 2^13: a payload is 4096 bytes at most, and the next one comes a
//! cycle later for every 8 of its bytes. Five bits per counter collect events until the scan, one counter a cycle, moves them into the
//! memory. A read of a counter below 39 is answered when the scan passes it; `read` stays until then. Reset clears all counters within 41
//! cycles.
//!
//! Latency: a read 2 to 41 cycles; an event shows in a read that starts 41 cycles later, bytes in one that starts 42 later.
//!
//! Example: `events.messages_received`, field 5, is high in cycle 0. A `read` of counter 5 that starts in cycle 41 is answered by cycle
//! 82, one higher than before.
//!
//! Tests: `tests/admin/counters.rs`.

use super::event_code::EventCode;
use super::event_number::EventNumber;
use crate::prims::{Cast, Number, Ram};
use crate::rows::register::CounterPulses;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::register::counter;

const _: () = assert!(counter::BYTES_SENT == 32 && counter::BYTES_RECEIVED == 33, "whose turn it is");

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Counters {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears every counter.
    pub reset: Signal<In, bool>,
    /// One field for each counter: an event of it happens in this cycle. Many blocks drive it, by their ports `count_*`. Those of the two
    /// counters of bytes are never high.
    pub events: Signal<In, CounterPulses>,
    /// Number of bytes to add to BYTES_SENT, from send/transmit.
    pub bytes_sent: Signal<In, Bits<13>>,
    /// Number of bytes to add to BYTES_RECEIVED, from receive.
    pub bytes_received: Signal<In, Bits<13>>,
    /// The number of the counter that `admin/registers` asks for, until `read_value`.
    pub read: FlowSink<Bits<6>>,
    /// The value of the counter that was asked for.
    pub read_value: FlowSource<Bits<36>>,
    pulses: Cast<CounterPulses, Bits<39>>,
    rows: Ram<Bits<36>, 6>,
    /// The row that `rows` has given: block RAM is slow, so its output goes straight into a register.
    row: DFF<Bits<36>>,
    low: Pending,
    middle: Pending,
    high: Pending,
    sent: Bytes,
    received: Bytes,
    /// The counter whose pending events are taken now.
    scan: DFF<Bits<6>>,
    /// The same counter, one-hot, which takes less logic than 39 comparisons.
    turn: DFF<Bits<39>>,
    /// The counter of the cycle before, whose row comes out of the memory.
    passed: DFF<Bits<6>>,
    /// The counter before that, whose row is in `row`.
    moved: DFF<Bits<6>>,
    /// The bytes that were collected for the counter in `passed`.
    taken: DFF<Bits<13>>,
    /// The code of the events that were collected for it.
    taken_code: DFF<Bits<5>>,
    /// The sum that is added to the counter in `moved`.
    amount: DFF<Bits<13>>,
    /// The first round after reset: rows are taken for 0.
    clearing: DFF<bool>,
    /// The row of `passed` is taken for 0.
    clear_row: DFF<bool>,
    /// `read_value`.
    value: DFF<Bits<36>>,
    /// `value` is given in this cycle.
    done: DFF<bool>,
    turns: Signal<Local, Bits<39>>,
    /// How many events `taken_code` means.
    events_taken: EventNumber,
    sum: Signal<Local, Bits<36>>,
    last: Number<6, 38>,
}

impl Logic for Counters {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, row, scan, turn, passed, moved, taken, taken_code, amount, value, done);
        dff_setup!(self, clock, clearing, clear_row);
        clock!(self, clock, rows);
        drive!(self, turn.q => turns; events => pulses.from);

        drive!(self, clock => low.clock, middle.clock, high.clock, sent.clock, received.clock;
            reset => low.reset, middle.reset, high.reset, sent.reset, received.reset; bytes_sent => sent.more;
            bytes_received => received.more);
        self.low.events.next = self.pulses.to.val().get_bits::<13>(0);
        self.low.turn.next = self.turns.val().get_bits::<13>(0);
        self.middle.events.next = self.pulses.to.val().get_bits::<13>(13);
        self.middle.turn.next = self.turns.val().get_bits::<13>(13);
        self.high.events.next = self.pulses.to.val().get_bits::<13>(26);
        self.high.turn.next = self.turns.val().get_bits::<13>(26);
        self.sent.turn.next = self.turns.val().get_bit(32);
        self.received.turn.next = self.turns.val().get_bit(33);
        self.taken_code.d.next =
            self.low.collected.val() | self.middle.collected.val() | self.high.collected.val();
        self.taken.d.next = self.sent.collected.val() | self.received.collected.val();
        drive!(self, taken_code.q => events_taken.code);

        self.scan.d.next = self.scan.q.val() + 1;
        self.turn.d.next = self.turn.q.val() << 1;
        self.passed.d.next = self.scan.q.val();
        self.moved.d.next = self.passed.q.val();
        self.amount.d.next = bit_cast::<13, 5>(self.events_taken.number.val()) | self.taken.q.val();
        self.clear_row.d.next = self.clearing.q.val();
        if self.scan.q.val() == self.last.val() {
            self.scan.d.next = bits::<6>(0);
            self.turn.d.next = bits::<39>(1);
            self.clearing.d.next = false;
        }

        drive!(self, scan.q => rows.read_address; moved.q => rows.write_address);
        self.row.d.next = self.rows.read_data.val();
        if self.clear_row.q.val() {
            self.row.d.next = bits::<36>(0);
        }
        self.sum.next = self.row.q.val() + bit_cast::<36, 13>(self.amount.q.val());
        self.rows.write_data.next = self.sum.val();
        self.rows.write_enable.next = true;

        self.value.d.next = self.sum.val();
        self.done.d.next =
            self.read.valid.val() & !self.done.q.val() & (self.read.data.val() == self.moved.q.val());
        drive!(self, done.q => read_value.valid; value.q => read_value.data);

        if self.reset.val() {
            self.scan.d.next = bits::<6>(0);
            self.turn.d.next = bits::<39>(1);
            self.clearing.d.next = true;
            self.clear_row.d.next = true;
            self.done.d.next = false;
        }
    }
}

/// Collects the events of a third of the counters, each since its last turn.
#[derive(LogicBlock, Default)]
struct Pending {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what was collected.
    pub reset: Signal<In, bool>,
    /// One bit for each of these counters: an event of it; `Counters` drives this and `turn`.
    pub events: Signal<In, Bits<13>>,
    /// The counter whose events are taken in this cycle, if it is one of these.
    pub turn: Signal<In, Bits<13>>,
    /// The code of that counter's events until now; 0 if it is none of these.
    pub collected: Signal<Out, Bits<5>>,
    codes: [EventCode; 13],
}

impl Logic for Pending {
    #[hdl_gen]
    fn update(&mut self) {
        self.collected.next = bits::<5>(0);
        for i in 0..13 {
            self.codes[i].clock.next = self.clock.val();
            self.codes[i].reset.next = self.reset.val();
            self.codes[i].happens.next = self.events.val().get_bit(i);
            self.codes[i].turn.next = self.turn.val().get_bit(i);
            if self.turn.val().get_bit(i) {
                self.collected.next = self.collected.val() | self.codes[i].code.val();
            }
        }
    }
}

/// The bytes that have come for one counter since its last turn.
#[derive(LogicBlock, Default)]
struct Bytes {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what was collected.
    pub reset: Signal<In, bool>,
    /// Number of bytes that come in this cycle; `Counters` drives this and `turn`.
    pub more: Signal<In, Bits<13>>,
    /// The bytes collected are taken in this cycle.
    pub turn: Signal<In, bool>,
    /// The bytes collected until now; 0 without `turn`.
    pub collected: Signal<Out, Bits<13>>,
    /// The bytes of the cycle before: what has come of a packet is known late in the cycle.
    late: DFF<Bits<13>>,
    count: DFF<Bits<13>>,
    /// What is there already; nothing in a cycle with `turn`.
    kept: Signal<Local, Bits<13>>,
}

impl Logic for Bytes {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, late, count);
        self.collected.next = bits::<13>(0);
        self.kept.next = self.count.q.val();
        self.late.d.next = self.more.val();
        if self.turn.val() {
            self.collected.next = self.count.q.val();
            self.kept.next = bits::<13>(0);
        }
        self.count.d.next = self.kept.val() + self.late.q.val();
        if self.reset.val() {
            self.late.d.next = bits::<13>(0);
            self.count.d.next = bits::<13>(0);
        }
    }
}
