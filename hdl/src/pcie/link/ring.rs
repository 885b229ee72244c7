//! The replay buffer's memory: TLPs in the order of their numbers, from the oldest one that is not acknowledged.
//!
//! ```text
//!    sink ──►┌──────┐──► stored
//!  rewind ──►│ Ring │──► row
//!   takes ──►│ 4 KiB│
//!   purge ──►│      │
//!   up_to ──►└──────┘
//! ```
//! Contract: a TLP is `stored` when its last word has come; then `stored` counts on. `row` is the row to send, `takes` moves on to the
//! next one: a cycle later `row` is that. `rewind` goes back to the oldest TLP: two cycles later `row` is its first one.
//!
//! `purge` frees all up to TLP `up_to`, whose number has stood there for the two cycles before. Who purges a TLP that is not sent a second
//! time yet rewinds in the cycle behind it. `sink` is not ready while there is no room, or while 64 TLPs are here.
//!
//! Latency: 1 cycle to write. Throughput: one word every cycle, each way.
//!
//! Example: TLPs 0 and 1 of 6 words are stored: `stored` is 2. `up_to` is 0, `purge` comes: 6 rows are free again.
//!
//! Tests: with the whole, `tests/pcie/link/replays.rs`.

use super::packet::Row;
use crate::pcie::bus::TlpWord;
use crate::prims::{Number, Ram, ShallowRam};
use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ring {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is here.
    pub reset: Signal<In, bool>,
    /// TLPs to keep; from `Credits`.
    pub sink: Sink<TlpWord>,
    /// TLPs that were stored since the link came up.
    pub stored: Signal<Out, Bits<8>>,
    /// The row to send.
    pub row: Signal<Out, Row>,
    /// `Frame` has used the row; `Replay` drives this and all inputs below.
    pub takes: Signal<In, bool>,
    /// Go back to the oldest TLP.
    pub rewind: Signal<In, bool>,
    /// Forget TLPs up to `up_to`.
    pub purge: Signal<In, bool>,
    /// The number of the last TLP to forget.
    pub up_to: Signal<In, Bits<6>>,
    /// The number of the oldest TLP, its low bits.
    pub oldest: Signal<In, Bits<8>>,
    ram: Ram<Row, 11>,
    /// For each TLP the row behind it.
    ends: ShallowRam<Bits<11>, 6>,
    head: DFF<Bits<11>>,
    tail: DFF<Bits<11>>,
    at: DFF<Bits<11>>,
    count: DFF<Bits<8>>,
    left: DFF<Bits<11>>,
    held: DFF<Bits<8>>,
    room: DFF<bool>,
    push: Signal<Local, bool>,
    next_tail: Signal<Local, Bits<11>>,
    next_at: Signal<Local, Bits<11>>,
    /// Words that may come before `room` falls, and more.
    spare: Number<11, 8>,
}

impl Logic for Ring {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, at, count, left, held, room);
        clock!(self, clock, ram, ends);
        drive!(self, room.q => sink.ready; count.q => stored; ram.read_data => row);
        self.push.next = self.sink.valid.val() & self.room.q.val();
        self.next_tail.next = self.tail.q.val() + 1;
        drive!(self, push => ram.write_enable; tail.q => ram.write_address; next_tail => ends.write_data;
            up_to => ends.read_address);
        fill!(self, ram.write_data, sink.data.val().data => data; sink.data.val().last => last);
        self.ends.write_address.next = self.count.q.val().get_bits::<6>(0);
        self.ends.write_enable.next = self.push.val() & self.sink.data.val().last;
        if self.push.val() {
            self.tail.d.next = self.next_tail.val();
            if self.sink.data.val().last {
                self.count.d.next = self.count.q.val() + 1;
            }
        }

        // An empty ring has all rows left but one. The figures are a cycle or two old: that is what `spare` is for. Behind the last
        // word of the 64th TLP the next one comes later than that.
        self.left.d.next = self.head.q.val() - self.next_tail.val();
        self.held.d.next = self.count.q.val() - self.oldest.val();
        self.room.d.next = (self.left.q.val() > self.spare.val()) & !self.held.q.val().get_bit(6);

        self.next_at.next = self.at.q.val();
        if self.takes.val() {
            self.next_at.next = self.at.q.val() + 1;
        }
        drive!(self, next_at => at.d, ram.read_address);
        if self.rewind.val() {
            self.at.d.next = self.head.q.val();
        }
        if self.purge.val() {
            self.head.d.next = self.ends.read_data.val();
        }
        if self.reset.val() {
            self.head.d.next = bits::<11>(0);
            self.tail.d.next = bits::<11>(0);
            self.at.d.next = bits::<11>(0);
            self.count.d.next = bits::<8>(0);
            self.room.d.next = false;
        }
    }
}
