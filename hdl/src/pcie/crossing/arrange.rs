//! Gives the host's packets to the core: posted ones and completions at once, non-posted ones when the core takes them.
//!
//! ```text
//!     beats ──►┌─────────┐──► core
//!  np_ready ──►│ Arrange │──► read_freed
//!      down ──►└─────────┘
//! ```
//! Contract: packets leave whole. Posted packets and completions keep their order, and so do non-posted ones; a non-posted packet leaves
//! behind every packet that came before it, and others may pass it. At most 8 of two beats wait: that is what the endpoint grants. While
//! `down` is high all that comes is dropped, and all that waits.
//!
//! Non-posted packets of the core's are reads: two beats. The block rests for four cycles behind one, so that `np_ready` has heard of it.
//!
//! Latency: 1 cycle; for a non-posted packet 2, if nothing is in its way. Throughput: one beat every cycle.
//!
//! Example: a read comes while `np_ready` is low, and then a write: the write leaves. When `np_ready` rises the read leaves, and
//! `read_freed` pulses.
//!
//! Tests: `tests/pcie/crossing/`.

use super::HostBeat;
use crate::prims::Fifo;
use crate::stream::{FlowSource, Pulse, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Arrange {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The link is down, from the `Synchronizer` behind `core_reset`.
    pub down: Signal<In, bool>,
    /// The host's packets, from `Widen` through an `AsyncFifo`.
    pub beats: Sink<HostBeat>,
    /// The core may be given a non-posted packet; from the core.
    pub np_ready: Signal<In, bool>,
    /// The packets, for the core.
    pub core: FlowSource<HostBeat>,
    /// A non-posted packet has left.
    pub read_freed: Pulse,
    waiting: Fifo<HostBeat, 4, 5>,
    /// A packet that does not wait is under way.
    passes: DFF<bool>,
    /// A packet out of `waiting` is under way.
    serves: DFF<bool>,
    rest: DFF<Bits<3>>,
    shown: DFF<HostBeat>,
    shows: DFF<bool>,
    freed: DFF<bool>,
    beat: Signal<Local, HostBeat>,
    oldest: Signal<Local, HostBeat>,
    /// A beat that does not wait is there.
    direct: Signal<Local, bool>,
    /// A beat leaves `waiting`.
    served: Signal<Local, bool>,
}

impl Logic for Arrange {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, passes, serves, rest, shown, shows, freed);
        clock!(self, clock, waiting);
        drive!(self, beats.data => beat, waiting.sink.data; waiting.source.data => oldest; shows.q => core.valid;
            shown.q => core.data; freed.q => read_freed; down => waiting.reset);
        self.direct.next = self.beats.valid.val() & !self.beat.val().non_posted & !self.serves.q.val();
        self.waiting.sink.valid.next = self.beats.valid.val() & self.beat.val().non_posted & !self.down.val();
        self.beats.ready.next = self.beat.val().non_posted | !self.serves.q.val() | self.down.val();
        self.served.next = self.waiting.source.valid.val()
            & (self.serves.q.val()
                | (self.np_ready.val()
                    & !self.rest.q.val().any()
                    & !self.passes.q.val()
                    & !self.direct.val()));
        self.waiting.source.ready.next = self.served.val();

        self.shows.d.next = self.direct.val() | self.served.val();
        self.shown.d.next = self.beat.val();
        if self.rest.q.val().any() {
            self.rest.d.next = self.rest.q.val() - 1;
        }
        self.freed.d.next = false;
        if self.direct.val() {
            self.passes.d.next = !self.beat.val().last;
        }
        if self.served.val() {
            self.shown.d.next = self.oldest.val();
            self.serves.d.next = !self.oldest.val().last;
            self.freed.d.next = self.oldest.val().last;
            self.rest.d.next = bits::<3>(4);
        }
        if self.down.val() {
            self.passes.d.next = false;
            self.serves.d.next = false;
            self.shows.d.next = false;
            self.freed.d.next = false;
        }
    }
}
