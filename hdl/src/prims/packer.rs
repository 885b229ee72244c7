//! Aligns a stream of bytes: pieces of words in, full words out.
//!
//! ```text
//!                  sink ──►┌────────┐──► source
//!    in_start, in_count ──►│ Packer │──► out_count
//!              in_flush ──►│        │──► out_last
//! restart, _fill, _data ──►└────────┘
//! ```
//! Lane k of a word is its bits 8k+7 to 8k; byte order in a run is lane order.
//!
//! Contract: each piece is the `in_count` bytes (0 to 8) of `sink` from lane `in_start` on, start + count <= 8.
//! Pieces are appended without gaps and leave as words of 8 bytes. `in_flush` ends the run with this piece: the
//! rest leaves as a word of `out_count` bytes (0 to 8; 0 if nothing was left) with `out_last`, its other lanes 0.
//! Other words have count 8. `restart` drops bytes not yet shown and begins a run with the lowest `restart_fill`
//! lanes of `restart_data`; it takes the cycle (`sink.ready` is low).
//!
//! Latency: 1 cycle, output registered; `sink.ready` follows `source.ready` and `in_flush` combinationally. Throughput: 8 bytes every
//! cycle. While the second word of a flush leaves (held and new bytes were more than 8), the first piece of the next run may come; a
//! piece that is a run by itself waits for the next cycle.
//!
//! How: one rotator brings the piece's first byte to the first free lane; bytes that wrap around are just where the
//! next word needs them. A piece that comes with a second word may fill all lanes; then the words of its run leave a piece later.
//!
//! Example: a piece of 5 bytes, then one of 6 with `in_flush`: a word with `out_count` 8 leaves, then one with `out_count` 3 and
//! `out_last`.
//!
//! Tests: `tests/prims/packer.rs`.

use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Packer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops every byte that is held or on show.
    pub reset: Signal<In, bool>,
    /// The word that a piece lies in.
    pub sink: Sink<Bits<64>>,
    /// The lane of the piece's first byte.
    pub in_start: Signal<In, Bits<3>>,
    /// Number of bytes of the piece, 0 to 8.
    pub in_count: Signal<In, Bits<4>>,
    /// The run of bytes ends with this piece.
    pub in_flush: Signal<In, bool>,
    /// The owner drops what is held and begins a run with the bytes of `restart_data`.
    pub restart: Signal<In, bool>,
    /// Number of bytes in `restart_data`, 0 to 7.
    pub restart_fill: Signal<In, Bits<3>>,
    /// The first bytes of the new run, from lane 0 on.
    pub restart_data: Signal<In, Bits<64>>,
    /// The next word of the run.
    pub source: Source<Bits<64>>,
    /// Number of bytes in the word on show, 0 to 8.
    pub out_count: Signal<Out, Bits<4>>,
    /// The run ends with the word on show.
    pub out_last: Signal<Out, bool>,
    /// Bytes that wait for the rest of their word, in the lowest `fill` lanes. One register a lane, so that keeping
    /// a byte is a clock enable and no logic.
    held: [DFF<Bits<8>>; 8],
    /// Number of bytes held; 8 only behind a piece that came with a second word.
    fill: DFF<Bits<4>>,
    /// A second word of a flush is still to leave.
    pending: DFF<bool>,
    /// A word is on show.
    shown_valid: DFF<bool>,
    /// The word on show.
    shown: DFF<Bits<64>>,
    /// `out_count`.
    shown_count: DFF<Bits<4>>,
    /// `out_last`.
    shown_last: DFF<bool>,
    free: Signal<Local, bool>,
    accept: Signal<Local, bool>,
    /// A piece of the next run comes with the second word of a flush.
    begins: Signal<Local, bool>,
    /// Bytes that are held of the piece's own run.
    own_fill: Signal<Local, Bits<3>>,
    flush: Signal<Local, bool>,
    count: Signal<Local, Bits<4>>,
    /// Held and new bytes: 8 or more make a word.
    total: Signal<Local, Bits<5>>,
    /// Bytes that stay behind a whole word, if there is one.
    rest: Signal<Local, Bits<4>>,
    /// Held and new bytes make a whole word.
    full: Signal<Local, bool>,
    /// A flush leaves a second word.
    more: Signal<Local, bool>,
    /// A word goes to `source`.
    emit: Signal<Local, bool>,
    /// By how many lanes the piece is rotated.
    turn: Signal<Local, Bits<3>>,
    turn1: Signal<Local, Bits<64>>,
    turn2: Signal<Local, Bits<64>>,
    /// The piece, its first byte in the first free lane.
    turned: Signal<Local, Bits<64>>,
    /// Lanes that hold a byte already.
    old: Signal<Local, Bits<64>>,
    /// Lanes that hold a byte after this piece.
    used: Signal<Local, Bits<64>>,
    held_word: Signal<Local, Bits<64>>,
    lane: [Constant<Bits<64>>; 8],
    number: [Constant<Bits<4>>; 8],
    zero: Constant<Bits<64>>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            sink: Default::default(),
            in_start: Default::default(),
            in_count: Default::default(),
            in_flush: Default::default(),
            restart: Default::default(),
            restart_fill: Default::default(),
            restart_data: Default::default(),
            source: Default::default(),
            out_count: Default::default(),
            out_last: Default::default(),
            held: Default::default(),
            fill: Default::default(),
            pending: Default::default(),
            shown_valid: Default::default(),
            shown: Default::default(),
            shown_count: Default::default(),
            shown_last: Default::default(),
            free: Default::default(),
            accept: Default::default(),
            begins: Default::default(),
            own_fill: Default::default(),
            flush: Default::default(),
            count: Default::default(),
            total: Default::default(),
            rest: Default::default(),
            full: Default::default(),
            more: Default::default(),
            emit: Default::default(),
            turn: Default::default(),
            turn1: Default::default(),
            turn2: Default::default(),
            turned: Default::default(),
            old: Default::default(),
            used: Default::default(),
            held_word: Default::default(),
            lane: std::array::from_fn(|k| Constant::new((0xffu64 << (8 * k)).to_bits())),
            number: std::array::from_fn(|k| Constant::new(k.to_bits())),
            zero: Constant::new(Bits::default()),
        }
    }
}

