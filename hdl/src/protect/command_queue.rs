//! Keeps the commands of granted writes until the write engine takes them, and completes their addresses with the page.
//!
//! ```text
//!         issue ──►┌──────────────┐──► engine
//! command, page ──►│ CommandQueue │──► room, waits
//!                  └──────────────┘
//! ```
//! Contract: 16 commands find a place. `room` says that three accesses of two commands each do: the one that is taken when `room` falls, and
//! two that are half way by then. The command and the page of a cycle with `issue` are on show at `engine` from the next cycle on, if
//! no other is in front of them; its address joins that of `command`, which is the offset in the page, with the page's.
//!
//! Latency: 1 cycle; `room` comes from a register, and is one cycle late. A block RAM gives its data late in the cycle, so the page goes
//! straight into the queue's RAM: a command that was refused, and has no page, does not come here.
//!
//! Example: a command of 100 bytes at offset 40 is issued with page 0x12345. `engine` offers 100 bytes at 0x12345028.
//!
//! Tests: with `Protect`, `tests/protect/`.

use crate::bus::DmaCommand;
use crate::prims::{Fifo, Number};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CommandQueue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the commands.
    pub reset: Signal<In, bool>,
    /// `Protect` gives a command.
    pub issue: Signal<In, bool>,
    /// The command, from `CommandCut`; its address is the offset in the page.
    pub command: Signal<In, DmaCommand>,
    /// Bits 56:12 of the page's DMA address, from the page table.
    pub page: Signal<In, Bits<45>>,
    /// The commands of another write find a place; `AccessIntake` takes one then.
    pub room: Signal<Out, bool>,
    /// A command waits for its engine; `Protect` is busy then.
    pub waits: Signal<Out, bool>,
    /// The oldest command, for the engine.
    pub engine: Source<DmaCommand>,

    commands: Fifo<DmaCommand, 4, 5>,
    has_room: DFF<bool>,
    most: Number<5, 10>,
}

impl Logic for CommandQueue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, has_room);
        clock!(self, clock, commands);
        drive!(self, reset => commands.reset; issue => commands.sink.valid; command => commands.sink.data;
            commands.source.valid => waits; has_room.q => room);
        self.commands.sink.data.next.address =
            self.command.val().address | (bit_cast::<64, 45>(self.page.val()) << bits::<4>(12));
        self.has_room.d.next = self.commands.level.val() < self.most.val();
        Source::<DmaCommand>::link(&mut self.engine, &mut self.commands.source);
        if self.reset.val() {
            self.has_room.d.next = false;
        }
    }
}
