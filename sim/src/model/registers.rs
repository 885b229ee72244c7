//! BAR 0: registers and commands. A command is done when its store is.

use viaduct_spec::profile::{CQS, DOORBELL_SHIFT, PAGES, READ_DEPTH, RECEIVE_AHEAD, REGIONS, VIS};
use viaduct_spec::register::{
    command, command_op, control, nic_kind, registers, state, MAGIC_VALUE, VERSION_VALUE,
};
use viaduct_spec::tables::{completion_queue, table, vi_state};

use super::device::Device;
use super::frame::Identity;
use super::tables::{Row, ViState};
use super::vectors::Vectors;
use crate::clock::ticks;

/// What the registers keep.
#[derive(Debug, Default)]
pub struct Registers {
    control: u64,
    /// Addresses and P_Key.
    pub identity: Identity,
    stage: [u64; 3],
    /// RESULT.
    pub result: u64,
    command_error: bool,
    /// RAW_CHANNEL.
    pub raw_channel: u64,
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
}

/// Two registers of 32 bits in 64.
fn pair(low: impl Into<u64>, high: impl Into<u64>) -> u64 {
    low.into() | high.into() << 32
}

impl Device {
    /// The aligned word at `at`, as a load sees it.
    fn register(&self, at: u64) -> u64 {
        let own = &self.registers;
        match at {
            registers::MAGIC => pair(MAGIC_VALUE, VERSION_VALUE),
            registers::KIND => pair(nic_kind::MODEL, VIS as u64),
            registers::REGIONS => pair(REGIONS as u64, PAGES as u64),
            registers::DOORBELL_SHIFT => pair(DOORBELL_SHIFT as u64, RECEIVE_AHEAD as u64),
            registers::CONTROL => {
                let mut word = [0];
                state::COMMAND_ERROR.put(&mut word, own.command_error.into());
                state::IDLE.put(&mut word, self.is_idle().into());
                pair(own.control, word[0])
            }
            registers::MAC => own.identity.mac,
            registers::IP => pair(own.identity.ip, own.identity.pkey),
            registers::STAGE0 => own.stage[0],
            registers::STAGE1 => own.stage[1],
            registers::STAGE2 => own.stage[2],
            registers::RESULT => own.result,
            registers::TIME => pair(ticks(self.now), CQS as u64),
            registers::READ_DEPTH => pair(READ_DEPTH as u64, own.raw_channel),
            _ if at >= registers::COUNTERS => self.counters.get((at - registers::COUNTERS) / 8),
            _ => 0,
        }
    }

    /// A load of up to 8 bytes, naturally aligned.
    pub fn load_register(&mut self, offset: u64, length: usize) -> u64 {
        if Vectors::covers(offset) {
            return self.vectors.read(offset, length);
        }
        self.register(offset & !7) >> (8 * (offset & 7)) & (u64::MAX >> (64 - 8 * length))
    }

    /// A store, naturally aligned; one of fewer than 4 bytes does nothing.
    pub fn store_register(&mut self, offset: u64, length: usize, value: u64) {
        if length < 4 {
            return;
        }
        if Vectors::covers(offset) {
            self.vectors.write(offset, length, value);
            return self.send_interrupts();
        }
        let at = offset & !7;
        let (low, high) = (offset == at, offset != at || length == 8);
        let merge = |old: u64| match (low, high) {
            (true, true) => value,
            (true, false) => old & !0xFFFF_FFFF | value & 0xFFFF_FFFF,
            _ => old & 0xFFFF_FFFF | value << 32,
        };
        match at {
            registers::CONTROL if low => self.set_control(value & 0xFFFF_FFFF),
            registers::MAC => {
                self.registers.identity.mac = merge(self.registers.identity.mac) & 0xFFFF_FFFF_FFFF
            }
            registers::IP => {
                let own = &mut self.registers.identity;
                let word = merge(pair(own.ip, own.pkey));
                (own.ip, own.pkey) = (word as u32, (word >> 32) as u16);
            }
            registers::STAGE0 => self.registers.stage[0] = merge(self.registers.stage[0]),
            registers::STAGE1 => self.registers.stage[1] = merge(self.registers.stage[1]),
            registers::STAGE2 => self.registers.stage[2] = merge(self.registers.stage[2]),
            registers::COMMAND if low => self.command(merge(0)),
            registers::READ_DEPTH if high => self.registers.raw_channel = merge(0) >> 32,
            _ => {}
        }
    }

    fn set_control(&mut self, value: u64) {
        if control::RESET.get(&[value]) != 0 {
            return self.reset();
        }
        self.registers.control = value & 3;
        self.serve_queues();
    }

    fn command(&mut self, word: u64) {
        let op = command::OP.get(&[word]) as u8;
        let table = command::TABLE.get(&[word]) as u8;
        let row = command::ROW.get(&[word]) as usize;
        self.registers.command_error = match op {
            command_op::COMMIT => !self.commit(table, row),
            // No access takes time, so none is under way.
            command_op::DRAIN => false,
            command_op::QUERY => match self.vis.get(row).filter(|_| table == table::VI_STATE) {
                Some(vi) => {
                    self.registers.result = vi.state.code();
                    false
                }
                None => true,
            },
            _ => true,
        };
    }

    /// Puts the staged row into a table; whether there is such a row.
    fn commit(&mut self, number: u8, row: usize) -> bool {
        let staged = Row(self.registers.stage);
        if number == table::VI_STATE {
            let known = row < self.vis.len();
            if known {
                self.set_state(row, ViState::from_code(staged.get(vi_state::STATE)));
            }
            return known;
        }
        let place = self.tables.get_mut(number).and_then(|rows| rows.get_mut(row));
        let Some(old) = place.map(|place| std::mem::replace(place, staged)) else { return false };
        match number {
            table::WORK_QUEUE => self.renew_queue(row / 2, row % 2 == 1),
            table::TRANSMIT => self.renew_requester(row),
            table::RECEIVE => self.renew_responder(row),
            table::COMPLETION_QUEUE => self.renew_cq(row, old.is(completion_queue::LIVE)),
            _ => {}
        }
        true
    }
}
