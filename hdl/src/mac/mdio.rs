//! The management interface of a PHY: reads and writes its registers (802.3 clause 22).
//!
//! ```text
//!  command, phy_register  ──►┌──────┐──► mdc, mdio_out, mdio_enable
//!             write, data ──►│ Mdio │◄── mdio_in
//!       done, value ◄────────└──────┘
//! ```
//! Contract: a command is taken when `command_valid` and `command_ready` are high; its inputs are not looked at later. `done` is high for one
//! cycle when it is over; then `value` is what was read and `answered` says that a PHY pulled its turn-around bit low.
//! `mdc` is the clock divided by 64 (1.95 MHz of 125 MHz; the standard allows 2.5) and runs during a command only; `mdio_out` changes at
//! its falling edge, `mdio_in` is taken at its rising edge.
//!
//! Latency: 65 periods of `mdc`.
//!
//! Tests: `tests/mac/mdio.rs`, against a PHY written from the standard.

use super::Synchronizer;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Mdio {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Ends the command under way.
    pub reset: Signal<In, bool>,
    /// A command is offered.
    pub command_valid: Signal<In, bool>,
    /// It is taken.
    pub command_ready: Signal<Out, bool>,
    /// Write, or read.
    pub write: Signal<In, bool>,
    /// The PHY's address.
    pub phy: Signal<In, Bits<5>>,
    /// The register.
    pub phy_register: Signal<In, Bits<5>>,
    /// What to write.
    pub data: Signal<In, Bits<16>>,
    /// The command is over.
    pub done: Signal<Out, bool>,
    /// What was read.
    pub value: Signal<Out, Bits<16>>,
    /// A PHY has answered the read.
    pub answered: Signal<Out, bool>,
    /// Clock to the PHY.
    pub mdc: Signal<Out, bool>,
    /// Data to the PHY.
    pub mdio_out: Signal<Out, bool>,
    /// Drive it.
    pub mdio_enable: Signal<Out, bool>,
    /// Data from the PHY.
    pub mdio_in: Signal<In, bool>,
    crossing: Synchronizer,
    /// Bits left, the preamble's 32 among them; 0: idle.
    left: DFF<Bits<7>>,
    divider: DFF<Bits<6>>,
    /// What goes out, bit 31 first.
    out: DFF<Bits<32>>,
    sample: DFF<Bits<16>>,
    reading: DFF<bool>,
    turned: DFF<bool>,
    line: DFF<bool>,
    drive: DFF<bool>,
    pulse: DFF<bool>,
    /// Start, operation, address and register as they go out.
    head: Signal<Local, Bits<14>>,
    busy: Signal<Local, bool>,
    rising: Signal<Local, bool>,
    falling: Signal<Local, bool>,
    /// Start 01, operation 10, and ten zeros.
    start_read: Number<14, 0x1800>,
    /// Operation 01.
    start_write: Number<14, 0x1400>,
    turn_around: Number<32, 0x2_0000>,
}

impl Logic for Mdio {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, divider, out, sample, reading, turned, line, drive, pulse);
        clock!(self, clock, crossing);
        self.crossing.in_data.next = self.mdio_in.val();
        self.busy.next = self.left.q.val().any();
        self.command_ready.next = !self.busy.val() & !self.pulse.q.val();
        self.done.next = self.pulse.q.val();
        self.value.next = self.sample.q.val();
        self.answered.next = self.turned.q.val();
        self.mdc.next = self.divider.q.val().get_bit(5);
        self.mdio_out.next = self.line.q.val();
        self.mdio_enable.next = self.drive.q.val();

        self.head.next = self.start_read.val();
        if self.write.val() {
            self.head.next = self.start_write.val();
        }
        // A bit begins with the low half of its clock.
        self.rising.next = self.busy.val() & (self.divider.q.val() == bits::<6>(31));
        self.falling.next = self.busy.val() & (self.divider.q.val() == bits::<6>(63));
        self.pulse.d.next = false;
        if self.busy.val() {
            self.divider.d.next = self.divider.q.val() + 1;
        }
        if self.rising.val() {
            self.sample.d.next = self.sample.q.val() << 1;
            if self.crossing.out_data.val() {
                self.sample.d.next = (self.sample.q.val() << 1) | bits::<16>(1);
            }
            if self.left.q.val() == bits::<7>(17) {
                self.turned.d.next = !self.crossing.out_data.val();
            }
        }
        if self.falling.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.line.d.next = true;
            // 33 bits are left before the frame's first.
            if self.left.q.val() < bits::<7>(34) {
                self.line.d.next = self.out.q.val().get_bit(31);
                self.out.d.next = self.out.q.val() << 1;
            }
            if self.reading.q.val() & (self.left.q.val() == bits::<7>(19)) {
                self.drive.d.next = false;
            }
            if self.left.q.val() == bits::<7>(1) {
                self.drive.d.next = false;
                self.pulse.d.next = true;
            }
        }
        if self.command_valid.val() & !self.busy.val() & !self.pulse.q.val() {
            self.left.d.next = bits::<7>(64);
            self.divider.d.next = bits::<6>(0);
            self.line.d.next = true;
            self.drive.d.next = true;
            self.turned.d.next = false;
            self.reading.d.next = !self.write.val();
            self.out.d.next = (bit_cast::<32, 14>(self.head.val()) << 18)
                | (bit_cast::<32, 5>(self.phy.val()) << 23)
                | (bit_cast::<32, 5>(self.phy_register.val()) << 18)
                | self.turn_around.val()
                | bit_cast::<32, 16>(self.data.val());
        }
        if self.reset.val() {
            self.left.d.next = bits::<7>(0);
            self.divider.d.next = bits::<6>(0);
            self.drive.d.next = false;
            self.pulse.d.next = false;
        }
    }
}
