//! Loads and stores: registers, doorbells, commands and the rows that they write.

use viaduct_driver::device::Bar;
use viaduct_spec::layout::Field;
use viaduct_spec::profile::DOORBELL_SHIFT;
use viaduct_spec::register::{command, command_op, counter, registers};
use viaduct_spec::tables::{table, vi_state};

use super::{Bench, End};
use crate::root_complex::Access;

/// Row words from fields.
pub fn row(fields: &[(Field, u64)]) -> [u64; 3] {
    let mut words = [0; 3];
    fields.iter().for_each(|(field, value)| field.put(&mut words, *value));
    words
}

impl Bench {
    pub fn store(&mut self, nic: usize, offset: u64, length: usize, value: u64) {
        self.net.store(nic, Access::new(Bar::Registers, offset, length).unwrap(), value);
    }

    pub fn load(&mut self, nic: usize, offset: u64, length: usize) -> u64 {
        self.net.load_and_wait(nic, Access::new(Bar::Registers, offset, length).unwrap())
    }

    pub fn ring(&mut self, nic: usize, page: usize, offset: u64, length: usize, value: u64) {
        let at = ((page as u64) << DOORBELL_SHIFT) + offset;
        self.net.store(nic, Access::new(Bar::Doorbells, at, length).unwrap(), value);
    }

    pub fn command(&mut self, nic: usize, op: u8, number: u8, at: u64) {
        let word = row(&[(command::OP, op.into()), (command::TABLE, number.into()), (command::ROW, at)]);
        self.store(nic, registers::COMMAND, 8, word[0]);
    }

    pub fn commit(&mut self, nic: usize, number: u8, at: u64, words: [u64; 3]) {
        for (offset, word) in [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words)
        {
            self.store(nic, offset, 8, word);
        }
        self.command(nic, command_op::COMMIT, number, at);
    }

    pub fn counter(&mut self, nic: usize, number: u64) -> u64 {
        self.load(nic, registers::COUNTERS + 8 * number, 8)
    }

    pub fn state(&mut self, (nic, vi): End) -> u8 {
        self.command(nic, command_op::QUERY, table::VI_STATE, vi as u64);
        self.load(nic, registers::RESULT, 8) as u8
    }

    pub fn set_state(&mut self, (nic, vi): End, state: u8) {
        self.commit(nic, table::VI_STATE, vi as u64, row(&[(vi_state::STATE, state.into())]));
    }
}

/// Counters that are not 0, by name, for messages of tests.
pub fn moved(bench: &mut Bench, nic: usize) -> Vec<(&'static str, u64)> {
    let mut counters: Vec<_> =
        counter::CODES.codes.iter().map(|code| (code.name, bench.counter(nic, code.value))).collect();
    counters.retain(|(_, value)| *value != 0);
    counters
}
