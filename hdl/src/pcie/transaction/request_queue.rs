//! Holds up to 8 requests that are answered here, so that one that waits holds nothing else.
//!
//! ```text
//!   request ──►┌──────────────┐──► entry   (the verdict)
//!       row ──►│ RequestQueue │──► word
//!              └──────────────┘──► overflow
//! ```
//! Contract: of each request the first 8 words are kept: its header, and 4 bytes of data. While `entry` shows a request, `word` is its word
//! `row`. A ninth request, which the link partner has no credits for, is lost and is an `overflow`.
//!
//! Latency: `entry` 1 cycle behind the last word; `word` 1 cycle behind `row`.
//!
//! Example: a configuration read goes in; `entry` shows CARRY_OUT, and for `row` 3 `word` has tag and byte enables.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use super::fate::QueuedWord;
use crate::prims::{Fifo, ShallowRam};
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RequestQueue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what it holds.
    pub reset: Signal<In, bool>,
    /// Requests, from `Inbox`.
    pub request: FlowSink<QueuedWord>,
    /// The oldest request's verdict, to `Completer`.
    pub entry: Source<Bits<2>>,
    /// The number of a word of the oldest request; from `Completer`.
    pub row: Signal<In, Bits<3>>,
    /// The word `row` of the oldest request, in the next cycle.
    pub word: Signal<Out, Bits<16>>,
    /// Pulses when a request finds no room.
    pub overflow: Pulse,
    rows: ShallowRam<Bits<16>, 6>,
    entries: Fifo<Bits<2>, 3, 4>,
    /// The slot of the oldest request, and of the next one.
    head: DFF<Bits<3>>,
    tail: DFF<Bits<3>>,
    /// The number of the word that comes.
    place: DFF<Bits<3>>,
    /// All 8 words have come.
    enough: DFF<bool>,
    /// The request under way has no room.
    lost: DFF<bool>,
    loses: Signal<Local, bool>,
    plenty: Signal<Local, bool>,
    at: Signal<Local, Bits<3>>,
    ends: Signal<Local, bool>,
}

impl Logic for RequestQueue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, place, enough, lost);
        clock!(self, clock, rows, entries);
        drive!(self, reset => entries.reset; request.data.val().verdict => entries.sink.data);
        Source::<Bits<2>>::link(&mut self.entry, &mut self.entries.source);
        self.at.next = self.place.q.val();
        self.loses.next = self.lost.q.val();
        self.plenty.next = self.enough.q.val();
        if self.request.data.val().first {
            self.at.next = bits::<3>(0);
            self.loses.next = !self.entries.sink.ready.val();
            self.plenty.next = false;
        }
        self.ends.next = self.request.valid.val() & self.request.data.val().last;
        self.rows.write_enable.next = self.request.valid.val() & !self.plenty.val() & !self.loses.val();
        self.rows.write_address.next =
            (bit_cast::<6, 3>(self.tail.q.val()) << 3) | bit_cast::<6, 3>(self.at.val());
        self.rows.write_data.next = self.request.data.val().data;
        self.rows.read_address.next =
            (bit_cast::<6, 3>(self.head.q.val()) << 3) | bit_cast::<6, 3>(self.row.val());
        drive!(self, rows.read_data => word);
        self.entries.sink.valid.next = self.ends.val() & !self.loses.val();
        self.overflow.next = self.ends.val() & self.loses.val();
        if self.request.valid.val() {
            self.place.d.next = self.at.val() + 1;
            self.enough.d.next = self.plenty.val() | (self.at.val() == bits::<3>(7));
            self.lost.d.next = self.loses.val();
        }
        if self.ends.val() & !self.loses.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        if self.entry.ready.val() & self.entries.source.valid.val() {
            self.head.d.next = self.head.q.val() + 1;
        }
        if self.reset.val() {
            self.head.d.next = bits::<3>(0);
            self.tail.d.next = bits::<3>(0);
        }
    }
}
