//! The management interface of a PHY: reads and writes its registers (802.3 clause 22).
//!
//! ```text
//!    command_valid, write ──►┌──────┐──► command_ready
//! phy, phy_register, data ──►│ Mdio │──► done, value, answered
//!                 mdio_in ──►└──────┘──► mdc, mdio_out, mdio_enable
//! ```
//! Contract: a command is taken when `command_valid` and `command_ready` are high; its inputs are not looked at later. `done` is high for one
//! cycle when it is over; then `value` is what was read and `answered` says that a PHY pulled its turn-around bit low.
//! `mdc` is the clock divided by 64 (1.95 MHz of 125 MHz; the standard allows 2.5) and runs during a command only; `mdio_out` changes at
//! its falling edge, `mdio_in` is taken at its rising edge.
//!
//! Latency: 65 periods of `mdc`.
//!
//! Example: a read of register 1 of PHY 0 that answers 0x796D: `done` is high 65 periods of `mdc` later, with `value` 0x796D and `answered`.
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
    /// The block is idle: it takes a command that is offered.
    pub command_ready: Signal<Out, bool>,
    /// The command writes a register; otherwise it reads one.
    pub write: Signal<In, bool>,
    /// The address of the PHY.
    pub phy: Signal<In, Bits<5>>,
    /// The number of the register.
    pub phy_register: Signal<In, Bits<5>>,
    /// The value to write.
    pub data: Signal<In, Bits<16>>,
    /// The command is over, in this cycle only.
    pub done: Signal<Out, bool>,
    /// The value that was read.
    pub value: Signal<Out, Bits<16>>,
    /// A PHY has answered the read.
    pub answered: Signal<Out, bool>,
    /// The clock of the management bus.
    pub mdc: Signal<Out, bool>,
    /// The bit to the PHY.
    pub mdio_out: Signal<Out, bool>,
    /// The pin drives `mdio_out`.
    pub mdio_enable: Signal<Out, bool>,
    /// The bit from the PHY.
    pub mdio_in: Signal<In, bool>,
    crossing: Synchronizer,
    /// Bits left, the preamble's 32 among them; 0: idle.
    left: DFF<Bits<7>>,
    /// Where in a period of `mdc` the block is.
    divider: DFF<Bits<6>>,
    /// What goes out, bit 31 first.
    out: DFF<Bits<32>>,
    /// The bits read so far.
    sample: DFF<Bits<16>>,
    /// The command reads.
    reading: DFF<bool>,
    /// The PHY has pulled its turn-around bit low.
    turned: DFF<bool>,
    /// `mdio_out`.
    line: DFF<bool>,
    /// `mdio_enable`.
    drive: DFF<bool>,
    /// `done`.
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
