//! The function's configuration space: `viaduct_spec::config_space::TABLE` with what it does.
//!
//! ```text
//!      index, write, enables, data ──►┌─────────────┐──► value
//!                           faults ──►│ ConfigSpace │──► bar0, bar2, memory, asleep, core
//!  reset, function_reset, identity ──►└─────────────┘──► asks_reset
//! ```
//! Contract: each register is as the table has it. `write` lasts one cycle, at least two after its `index`. The bits of Device Status are
//! set by `faults` and cleared by ones; a fault in the cycle of the write stays. Initiate Function Level Reset is `asks_reset`.
//!
//! Latency: `value` 2 cycles after `index`, or after a write; `asks_reset` in the cycle of the write; the levels one cycle after it.
//!
//! Example: a write of 2 to Command with byte enables 0001: `memory` is high in the next cycle.
//!
//! Tests: `tests/pcie/transaction/registers.rs`, and with the whole.

use super::config_word::ConfigWord;
use super::faults::Faults;
use crate::pcie::bus::CoreConfig;
use crate::prims::{Cast, Number};
use crate::rows::config_space::{DeviceControl, LinkControl, MsixControl, PciCommand, PowerControl};
use crate::stream::Pulse;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::config_space::{
    device_control, BAR0, BAR2, BAR2_HIGH, CACHE_LINE, COMMAND, DEVICE_CONTROL, INTERRUPT_LINE, LINK_CONTROL,
    MAX_PAYLOAD_SUPPORTED, MAX_READ_LARGEST, MSIX, POWER_CONTROL, TABLE,
};

/// Words that can be written.
const WRITABLE: usize = 10;
/// Words that cannot.
const FIXED: usize = TABLE.len() - WRITABLE;

/// See the module's description.
#[derive(LogicBlock)]
pub struct ConfigSpace {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Everything is as after power-up.
    pub reset: Signal<In, bool>,
    /// Everything is as after power-up, but for what a function-level reset leaves alone; from `FunctionReset`.
    pub function_reset: Signal<In, bool>,
    /// Number of the double word that is asked for; this and the next three are from `Completer`.
    pub index: Signal<In, Bits<10>>,
    /// The double word `index` is written.
    pub write: Signal<In, bool>,
    /// The bytes that are written.
    pub enables: Signal<In, Bits<4>>,
    /// The new contents.
    pub data: Signal<In, Bits<32>>,
    /// The contents, to `Completer`.
    pub value: Signal<Out, Bits<32>>,
    /// What Device Status is to remember, from `Inbox`, and from `RequestQueue` when a request finds no room.
    pub faults: Signal<In, Faults>,
    /// The function's bus, device and function number, from `Completer`.
    pub identity: Signal<In, Bits<16>>,
    /// A function-level reset is under way at the core; from `FunctionReset`.
    pub resetting: Signal<In, bool>,
    /// Software asks for a function-level reset; to `Completer`.
    pub asks_reset: Pulse,
    /// Base Address 0; this and the next three to `Inbox`.
    pub bar0: Signal<Out, Bits<32>>,
    /// Base Address 2, low half.
    pub bar2: Signal<Out, Bits<32>>,
    /// Base Address 2, high half.
    pub bar2_high: Signal<Out, Bits<32>>,
    /// Requests for memory are taken.
    pub memory: Signal<Out, bool>,
    /// The function is in D3hot.
    pub asleep: Signal<Out, bool>,
    /// What the core sees.
    pub core: Signal<Out, CoreConfig>,
    command: ConfigWord,
    cache_line: ConfigWord,
    base0: ConfigWord,
    base2: ConfigWord,
    base2_high: ConfigWord,
    interrupt_line: ConfigWord,
    power: ConfigWord,
    device: ConfigWord,
    link: ConfigWord,
    msix: ConfigWord,
    fixed: [ConfigWord; FIXED],
    /// Device Status.
    status: DFF<Bits<4>>,
    /// Where Device Status begins.
    status_place: Number<5, { device_control::CORRECTABLE.lo as u64 }>,
    /// What is read.
    shown: DFF<Bits<32>>,
    found: Signal<Local, Bits<32>>,
    none: Signal<Local, Bits<32>>,
    command_fields: Cast<Bits<32>, PciCommand>,
    device_fields: Cast<Bits<32>, DeviceControl>,
    link_fields: Cast<Bits<32>, LinkControl>,
    power_fields: Cast<Bits<32>, PowerControl>,
    msix_fields: Cast<Bits<32>, MsixControl>,
    /// What is written, if it is these registers' double word.
    new_device: Cast<Bits<32>, DeviceControl>,
    new_power: Cast<Bits<32>, PowerControl>,
    new_state: Signal<Local, Bits<2>>,
    state: Signal<Local, Bits<2>>,
    sleeping: Signal<Local, bool>,
    /// Bytes that are written, of the power management's control: not the power state, if there is no such.
    state_enables: Signal<Local, Bits<4>>,
    clears: Cast<Faults, Bits<4>>,
    clearing: Signal<Local, bool>,
    new_faults: Cast<Faults, Bits<4>>,
    payload: Signal<Local, Bits<3>>,
    read: Signal<Local, Bits<3>>,
    largest_payload: Number<3, { MAX_PAYLOAD_SUPPORTED as u64 }>,
    largest_read: Number<3, { MAX_READ_LARGEST as u64 }>,
}

