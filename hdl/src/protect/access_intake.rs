//! Takes the clients' accesses one at a time and looks their regions up.
//!
//! ```text
//!    fetch ──►┌──────────────┐
//!   gather ──►│              │──► valid, access, client, member, region
//!  scatter ──►│ AccessIntake │◄── next_access
//! complete ──►│              │──► empty
//!     hold ──►│              │◄── give_back
//!   commit ──►└──────────────┘◄── sure, stuck, write_room, away, issued
//! ```
//! Contract:
//! - Registers say whose turn it is and whether there is room, so that no client's path goes through another's, nor through what becomes
//!   of the access before. The block takes the access of the client that has the turn when there is room. After that access, or if that
//!   client asks for nothing, the turn goes round robin to another client that asks. If none does, it goes to the mover of data on the
//!   same side: gather after fetch, scatter after complete.
//! - With `ready` an access leaves its client's port. A write gets `ready` when it is taken, and so does a read that is `sure` to find its
//!   engine free. Any other read stays on its client's port until it is `issued`: meanwhile it is on show here (`owner`) or `away` in
//!   `Protect`. Either may give it back, this block by `give_back`; then it is taken anew in its client's turn. So a read that has to
//!   wait does so on its client's port, and holds up no other client. With `stuck` no read is taken, and without `write_room` no write.
//! - What is on show holds still until `next_access`; `region` and `extent` are the halves of the row of the access's region, if
//!   `member` (the number is a row of the table, and not 0). `access` is there a cycle before `valid`.
//! - From the cycle after `hold` on nothing is taken. `write` comes only while `empty` and not `open`. It puts the commit's row into the
//!   table, which takes two cycles: `written` is high in the second.
//! - All outputs but the four `ready` are registers; `extent` is the output register of the RAM.
//!
//! Latency: 2 cycles from taken to on show, 1 more if another client had the turn; one access every 3 cycles.
//!
//! Example: it is scatter's turn and scatter offers a write in cycle 0, which is taken: `valid`, `region` and `extent` stand from cycle 2
//! on, until `next_access`.
//!
//! Tests: with `Protect`, `tests/protect/`.

use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

use super::{Region, RegionExtent, RegionTable};
use crate::bus::{client, Access, ByClient, Commit};
use crate::prims::{Cast, Number, Successor};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AccessIntake {
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
    /// From the next cycle on no access is taken. `Protect` drives this and the inputs below.
    pub hold: Signal<In, bool>,
    /// The commit's row is to be written into the region table.
    pub write: Signal<In, bool>,
    /// The row of REGION that is to be written.
    pub commit: Signal<In, Commit>,
    /// Both halves of the commit's row are written with this cycle; `Protect` listens to this and the outputs below.
    pub written: Signal<Out, bool>,
    /// An access is on show, and its region is looked up; `Range` checks it.
    pub valid: Signal<Out, bool>,
    /// `Protect` goes on with the access on show, and takes it from here.
    pub next_access: Signal<In, bool>,
    /// The read on show, which is not `sure`, goes back to its client.
    pub give_back: Signal<In, bool>,
    /// A read that is taken in this cycle will find its engine free.
    pub sure: Signal<In, bool>,
    /// A read waits for its engine: no other is taken.
    pub stuck: Signal<In, bool>,
    /// The commands of a write find a place before the write engine: without it no write is taken.
    pub write_room: Signal<In, bool>,
    /// The client whose read is in `Protect` and not issued, one bit high.
    pub away: Signal<In, ByClient>,
    /// The client whose read is issued in this cycle, one bit high.
    pub issued: Signal<In, ByClient>,
    /// The client whose read, not `sure`, is on show, one bit high.
    pub owner: Signal<Out, ByClient>,
    /// The access on show.
    pub access: Signal<Out, Access>,
    /// The client of the access on show: see `bus::client`.
    pub client: Signal<Out, Bits<2>>,
    /// The region number of the access is a row of the table, and not 0.
    pub member: Signal<Out, bool>,
    /// First half of the row of the access's region.
    pub region: Signal<Out, Region>,
    /// Second half of the row of the access's region.
    pub extent: Signal<Out, RegionExtent>,
    /// An access can be taken in this cycle.
    pub open: Signal<Out, bool>,
    /// No access is held.
    pub empty: Signal<Out, bool>,

    successor: Successor,
    rows: RegionTable,
    /// The client whose turn it is, one bit high.
    turn: DFF<ByClient>,
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
    /// The client on whose port that access stays until it is issued, one bit high.
    held_owner: DFF<ByClient>,
    /// `member`.
    held_member: DFF<bool>,
    /// The row, straight from the table: what a block RAM gives comes late in the cycle.
    held_region: DFF<Region>,
    /// The first half of the commit's row is written.
    half: DFF<bool>,

    /// Clients that may ask for a read.
    reads: Signal<Local, ByClient>,
    /// Clients whose access leaves its port when it is taken.
    leaves: Signal<Local, ByClient>,
    granted: Signal<Local, ByClient>,
    request: Signal<Local, ByClient>,
    turn_bits: Cast<ByClient, Bits<4>>,
    request_bits: Cast<ByClient, Bits<4>>,
    grant: Cast<Bits<4>, ByClient>,
    asks: Signal<Local, bool>,
    take: Signal<Local, bool>,
    chosen: Signal<Local, Access>,
    whose: Signal<Local, Bits<2>>,
    number: Signal<Local, Bits<16>>,
    number_low: Signal<Local, Bits<REGION_LOG2>>,
    held_number: Signal<Local, Bits<16>>,
    held_low: Signal<Local, Bits<REGION_LOG2>>,
    fetch_client: Number<2, { client::FETCH }>,
    gather_client: Number<2, { client::GATHER }>,
    scatter_client: Number<2, { client::SCATTER }>,
    complete_client: Number<2, { client::COMPLETE }>,
}

