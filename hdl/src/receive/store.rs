//! Where frames wait for their turn: a ring of 2048 words, and what is known of each frame in it.
//!
//! ```text
//!       store_* ──►┌───────┐──► info ◄── info_ready   (the oldest frame that nobody has taken)
//!    keep, drop ──►│ Store │──► payload                (of the frame taken, once asked for)
//! frame, release ─►│       │──► store_ready, level
//! payload_start ──►└───────┘
//! ```
//! Contract: words of a frame come in, then `keep` with its `info` or `drop`, which takes the words back; the first
//! word of the next frame comes at least one cycle later. `store_ready` low stops the words within 4 cycles.
//! `info` shows the oldest frame kept and not taken. Frames taken are shown to the store again as `frame`, one after
//! the other in their order. `payload_start` begins to show the payload of `frame`: `length` bytes, the first in
//! lane 6 of the frame's first word; four bytes on with `extended`, sixteen with `reth`. `release_valid` frees the frame,
//! and ends its payload wherever it is; it does not come with `payload_start`.
//!
//! `level` is the words in use, or 2048 when less than 8 of the 16 places for `info` are left: two largest frames'
//! worth of small ones then still fits into those places and the ingress queue.
//!
//! Latency: `info` one cycle after `keep`; `payload` three cycles after `payload_start`. Throughput: one word in and
//! one beat out every cycle.
//!
//! Tests: `tests/receive/store.rs`.

use crate::bus::{FrameInfo, WriteBeat};
use crate::prims::{Fifo, Number, Ram, Skid};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Store {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the ring.
    pub reset: Signal<In, bool>,
    /// A word comes.
    pub store_valid: Signal<In, bool>,
    /// The word.
    pub store_data: Signal<In, Bits<64>>,
    /// It is the frame's last.
    pub store_last: Signal<In, bool>,
    /// Words may come.
    pub store_ready: Signal<Out, bool>,
    /// The words since the last `keep` or `drop` are a good frame.
    pub keep: Signal<In, bool>,
    /// They are none.
    pub drop: Signal<In, bool>,
    /// With `keep`; `start` and `end` are not looked at.
    pub keep_info: Signal<In, FrameInfo>,
    /// A frame is on show.
    pub info_valid: Signal<Out, bool>,
    /// The oldest frame that nobody has taken.
    pub info: Signal<Out, FrameInfo>,
    /// It is taken.
    pub info_ready: Signal<In, bool>,
    /// The oldest frame taken.
    pub frame: Signal<In, FrameInfo>,
    /// It is done.
    pub release_valid: Signal<In, bool>,
    /// Begin to show its payload.
    pub payload_start: Signal<In, bool>,
    /// A beat of payload is on show.
    pub payload_valid: Signal<Out, bool>,
    /// It is taken.
    pub payload_ready: Signal<In, bool>,
    /// The beat.
    pub payload: Signal<Out, WriteBeat>,
    /// Words in use, or 2048: see the module's description.
    pub level: Signal<Out, Bits<12>>,
    ram: Ram<Bits<64>, 11>,
    infos: Fifo<FrameInfo, 4, 5>,
    /// Keeps the way from `payload_ready` to the RAM's address short.
    skid: Skid<WriteBeat>,
    /// First word of the oldest frame kept.
    head: DFF<Bits<11>>,
    /// Where the next word goes.
    tail: DFF<Bits<11>>,
    /// Behind the last frame kept.
    whole: DFF<Bits<11>>,
    used: Signal<Local, Bits<11>>,
    ready: DFF<bool>,
    shown_level: DFF<Bits<12>>,
    /// Payload is left to show, from `cursor` on.
    streaming: DFF<bool>,
    /// The word at `cursor` is in the RAM's output register.
    valid: DFF<bool>,
    cursor: DFF<Bits<11>>,
    lane: DFF<Bits<3>>,
    left: DFF<Bits<13>>,
    lanes: Signal<Local, Bits<13>>,
    count: Signal<Local, Bits<13>>,
    pop: Signal<Local, bool>,
    next_cursor: Signal<Local, Bits<11>>,
    /// Words of the frame in front of the first with payload, less those of a plain send.
    headers: Signal<Local, Bits<11>>,
    next_left: Signal<Local, Bits<13>>,
    /// The ring may not be filled to the last word, and up to four come after `store_ready` went low.
    most: Number<11, 2040>,
    most_infos: Number<5, 12>,
    pause_infos: Number<5, 8>,
    full: Number<12, 2048>,
}

