//! Commands to the NIC: staged rows and their commits, drains, queries.

use std::time::{Duration, Instant};

use viaduct_spec::{
    doorbell::cq_index,
    register::{command, command_op, registers, state},
    tables::table,
};

use crate::device::{Bar, DeviceError, PciDevice};

/// How long the NIC may be busy with one command. A command takes some hundred cycles at most; a
/// simulator on a loaded machine may be slow with them.
const LIMIT: Duration = Duration::from_secs(5);

/// How often it may be looked at where time passes in the device's calls alone: how long that takes on the wall says nothing then.
pub(crate) const MOST_LOOKS: usize = 100_000;

/// How often the agent looks whether a command is over before it sleeps between its looks. A look at a board takes about a microsecond, and so does a command.
const LOOKS_AWAKE: usize = 64;

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The NIC did not finish.
    #[error("the NIC was still busy with {0} when the time for that was over")]
    Stuck(String),
    /// The NIC did not take the command.
    #[error("the NIC refused {0}: it named no table or row")]
    Refused(String),
}

/// The command registers. One user at a time: the agent's lock is held around it.
pub struct Admin<'a> {
    device: &'a dyn PciDevice,
}

impl<'a> Admin<'a> {
    /// The command registers of `device`.
    pub fn of(device: &'a dyn PciDevice) -> Self {
        Self { device }
    }

    /// Waits until no command is running, the one after reset included.
    pub fn ready(&self, what: impl Fn() -> String) -> Result<(), CommandError> {
        self.wait(what).map(drop)
    }

    /// Writes a row of a table (of [`table`]): up to three words, lowest first.
    pub fn commit(&self, table: u8, row: u32, words: &[u64]) -> Result<(), CommandError> {
        for (word, stage) in words.iter().zip([registers::STAGE0, registers::STAGE1, registers::STAGE2]) {
            self.device.write64(Bar::Registers, stage, *word)?;
        }
        self.run(command_op::COMMIT, table, row)
    }

    /// Writes a row of a completion queue that is live: how many entries its old ring has, modulo 2^18.
    pub fn commit_queue(&self, cq: u16, words: &[u64; 2]) -> Result<u32, CommandError> {
        self.commit(table::COMPLETION_QUEUE, cq.into(), words)?;
        let result = self.device.read64(Bar::Registers, registers::RESULT)?;
        Ok((result & cq_index::INDEX.mask()) as u32)
    }

    /// Waits until every access that the NIC had granted has ended, and is visible here.
    pub fn drain(&self) -> Result<(), CommandError> {
        self.run(command_op::DRAIN, 0, 0)?;
        // The answer to a read that is asked after the drain comes behind every write before it.
        self.device.read64(Bar::Registers, registers::RESULT)?;
        Ok(())
    }

    /// The state of a VI: one of `tables::vi_states`.
    pub fn query_state(&self, vi: u16) -> Result<u64, CommandError> {
        self.run(command_op::QUERY, table::VI_STATE, vi.into())?;
        Ok(self.device.read64(Bar::Registers, registers::RESULT)?)
    }

    fn run(&self, op: u8, table: u8, row: u32) -> Result<(), CommandError> {
        let mut word = [0];
        command::OP.put(&mut word, op.into());
        command::TABLE.put(&mut word, table.into());
        command::ROW.put(&mut word, row.into());
        self.device.write64(Bar::Registers, registers::COMMAND, word[0])?;
        let what = || format!("command {op} on row {row} of table {table}");
        tracing::trace!(op, table, row, "command");
        let register = self.wait(what)?;
        if state::COMMAND_ERROR.get(&[register]) != 0 {
            return Err(CommandError::Refused(what()));
        }
        Ok(())
    }

    /// STATE, when no command is running.
    fn wait(&self, what: impl Fn() -> String) -> Result<u64, CommandError> {
        let start = Instant::now();
        let mut looks = 0;
        loop {
            let register = self.device.read32(Bar::Registers, registers::STATE)?;
            if register == u32::MAX {
                // What a read gives when there is no function any more.
                return Err(removed().into());
            }
            if state::COMMAND_BUSY.get(&[register.into()]) == 0 {
                return Ok(register.into());
            }
            looks += 1;
            let may_sleep = self.device.may_sleep();
            let is_over = if may_sleep { start.elapsed() > LIMIT } else { looks > MOST_LOOKS };
            if is_over {
                return Err(CommandError::Stuck(what()));
            }
            // Where one must not sleep, time passes in this call alone.
            if looks > LOOKS_AWAKE || !may_sleep {
                self.device.pause();
            }
        }
    }
}

/// The function answers with all ones: it is not there any more.
pub fn removed() -> DeviceError {
    gone("it reads as all ones")
}

/// The function cannot be used any more, for this reason.
pub fn gone(reason: &str) -> DeviceError {
    DeviceError::Gone { place: "the PCI function".into(), reason: reason.into() }
}
