//! Answers loads: one completion for each.
//!
//! ```text
//!             read ──►┌─────────────┐──► load
//!                     │ TlpComplete │◄── answer
//! cfg_requester_id ──►└─────────────┘──► tx
//! ```
//! Contract: for a load of BAR 0 the block asks the registers with one `load`, and waits for one `answer`
//! at any later time; the answer is the aligned 8 bytes around the address in `load`, in their lanes. A load of BAR 2
//! reads as 0. An unsupported load is answered with status Unsupported Request, without data. `read` stays the same until it is
//! taken, which is when the completion has been made.
//!
//! Latency: 3 cycles from the load to its completion, and the registers' own.
//!
//! Example: the host loads 4 bytes at offset 0x14: `load` is 0x14, `answer` brings the 8 bytes at 0x10, and the completion has the upper 4
//! of them.
//!
//! Tests: `tests/tlp/complete.rs`.

use crate::bus::{MmioRead, TlpBeat};
use crate::prims::{Cast, Number};
use crate::rows::tlp::{CompletionCountWord, CompletionTagWord, FirstWord};
use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::{completion_status, kind};

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Wait,
    First,
    Second,
    Third,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpComplete {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the load under way.
    pub reset: Signal<In, bool>,
    /// A load of the host, from `edge/receive`.
    pub read: Sink<MmioRead>,
    /// Asks `admin/registers`: the byte offset in BAR 0 of the register; its low 2 bits are 0.
    pub load: FlowSource<Bits<20>>,
    /// The answer of `admin/registers`: the aligned 8 bytes around the address in `load`.
    pub answer: FlowSink<Bits<64>>,
    /// The function's own bus, device and function number, from its configuration space.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// The completions, to `edge/transmit`.
    pub tx: Source<TlpBeat>,

    state: DFF<State>,
    /// The 8 bytes of the answer.
    word: DFF<Bits<64>>,
    /// `load` is given in this cycle.
    loads: DFF<bool>,
    /// The byte offset that is asked for.
    load_at: DFF<Bits<20>>,
    /// `beat` is on show at `tx`.
    beat_valid: DFF<bool>,
    /// The beat on show.
    beat: DFF<TlpBeat>,

    free: Signal<Local, bool>,
    finish: Signal<Local, bool>,
    refuse: Signal<Local, bool>,
    pair: Signal<Local, bool>,
    address: Signal<Local, Bits<20>>,
    first_word: Cast<FirstWord, Bits<32>>,
    count_word: Cast<CompletionCountWord, Bits<32>>,
    tag_word: Cast<CompletionTagWord, Bits<32>>,
    payload: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    without_data: Number<8, { kind::COMPLETION as u64 }>,
    with_data: Number<8, { kind::COMPLETION_DATA as u64 }>,
    success: Number<3, { completion_status::SUCCESS as u64 }>,
    unsupported: Number<3, { completion_status::UNSUPPORTED as u64 }>,
}

impl Logic for TlpComplete {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, word, loads, load_at, beat_valid, beat);
        drive!(self, loads.q => load.valid; load_at.q => load.data; beat_valid.q => tx.valid;
            beat.q => tx.data);

        drive!(self, read.data.val().unsupported => refuse; read.data.val().pair => pair;
            read.data.val().address => address);
        self.first_word.from.next.length = bits::<10>(1);
        self.first_word.from.next.reserved_10 = bits::<2>(0);
        fill!(self, first_word.from, read.data.val().attr => attr; false => poisoned, digest);
        self.first_word.from.next.reserved_16 = bits::<4>(0);
        fill!(self, first_word.from, read.data.val().traffic_class => traffic_class; false => reserved_23;
            with_data => kind);
        self.count_word.from.next.byte_count = bit_cast::<12, 4>(self.read.data.val().byte_count);
        fill!(self, count_word.from, false => reserved_12; success => status; cfg_requester_id => completer);
        if self.refuse.val() {
            self.first_word.from.next.length = bits::<10>(0);
            self.first_word.from.next.kind = self.without_data.val();
            self.count_word.from.next.status = self.unsupported.val();
        } else if self.pair.val() {
            self.first_word.from.next.length = bits::<10>(2);
        }
        fill!(self, tag_word.from, read.data.val().lower_address => lower_address; false => reserved_7;
            read.data.val().tag => tag; read.data.val().requester => requester);
        self.high.next = self.word.q.val().get_bits::<32>(32);
        self.payload.next = self.word.q.val().get_bits::<32>(0);
        if self.address.val().get_bit(2) {
            self.payload.next = self.high.val();
        }

        self.free.next = self.tx.ready.val() | !self.beat_valid.q.val();
        if self.free.val() {
            self.beat_valid.d.next = false;
        }
        self.loads.d.next = false;
        self.load_at.d.next = self.address.val();
        self.finish.next = false;
        match self.state.q.val() {
            State::Idle => {
                if self.read.valid.val() {
                    if self.refuse.val() | self.read.data.val().doorbell {
                        self.word.d.next = bits::<64>(0);
                        self.state.d.next = State::First;
                    } else {
                        self.loads.d.next = true;
                        self.state.d.next = State::Wait;
                    }
                }
            }
            State::Wait => {
                if self.answer.valid.val() {
                    self.word.d.next = self.answer.data.val();
                    self.state.d.next = State::First;
                }
            }
            State::First => {
                if self.free.val() {
                    self.beat_valid.d.next = true;
                    self.beat.d.next.data = (bit_cast::<64, 32>(self.count_word.to.val()) << 32)
                        | bit_cast::<64, 32>(self.first_word.to.val());
                    self.beat.d.next.keep = bits::<2>(3);
                    self.beat.d.next.last = false;
                    self.state.d.next = State::Second;
                }
            }
            State::Second => {
                if self.free.val() {
                    self.beat_valid.d.next = true;
                    self.beat.d.next.data = (bit_cast::<64, 32>(self.payload.val()) << 32)
                        | bit_cast::<64, 32>(self.tag_word.to.val());
                    if self.refuse.val() {
                        self.beat.d.next.keep = bits::<2>(1);
                    }
                    self.beat.d.next.last = !self.pair.val();
                    if self.pair.val() {
                        self.state.d.next = State::Third;
                    } else {
                        self.finish.next = true;
                    }
                }
            }
            State::Third => {
                if self.free.val() {
                    self.beat_valid.d.next = true;
                    self.beat.d.next.data = bit_cast::<64, 32>(self.high.val());
                    self.beat.d.next.keep = bits::<2>(1);
                    self.beat.d.next.last = true;
                    self.finish.next = true;
                }
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.finish.val() {
            self.state.d.next = State::Idle;
        }
        self.read.ready.next = self.finish.val();

        if self.reset.val() {
            self.state.d.next = State::Idle;
            self.loads.d.next = false;
            self.beat_valid.d.next = false;
        }
    }
}