impl Logic for Store {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, whole, ready, shown_level);
        dff_setup!(self, clock, streaming, valid, cursor, lane, left);
        clock!(self, clock, ram, infos, skid);
        self.infos.reset.next = self.reset.val();

        // In.
        self.ram.write_enable.next = self.store_valid.val();
        self.ram.write_address.next = self.tail.q.val();
        self.ram.write_data.next = self.store_data.val();
        if self.store_valid.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }
        self.infos.in_valid.next = self.keep.val();
        self.infos.in_data.next = self.keep_info.val();
        self.infos.in_data.next.start = self.whole.q.val();
        self.infos.in_data.next.end = self.tail.q.val();
        if self.keep.val() {
            self.whole.d.next = self.tail.q.val();
        }
        if self.drop.val() {
            self.tail.d.next = self.whole.q.val();
        }
        self.used.next = self.tail.q.val() - self.head.q.val();
        self.ready.d.next =
            (self.used.val() < self.most.val()) & (self.infos.level.val() < self.most_infos.val());
        self.store_ready.next = self.ready.q.val();
        self.shown_level.d.next = bit_cast::<12, 11>(self.used.val());
        if self.infos.level.val() > self.pause_infos.val() {
            self.shown_level.d.next = self.full.val();
        }
        self.level.next = self.shown_level.q.val();

        // The frame on show.
        self.info_valid.next = self.infos.out_valid.val();
        self.info.next = self.infos.out_data.val();
        self.infos.out_ready.next = self.info_ready.val();

        // Its payload: the word on show is read again every cycle.
        self.lanes.next = bits::<13>(8);
        if self.lane.q.val() == bits::<3>(6) {
            self.lanes.next = bits::<13>(2);
        }
        if self.lane.q.val() == bits::<3>(2) {
            self.lanes.next = bits::<13>(6);
        }
        self.count.next = self.lanes.val();
        if self.left.q.val() < self.lanes.val() {
            self.count.next = self.left.q.val();
        }
        self.pop.next = self.valid.q.val() & self.skid.in_ready.val();
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
        self.ram.read_address.next = self.next_cursor.val();
        self.skid.in_valid.next = self.valid.q.val();
        self.skid.in_data.next.data = self.ram.read_data.val();
        self.skid.in_data.next.start = self.lane.q.val();
        self.skid.in_data.next.count = self.count.val().get_bits::<4>(0);
        self.skid.reset.next = self.reset.val() | self.release_valid.val();
        self.payload_valid.next = self.skid.out_valid.val();
        self.payload.next = self.skid.out_data.val();
        self.skid.out_ready.next = self.payload_ready.val();
        self.headers.next = bits::<11>(0);
        if self.frame.val().extended {
            self.headers.next = bits::<11>(1);
        }
        if self.frame.val().reth {
            self.headers.next = self.headers.val() | bits::<11>(2);
        }
        if self.payload_start.val() {
            self.streaming.d.next = self.frame.val().length.any();
            self.valid.d.next = false;
            self.left.d.next = self.frame.val().length;
            self.cursor.d.next = self.frame.val().start + self.headers.val();
            self.lane.d.next = bits::<3>(6);
            if self.frame.val().extended {
                self.lane.d.next = bits::<3>(2);
            }
        }
        if self.release_valid.val() {
            self.streaming.d.next = false;
            self.valid.d.next = false;
            self.head.d.next = self.frame.val().end;
        }
        if self.reset.val() {
            self.head.d.next = bits::<11>(0);
            self.tail.d.next = bits::<11>(0);
            self.whole.d.next = bits::<11>(0);
            self.ready.d.next = false;
            self.streaming.d.next = false;
            self.valid.d.next = false;
        }
    }
}
