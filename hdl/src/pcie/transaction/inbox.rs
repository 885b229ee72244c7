//! Sorts the TLPs that arrive: to the core, to the queue of requests that are answered here, or nowhere.
//!
//! ```text
//!   arrived ──►┌───────┐──► to_core
//!      BARs ──►│ Inbox │──► request
//!    memory ──►└───────┘──► turn_off, faults
//! ```
//! Contract: what goes where, `HeaderReader` says. Order is kept in each direction. A word is taken every cycle, and nothing waits: what
//! goes on goes to blocks that have room.
//!
//! How: the words wait in a queue until their TLP is decided. That is 16 words and 5 cycles at most, then one leaves each cycle, and not
//! more come: 32 places are enough. A TLP has at least a word there, so 32 fates are, too.
//!
//! Latency: 6 cycles from the last word of a TLP, or its 16th, to its first word.
//!
//! Example: a store of 4 bytes to BAR 0: 8 words at `to_core` with `bar` 0.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use super::fate::{QueuedWord, TlpFate};
use super::faults::Faults;
use super::header_reader::HeaderReader;
use crate::pcie::bus::{CoreWord, TlpWord};
use crate::prims::{Fifo, Number};
use crate::stream::{FlowSink, FlowSource, Pulse};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Inbox {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what it holds.
    pub reset: Signal<In, bool>,
    /// TLPs from the link.
    pub arrived: FlowSink<TlpWord>,
    /// Requests for memory are taken; this and the BARs are from `ConfigSpace`.
    pub memory: Signal<In, bool>,
    /// Base Address 0.
    pub bar0: Signal<In, Bits<32>>,
    /// Base Address 2, low half.
    pub bar2: Signal<In, Bits<32>>,
    /// Base Address 2, high half.
    pub bar2_high: Signal<In, Bits<32>>,
    /// TLPs for the core, over the crossing.
    pub to_core: FlowSource<CoreWord>,
    /// Requests to answer here, to `RequestQueue`.
    pub request: FlowSource<QueuedWord>,
    /// PME_Turn_Off has come; to `Completer`.
    pub turn_off: Pulse,
    /// Errors, to `ConfigSpace`.
    pub faults: Signal<Out, Faults>,
    reader: HeaderReader,
    words: Fifo<TlpWord, 5, 6>,
    fates: Fifo<TlpFate, 5, 6>,
    moves: Signal<Local, bool>,
    passing: DFF<bool>,
    passed: DFF<CoreWord>,
    queuing: DFF<bool>,
    queued: DFF<QueuedWord>,
    lower_bar: Number<3, 0>,
    upper_bar: Number<3, 2>,
}

impl Logic for Inbox {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, passing, passed, queuing, queued);
        clock!(self, clock, reader, words, fates);
        drive!(self, reset => reader.reset, words.reset, fates.reset; memory => reader.memory;
            bar0 => reader.bar0; bar2 => reader.bar2; bar2_high => reader.bar2_high;
            reader.faults => faults);
        FlowSink::<TlpWord>::link(&mut self.arrived, &mut self.reader.arrived);
        Pulse::link(&mut self.turn_off, &mut self.reader.turn_off);
        drive!(self, reader.word.valid => words.sink.valid; reader.word.data => words.sink.data;
            reader.fate.valid => fates.sink.valid; reader.fate.data => fates.sink.data);

        self.moves.next = self.words.source.valid.val() & self.fates.source.valid.val();
        self.words.source.ready.next = self.moves.val();
        self.fates.source.ready.next = self.moves.val() & self.words.source.data.val().last;
        self.passing.d.next = self.moves.val() & self.fates.source.data.val().passed;
        self.queuing.d.next = self.moves.val() & self.fates.source.data.val().queued;
        fill!(self, passed.d, words.source.data.val().data => data; words.source.data.val().first => first;
            words.source.data.val().last => last; fates.source.data.val().non_posted => non_posted;
            lower_bar => bar);
        if self.fates.source.data.val().high_bar {
            self.passed.d.next.bar = self.upper_bar.val();
        }
        fill!(self, queued.d, words.source.data.val().data => data; words.source.data.val().first => first;
            words.source.data.val().last => last; fates.source.data.val().verdict => verdict);
        drive!(self, passing.q => to_core.valid; passed.q => to_core.data; queuing.q => request.valid;
            queued.q => request.data);
        if self.reset.val() {
            self.passing.d.next = false;
            self.queuing.d.next = false;
        }
    }
}
