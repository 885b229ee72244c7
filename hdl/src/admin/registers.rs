//! The register file: BAR 0 as `viaduct_spec::register` draws it.
//!
//! ```text
//!      mmio_write ──►┌───────────┐──► receive_enable, send_enable, soft_reset
//!            load ──►│           │──► station, stage0..2, command
//!  STATE's fields ──►│ Registers │──► answer
//!          result ──►│           │──► counter    ◄── counter_value
//!        time_now ──►│           │──► vector_row ◄── vector_value
//! vectors_pending ──►└───────────┘
//! ```
//! Contract: a store writes the 4-byte halves whose bytes are all enabled and nothing else. A load is answered once, with the 8 bytes
//! that its address lies in; the next load comes after the answer. For a load from the MSI-X table the block asks `interrupt/vectors`,
//! which takes the stores to it by itself. Addresses without a register read 0, and stores to them change nothing.
//!
//! Latency: a load 3 cycles, a counter up to 41, the MSI-X table up to 7; a store 1.
//!
//! How: [`RegisterStores`] says what a store writes, each [`StoredRegister`] keeps its own, [`RegisterValues`] has what a load reads.
//!
//! Example: the agent loads 8 bytes at the offset of a counter: `counter` names it, `counter_value` comes up to 41 cycles later, and
//! `answer` has its 36 bits, with zeros above.
//!
//! Tests: `tests/admin/registers.rs`.

use super::{
    BarAddress, CounterAddress, RegisterPair, RegisterStores, RegisterValues, StagedRow, StationRegisters,
    StoredRegister,
};
use crate::bus::MmioWrite;
use crate::interrupt::{VectorAddress, VECTOR_PLACE_BITS, VECTOR_ROW_LOG2};
use crate::prims::{Cast, Number};
use crate::receive::StationSource;
use crate::rows::register::{CommandWord, ControlRegister, StateRegister};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::{counter, registers, MSIX_TABLE};

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Wait for a load.
    Idle,
    /// Look where the load's address lies.
    Choose,
    /// Ask for a counter.
    Count,
    /// Ask for a row of the MSI-X table.
    Vector,
    /// Answer.
    Answer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Registers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Sets every register to its default. A load under way is answered all the same.
    pub reset: Signal<In, bool>,
    /// The PCIe edge is reset, so the load under way gets no answer; `reset` drives it.
    pub restart: Signal<In, bool>,
    /// A store of the host, from `edge/receive`; stores to BAR 2 are ignored here.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The byte offset in BAR 0 of a load, from `edge/complete`.
    pub load: FlowSink<Bits<20>>,
    /// The 8 bytes that the load's address lies in, to `edge/complete`.
    pub answer: FlowSource<Bits<64>>,
    /// The agent has enabled reception of frames; receive looks at it.
    pub receive_enable: Signal<Out, bool>,
    /// The agent has enabled the serving of work queues; fetch looks at it.
    pub send_enable: Signal<Out, bool>,
    /// The agent asks for a reset, in this cycle only; `reset` carries it out.
    pub soft_reset: Signal<Out, bool>,
    /// The NIC's own addresses, and the raw channel, to receive.
    pub station: StationSource,
    /// Bits 63:0 of the row that the agent has staged, to `admin/command`, as the next two.
    pub stage0: Signal<Out, Bits<64>>,
    /// Bits 127:64 of the row that the agent has staged.
    pub stage1: Signal<Out, Bits<64>>,
    /// Bits 191:128 of the row that the agent has staged.
    pub stage2: Signal<Out, Bits<64>>,
    /// The command that the agent has written, to `admin/command`, in the cycle behind its store. Its upper half is reserved, and 0.
    pub command: FlowSource<CommandWord>,
    /// STATE: a command or a reset is under way; `quiet` drives it.
    pub command_busy: Signal<In, bool>,
    /// STATE: the last command was refused; `admin/command` drives it.
    pub command_error: Signal<In, bool>,
    /// STATE: nothing is in flight and nothing waits; `quiet` drives it.
    pub idle: Signal<In, bool>,
    /// STATE: a read of host memory has had no completion in time; `dma/read` drives it.
    pub read_timeout: Signal<In, bool>,
    /// The value of RESULT, from `admin/command`.
    pub result: Signal<In, Bits<64>>,
    /// Device time, ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// The number of the counter that a load asks for, until `counter_value`.
    pub counter: FlowSource<Bits<6>>,
    /// The value of the counter that `counter` names, from `admin/counters`.
    pub counter_value: FlowSink<Bits<36>>,
    /// The row of the MSI-X table that a load asks for, until `vector_value`.
    pub vector_row: FlowSource<Bits<VECTOR_ROW_LOG2>>,
    /// The 8 bytes of the row that `vector_row` names, from `interrupt/vectors`.
    pub vector_value: FlowSink<Bits<64>>,
    /// The MSI-X pending bits, one for each vector, from `interrupt/vectors`.
    pub vectors_pending: Signal<In, Bits<VECTORS>>,
    stores: RegisterStores,
    control: StoredRegister<32, { registers::CONTROL }, 0>,
    command_low: StoredRegister<32, { registers::COMMAND }, 0>,
    staged: StagedRow,
    addresses: StationRegisters,
    values: RegisterValues,
    /// `command` is given in this cycle.
    commanded: DFF<bool>,
    command_word: Cast<Bits<64>, CommandWord>,
    /// `soft_reset`.
    resetting: DFF<bool>,
    stored_control: Cast<Bits<32>, ControlRegister>,
    held_control: Cast<Bits<32>, ControlRegister>,
    shown_control: Cast<ControlRegister, Bits<32>>,
    state: Cast<StateRegister, Bits<32>>,
    step: DFF<Step>,
    /// Byte offset of the load at hand.
    address: DFF<Bits<20>>,
    as_register: Cast<Bits<20>, BarAddress>,
    as_counter: Cast<Bits<20>, CounterAddress>,
    as_vector: Cast<Bits<20>, VectorAddress>,
    /// The load is of a counter that there is.
    of_counter: Signal<Local, bool>,
    /// The registers' answer to the load.
    found: Cast<RegisterPair, Bits<64>>,
    /// The 8 bytes of the answer.
    value: DFF<Bits<64>>,
    never: Signal<Local, bool>,
    counter_block: Number<11, { registers::COUNTERS / 512 }>,
    counters: Number<6, { counter::CODES.codes.len() as u64 }>,
    vector_place: Number<VECTOR_PLACE_BITS, { MSIX_TABLE >> (20 - VECTOR_PLACE_BITS) }>,
}

