//! Whether the function is still there, and ours: what the system says of it, and what is found in its registers.

use viaduct_spec::register::{control, registers, state};

use super::{Agent, Interrupts};
use crate::{
    device::{Alarm, Bar, DeviceError, PciDevice},
    device_protocol::commands,
    kernel_agent::AgentError,
};

/// Configuration space: identifiers.
const CONFIG_ID: u16 = 0x00;
/// Configuration space: the command register, in the low half.
const CONFIG_COMMAND: u16 = 0x04;
/// Command register: BARs answer.
pub(super) const MEMORY_ENABLE: u32 = 1 << 1;
/// Command register: the function may read and write memory.
pub(super) const BUS_MASTER_ENABLE: u32 = 1 << 2;
/// CONTROL register: the NIC sends and receives.
pub(super) const RUNS: u32 = 1 << control::RECEIVE_ENABLE.lo | 1 << control::SEND_ENABLE.lo;

impl Agent {
    /// Whether the device still answers, the system leaves it to us, and nobody else has stopped or reset it.
    pub fn check(&self) -> Result<(), AgentError> {
        self.check_alarm()?;
        self.check_function().or_else(|found| {
            // The system speaks before it resets the function, and who looks may find the reset first.
            self.check_alarm_now()?;
            Err(found)
        })
    }

    /// Whether the device still answers, and nobody else has stopped or reset it.
    fn check_function(&self) -> Result<(), AgentError> {
        if self.device.config_read32(CONFIG_ID)? == u32::MAX {
            return Err(commands::removed().into());
        }
        let reason = if self.device.config_read32(CONFIG_COMMAND)? & BUS_MASTER_ENABLE == 0 {
            "its Bus Master Enable is off: somebody else has stopped or reset it"
        } else if self.device.read32(Bar::Registers, registers::CONTROL)? & RUNS != RUNS {
            "its CONTROL register says that it neither sends nor receives: somebody else has reset it"
        } else {
            return Ok(());
        };
        Err(commands::gone(reason).into())
    }

    /// Whether what the NIC does can be ended in order, though the system may want the function back: it answers, takes commands, and the bus has
    /// found no error.
    pub fn can_end_in_order(&self) -> bool {
        let alarm = self.interrupts.as_ref().and_then(Interrupts::alarm_now);
        if alarm == Some(Alarm::Error) || self.check_function().is_err() {
            return false;
        }
        // With the lock held nobody's command is under way, so one that is has been given up.
        let Ok(_state) = self.state() else { return false };
        let state = self.device.read32(Bar::Registers, registers::STATE);
        state.is_ok_and(|register| register != u32::MAX && state::COMMAND_BUSY.get(&[register.into()]) == 0)
    }

    /// Takes the function's Bus Master Enable away: it reaches no memory any more. Of a NIC that cannot be ended in order this comes before anybody is told
    /// that it is gone, and may use his memory for something else.
    pub fn stop_dma(&self) {
        if let Err(error) = enable(&*self.device, MEMORY_ENABLE) {
            // A function that is not there does nothing.
            tracing::debug!(%error, "its DMA is not stopped");
        }
    }

    /// What the system has said of the function, as an error: from then on the device is gone, as far as who waits or asks is concerned, or wants
    /// something new of it. What is there is ended as ever.
    pub(crate) fn check_alarm(&self) -> Result<(), DeviceError> {
        alarmed(self.interrupts.as_ref().and_then(Interrupts::alarm))
    }

    /// As an error, what the system has said of the function, though nobody may have heard it yet: the reason of all that is found wrong with the function
    /// from then on.
    ///
    /// # Errors
    /// [`DeviceError::Gone`], with what it has said.
    pub fn check_alarm_now(&self) -> Result<(), DeviceError> {
        alarmed(self.interrupts.as_ref().and_then(Interrupts::alarm_now))
    }
}

/// What the system says of a function, as an error.
fn alarmed(alarm: Option<Alarm>) -> Result<(), DeviceError> {
    let reason = match alarm {
        None => return Ok(()),
        Some(Alarm::Removal) => {
            "the system wants it back: somebody unplugs or unbinds it, and waits until this NIC is closed"
        }
        Some(Alarm::Error) => "the bus has found an error that it cannot mend (PCIe AER), and stopped it",
    };
    Err(commands::gone(reason))
}

/// Sets the two enables of the PCI command register.
pub(super) fn enable(device: &dyn PciDevice, enables: u32) -> Result<(), DeviceError> {
    let command = device.config_read32(CONFIG_COMMAND)? & 0xffff & !(MEMORY_ENABLE | BUS_MASTER_ENABLE);
    // The upper half is the status register: writing 0 changes nothing there.
    device.config_write32(CONFIG_COMMAND, command | enables)
}
