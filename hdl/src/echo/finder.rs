//! Finds the PHY on the management bus and asks it for its link.
//!
//! ```text
//! reset ──►┌────────┐──► command  (to Mdio)
//!          │ Finder │◄── done     (from Mdio)
//!          └────────┘──► found, link
//! ```
//! Contract: the block reads register 2 (identifier) of one address after the other, without end, until a PHY answers with a value that an
//! open line does not give; then `found` is high. From then on the block reads register 1, whose bit 2 is `link`. If no answer comes, the
//! search begins anew.
//!
//! Latency: 34 us a read.
//!
//! Example: the PHY is at address 3: reads of addresses 0, 1 and 2 find nothing; the fourth read does, and `found` is high from then on.
//!
//! Tests: `tests/mac/echo.rs`, with a PHY at some address.

use crate::mac::{MdioCommand, MdioResult};
use crate::prims::Number;
use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Finder {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Begins anew.
    pub reset: Signal<In, bool>,
    /// The next read, for `Mdio`.
    pub command: Source<MdioCommand>,
    /// What came of the read, from `Mdio`.
    pub done: FlowSink<MdioResult>,
    /// A PHY was found; `Echo` shows it in `lights`, and `link` too.
    pub found: Signal<Out, bool>,
    /// The PHY that was found has a link.
    pub link: Signal<Out, bool>,
    /// The address that is read.
    at: DFF<Bits<5>>,
    /// `found`.
    here: DFF<bool>,
    /// `link`.
    linked: DFF<bool>,
    /// A read is under way.
    waiting: DFF<bool>,
    identifier: Number<5, 2>,
    status: Number<5, 1>,
    nothing: Number<16, 0xffff>,
    /// The bit of the status register that says that there is a link.
    link_bit: Number<16, 4>,
    linked_now: Signal<Local, bool>,
}

impl Logic for Finder {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, here, linked, waiting);
        self.command.valid.next = !self.waiting.q.val() & !self.reset.val();
        self.command.data.next.write = false;
        self.command.data.next.data = bits::<16>(0);
        self.command.data.next.phy = self.at.q.val();
        self.command.data.next.number = self.identifier.val();
        if self.here.q.val() {
            self.command.data.next.number = self.status.val();
        }
        drive!(self, here.q => found; linked.q => link);
        if self.command.ready.val() {
            self.waiting.d.next = true;
        }
        self.linked_now.next = (self.done.data.val().value & self.link_bit.val()).any();
        if self.done.valid.val() {
            self.waiting.d.next = false;
            if self.here.q.val() {
                self.here.d.next = self.done.data.val().answered;
                self.linked.d.next = self.done.data.val().answered & self.linked_now.val();
            } else if self.done.data.val().answered & (self.done.data.val().value != self.nothing.val()) {
                self.here.d.next = true;
            } else {
                self.at.d.next = self.at.q.val() + 1;
            }
        }
        if self.reset.val() {
            self.at.d.next = bits::<5>(0);
            self.here.d.next = false;
            self.linked.d.next = false;
            self.waiting.d.next = false;
        }
    }
}
