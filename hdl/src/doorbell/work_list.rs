//! Keeps the VIs whose queues of one direction have work. Each waits here at most once for its turn in fetch.
//!
//! ```text
//!       posting ──►┌──────────┐
//! counts, store ──►│ WorkList │──► first
//!         fetch ──►│          │──► busy
//!          room ──►└──────────┘
//! ```
//! Contract: a VI is queued by a store, by fetch, or by the block that has made room. Of those that come in one cycle the first in this
//! order is queued; the others wait. In a cycle with `posting` the others wait in any case, and the VI of the store is queued if the
//! store `counts`. `first` gives the VI that has waited longest. A VI is in the list at most once, not counting the one on show at
//! `first`.
//!
//! Latency: 2 cycles from a store to `first`. A VI can be taken every other cycle.
//!
//! Example: a store queues VI 3 while fetch has VI 5 to queue again. VI 3 goes in first, and VI 5 in the next cycle; `first` shows 3,
//! then 5.
//!
//! Tests: `tests/queues/work_list.rs`.

use crate::bus::Vi;
use crate::prims::RunQueue;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct WorkList {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the list, which takes a cycle for each VI.
    pub reset: Signal<In, bool>,
    /// There is a store to a queue of this direction; [`Doorbell`](super::Doorbell) drives this and the next two.
    pub posting: Signal<In, bool>,
    /// With `posting`: the store counts, since its queue is open. That is known late in the cycle.
    pub counts: Signal<In, bool>,
    /// With `posting`: the VI that has been posted to.
    pub store: Signal<In, Vi>,
    /// A VI whose queue has more work than fetch could do in its turn, from fetch.
    pub fetch: Sink<Vi>,
    /// A VI for whose descriptors there is room again, from complete/sends or receive.
    pub room: Sink<Vi>,
    /// The VI that has had work for longest, to fetch.
    pub first: Source<Vi>,
    /// A VI has work, or the list is being cleared.
    pub busy: Signal<Out, bool>,
    queue: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    /// `head` is on show.
    shown: DFF<bool>,
    /// The VI on show at `first`: in a register, because whoever takes it decides late in the cycle.
    head: DFF<Vi>,
}

impl Logic for WorkList {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown, head);
        clock!(self, clock, queue);
        drive!(self, reset => queue.reset; false => queue.push.valid, fetch.ready, room.ready;
            room.data => queue.push.data);
        if self.posting.val() {
            self.queue.push.valid.next = self.counts.val();
            self.queue.push.data.next = self.store.val();
        } else if !self.queue.busy.val() {
            self.fetch.ready.next = true;
            if self.fetch.valid.val() {
                self.queue.push.valid.next = true;
                self.queue.push.data.next = self.fetch.data.val();
            } else {
                self.queue.push.valid.next = self.room.valid.val();
                self.room.ready.next = true;
            }
        }
        // While a VI is on show here, it may be queued again.
        self.queue.pop.ready.next = !self.shown.q.val();
        if !self.shown.q.val() {
            self.shown.d.next = self.queue.pop.valid.val();
            self.head.d.next = self.queue.pop.data.val();
        } else if self.first.ready.val() {
            self.shown.d.next = false;
        }
        drive!(self, shown.q => first.valid; head.q => first.data);
        self.busy.next = self.queue.held.val() | self.shown.q.val() | self.queue.busy.val();
        if self.reset.val() {
            self.shown.d.next = false;
        }
    }
}
