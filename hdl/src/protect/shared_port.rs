//! One input of the intake for two clients: one that writes, and one that reads.
//!
//! ```text
//!   writes ──►┌────────────┐──► access
//!    reads ──►│ SharedPort │
//!   issued ──►└────────────┘
//! ```
//! Contract: a write goes first, and moves when the intake takes it. A read moves when the intake takes it, or when it is `issued`: the
//! protection check may look a read up, leave it on the input, and issue it when a write stands there.
//!
//! Latency: none; logic alone.
//!
//! Example: `reads` offers an access in cycle 0, and it is looked up, but the read engine is busy. In cycle 2 `writes` offers an access,
//! and `access` shows that one. In cycle 6 `issued` is high: the read moves, and the write stays.
//!
//! Tests: `tests/protect/shared_port.rs`, and with `Protect`, whose traffic has both clients.

use crate::bus::Access;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SharedPort {
    /// A write, from `complete/writer`.
    pub writes: Sink<Access>,
    /// A read, from `send/ack`.
    pub reads: Sink<Access>,
    /// The access on show, to [`AccessIntake`](super::AccessIntake).
    pub access: Source<Access>,
    /// The read that was looked up and left here is issued now; [`Protect`](super::Protect) drives this.
    pub issued: Signal<In, bool>,
}

impl Logic for SharedPort {
    #[hdl_gen]
    fn update(&mut self) {
        self.access.valid.next = self.writes.valid.val() | self.reads.valid.val();
        self.access.data.next = self.reads.data.val();
        if self.writes.valid.val() {
            self.access.data.next = self.writes.data.val();
        }
        self.writes.ready.next = self.access.ready.val();
        self.reads.ready.next = (self.access.ready.val() & !self.writes.valid.val()) | self.issued.val();
    }
}
