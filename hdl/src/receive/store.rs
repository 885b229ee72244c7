//! Keeps frames until their turn comes: a ring of 2048 words, and what is known of each frame in it.
//!
//! ```text
//!        store ──►┌────────┐◄─► show
//!   keep, drop ──►│ Store  │──► payload                (of the frame at `place`)
//!  place, free ──►│ Roster │──► level, holds
//!       resume ──►└────────┘──► count_dropped ◄── overflows
//! ```
//! Contract: the words of a frame come in, from its first byte on. Then `keep` comes with `keep_info`, or `drop`, which takes the words
//! back. The first word of the next frame comes with it or later. `store.ready` low stops the words within 6 cycles.
//! `show` has the oldest frame kept and not taken, or a later one: see [`Roster`]. A frame that is taken keeps its words until `free` says
//! its place in the roster; they become free when those of all older frames are. `place` begins to show a payload: `length` bytes from
//! lane `lane` of word `word` on. `free` ends what is on show of it.
//!
//! `level` is the words in use, or 2048 when less than 8 of the 16 places for `info` are left (those of frames that are taken are in use):
//! two largest frames' worth of small ones then still fits into those places and the ingress queue.
//!
//! How: a frame's byte n lies in the ring's byte n + 2 from the frame's word on. So the payload of a RoCE packet without extension headers,
//! or with a RETH, begins in lane 0, and leaves in whole words. Lanes 0 and 1 have a RAM of their own, which is written one word further on
//! than that of the others.
//!
//! Example: nine words come, and `keep` with a `length` of 8: a send of 8 bytes. A cycle later the frame is on show, and is taken. Three
//! cycles after `place` with word 7, lane 0 and length 8, `payload` gives bytes 54 to 61. `free` gives the nine words back.
//!
//! Latency: `show` one cycle after `keep`; `payload` three cycles after `place`. Throughput: one word in and
//! one beat out every cycle.
//!
//! Tests: `tests/receive/store.rs`.

