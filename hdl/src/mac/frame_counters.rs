//! Sixteen counters of 32 bits.
//!
//! ```text
//! events ──►┌───────────────┐
//!           │ FrameCounters │◄─► read (index, its counter)
//!           └───────────────┘
//! ```
//! Contract: each event adds one to its counter, if it does not come again within 16 cycles. It does not: every event here is one of a
//! frame, and two frames end at least 84 cycles apart. The counters stand in the order of [`FrameEvents`], which has 16 bits. `read`
//! answers with the counter of its index, at any time. Reset clears all counters within 17 cycles; an event meanwhile may be lost.
//!
//! Latency: an event shows 1 to 17 cycles later; a read takes 1.
//!
//! How: one counter is written in each cycle, with one more if an event has come for it.
//!
//! Example: `events.received` is high for one cycle: within 17 cycles counter 0 is one higher, and `read` at index 0 shows that a cycle
//! later.
//!
//! Tests: `tests/mac/receive.rs`, `tests/mac/transmit.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::prims::{Cast, LutRam};
use crate::stream::Table;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// The counters' numbers: the places of their events in [`FrameEvents`].
pub mod counter {
    /// Good frames received, control frames among them.
    pub const RECEIVED: u64 = 0;
    /// Frames with a wrong FCS. This one and the next four stand at their [`reason`](crate::mac::reason).
    pub const FCS: u64 = 1;
    /// Frames that were too short.
    pub const RUNT: u64 = 2;
    /// Frames that were too long.
    pub const LONG: u64 = 3;
    /// Frames that the PHY marked.
    pub const CODING: u64 = 4;
    /// Frames that the core did not take in time.
    pub const OVERRUN: u64 = 5;
    /// Pause frames obeyed.
    pub const PAUSED: u64 = 6;
    /// Frames sent for the core.
    pub const SENT: u64 = 8;
    /// Pause frames sent.
    pub const PAUSES_SENT: u64 = 9;
    /// Frames sent damaged on purpose: the core was too slow, was reset, or said so.
    pub const SPOILED: u64 = 10;
}

/// What happened to frames in one cycle: a bit for each counter, in the order of [`counter`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameEvents {
    /// A good frame has come.
    pub received: bool,
    /// A frame with a wrong FCS has come.
    pub fcs: bool,
    /// A frame has come that was too short.
    pub runt: bool,
    /// A frame has come that was too long.
    pub long: bool,
    /// A frame has come in which the PHY marked an error.
    pub coding: bool,
    /// A frame has come that the core did not take in time.
    pub overrun: bool,
    /// A good pause frame has come.
    pub paused: bool,
    /// No event.
    pub spare: bool,
    /// A frame of the core's was sent.
    pub sent: bool,
    /// A pause frame was sent.
    pub pauses_sent: bool,
    /// A frame was sent damaged on purpose.
    pub spoiled: bool,
    /// No events.
    pub spares: Bits<5>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FrameCounters {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears every counter.
    pub reset: Signal<In, bool>,
    /// What happened to frames in this cycle; `Mac` gathers it from `Control` and `LineSender`.
    pub events: Signal<In, FrameEvents>,
    /// For a counter's number: its value, in the next cycle; for the user of `Mac`.
    pub read: Table<Bits<4>, Bits<32>>,
    event_bits: Cast<FrameEvents, Bits<16>>,
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

impl Logic for FrameCounters {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, pending, scan, turn, clear, value);
        clock!(self, clock, rows, copy);
        drive!(self, events => event_bits.from; scan.q => rows.read_address, rows.write_address);
        self.scan.d.next = self.scan.q.val() + 1;
        self.turn.d.next = self.turn.q.val() << 1;
        if self.scan.q.val() == bits::<4>(15) {
            self.turn.d.next = bits::<16>(1);
        }
        self.due.next = (self.pending.q.val() & self.turn.q.val()).any();
        self.pending.d.next = (self.pending.q.val() & !self.turn.q.val()) | self.event_bits.to.val();
        self.row.next = self.rows.read_data.val();
        if self.due.val() {
            self.row.next = self.rows.read_data.val() + 1;
        }
        if self.clear.q.val().any() {
            self.row.next = bits::<32>(0);
            self.clear.d.next = self.clear.q.val() - 1;
        }
        self.rows.write_enable.next = self.due.val() | self.clear.q.val().any();
        drive!(self, row => rows.write_data, copy.write_data; scan.q => copy.write_address;
            read.index => copy.read_address; value.q => read.row);
        self.copy.write_enable.next = self.due.val() | self.clear.q.val().any();
        self.value.d.next = self.copy.read_data.val();
        if self.reset.val() {
            self.clear.d.next = bits::<5>(16);
            self.pending.d.next = bits::<16>(0);
        }
    }
}
