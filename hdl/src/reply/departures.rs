//! Counts the packets of answers that are on their way, and holds back the acknowledgements of a VI until its answers have left.
//!
//! ```text
//!     begins, ends, vi ──►┌────────────┐──► mark, under_way, room, waits
//!                 gone ──►│ Departures │──► out, out_vi, out_mark ◄── looks, done
//!           hold, free ──►└────────────┘◄─► held
//! ```
//! Contract: `begins` says that a packet is given to send/gather, `gone` that one has left or was dropped, in the same order. `ends`
//! comes behind the last packet of a VI's answers, and the block remembers that packet. When it is gone, `out` is high until `done`.
//! `hold` and `free` say from when on the acknowledgements of `vi` are held, and from when on not.
//!
//! Example: VI 3 gives three packets out, so `begins` comes three times, and `ends` behind the third. Two cycles after the third
//! `gone`, `out` is high with `out_vi` 3. When nothing else waits for VI 3, `free` lets its acknowledgements go.
//!
//! Latency: 2 from `gone` to `out`. Tests: with the whole, `tests/reply/requests/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::arithmetic::Distance;
use crate::bus::{Mark, Vi};
use crate::prims::{BitRam, Fifo};
use crate::stream::Table;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// An answer whose last packet is on its way.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct LastPacket {
    vi: Vi,
    mark: Mark,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Departures {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets all packets that are on their way.
    pub reset: Signal<In, bool>,
    /// VI that `begins`, `ends`, `hold` and `free` are of; [`Requests`](super::Requests) drives this and the other inputs, but `gone`.
    pub vi: Signal<In, Vi>,
    /// Pulses when a packet of `vi` is given out.
    pub begins: Signal<In, bool>,
    /// Packets given out so far, modulo 256.
    pub mark: Signal<Out, Mark>,
    /// Pulses when the newest packet was the last of the answers of `vi`.
    pub ends: Signal<In, bool>,
    /// There is room for another `ends`.
    pub room: Signal<Out, bool>,
    /// Pulses when the oldest packet has left, or was dropped; send/transmit drives it.
    pub gone: Signal<In, bool>,
    /// At least one packet is on its way.
    pub under_way: Signal<Out, bool>,
    /// At least one last packet of a VI is remembered.
    pub waits: Signal<Out, bool>,
    /// The oldest last packet that is remembered has left; it stays high until `done`, but is low while `looks` is high.
    pub out: Signal<Out, bool>,
    /// VI of that last packet.
    pub out_vi: Signal<Out, Vi>,
    /// `mark` when that last packet was given out.
    pub out_mark: Signal<Out, Mark>,
    /// `Requests` looks at the packet in `out`, so it is not offered again.
    pub looks: Signal<In, bool>,
    /// Pulses when `Requests` is done with the packet in `out`, which is then forgotten.
    pub done: Signal<In, bool>,
    /// Pulses when acknowledgements of `vi` are held from now on.
    pub hold: Signal<In, bool>,
    /// Pulses when acknowledgements of `vi` are held no longer.
    pub free: Signal<In, bool>,
    /// Tells send/ack whether the acknowledgements of a VI are held.
    pub held: Table<Vi, bool>,
    holds: BitRam<VI_LOG2>,
    tails: Fifo<LastPacket, 4, 5>,
    /// Packets given out, modulo 256.
    begun: DFF<Mark>,
    /// Packets that have left or were dropped, modulo 256.
    ended: DFF<Mark>,
    /// How far the packets that have left are beyond the oldest last packet that is remembered.
    past: Distance<8>,
    /// The oldest last packet that is remembered has left.
    left_tail: DFF<bool>,
}

impl Logic for Departures {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, begun, ended, left_tail);
        clock!(self, clock, holds, tails);
        drive!(self, reset => tails.reset; held.index => holds.read_address; holds.read_data => held.row;
            vi => holds.write_address; hold => holds.write_data);
        self.holds.write_enable.next = self.hold.val() | self.free.val();

        drive!(self, begun.q => mark; ends => tails.sink.valid; tails.sink.ready => room;
            ended.q => past.number; tails.source.data.val().mark => past.from, out_mark;
            tails.source.valid => waits; left_tail.q => out; tails.source.data.val().vi => out_vi;
            done => tails.source.ready);
        self.under_way.next = self.begun.q.val() != self.ended.q.val();
        if self.begins.val() {
            self.begun.d.next = self.begun.q.val() + 1;
        }
        if self.gone.val() {
            self.ended.d.next = self.ended.q.val() + 1;
        }
        self.tails.sink.data.next.vi = self.vi.val();
        self.tails.sink.data.next.mark = self.begun.q.val();
        self.left_tail.d.next = self.tails.source.valid.val() & !self.past.behind.val() & !self.looks.val();
        if self.reset.val() {
            self.begun.d.next = bits::<8>(0);
            self.ended.d.next = bits::<8>(0);
        }
    }
}