impl Logic for AccessIntake {
    #[wires]
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

        self.reads.next.fetch = !(self.stuck.val() | self.away.val().fetch | self.held_owner.q.val().fetch);
        self.reads.next.gather =
            !(self.stuck.val() | self.away.val().gather | self.held_owner.q.val().gather);
        self.reads.next.scatter =
            !(self.stuck.val() | self.away.val().scatter | self.held_owner.q.val().scatter);
        self.reads.next.complete =
            !(self.stuck.val() | self.away.val().complete | self.held_owner.q.val().complete);
        self.request.next.fetch = self.fetch.valid.val() & self.reads.val().fetch;
        self.leaves.next.fetch = self.sure.val();
        if self.fetch.data.val().write {
            self.request.next.fetch = self.fetch.valid.val() & self.write_room.val();
            self.leaves.next.fetch = self.write_room.val();
        }
        self.request.next.gather = self.gather.valid.val() & self.reads.val().gather;
        self.leaves.next.gather = self.sure.val();
        if self.gather.data.val().write {
            self.request.next.gather = self.gather.valid.val() & self.write_room.val();
            self.leaves.next.gather = self.write_room.val();
        }
        self.request.next.scatter = self.scatter.valid.val() & self.reads.val().scatter;
        self.leaves.next.scatter = self.sure.val();
        if self.scatter.data.val().write {
            self.request.next.scatter = self.scatter.valid.val() & self.write_room.val();
            self.leaves.next.scatter = self.write_room.val();
        }
        self.request.next.complete = self.complete.valid.val() & self.reads.val().complete;
        self.leaves.next.complete = self.sure.val();
        if self.complete.data.val().write {
            self.request.next.complete = self.complete.valid.val() & self.write_room.val();
            self.leaves.next.complete = self.write_room.val();
        }
        self.asks.next = (self.request.val().fetch & self.turn.q.val().fetch)
            | (self.request.val().gather & self.turn.q.val().gather)
            | (self.request.val().scatter & self.turn.q.val().scatter)
            | (self.request.val().complete & self.turn.q.val().complete);
        self.take.next = self.room.q.val() & self.asks.val();
        self.granted.next.fetch = self.room.q.val() & self.turn.q.val().fetch;
        self.granted.next.gather = self.room.q.val() & self.turn.q.val().gather;
        self.granted.next.scatter = self.room.q.val() & self.turn.q.val().scatter;
        self.granted.next.complete = self.room.q.val() & self.turn.q.val().complete;
        self.fetch.ready.next =
            (self.granted.val().fetch & self.leaves.val().fetch) | self.issued.val().fetch;
        self.gather.ready.next =
            (self.granted.val().gather & self.leaves.val().gather) | self.issued.val().gather;
        self.scatter.ready.next =
            (self.granted.val().scatter & self.leaves.val().scatter) | self.issued.val().scatter;
        self.complete.ready.next = self.granted.val().complete & self.leaves.val().complete;

