//! Takes the rows of tables for the receive side, when nothing is under way there.
//!
//! ```text
//!  commit ──►┌─────────┐──► contexts
//!   quiet ──►│ Commits │──► ahead
//!            └─────────┘──► reads, hold
//! ```
//! Contract: a row of RECEIVE or WORK_QUEUE holds new work back (`hold`) and is taken when the receive side is `quiet` and each block that
//! keeps a part of it takes it in that cycle; until then it may be written again, which changes nothing. Rows of other tables are not
//! taken.
//!
//! Example: a RECEIVE row comes while a frame is delivered. `hold` is high from that cycle on; when the frame's context is saved, `quiet`
//! is high, `contexts` gets the row, and `commit.ready` ends it.
//!
//! Latency: 0 cycles, no state. Tests: with `Receive`, `tests/receive/path/lives.rs`.

use crate::bus::Commit;
use crate::prims::Number;
use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::table;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Commits {
    /// A table row on the bus, from `admin/broadcast`.
    pub commit: Sink<Commit>,
    /// No order is looked up, delivered, saved or closed; `Receive` drives it.
    pub quiet: Signal<In, bool>,
    /// A row waits, so nothing new may begin; `Lookup` listens.
    pub hold: Signal<Out, bool>,
    /// The row is written now, for `Contexts`.
    pub contexts: FlowSource<Commit>,
    /// The row, for `Ahead`, which looks for its table itself.
    pub ahead: Source<Commit>,
    /// A RECEIVE row, for `Reads`.
    pub reads: Source<Commit>,
    begins_connection: Signal<Local, bool>,
    wanted: Signal<Local, bool>,
    receive_table: Number<4, { table::RECEIVE as u64 }>,
    queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
}

impl Logic for Commits {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.begins_connection.next = self.commit.data.val().target == self.receive_table.val();
        self.wanted.next = self.commit.valid.val()
            & (self.begins_connection.val() | (self.commit.data.val().target == self.queue_table.val()));
        drive!(self, wanted => hold; commit.data => contexts.data, ahead.data, reads.data;
            commit.valid => ahead.valid);
        self.contexts.valid.next = self.wanted.val() & self.quiet.val();
        self.reads.valid.next = self.commit.valid.val() & self.begins_connection.val();
        self.commit.ready.next = self.wanted.val()
            & self.quiet.val()
            & self.ahead.ready.val()
            & (self.reads.ready.val() | !self.begins_connection.val());
    }
}