impl Default for ConfigSpace {
    fn default() -> Self {
        let mut fixed = TABLE.iter().filter(|word| word.writable == 0).map(|word| word.offset);
        let fixed = std::array::from_fn(|_| ConfigWord::new(fixed.next().expect("WRITABLE counts them")));
        Self {
            clock: Default::default(),
            reset: Default::default(),
            function_reset: Default::default(),
            index: Default::default(),
            write: Default::default(),
            enables: Default::default(),
            data: Default::default(),
            value: Default::default(),
            faults: Default::default(),
            identity: Default::default(),
            resetting: Default::default(),
            asks_reset: Default::default(),
            bar0: Default::default(),
            bar2: Default::default(),
            bar2_high: Default::default(),
            memory: Default::default(),
            asleep: Default::default(),
            core: Default::default(),
            command: ConfigWord::new(COMMAND),
            cache_line: ConfigWord::new(CACHE_LINE),
            base0: ConfigWord::new(BAR0),
            base2: ConfigWord::new(BAR2),
            base2_high: ConfigWord::new(BAR2_HIGH),
            interrupt_line: ConfigWord::new(INTERRUPT_LINE),
            power: ConfigWord::new(POWER_CONTROL),
            device: ConfigWord::new(DEVICE_CONTROL),
            link: ConfigWord::new(LINK_CONTROL),
            msix: ConfigWord::new(MSIX),
            fixed,
            status: Default::default(),
            status_place: Default::default(),
            shown: Default::default(),
            found: Default::default(),
            none: Default::default(),
            command_fields: Default::default(),
            device_fields: Default::default(),
            link_fields: Default::default(),
            power_fields: Default::default(),
            msix_fields: Default::default(),
            new_device: Default::default(),
            new_power: Default::default(),
            new_state: Default::default(),
            state: Default::default(),
            sleeping: Default::default(),
            state_enables: Default::default(),
            clears: Default::default(),
            clearing: Default::default(),
            new_faults: Default::default(),
            payload: Default::default(),
            read: Default::default(),
            largest_payload: Default::default(),
            largest_read: Default::default(),
        }
    }
}

