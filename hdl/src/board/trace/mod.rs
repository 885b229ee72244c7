//! Says on a serial line which TLPs cross the endpoint: their first double words, in hexadecimal.
//!
//! ```text
//!  came ──► TlpTap ──►┌─────────┐
//!                     │ 16 rows │──► Printer ──► SerialSender ──► line
//!  went ──► TlpTap ──►└─────────┘
//! ```
//! Contract: a line for each TLP: `R` for one that came from the host or `T` for one that went to it, then its first four double words, or
//! all if it has fewer, each as eight digits, CR and LF. The rows keep the first 16 TLPs; one that finds no room is not printed,
//! and the next of its direction has a small letter, `r` or `t`. So it is with one that follows another one to the host without a cycle
//! between them, where that other one ended together with one from the host. 115 200 baud, 8 bits, no parity.
//!
//! Latency: 3.5 ms a line.
//!
//! Example: a host's first look at the function is `R 04000001 0000000F 01000000`, and the answer `T 4A000001 01000004 00000000 ...`.
//!
//! Tests: `tests/pcie/trace.rs`.

mod printer;
mod record;
mod serial_sender;
mod tlp_tap;

pub use printer::Printer;
pub use record::Record;
pub use serial_sender::SerialSender;
pub use tlp_tap::TlpTap;

use crate::pcie::bus::TlpWord;
use crate::prims::Fifo;
use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct TlpTrace {
    /// Rising edge; `pclk`.
    pub clock: Signal<In, Clock>,
    /// TLPs from the host: `watch_in` of `Card`.
    pub came: FlowSink<TlpWord>,
    /// TLPs to the host: `watch_out` of `Card`.
    pub went: FlowSink<TlpWord>,
    /// The serial line; high while nothing is said.
    pub line: Signal<Out, bool>,
    came_tap: TlpTap,
    went_tap: TlpTap,
    rows: Fifo<Record, 4, 5>,
    printer: Printer,
    sender: SerialSender,
}

impl TlpTrace {
    /// A line of this many cycles of `clock` a bit.
    pub fn new(cycles: u64) -> Self {
        Self {
            clock: Default::default(),
            came: Default::default(),
            went: Default::default(),
            line: Default::default(),
            came_tap: TlpTap::new(false),
            went_tap: TlpTap::new(true),
            rows: Default::default(),
            printer: Default::default(),
            sender: SerialSender::new(cycles),
        }
    }
}

impl Logic for TlpTrace {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, came_tap, went_tap, rows, printer, sender);
        self.rows.reset.next = false;
        FlowSink::<TlpWord>::link(&mut self.came, &mut self.came_tap.tlp);
        FlowSink::<TlpWord>::link(&mut self.went, &mut self.went_tap.tlp);
        // What came goes first: it is there for one cycle at least every twelfth only.
        self.rows.sink.valid.next = self.came_tap.record.valid.val() | self.went_tap.record.valid.val();
        self.rows.sink.data.next = self.went_tap.record.data.val();
        if self.came_tap.record.valid.val() {
            self.rows.sink.data.next = self.came_tap.record.data.val();
        }
        self.came_tap.record.ready.next = self.rows.sink.ready.val();
        self.went_tap.record.ready.next = self.rows.sink.ready.val() & !self.came_tap.record.valid.val();
        join!(self, Source<Record>, rows.source => printer.record);
        join!(self, Source<Bits<8>>, printer.text => sender.bytes);
        drive!(self, sender.line => line);
    }
}
