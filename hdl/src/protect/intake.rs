//! Takes the clients' accesses one at a time and looks their regions up.
//!
//! ```text
//!    fetch ──►┌────────┐
//!   gather ──►│        │──► valid, access, client, member, region
//!  scatter ──►│ Intake │◄── next_access
//! complete ──►│        │──► empty
//!     hold ──►│        │◄── give_back
//!   commit ──►└────────┘◄── sure, stuck, away, issued
//! ```
//! Contract:
//! - Whose turn it is stands in a register, and so does whether there is room, so that no client's path goes through another's, nor
//!   through what becomes of the access before. Who has the turn is taken when there is room. Behind its access, or if it asks for
//!   nothing, the turn goes round robin to another one that asks; if nobody does, to the mover of data on its side: gather behind
//!   fetch, scatter behind complete.
//! - With `ready` an access is its client's no more. A write has it when it is taken, and so has a read that is `sure` to find its
//!   engine free. Any other read stays on its client's port until it is `issued`: meanwhile it is on show here (`owner`) or `away` in
//!   the checker, and may be given back, here by `give_back`; then it is taken anew in its turn. So a read that has to wait does it
//!   where it came from, and holds nobody else. With `stuck` no read is taken.
//! - What is on show holds still until `next_access`; `region` and `extent` are the halves of the row of the access's region, if
//!   `member` (the number is a row of the table, and not 0). `access` is there a cycle before `valid`.
//! - Nothing is taken from the cycle behind `hold` on. `write` puts the commit's row into the table, which takes two cycles: `written` is
//!   high in the second; only while `empty` and not `open`.
//! - All outputs but the four `ready` are registers, and `extent` that of the RAM.
//!
//! Latency: 2 cycles from taken to on show, 1 more if the turn was another's; one access every 3 cycles.
//!
//! Example: it is scatter's turn and scatter offers a write in cycle 0, which is taken: `valid`, `region` and `extent` stand from cycle 2 on, until
//! `next_access`.
//!
//! Tests: with the checker, `tests/protect`.

use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_spec::profile::REGION_LOG2;

