//! How far each VI is with its RDMA reads, and whether a message waits for one.
//!
//! ```text
//!                   vi ──►┌──────────────┐──► parked, moved
//!          parks, sent ──►│ ReadProgress │──► resuming
//!  ends, tells, clears ──►│              │◄── reads: VI, its reads done
//!     rewinds, resumes ──►└──────────────┘
//! ```
//! Contract: `parks`: a message that gather has dropped is to come again when another read than those of its `number` is complete
//! (`moved`). A rewind (`rewinds`) makes it come; with `resumes` it only goes on behind what was known (`resuming`). `ends`: a read is
//! complete; whoever asks by `reads` sees it once the VI `tells`. At most one of these in a cycle, all of `vi`.
//!
//! Latency: 0 to `resuming` and the row of `reads`, 1 to `parked` and `moved`.
//!
//! Example: two reads are complete when a message comes to wait: `parks`, and `number` is 2. When the third `ends`, `moved` is high in
//! the next cycle.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

use super::window::Parking;
use crate::bus::{Sent, Vi};
use crate::prims::LutRam;
use crate::stream::Table;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadProgress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI that all other inputs are about; [`Sends`](super::Sends) drives it and them.
    pub vi: Signal<In, Vi>,
    /// A message of the VI waits for a read.
    pub parks: Signal<In, bool>,
    /// With `parks`: the message; its `number` is how many reads were complete when it came to wait.
    pub sent: Signal<In, Sent>,
    /// A read of the VI is complete.
    pub ends: Signal<In, bool>,
    /// From now on `reads` shows the reads that are complete.
    pub tells: Signal<In, bool>,
    /// A rewind of the VI begins.
    pub rewinds: Signal<In, bool>,
    /// With `rewinds`: the rewind only goes on behind what was known.
    pub resumes: Signal<In, bool>,
    /// A new connection of the VI begins: nothing is complete, and nothing waits.
    pub clears: Signal<In, bool>,
    /// A message of the VI waits for a read.
    pub parked: Signal<Out, bool>,
    /// A message of the VI waits, and a read has become complete since.
    pub moved: Signal<Out, bool>,
    /// The rewind under way, or the last one, only goes on behind what was known.
    pub resuming: Signal<Out, bool>,
    /// For a VI: how many of its reads are complete, modulo 8; send/gather asks.
    pub reads: Table<Vi, Bits<3>>,
    /// The reads of each VI.
    parkings: LutRam<Parking, VI_LOG2>,
    /// The number of complete reads that `reads` shows for each VI.
    completed_reads: LutRam<Bits<3>, VI_LOG2>,
    /// The reads of `vi`.
    row: Signal<Local, Parking>,
    /// The reads of `vi` as they were in the cycle before.
    known: DFF<Parking>,
}

impl Logic for ReadProgress {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, known);
        clock!(self, clock, parkings, completed_reads);
        drive!(self, vi => parkings.read_address; parkings.read_data => row; known.q.val().parked => parked;
            row.val().resuming => resuming);
        self.known.d.next = self.row.val();
        self.moved.next = self.known.q.val().done != self.known.q.val().seen;

        self.parkings.write_address.next = self.vi.val();
        self.parkings.write_enable.next =
            self.parks.val() | self.ends.val() | self.rewinds.val() | self.clears.val();
        self.parkings.write_data.next = self.row.val();
        if self.parks.val() {
            self.parkings.write_data.next.parked = true;
            self.parkings.write_data.next.seen = self.sent.val().number;
        }
        if self.ends.val() {
            self.parkings.write_data.next.done = self.row.val().done + 1;
        }
        if self.rewinds.val() | self.clears.val() {
            self.parkings.write_data.next.parked = false;
            self.parkings.write_data.next.resuming = self.resumes.val();
        }
        if self.clears.val() {
            self.parkings.write_data.next.done = bits::<3>(0);
        }

        drive!(self, reads.index => completed_reads.read_address; completed_reads.read_data => reads.row;
            vi => completed_reads.write_address);
        self.completed_reads.write_enable.next = self.tells.val() | self.clears.val();
        self.completed_reads.write_data.next = self.row.val().done;
        if self.clears.val() {
            self.completed_reads.write_data.next = bits::<3>(0);
        }
    }
}
