//! Finds the PHY on the management bus and asks it for its link.
//!
//! ```text
//! reset ──►┌────────┐──► command_valid, address, phy_register  (to Mdio)
//!          │ Finder │◄── command_ready, done, value, answered  (from Mdio)
//!          └────────┘──► found, link
//! ```
//! Contract: reads register 2 (identifier) of one address after the other, without end, until one answers with something that an open line
//! does not say; then `found` is high and `address` is where. From then on it reads register 1, whose bit 2 is `link`; no answer begins
//! the search anew.
//!
//! Latency: 34 us a read.
//!
//! Example: the PHY is at address 3: reads of addresses 0, 1 and 2 find nothing; the fourth does, and `found` is high from then on.
//!
//! Tests: `tests/mac/echo.rs`, with a PHY at some address.

use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Finder {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Begins anew.
    pub reset: Signal<In, bool>,
    /// A read is offered to `Mdio`.
    pub command_valid: Signal<Out, bool>,
    /// `Mdio` takes the read.
    pub command_ready: Signal<In, bool>,
    /// The PHY's address that is read.
    pub address: Signal<Out, Bits<5>>,
    /// The register that is read.
    pub phy_register: Signal<Out, Bits<5>>,
    /// `Mdio` has ended the read.
    pub done: Signal<In, bool>,
    /// The value that `Mdio` has read.
    pub value: Signal<In, Bits<16>>,
    /// A PHY has answered the read.
    pub answered: Signal<In, bool>,
    /// A PHY was found at `address`.
    pub found: Signal<Out, bool>,
    /// That PHY has a link.
    pub link: Signal<Out, bool>,
    /// `address`.
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
}

impl Logic for Finder {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, here, linked, waiting);
        self.command_valid.next = !self.waiting.q.val() & !self.reset.val();
        self.address.next = self.at.q.val();
        self.phy_register.next = self.identifier.val();
        if self.here.q.val() {
            self.phy_register.next = self.status.val();
        }
        self.found.next = self.here.q.val();
        self.link.next = self.linked.q.val();
        if self.command_ready.val() {
            self.waiting.d.next = true;
        }
        if self.done.val() {
            self.waiting.d.next = false;
            if self.here.q.val() {
                self.here.d.next = self.answered.val();
                self.linked.d.next = self.answered.val() & self.value.val().get_bit(2);
            } else if self.answered.val() & (self.value.val() != self.nothing.val()) {
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
