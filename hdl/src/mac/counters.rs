//! Sixteen counters of 32 bits.
//!
//! ```text
//! events 16 ──►┌──────────┐
//!              │ Counters │◄── read: index, its counter
//!              └──────────┘
//! ```
//! Contract: bit n of `events` adds one to counter n, if it is 0 for 16 cycles behind that: every event here is one of a frame, of which
//! two end 84 cycles apart. `read` answers with the counter of its index, at any time. Reset clears all counters within 17 cycles; an event
//! meanwhile may be lost.
//!
//! Latency: an event shows 1 to 17 cycles later; a read takes 1.
//!
//! How: one counter a cycle is written, with what has come for it.
//!
//! Example: bit 0 of `events` is high for one cycle: within 17 cycles counter 0 is one higher, and `read` at index 0 shows that a cycle later.
//!
//! Tests: `tests/mac/receive.rs`, `tests/mac/transmit.rs`.

use crate::prims::LutRam;
use crate::stream::Table;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Counters {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears every counter.
    pub reset: Signal<In, bool>,
    /// One bit for each counter: an event of it, see [`counter`](super::counter).
    pub events: Signal<In, Bits<16>>,
    /// For a counter's number: its value, in the next cycle.
    pub read: Table<Bits<4>, Bits<32>>,
    /// The counters.
    rows: LutRam<Bits<32>, 4>,
    /// The counters again, for `read`.
    copy: LutRam<Bits<32>, 4>,
    /// The counters for which an event waits.
    pending: DFF<Bits<16>>,
    /// The counter that is written in this cycle.
    scan: DFF<Bits<4>>,
    /// The same counter, one-hot.
    turn: DFF<Bits<16>>,
    /// The next counter to clear after a reset; the top bit says that all are.
    clear: DFF<Bits<5>>,
    /// What `read` shows.
    value: DFF<Bits<32>>,
    /// The counter in `scan` has an event.
    due: Signal<Local, bool>,
    row: Signal<Local, Bits<32>>,
}

impl Logic for Counters {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, pending, scan, turn, clear, value);
        clock!(self, clock, rows, copy);
        self.scan.d.next = self.scan.q.val() + 1;
        self.turn.d.next = self.turn.q.val() << 1;
        if self.scan.q.val() == bits::<4>(15) {
            self.turn.d.next = bits::<16>(1);
        }
        self.due.next = (self.pending.q.val() & self.turn.q.val()).any();
        self.pending.d.next = (self.pending.q.val() & !self.turn.q.val()) | self.events.val();
        self.rows.read_address.next = self.scan.q.val();
        self.row.next = self.rows.read_data.val();
        if self.due.val() {
            self.row.next = self.rows.read_data.val() + 1;
        }
        if self.clear.q.val().any() {
            self.row.next = bits::<32>(0);
            self.clear.d.next = self.clear.q.val() - 1;
        }
        self.rows.write_enable.next = self.due.val() | self.clear.q.val().any();
        self.rows.write_address.next = self.scan.q.val();
        self.rows.write_data.next = self.row.val();
        self.copy.write_enable.next = self.due.val() | self.clear.q.val().any();
        self.copy.write_address.next = self.scan.q.val();
        self.copy.write_data.next = self.row.val();
        self.copy.read_address.next = self.read.index.val();
        self.value.d.next = self.copy.read_data.val();
        self.read.row.next = self.value.q.val();
        if self.reset.val() {
            self.clear.d.next = bits::<5>(16);
            self.pending.d.next = bits::<16>(0);
        }
    }
}