        // The client whose turn is next.
        drive!(self, turn.q => turn_bits.from; request => request_bits.from; turn_bits.to => successor.turn;
            request_bits.to => successor.request; successor.grant => grant.from);
        if self.take.val() | !self.asks.val() {
            if self.successor.valid.val() {
                self.turn.d.next = self.grant.to.val();
            } else if self.take.val() {
                self.turn.d.next.fetch = false;
                self.turn.d.next.gather = self.turn.q.val().fetch | self.turn.q.val().gather;
                self.turn.d.next.scatter = !(self.turn.q.val().fetch | self.turn.q.val().gather);
                self.turn.d.next.complete = false;
            }
        }

        self.chosen.next = self.fetch.data.val();
        self.whose.next = self.fetch_client.val();
        if self.turn.q.val().gather {
            self.chosen.next = self.gather.data.val();
            self.whose.next = self.gather_client.val();
        }
        if self.turn.q.val().scatter {
            self.chosen.next = self.scatter.data.val();
            self.whose.next = self.scatter_client.val();
        }
        if self.turn.q.val().complete {
            self.chosen.next = self.complete.data.val();
            self.whose.next = self.complete_client.val();
        }

        self.number.next = self.chosen.val().region;
        self.number_low.next = bit_cast::<REGION_LOG2, 16>(self.number.val());
        // The table is read for the first half of the next access's row, or for the second half of the held access's row.
        drive!(self, held.q.val().region => held_number; half.q => written, rows.write_rest;
            write => rows.write_enable; commit => rows.commit);
        self.held_low.next = bit_cast::<REGION_LOG2, 16>(self.held_number.val());
        self.rows.read_row.next = self.number_low.val();
        self.rows.read_rest.next = self.reading.q.val() | self.shown.q.val();
        if self.reading.q.val() | self.shown.q.val() {
            self.rows.read_row.next = self.held_low.val();
        }
        self.half.d.next = self.write.val() & !self.half.q.val();

        self.room.d.next = !self.hold.val()
            & !self.take.val()
            & !self.reading.q.val()
            & (!self.shown.q.val() | self.next_access.val() | self.give_back.val());
        if self.next_access.val() | self.give_back.val() {
            self.shown.d.next = false;
            self.held_owner.d.next.fetch = false;
            self.held_owner.d.next.gather = false;
            self.held_owner.d.next.scatter = false;
            self.held_owner.d.next.complete = false;
        }
        if self.reading.q.val() {
            self.shown.d.next = true;
            self.held_region.d.next = self.rows.region.val();
        }
        self.reading.d.next = self.take.val();
        // `held` follows the port even if no client asks: then nothing looks at it.
        if self.room.q.val() {
            self.held.d.next = self.chosen.val();
            self.held_client.d.next = self.whose.val();
            self.held_owner.d.next.fetch = false;
            self.held_owner.d.next.gather = false;
            self.held_owner.d.next.scatter = false;
            self.held_owner.d.next.complete = false;
            if self.asks.val() & !self.chosen.val().write & !self.sure.val() {
                self.held_owner.d.next = self.turn.q.val();
            }
        }
        self.held_member.d.next = self.held_low.val().any()
            & (bit_cast::<16, REGION_LOG2>(self.held_low.val()) == self.held_number.val());

        drive!(self, shown.q => valid; held.q => access; held_client.q => client; held_owner.q => owner;
            held_member.q => member; held_region.q => region; rows.extent => extent; room.q => open);
        self.empty.next = !self.reading.q.val() & !self.shown.q.val();

        if self.reset.val() {
            self.turn.d.next.fetch = true;
            self.turn.d.next.gather = false;
            self.turn.d.next.scatter = false;
            self.turn.d.next.complete = false;
            self.room.d.next = false;
            self.reading.d.next = false;
            self.shown.d.next = false;
            self.half.d.next = false;
            self.held_owner.d.next.fetch = false;
            self.held_owner.d.next.gather = false;
            self.held_owner.d.next.scatter = false;
            self.held_owner.d.next.complete = false;
        }
    }
}