impl Logic for Packer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, fill, pending, shown_valid, shown, shown_count, shown_last);
        drive!(self, shown_valid.q => source.valid; shown.q => source.data; shown_count.q => out_count;
            shown_last.q => out_last);

        self.free.next = (self.source.ready.val() | !self.shown_valid.q.val()) & !self.restart.val();
        self.sink.ready.next = self.free.val() & !(self.pending.q.val() & self.in_flush.val());
        self.begins.next =
            self.free.val() & self.pending.q.val() & self.sink.valid.val() & !self.in_flush.val();
        // The second word of a flush is a piece of no bytes with a flush.
        self.accept.next = self.free.val() & (self.sink.valid.val() | self.pending.q.val());
        self.flush.next = self.in_flush.val() | self.pending.q.val();
        self.count.next = self.in_count.val();
        if self.pending.q.val() {
            self.count.next = bits::<4>(0);
        }
        self.total.next = bit_cast::<5, 4>(self.fill.q.val()) + bit_cast::<5, 4>(self.count.val());
        self.full.next = self.total.val().get_bits::<2>(3).any();
        self.rest.next = self.total.val().get_bits::<4>(0) - 8;
        self.more.next = self.full.val() & self.rest.val().any();
        self.emit.next = self.accept.val() & (self.full.val() | self.flush.val());

        self.own_fill.next = self.fill.q.val().get_bits::<3>(0);
        if self.pending.q.val() {
            self.own_fill.next = bits::<3>(0);
        }
        self.turn.next = self.own_fill.val() - self.in_start.val();
        self.turn1.next = self.sink.data.val();
        if self.turn.val().get_bit(0) {
            self.turn1.next = (self.sink.data.val() << 8) | (self.sink.data.val() >> 56);
        }
        self.turn2.next = self.turn1.val();
        if self.turn.val().get_bit(1) {
            self.turn2.next = (self.turn1.val() << 16) | (self.turn1.val() >> 48);
        }
        self.turned.next = self.turn2.val();
        if self.turn.val().get_bit(2) {
            self.turned.next = (self.turn2.val() << 32) | (self.turn2.val() >> 32);
        }

        self.held_word.next = bit_cast::<64, 8>(self.held[0].q.val())
            | (bit_cast::<64, 8>(self.held[1].q.val()) << 8)
            | (bit_cast::<64, 8>(self.held[2].q.val()) << 16)
            | (bit_cast::<64, 8>(self.held[3].q.val()) << 24)
            | (bit_cast::<64, 8>(self.held[4].q.val()) << 32)
            | (bit_cast::<64, 8>(self.held[5].q.val()) << 40)
            | (bit_cast::<64, 8>(self.held[6].q.val()) << 48)
            | (bit_cast::<64, 8>(self.held[7].q.val()) << 56);
        self.old.next = self.zero.val();
        self.used.next = self.zero.val();
        for k in 0..8 {
            if self.number[k].val() < self.fill.q.val() {
                self.old.next = self.old.val() | self.lane[k].val();
            }
            if self.full.val() | (self.number[k].val() < self.total.val().get_bits::<4>(0)) {
                self.used.next = self.used.val() | self.lane[k].val();
            }
        }

        if self.free.val() {
            self.shown_valid.d.next = self.emit.val();
        }
        if self.emit.val() {
            self.shown.d.next = (self.held_word.val() & self.old.val())
                | (self.turned.val() & self.used.val() & !self.old.val());
            self.shown_count.d.next = self.total.val().get_bits::<4>(0);
            self.shown_last.d.next = self.flush.val() & !self.more.val();
            if self.full.val() {
                self.shown_count.d.next = bits::<4>(8);
            }
        }
        for k in 0..8 {
            self.held[k].clock.next = self.clock.val();
            self.held[k].d.next = self.held[k].q.val();
            if self.accept.val()
                & (self.begins.val() | self.full.val() | (self.number[k].val() >= self.fill.q.val()))
            {
                self.held[k].d.next = self.turned.val().get_bits::<8>(8 * k);
            }
            if self.restart.val() {
                self.held[k].d.next = self.restart_data.val().get_bits::<8>(8 * k);
            }
        }
        if self.accept.val() {
            self.fill.d.next = self.total.val().get_bits::<4>(0);
            if self.full.val() {
                self.fill.d.next = self.rest.val();
            }
            self.pending.d.next = self.flush.val() & self.more.val();
            if self.flush.val() & !self.more.val() {
                self.fill.d.next = bits::<4>(0);
            }
            if self.begins.val() {
                self.fill.d.next = self.in_count.val();
            }
        }
        if self.restart.val() {
            self.fill.d.next = bit_cast::<4, 3>(self.restart_fill.val());
            self.pending.d.next = false;
            if self.source.ready.val() {
                self.shown_valid.d.next = false;
            }
        }
        if self.reset.val() {
            self.fill.d.next = bits::<4>(0);
            self.pending.d.next = false;
            self.shown_valid.d.next = false;
        }
    }
}