impl Logic for Registers {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, commanded, resetting, step, address, value);
        clock!(self, clock, control, command_low, staged, addresses);
        self.never.next = false;
        drive!(self, reset => control.reset, addresses.reset; never => command_low.reset);

        // Stores.
        FlowSink::<MmioWrite>::link(&mut self.mmio_write, &mut self.stores.mmio_write);
        drive!(self, stores.store => control.store, command_low.store, staged.store, addresses.store);
        drive!(self, staged.stage0 => stage0; staged.stage1 => stage1; staged.stage2 => stage2);
        StationSource::link(&mut self.station, &mut self.addresses.station);
        drive!(self, control.value => held_control.from;
            held_control.to.val().receive_enable => receive_enable;
            held_control.to.val().send_enable => send_enable; control.stored.data => stored_control.from;
            resetting.q => soft_reset; commanded.q => command.valid; command_word.to => command.data);
        self.resetting.d.next = self.control.stored.valid.val() & self.stored_control.to.val().reset;
        self.commanded.d.next = self.command_low.stored.valid.val();
        self.command_word.from.next = bit_cast::<64, 32>(self.command_low.value.val());

        // The values of the registers.
        self.shown_control.from.next.receive_enable = self.held_control.to.val().receive_enable;
        self.shown_control.from.next.send_enable = self.held_control.to.val().send_enable;
        self.shown_control.from.next.reserved_2 = bits::<29>(0);
        self.shown_control.from.next.reset = false;
        fill!(self, state.from, command_busy => command_busy; command_error => command_error; idle => idle;
            read_timeout => read_timeout);
        self.state.from.next.reserved_4 = bits::<28>(0);
        drive!(self, shown_control.to => values.control; state.to => values.state);
        drive!(self, addresses.mac_low => values.mac_low; addresses.mac_high => values.mac_high);
        drive!(self, addresses.ip => values.ip; addresses.pkey => values.pkey);
        drive!(self, addresses.raw_channel => values.raw_channel);
        drive!(self, staged.stage0 => values.stage0; staged.stage1 => values.stage1);
        drive!(self, staged.stage2 => values.stage2; result => values.result; time_now => values.time_now);
        drive!(self, vectors_pending => values.vectors_pending);

        // Loads.
        drive!(self, address.q => as_register.from, as_counter.from, as_vector.from);
        drive!(self, as_register.to.val().place => values.place; values.value => found.from;
            as_counter.to.val().number => counter.data; as_vector.to.val().row => vector_row.data;
            value.q => answer.data);
        self.of_counter.next = (self.as_counter.to.val().block == self.counter_block.val())
            & (self.as_counter.to.val().number < self.counters.val());
        drive!(self, false => counter.valid, vector_row.valid, answer.valid);
        match self.step.q.val() {
            Step::Idle => {
                if self.load.valid.val() {
                    self.address.d.next = self.load.data.val();
                    self.step.d.next = Step::Choose;
                }
            }
            Step::Choose => {
                self.value.d.next = self.found.to.val();
                self.step.d.next = Step::Answer;
                if self.of_counter.val() {
                    self.step.d.next = Step::Count;
                } else if self.as_vector.to.val().place == self.vector_place.val() {
                    self.step.d.next = Step::Vector;
                }
            }
            Step::Count => {
                self.counter.valid.next = true;
                if self.counter_value.valid.val() {
                    self.value.d.next = bit_cast::<64, 36>(self.counter_value.data.val());
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Vector => {
                self.vector_row.valid.next = true;
                if self.vector_value.valid.val() {
                    self.value.d.next = self.vector_value.data.val();
                    self.step.d.next = Step::Answer;
                }
            }
            Step::Answer => {
                self.answer.valid.next = true;
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.restart.val() {
            self.step.d.next = Step::Idle;
        }
        if self.reset.val() {
            self.resetting.d.next = false;
            self.commanded.d.next = false;
        }
    }
}
