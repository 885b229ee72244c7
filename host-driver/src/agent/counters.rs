//! The NIC counts, and says its time.

use viaduct_spec::{
    layout::Code,
    register::{counter, registers},
};

use super::{Agent, AgentError};
use crate::device::Bar;

impl Agent {
    /// Device time in ticks of 1.024 us; it wraps.
    pub fn time(&self) -> Result<u32, AgentError> {
        Ok(self.device.read32(Bar::Registers, registers::TIME)?)
    }

    /// Reads one counter: a number of `register::counter`.
    pub fn counter(&self, number: u64) -> Result<u64, AgentError> {
        Ok(self.device.read64(Bar::Registers, registers::COUNTERS + 8 * number)?)
    }

    /// Reads all counters, with their names and meanings.
    pub fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError> {
        static CODES: &[Code] = counter::CODES.codes;
        CODES.iter().map(|code| Ok((code, self.counter(code.value)?))).collect()
    }
}
