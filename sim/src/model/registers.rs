//! BAR 0: registers and commands. A command is done when its store is.

use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, PAGES, READ_DEPTH, RECEIVE_AHEAD, REGIONS, VIS};
use viaduct_spec::register::{
    command, command_op, control, nic_kind, registers, state, MAGIC_VALUE, VERSION_VALUE,
};
use viaduct_spec::tables::table;

use super::counters::Counters;
use super::frame::Identity;
use super::raw::RawChannel;
use super::tables::Row;
use crate::clock::{ticks, Cycle};

/// What the registers keep.
#[derive(Debug, Clone, Default)]
pub struct Registers {
    control: u64,
    identity: Identity,
    stage: [u64; 3],
    result: u64,
    command_error: bool,
    raw_channel: u64,
}

/// What a store asks the NIC for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// CONTROL's RESET.
    Reset,
    /// What is enabled has changed.
    Enable,
    /// A staged row is to be put into a table.
    Commit {
        /// The table.
        table: u8,
        /// The row.
        row: usize,
        /// What it says.
        staged: Row,
    },
    /// RESULT is to tell the state of a VI.
    Query {
        /// The VI.
        vi: usize,
    },
}

/// Two registers of 32 bits in 64.
fn pair(low: impl Into<u64>, high: impl Into<u64>) -> u64 {
    low.into() | high.into() << 32
}

impl Registers {
    /// Frames are received.
    pub fn receives(&self) -> bool {
        control::RECEIVE_ENABLE.get(&[self.control]) != 0
    }

    /// Work queues are served.
    pub fn sends(&self) -> bool {
        control::SEND_ENABLE.get(&[self.control]) != 0
    }

    /// Addresses and P_Key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The raw channel.
    pub fn raw_channel(&self) -> RawChannel {
        RawChannel::new(self.raw_channel, self.identity)
    }

    /// A command has ended: in an error, or with this in RESULT if it has one.
    pub fn end_command(&mut self, result: Result<Option<u64>, ()>) {
        self.command_error = result.is_err();
        if let Ok(Some(result)) = result {
            self.result = result;
        }
    }

    /// A load of up to 8 bytes, naturally aligned.
    pub fn load(&self, offset: u64, length: usize, now: Cycle, idle: bool, counters: &Counters) -> u64 {
        let word = self.word(offset & !7, now, idle, counters);
        word >> (8 * (offset & 7)) & (u64::MAX >> (64 - 8 * length))
    }

    /// The aligned word at `at`.
    fn word(&self, at: u64, now: Cycle, idle: bool, counters: &Counters) -> u64 {
        match at {
            registers::MAGIC => pair(MAGIC_VALUE, VERSION_VALUE),
            registers::KIND => pair(nic_kind::MODEL, VIS as u64),
            registers::REGIONS => pair(REGIONS as u64, PAGES as u64),
            registers::DOORBELL_SHIFT => pair(DOORBELL_SHIFT as u64, RECEIVE_AHEAD as u64),
            registers::CONTROL => {
                let mut word = [0];
                state::COMMAND_ERROR.put(&mut word, self.command_error.into());
                state::IDLE.put(&mut word, idle.into());
                pair(self.control, word[0])
            }
            registers::MAC => self.identity.mac,
            registers::IP => pair(self.identity.ip, self.identity.pkey),
            registers::STAGE0 => self.stage[0],
            registers::STAGE1 => self.stage[1],
            registers::STAGE2 => self.stage[2],
            registers::RESULT => self.result,
            registers::TIME => pair(ticks(now), CQS as u64),
            registers::READ_DEPTH => pair(READ_DEPTH as u64, self.raw_channel),
            _ if at >= registers::COUNTERS => counters.get((at - registers::COUNTERS) / 8),
            _ => 0,
        }
    }

    /// A store, naturally aligned; one of fewer than 4 bytes does nothing.
    pub fn store(&mut self, offset: u64, length: usize, value: u64) -> Option<Order> {
        if length < 4 {
            return None;
        }
        let at = offset & !7;
        let (low, high) = (offset == at, offset != at || length == 8);
        let merge = |old: u64| match (low, high) {
            (true, true) => value,
            (true, false) => old & !0xFFFF_FFFF | value & 0xFFFF_FFFF,
            _ => old & 0xFFFF_FFFF | value << 32,
        };
        match at {
            registers::CONTROL if low => return Some(self.set_control(value & 0xFFFF_FFFF)),
            registers::MAC => self.identity.mac = merge(self.identity.mac) & 0xFFFF_FFFF_FFFF,
            registers::IP => {
                let own = &mut self.identity;
                let word = merge(pair(own.ip, own.pkey));
                (own.ip, own.pkey) = (word as u32, (word >> 32) as u16);
            }
            registers::STAGE0 => self.stage[0] = merge(self.stage[0]),
            registers::STAGE1 => self.stage[1] = merge(self.stage[1]),
            registers::STAGE2 => self.stage[2] = merge(self.stage[2]),
            registers::COMMAND if low => return self.command(merge(0)),
            registers::READ_DEPTH if high => self.raw_channel = merge(0) >> 32,
            _ => {}
        }
        None
    }

    fn set_control(&mut self, value: u64) -> Order {
        if control::RESET.get(&[value]) != 0 {
            return Order::Reset;
        }
        self.control = value & 3;
        Order::Enable
    }

    fn command(&mut self, word: u64) -> Option<Order> {
        let number = command::TABLE.get(&[word]) as u8;
        let row = command::ROW.get(&[word]) as usize;
        match command::OP.get(&[word]) as u8 {
            command_op::COMMIT => Some(Order::Commit { table: number, row, staged: Row(self.stage) }),
            command_op::QUERY if number == table::VI_STATE => Some(Order::Query { vi: row }),
            // No access takes time, so none is under way.
            command_op::DRAIN => {
                self.end_command(Ok(None));
                None
            }
            _ => {
                self.end_command(Err(()));
                None
            }
        }
    }
}
