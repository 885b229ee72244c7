//! The management interface of a PHY: reads and writes its registers (802.3 clause 22).
//!
//! ```text
//! command ──►┌──────┐──► done
//!            │ Mdio │◄─► bus
//!            └──────┘
//! ```
//! Contract: one command is under way at a time; `command` is ready when none is. `done` comes when it is over, with what was read. The
//! bus's clock is the block's divided by 64 (1.95 MHz of 125 MHz; the standard allows 2.5), and it runs during a command only. The bit to
//! the PHY changes at its falling edge, the bit from the PHY is taken at its rising edge.
//!
//! Latency: 65 periods of `mdc`.
//!
//! Example: a command reads register 1 of PHY 0, which answers 0x796D: `done` comes 65 periods of `mdc` later, with value 0x796D and
//! `answered`.
//!
//! Tests: `tests/mac/mdio.rs`, against a PHY written from the standard.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::ManagementBus;
use crate::clocks::Synchronizer;
use crate::prims::{Cast, Number};
use crate::stream::{FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What is to be done with a register of a PHY.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MdioCommand {
    /// The command writes the register; otherwise it reads it.
    pub write: bool,
    /// The address of the PHY.
    pub phy: Bits<5>,
    /// The number of the register.
    pub number: Bits<5>,
    /// The value to write.
    pub data: Bits<16>,
}

/// What came of a command.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MdioResult {
    /// The value that was read.
    pub value: Bits<16>,
    /// A PHY has answered the read: it pulled its turn-around bit low.
    pub answered: bool,
}

/// What goes over the line behind the preamble, the last bit first.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct ManagementFrame {
    /// The value; of a read it is the PHY's to show.
    data: Bits<16>,
    /// 10; of a read it is the PHY's to show.
    turn_around: Bits<2>,
    number: Bits<5>,
    phy: Bits<5>,
    /// 10 is a read, 01 is a write.
    operation: Bits<2>,
    /// 01.
    start: Bits<2>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Mdio {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Ends the command under way.
    pub reset: Signal<In, bool>,
    /// What is to be done next, from `echo/finder`.
    pub command: Sink<MdioCommand>,
    /// A command is over, and what came of it.
    pub done: FlowSource<MdioResult>,
    /// The pins to the PHY.
    pub bus: ManagementBus,
    crossing: Synchronizer,
    /// Bits left, the preamble's 32 among them; 0: idle.
    left: DFF<Bits<7>>,
    /// Where in a period of `mdc` the block is.
    divider: DFF<Bits<6>>,
    /// What goes out, bit 31 first.
    out: DFF<Bits<32>>,
    /// The bits read so far.
    sample: DFF<Bits<16>>,
    frame: Signal<Local, ManagementFrame>,
    frame_bits: Cast<ManagementFrame, Bits<32>>,
    /// The command reads.
    reading: DFF<bool>,
    /// The PHY has pulled its turn-around bit low.
    turned: DFF<bool>,
    /// The bit to the PHY.
    line: DFF<bool>,
    /// The line is ours.
    drive: DFF<bool>,
    /// `done` comes in this cycle.
    pulse: DFF<bool>,
    busy: Signal<Local, bool>,
    rising: Signal<Local, bool>,
    falling: Signal<Local, bool>,
    start: Number<2, 0b01>,
    read_operation: Number<2, 0b10>,
    write_operation: Number<2, 0b01>,
    turn_around: Number<2, 0b10>,
}

impl Logic for Mdio {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, divider, out, sample, reading, turned, line, drive, pulse);
        clock!(self, clock, crossing);
        drive!(self, bus.in_data => crossing.in_data; pulse.q => done.valid; line.q => bus.out_data;
            drive.q => bus.enable);
        self.busy.next = self.left.q.val().any();
        self.command.ready.next = !self.busy.val() & !self.pulse.q.val();
        self.done.data.next.value = self.sample.q.val();
        self.done.data.next.answered = self.turned.q.val();
        self.bus.mdc.next = self.divider.q.val().get_bit(5);

        fill!(self, frame, command.data.val().data => data; turn_around => turn_around;
            command.data.val().number => number; command.data.val().phy => phy; read_operation => operation);
        if self.command.data.val().write {
            self.frame.next.operation = self.write_operation.val();
        }
        self.frame.next.start = self.start.val();
        self.frame_bits.from.next = self.frame.val();
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
        if self.command.valid.val() & !self.busy.val() & !self.pulse.q.val() {
            self.left.d.next = bits::<7>(64);
            self.divider.d.next = bits::<6>(0);
            self.line.d.next = true;
            self.drive.d.next = true;
            self.turned.d.next = false;
            self.reading.d.next = !self.command.data.val().write;
            self.out.d.next = self.frame_bits.to.val();
        }
        if self.reset.val() {
            self.left.d.next = bits::<7>(0);
            self.divider.d.next = bits::<6>(0);
            self.drive.d.next = false;
            self.pulse.d.next = false;
        }
    }
}
