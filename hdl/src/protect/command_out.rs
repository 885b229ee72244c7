//! Holds a command until its engine takes it, and completes its address with the page.
//!
//! ```text
//!         issue ──►┌────────────┐──► engine
//! command, page ──►│ CommandOut │──► waits
//!                  └────────────┘
//! ```
//! Contract: `issue` comes only while not `waits`. The command and the page of that cycle are on show at `engine` from the next cycle on;
//! its address joins that of `command`, which is the offset in the page, with the page's. A refused command has no page: it carries nothing
//! that came from the tables.
//!
//! Latency: 1 cycle. A block RAM gives its data late in the cycle, so the page goes straight into a register, and is joined behind it.
//!
//! Example: a command of 100 bytes at offset 40 is issued with page 0x12345. `engine` offers 100 bytes at 0x12345028.
//!
//! Tests: with `Protect`, `tests/protect/`.

use crate::bus::DmaCommand;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CommandOut {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the command.
    pub reset: Signal<In, bool>,
    /// `Protect` gives a command.
    pub issue: Signal<In, bool>,
    /// The command, from `CommandCut`; its address is the offset in the page.
    pub command: Signal<In, DmaCommand>,
    /// Bits 56:12 of the page's DMA address, from the page table.
    pub page: Signal<In, Bits<45>>,
    /// A command waits for its engine; `Protect` issues none then.
    pub waits: Signal<Out, bool>,
    /// The command, for the engine.
    pub engine: Source<DmaCommand>,

    waiting: DFF<bool>,
    held: DFF<DmaCommand>,
    held_page: DFF<Bits<45>>,
}

impl Logic for CommandOut {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, held, held_page);
        if self.engine.ready.val() {
            self.waiting.d.next = false;
        }
        if self.issue.val() {
            self.waiting.d.next = true;
            self.held.d.next = self.command.val();
            self.held_page.d.next = self.page.val();
        }
        drive!(self, waiting.q => waits, engine.valid);
        self.engine.data.next = self.held.q.val();
        if !self.held.q.val().refused {
            self.engine.data.next.address =
                self.held.q.val().address | (bit_cast::<64, 45>(self.held_page.q.val()) << bits::<4>(12));
        }
        if self.reset.val() {
            self.waiting.d.next = false;
        }
    }
}
