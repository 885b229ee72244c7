//! 32 event counters of 36 bits, the width of one block RAM.
//!
//! ```text
//!   events 32 ──►┌──────────┐
//!   read_valid ─►│ Counters │──► read_done
//!   read_index ─►└──────────┘──► read_value 36
//! ```
//! Contract: bit n of `events` adds one to counter n. Nothing is lost as long as no event comes in more than every
//! second cycle, which no block's can: each takes two beats at least. Five bits per counter collect events until the
//! scan, one counter a cycle, moves them into the RAM. A read of a counter below 32 is answered when the scan passes
//! it; `read_index` stays until then. Reset clears all counters within 32 cycles.
//!
//! Latency: a read 2 to 34 cycles; an event shows in a read that starts 33 cycles later.
//!
//! Tests: `tests/admin/counters.rs`.

use crate::prims::{Number, Ram};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Counters {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears every counter.
    pub reset: Signal<In, bool>,
    /// One bit for each counter.
    pub events: Signal<In, Bits<32>>,
    /// A counter is wanted.
    pub read_valid: Signal<In, bool>,
    /// Which.
    pub read_index: Signal<In, Bits<5>>,
    /// `read_value` is it, in this cycle.
    pub read_done: Signal<Out, bool>,
    /// Its value.
    pub read_value: Signal<Out, Bits<36>>,
    rows: Ram<Bits<36>, 5>,
    pending: [DFF<Bits<5>>; 32],
    /// The counter whose pending events are taken now.
    scan: DFF<Bits<5>>,
    /// The same, one bit a counter: cheaper than 32 comparisons.
    turn: DFF<Bits<32>>,
    /// The one before, whose row has just been read.
    moved: DFF<Bits<5>>,
    amount: DFF<Bits<5>>,
    /// The first round after reset: rows are written and not added to.
    clearing: DFF<bool>,
    clear_row: DFF<bool>,
    value: DFF<Bits<36>>,
    done: DFF<bool>,
    scanned: Signal<Local, Bits<5>>,
    sum: Signal<Local, Bits<36>>,
    last: Number<5, 31>,
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, scan, turn, moved, amount, clearing, clear_row, value, done);
        clock!(self, clock, rows);

        self.scanned.next = bits::<5>(0);
        for i in 0..32 {
            self.pending[i].clock.next = self.clock.val();
            self.pending[i].d.next = self.pending[i].q.val();
            if self.events.val().get_bit(i) {
                self.pending[i].d.next = self.pending[i].q.val() + 1;
            }
            if self.turn.q.val().get_bit(i) {
                self.scanned.next = self.scanned.val() | self.pending[i].q.val();
                self.pending[i].d.next = bits::<5>(0);
                if self.events.val().get_bit(i) {
                    self.pending[i].d.next = bits::<5>(1);
                }
            }
            if self.reset.val() {
                self.pending[i].d.next = bits::<5>(0);
            }
        }

        self.scan.d.next = self.scan.q.val() + 1;
        self.turn.d.next = self.turn.q.val() << 1;
        self.moved.d.next = self.scan.q.val();
        self.amount.d.next = self.scanned.val();
        self.clear_row.d.next = self.clearing.q.val();
        if self.scan.q.val() == self.last.val() {
            self.scan.d.next = bits::<5>(0);
            self.turn.d.next = bits::<32>(1);
            self.clearing.d.next = false;
        }

        self.rows.read_address.next = self.scan.q.val();
        self.sum.next = self.rows.read_data.val() + bit_cast::<36, 5>(self.amount.q.val());
        if self.clear_row.q.val() {
            self.sum.next = bit_cast::<36, 5>(self.amount.q.val());
        }
        self.rows.write_address.next = self.moved.q.val();
        self.rows.write_data.next = self.sum.val();
        self.rows.write_enable.next = true;

        self.value.d.next = self.sum.val();
        self.done.d.next =
            self.read_valid.val() & !self.done.q.val() & (self.read_index.val() == self.moved.q.val());
        self.read_done.next = self.done.q.val();
        self.read_value.next = self.value.q.val();

        if self.reset.val() {
            self.scan.d.next = bits::<5>(0);
            self.turn.d.next = bits::<32>(1);
            self.clearing.d.next = true;
            self.clear_row.d.next = true;
            self.done.d.next = false;
        }
    }
}