use super::payload::PayloadPlace;
use super::roster::Roster;
use super::show::ShowSource;
use crate::bus::{FrameInfo, WriteBeat};
use crate::prims::{Number, Ram, Skid};
use crate::stream::{FlowSink, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Store {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the ring is empty.
    pub reset: Signal<In, bool>,
    /// A word of a frame as it came, tag and all, from `FrameDelay`.
    pub store: Sink<Bits<64>>,
    /// Pulses when the words since the last `keep` or `drop` are a good frame; `Parse` drives this and the two below.
    pub keep: Signal<In, bool>,
    /// Pulses when the words since the last `keep` or `drop` are to be forgotten.
    pub drop: Signal<In, bool>,
    /// With `keep`: what is known of the frame; the block fills in `start` and `place` itself.
    pub keep_info: Signal<In, FrameInfo>,
    /// The frame on show, for `Lookup`, and what becomes of it.
    pub show: ShowSource,
    /// Pulses when a frame that was set aside may have its turn; `Flush` drives it.
    pub resume: Signal<In, bool>,
    /// There are frames in the store: on show, taken, or set aside; `Receive` is busy then.
    pub holds: Signal<Out, bool>,
    /// Another frame is counted as an overflow in this cycle; `Ingress` drives it.
    pub overflows: Signal<In, bool>,
    /// Pulses when a frame was dropped; never together with `overflows`.
    pub count_dropped: Pulse,
    /// The payload to show next; `PayloadQueue` drives this and `free`.
    pub place: FlowSink<PayloadPlace>,
    /// The place in the roster of a frame that is done with.
    pub free: Sink<Bits<4>>,
    /// Up to eight bytes of that payload, for `PayloadQueue`.
    pub payload: Source<WriteBeat>,
    /// Words in use, or 2048, for `Ingress`: see the module's description.
    pub level: Signal<Out, Bits<12>>,
    /// Lanes 0 and 1.
    low: Ram<Bits<16>, 11>,
    /// Lanes 2 to 7.
    high: Ram<Bits<48>, 11>,
    roster: Roster,
    /// Keeps the way from `payload.ready` to the RAM's address short.
    skid: Skid<WriteBeat>,
    word: Signal<Local, Bits<64>>,
    /// Where the word that comes goes.
    write_at: Signal<Local, Bits<11>>,
    /// Where the next word goes.
    tail: DFF<Bits<11>>,
    /// Number of the word behind the last frame kept.
    whole: DFF<Bits<11>>,
    used: Signal<Local, Bits<11>>,
    ready: DFF<bool>,
    shown_level: DFF<Bits<12>>,
    crowded: DFF<bool>,
    dropped: DFF<bool>,
    places: Signal<Local, Bits<4>>,
    /// Payload is left to show, from `cursor` on.
    streaming: DFF<bool>,
    /// The word at `cursor` is in the RAM's output register.
    valid: DFF<bool>,
    cursor: DFF<Bits<11>>,
    lane: DFF<Bits<3>>,
    /// Bytes of payload that are left to show.
    left: DFF<Bits<13>>,
    lanes: Signal<Local, Bits<13>>,
    count: Signal<Local, Bits<13>>,
    pop: Signal<Local, bool>,
    next_cursor: Signal<Local, Bits<11>>,
    next_left: Signal<Local, Bits<13>>,
    /// The ring may not be filled to the last word, and up to six words come after `store.ready` went low.
    most: Number<11, 2040>,
    most_places: Number<4, 13>,
    pause_places: Number<4, 8>,
    full: Number<12, 2048>,
}

impl Logic for Store {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, tail, whole, ready, shown_level, crowded, dropped);
        dff_setup!(self, clock, streaming, valid, cursor, lane, left);
        clock!(self, clock, low, high, roster, skid);
        self.roster.reset.next = self.reset.val();

        // In.
        drive!(self, store.valid => low.write_enable, high.write_enable; store.data => word; keep => roster.keep;
            tail.q => roster.keep_end; roster.level => places; ready.q => store.ready);
        self.low.write_data.next = self.word.val().get_bits::<16>(48);
        self.high.write_data.next = self.word.val().get_bits::<48>(0);
        self.write_at.next = self.tail.q.val();
        if self.store.valid.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        self.roster.keep_info.next = self.keep_info.val();
        self.roster.keep_info.next.start = self.whole.q.val();
        if self.keep.val() {
            self.whole.d.next = self.tail.q.val();
        }
        if self.drop.val() {
            self.write_at.next = self.whole.q.val();
            self.tail.d.next = self.whole.q.val();
            if self.store.valid.val() {
                self.tail.d.next = self.whole.q.val() + 1;
            }
        }
        self.high.write_address.next = self.write_at.val();
        self.low.write_address.next = self.write_at.val() + 1;
        self.used.next = self.tail.q.val() - self.roster.head.val();
        self.ready.d.next =
            (self.used.val() < self.most.val()) & (self.places.val() < self.most_places.val());
        self.shown_level.d.next = bit_cast::<12, 11>(self.used.val());
        // FRAME-12: less than half of the words, or of the places, is left.
        self.crowded.d.next = self.used.val().get_bit(10);
        if self.places.val() > self.pause_places.val() {
            self.shown_level.d.next = self.full.val();
            self.crowded.d.next = true;
        }
        self.level.next = self.shown_level.q.val();

        // The frame on show.
        ShowSource::link(&mut self.show, &mut self.roster.show);
        drive!(self, resume => roster.resume; crowded.q => roster.crowded);
        Sink::<Bits<4>>::link(&mut self.free, &mut self.roster.free);
        self.holds.next = self.places.val().any();
        self.count_dropped.next = self.dropped.q.val() & !self.overflows.val();
        self.dropped.d.next = self.roster.count_dropped.val() | (self.dropped.q.val() & self.overflows.val());

        // The payload: the word on show is read again every cycle.
        self.lanes.next = bits::<13>(8);
        if self.lane.q.val() == bits::<3>(4) {
            self.lanes.next = bits::<13>(4);
        }
        if self.lane.q.val() == bits::<3>(2) {
            self.lanes.next = bits::<13>(6);
        }
        self.count.next = self.lanes.val();
        if self.left.q.val() < self.lanes.val() {
            self.count.next = self.left.q.val();
        }
        self.pop.next = self.valid.q.val() & self.skid.sink.ready.val();
        self.next_cursor.next = self.cursor.q.val();
        self.next_left.next = self.left.q.val() - self.count.val();
        self.valid.d.next = self.streaming.q.val();
        if self.pop.val() {
            self.next_cursor.next = self.cursor.q.val() + 1;
            self.lane.d.next = bits::<3>(0);
            self.left.d.next = self.next_left.val();
            if !self.next_left.val().any() {
                self.streaming.d.next = false;
                self.valid.d.next = false;
            }
        }
        self.cursor.d.next = self.next_cursor.val();
        drive!(self, next_cursor => low.read_address, high.read_address; valid.q => skid.sink.valid);
        self.skid.sink.data.next.data = (bit_cast::<64, 48>(self.high.read_data.val()) << 16)
            | bit_cast::<64, 16>(self.low.read_data.val());
        self.skid.sink.data.next.start = self.lane.q.val();
        self.skid.sink.data.next.count = self.count.val().get_bits::<4>(0);
        self.skid.reset.next = self.reset.val() | self.free.valid.val();
        Source::<WriteBeat>::link(&mut self.payload, &mut self.skid.source);
        if self.place.valid.val() {
            self.streaming.d.next = self.place.data.val().length.any();
            self.valid.d.next = false;
            self.left.d.next = self.place.data.val().length;
            self.cursor.d.next = self.place.data.val().word;
            self.lane.d.next = self.place.data.val().lane;
        }
        if self.free.valid.val() {
            self.streaming.d.next = false;
            self.valid.d.next = false;
        }
        if self.reset.val() {
            self.tail.d.next = bits::<11>(0);
            self.whole.d.next = bits::<11>(0);
            self.ready.d.next = false;
            self.dropped.d.next = false;
            self.streaming.d.next = false;
            self.valid.d.next = false;
        }
    }
}
