//! The answers that are on their way, and the VIs that are held until theirs are out.
//!
//! ```text
//!    begins, ends, vi ──►┌────────────┐──► mark, under_way
//!                gone ──►│ Departures │──► out, out_vi, out_mark ◄── done
//!          hold, free ──►└────────────┘──► held ◄── held_vi
//! ```
//! Contract: `begins` is a packet given out, `gone` one that has left or was dropped, in the same order. `ends` behind the last packet
//! of a VI's answers remembers it; when that packet is gone it is `out`, until `done`. `hold` and `free` are of `vi`.
//!
//! Latency: 2 from `gone` to `out`. Tests: with the whole, `tests/reply/requests/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Mark, Vi};
use crate::prims::{Fifo, LutRam};
use crate::stream::Table;
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;

/// An answer whose last packet is on its way.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Tail {
    vi: Vi,
    mark: Bits<8>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Departures {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is on its way.
    pub reset: Signal<In, bool>,
    /// The VI at hand.
    pub vi: Signal<In, Vi>,
    /// A packet is given out.
    pub begins: Signal<In, bool>,
    /// Packets given out, modulo 256.
    pub mark: Signal<Out, Mark>,
    /// The newest was the last of the VI's answers.
    pub ends: Signal<In, bool>,
    /// There is room for that.
    pub room: Signal<Out, bool>,
    /// The oldest packet has left, or was dropped.
    pub gone: Signal<In, bool>,
    /// Packets are on their way.
    pub under_way: Signal<Out, bool>,
    /// Last packets are remembered.
    pub waits: Signal<Out, bool>,
    /// The oldest of them has left. Not while it is looked at.
    pub out: Signal<Out, bool>,
    /// Its VI.
    pub out_vi: Signal<Out, Vi>,
    /// `mark` when it began.
    pub out_mark: Signal<Out, Mark>,
    /// It is looked at.
    pub looks: Signal<In, bool>,
    /// And done with.
    pub done: Signal<In, bool>,
    /// The VI is held from now on.
    pub hold: Signal<In, bool>,
    /// Not any more.
    pub free: Signal<In, bool>,
    /// VI to look up.
    pub held: Table<Vi, bool>,
    holds: LutRam<bool, VI_LOG2>,
    tails: Fifo<Tail, 4, 5>,
    begun: DFF<Mark>,
    ended: DFF<Mark>,
    past: Signal<Local, Mark>,
    /// The oldest answer has left.
    left_tail: DFF<bool>,
}

impl Logic for Departures {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, begun, ended, left_tail);
        clock!(self, clock, holds, tails);
        self.tails.reset.next = self.reset.val();
        self.holds.read_address.next = self.held.index.val();
        self.held.row.next = self.holds.read_data.val();
        self.holds.write_enable.next = self.hold.val() | self.free.val();
        self.holds.write_address.next = self.vi.val();
        self.holds.write_data.next = self.hold.val();

        self.mark.next = self.begun.q.val();
        self.under_way.next = self.begun.q.val() != self.ended.q.val();
        if self.begins.val() {
            self.begun.d.next = self.begun.q.val() + 1;
        }
        if self.gone.val() {
            self.ended.d.next = self.ended.q.val() + 1;
        }
        self.tails.sink.valid.next = self.ends.val();
        self.tails.sink.data.next.vi = self.vi.val();
        self.tails.sink.data.next.mark = self.begun.q.val();
        self.room.next = self.tails.sink.ready.val();
        self.past.next = self.ended.q.val() - self.tails.source.data.val().mark;
        self.left_tail.d.next =
            self.tails.source.valid.val() & !self.past.val().get_bit(7) & !self.looks.val();
        self.waits.next = self.tails.source.valid.val();
        self.out.next = self.left_tail.q.val();
        self.out_vi.next = self.tails.source.data.val().vi;
        self.out_mark.next = self.tails.source.data.val().mark;
        self.tails.source.ready.next = self.done.val();
        if self.reset.val() {
            self.begun.d.next = bits::<8>(0);
            self.ended.d.next = bits::<8>(0);
        }
    }
}