use super::{Extent, Region, RegionTable};
use crate::bus::{Access, Commit};
use crate::prims::Successor;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Intake {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what it holds; the table stays.
    pub reset: Signal<In, bool>,
    /// An access of fetch: rings and descriptors.
    pub fetch: Sink<Access>,
    /// An access of gather: data segments of sends.
    pub gather: Sink<Access>,
    /// An access of scatter: data segments of receives.
    pub scatter: Sink<Access>,
    /// A write of `complete/writer`, or a read of `send/ack`, which share this port.
    pub complete: Sink<Access>,
    /// From the next cycle on no access is taken.
    pub hold: Signal<In, bool>,
    /// The commit's row is to be written into the region table.
    pub write: Signal<In, bool>,
    /// The row of REGION that is to be written.
    pub commit: Signal<In, Commit>,
    /// Both halves of the commit's row are written with this cycle.
    pub written: Signal<Out, bool>,
    /// An access is on show, and its region is looked up.
    pub valid: Signal<Out, bool>,
    /// The checker takes the access on show on.
    pub next_access: Signal<In, bool>,
    /// The read on show, which is not `sure`, goes back to its client.
    pub give_back: Signal<In, bool>,
    /// A read that is taken in this cycle will find its engine free.
    pub sure: Signal<In, bool>,
    /// A read waits for its engine: no other is taken.
    pub stuck: Signal<In, bool>,
    /// The client whose read is in the checker and not issued, one-hot.
    pub away: Signal<In, Bits<4>>,
    /// The client whose read is issued in this cycle, one-hot.
    pub issued: Signal<In, Bits<4>>,
    /// The client whose read, not `sure`, is on show, one-hot.
    pub owner: Signal<Out, Bits<4>>,
    /// The access on show.
    pub access: Signal<Out, Access>,
    /// The client of the access on show: see `bus::client`.
    pub client: Signal<Out, Bits<2>>,
    /// The region number of the access is a row of the table, and not 0.
    pub member: Signal<Out, bool>,
    /// First half of that row.
    pub region: Signal<Out, Region>,
    /// Second half of that row.
    pub extent: Signal<Out, Extent>,
    /// An access can be taken in this cycle.
    pub open: Signal<Out, bool>,
    /// No access is held.
    pub empty: Signal<Out, bool>,

    successor: Successor,
    rows: RegionTable,
    /// The client whose turn it is, one-hot.
    turn: DFF<Bits<4>>,
    /// An access can be taken.
    room: DFF<bool>,
    /// The row of the access is being read.
    reading: DFF<bool>,
    /// An access is on show.
    shown: DFF<bool>,
    /// The access that is held.
    held: DFF<Access>,
    /// The client of that access.
    held_client: DFF<Bits<2>>,
    /// The client on whose port that access stays until it is issued, one-hot.
    held_owner: DFF<Bits<4>>,
    /// `member`.
    held_member: DFF<bool>,
    /// The row, straight from the table: what a block RAM gives comes late in the cycle.
    held_region: DFF<Region>,
    /// The first half of the commit's row is written.
    half: DFF<bool>,

    /// Clients that may ask for a read.
    reads: Signal<Local, Bits<4>>,
    granted: Signal<Local, Bits<4>>,
    request: Signal<Local, Bits<4>>,
    mover: Signal<Local, Bits<4>>,
    asks: Signal<Local, bool>,
    take: Signal<Local, bool>,
    chosen: Signal<Local, Access>,
    whose: Signal<Local, Bits<2>>,
    number: Signal<Local, Bits<16>>,
    number_low: Signal<Local, Bits<REGION_LOG2>>,
    held_number: Signal<Local, Bits<16>>,
    held_low: Signal<Local, Bits<REGION_LOG2>>,
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            turn,
            room,
            reading,
            shown,
            held,
            held_client,
            held_owner,
            held_member,
            held_region,
            half
        );
        clock!(self, clock, rows);

        self.reads.next = !(self.away.val() | self.held_owner.q.val());
        if self.stuck.val() {
            self.reads.next = bits::<4>(0);
        }
        self.request.next = bits::<4>(0);
        if self.fetch.valid.val() & (self.fetch.data.val().write | self.reads.val().get_bit(0)) {
            self.request.next = self.request.val() | bits::<4>(1);
        }
        if self.gather.valid.val() & (self.gather.data.val().write | self.reads.val().get_bit(1)) {
            self.request.next = self.request.val() | bits::<4>(2);
        }
        if self.scatter.valid.val() & (self.scatter.data.val().write | self.reads.val().get_bit(2)) {
            self.request.next = self.request.val() | bits::<4>(4);
        }
        if self.complete.valid.val() & (self.complete.data.val().write | self.reads.val().get_bit(3)) {
            self.request.next = self.request.val() | bits::<4>(8);
        }
        self.asks.next = (self.request.val() & self.turn.q.val()).any();
        self.take.next = self.room.q.val() & self.asks.val();
        self.granted.next = bits::<4>(0);
        if self.room.q.val() {
            self.granted.next = self.turn.q.val();
        }
        self.fetch.ready.next = (self.granted.val().get_bit(0)
            & (self.fetch.data.val().write | self.sure.val()))
            | self.issued.val().get_bit(0);
        self.gather.ready.next = (self.granted.val().get_bit(1)
            & (self.gather.data.val().write | self.sure.val()))
            | self.issued.val().get_bit(1);
        self.scatter.ready.next = (self.granted.val().get_bit(2)
            & (self.scatter.data.val().write | self.sure.val()))
            | self.issued.val().get_bit(2);
        self.complete.ready.next =
            self.granted.val().get_bit(3) & (self.complete.data.val().write | self.sure.val());

        // The client whose turn is next.
        self.mover.next = bits::<4>(4);
        if (self.turn.q.val() & bits::<4>(3)).any() {
            self.mover.next = bits::<4>(2);
        }
        self.successor.turn.next = self.turn.q.val();
        self.successor.request.next = self.request.val();
        if self.take.val() | !self.asks.val() {
            if self.successor.valid.val() {
                self.turn.d.next = self.successor.grant.val();
            } else if self.take.val() {
                self.turn.d.next = self.mover.val();
            }
        }

        self.chosen.next = self.fetch.data.val();
        self.whose.next = bits::<2>(0);
        if self.turn.q.val().get_bit(1) {
            self.chosen.next = self.gather.data.val();
            self.whose.next = bits::<2>(1);
        }
        if self.turn.q.val().get_bit(2) {
            self.chosen.next = self.scatter.data.val();
            self.whose.next = bits::<2>(2);
        }
        if self.turn.q.val().get_bit(3) {
            self.chosen.next = self.complete.data.val();
            self.whose.next = bits::<2>(3);
        }

        self.number.next = self.chosen.val().region;
        self.number_low.next = bit_cast::<REGION_LOG2, 16>(self.number.val());
        // The first half of the next one, or the second half of the one that is held.
        self.held_number.next = self.held.q.val().region;
        self.held_low.next = bit_cast::<REGION_LOG2, 16>(self.held_number.val());
        self.rows.read_row.next = self.number_low.val();
        self.rows.read_rest.next = self.reading.q.val() | self.shown.q.val();
        if self.reading.q.val() | self.shown.q.val() {
            self.rows.read_row.next = self.held_low.val();
        }
        self.half.d.next = self.write.val() & !self.half.q.val();
        self.written.next = self.half.q.val();
        self.rows.write_enable.next = self.write.val();
        self.rows.write_rest.next = self.half.q.val();
        self.rows.write_row.next = self.commit.val().row;
        self.rows.word0.next = self.commit.val().word0;
        self.rows.word1.next = self.commit.val().word1;
        self.rows.word2.next = self.commit.val().word2;

        self.room.d.next = !self.hold.val()
            & !self.take.val()
            & !self.reading.q.val()
            & (!self.shown.q.val() | self.next_access.val() | self.give_back.val());
        if self.next_access.val() | self.give_back.val() {
            self.shown.d.next = false;
            self.held_owner.d.next = bits::<4>(0);
        }
        if self.reading.q.val() {
            self.shown.d.next = true;
            self.held_region.d.next = self.rows.region.val();
        }
        self.reading.d.next = self.take.val();
        // Whatever it is: if nobody asks, nobody looks at it.
        if self.room.q.val() {
            self.held.d.next = self.chosen.val();
            self.held_client.d.next = self.whose.val();
            self.held_owner.d.next = bits::<4>(0);
            if self.asks.val() & !self.chosen.val().write & !self.sure.val() {
                self.held_owner.d.next = self.turn.q.val();
            }
        }
        self.held_member.d.next = self.held_low.val().any()
            & (bit_cast::<16, REGION_LOG2>(self.held_low.val()) == self.held_number.val());

        self.valid.next = self.shown.q.val();
        self.access.next = self.held.q.val();
        self.client.next = self.held_client.q.val();
        self.owner.next = self.held_owner.q.val();
        self.member.next = self.held_member.q.val();
        self.region.next = self.held_region.q.val();
        self.extent.next = self.rows.extent.val();
        self.open.next = self.room.q.val();
        self.empty.next = !self.reading.q.val() & !self.shown.q.val();

        if self.reset.val() {
            self.turn.d.next = bits::<4>(1);
            self.room.d.next = false;
            self.reading.d.next = false;
            self.shown.d.next = false;
            self.half.d.next = false;
            self.held_owner.d.next = bits::<4>(0);
        }
    }
}