impl Logic for ConfigSpace {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, status, shown);
        clock!(self, clock, command, cache_line, base0, base2, base2_high, interrupt_line, power, device);
        clock!(self, clock, link, msix);
        // A power state that there is not, D1 or D2, is ignored.
        drive!(self, data => new_power.from, new_device.from; new_power.to.val().state => new_state);
        self.state_enables.next = self.enables.val();
        if (self.new_state.val() == bits::<2>(1)) | (self.new_state.val() == bits::<2>(2)) {
            self.state_enables.next = self.enables.val() & 0xE;
        }
        drive!(self, reset => command.reset, cache_line.reset, base0.reset, base2.reset, base2_high.reset,
                interrupt_line.reset, power.reset, device.reset, link.reset, msix.reset;
            function_reset => command.function_reset, cache_line.function_reset, base0.function_reset,
                base2.function_reset, base2_high.function_reset, interrupt_line.function_reset,
                power.function_reset, device.function_reset, link.function_reset, msix.function_reset;
            index => command.index, cache_line.index, base0.index, base2.index, base2_high.index,
                interrupt_line.index, power.index, device.index, link.index, msix.index;
            write => command.write, cache_line.write, base0.write, base2.write, base2_high.write,
                interrupt_line.write, power.write, device.write, link.write, msix.write;
            data => command.data, cache_line.data, base0.data, base2.data, base2_high.data,
                interrupt_line.data, power.data, device.data, link.data, msix.data;
            enables => command.enables, cache_line.enables, base0.enables, base2.enables,
                base2_high.enables, interrupt_line.enables, device.enables, link.enables, msix.enables;
            state_enables => power.enables);
        self.none.next = bits::<32>(0);
        drive!(self, none => command.also, cache_line.also, base0.also, base2.also, base2_high.also,
                interrupt_line.also, power.also, link.also, msix.also);
        // Device Status: write-one-clear. What comes in the same cycle stays.
        self.device.also.next = bit_cast::<32, 4>(self.status.q.val()) << self.status_place.val();
        self.clearing.next = self.device.chosen.val() & self.write.val() & self.enables.val().get_bit(2);
        fill!(self, clears.from, false => correctable, non_fatal, fatal, unsupported);
        if self.clearing.val() {
            fill!(self, clears.from, new_device.to.val().correctable => correctable;
                new_device.to.val().non_fatal => non_fatal; new_device.to.val().fatal => fatal;
                new_device.to.val().unsupported => unsupported);
        }
        self.new_faults.from.next = self.faults.val();
        self.status.d.next = (self.status.q.val() & !self.clears.to.val()) | self.new_faults.to.val();
        self.asks_reset.next = self.device.chosen.val()
            & self.write.val()
            & self.enables.val().get_bit(1)
            & self.new_device.to.val().function_reset;

        // What is read.
        self.found.next = self.command.shown.val()
            | self.cache_line.shown.val()
            | self.base0.shown.val()
            | self.base2.shown.val()
            | self.base2_high.shown.val()
            | self.interrupt_line.shown.val()
            | self.power.shown.val()
            | self.device.shown.val()
            | self.link.shown.val()
            | self.msix.shown.val();
        for i in 0..FIXED {
            self.fixed[i].clock.next = self.clock.val();
            self.fixed[i].reset.next = self.reset.val();
            self.fixed[i].function_reset.next = self.function_reset.val();
            self.fixed[i].index.next = self.index.val();
            self.fixed[i].write.next = self.write.val();
            self.fixed[i].data.next = self.data.val();
            self.fixed[i].enables.next = self.enables.val();
            self.fixed[i].also.next = self.none.val();
            self.found.next = self.found.val() | self.fixed[i].shown.val();
        }
        self.shown.d.next = self.found.val();
        drive!(self, shown.q => value);

        // What the others go by.
        drive!(self, command.value => command_fields.from; device.value => device_fields.from;
            link.value => link_fields.from; power.value => power_fields.from;
            msix.value => msix_fields.from; power_fields.to.val().state => state; base0.value => bar0; base2.value => bar2;
            base2_high.value => bar2_high);
        self.sleeping.next = self.state.val().any();
        self.asleep.next = self.sleeping.val();
        self.memory.next = self.command_fields.to.val().memory & !self.sleeping.val();
        self.payload.next = self.device_fields.to.val().max_payload;
        if self.payload.val() > self.largest_payload.val() {
            self.payload.next = self.largest_payload.val();
        }
        self.read.next = self.device_fields.to.val().max_read;
        if self.read.val() > self.largest_read.val() {
            self.read.next = self.largest_read.val();
        }
        fill!(self, core, identity => requester_id; payload => max_payload; read => max_read;
            resetting => function_reset; link_fields.to.val().rcb_128 => rcb;
            device_fields.to.val().extended_tag => extended_tag; msix_fields.to.val().enable => msix_enable;
            msix_fields.to.val().mask => msix_mask);
        self.core.next.bus_master = self.command_fields.to.val().master & !self.sleeping.val();
        if self.reset.val() | self.function_reset.val() {
            self.status.d.next = bits::<4>(0);
        }
    }
}
