//! Merges the core's TLPs and our own.
//!
//! ```text
//!   from_core ──►┌────────┐──► offered
//!         own ──►│ Outbox │──► busy
//!  active, parted►└────────┘
//! ```
//! Contract: TLPs leave whole, each source's in order. None begins before the link is `active`. Our own go first: they are far apart, so
//! the core's turn comes behind each. With `parted` none of the core's begins. A word of the core that belongs to no TLP (its first was
//! dropped by a reset) is taken and dropped; in reset all are.
//!
//! Latency: 1 cycle, our own 2; a word each cycle. `own.ready` is a register.
//!
//! Example: both offer a TLP in the same cycle: ours leaves whole, then the core's.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use crate::pcie::bus::TlpWord;
use crate::prims::Skid;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Outbox {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what it has begun.
    pub reset: Signal<In, bool>,
    /// TLPs of the core, over the crossing.
    pub from_core: Sink<TlpWord>,
    /// Our own TLPs, from `Completer`.
    pub own: Sink<TlpWord>,
    /// Packets may be sent; from the link.
    pub active: Signal<In, bool>,
    /// Nothing of the core's begins any more; from `Completer`.
    pub parted: Signal<In, bool>,
    /// All of them, to the link.
    pub offered: Source<TlpWord>,
    /// A TLP is under way; for `enter_l1` and `enter_l23`.
    pub busy: Signal<Out, bool>,
    skid: Skid<TlpWord>,
    /// Our own, on their way to the merge.
    own_skid: Skid<TlpWord>,
    /// A TLP has begun: the core's, or ours.
    core_begun: DFF<bool>,
    own_begun: DFF<bool>,
    takes_own: Signal<Local, bool>,
    takes_core: Signal<Local, bool>,
    free: Signal<Local, bool>,
    stray: Signal<Local, bool>,
}

impl Logic for Outbox {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, core_begun, own_begun);
        clock!(self, clock, skid, own_skid);
        drive!(self, reset => skid.reset, own_skid.reset);
        Sink::<TlpWord>::link(&mut self.own, &mut self.own_skid.sink);
        Source::<TlpWord>::link(&mut self.offered, &mut self.skid.source);
        self.free.next = !self.core_begun.q.val() & !self.own_begun.q.val() & self.active.val();
        self.takes_own.next = self.own_begun.q.val() | (self.free.val() & self.own_skid.source.valid.val());
        self.takes_core.next = self.core_begun.q.val()
            | (self.free.val()
                & !self.own_skid.source.valid.val()
                & !self.parted.val()
                & self.from_core.data.val().first);
        self.stray.next = self.reset.val()
            | (!self.core_begun.q.val() & self.from_core.valid.val() & !self.from_core.data.val().first);
        self.own_skid.source.ready.next = self.takes_own.val() & self.skid.sink.ready.val();
        self.from_core.ready.next = (self.takes_core.val() & self.skid.sink.ready.val()) | self.stray.val();
        self.skid.sink.valid.next = (self.takes_own.val() & self.own_skid.source.valid.val())
            | (self.takes_core.val() & self.from_core.valid.val());
        self.skid.sink.data.next = self.from_core.data.val();
        if self.takes_own.val() {
            self.skid.sink.data.next = self.own_skid.source.data.val();
        }
        if self.skid.sink.ready.val() {
            if self.takes_own.val() & self.own_skid.source.valid.val() {
                self.own_begun.d.next = !self.own_skid.source.data.val().last;
            }
            if self.takes_core.val() & self.from_core.valid.val() {
                self.core_begun.d.next = !self.from_core.data.val().last;
            }
        }
        self.busy.next = self.core_begun.q.val()
            | self.own_begun.q.val()
            | self.own_skid.source.valid.val()
            | self.skid.source.valid.val();
        if self.reset.val() {
            self.core_begun.d.next = false;
            self.own_begun.d.next = false;
        }
    }
}
