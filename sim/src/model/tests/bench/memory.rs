//! Hosts' memory: a file of each, and the regions in it.

use std::os::unix::fs::FileExt;

use viaduct_spec::layout::Field;
use viaduct_spec::tables::{page, region, table};

use super::layout::{ARENA, ARENA_BYTES, ARENA_REGION, DATA, DATA_BYTES, DATA_REGION, KEY, SYSTEM_TAG, TAG};
use super::{row, Bench};
use crate::memory::Range;

impl Bench {
    /// Gives a NIC's host its memory: a file that the NIC reaches.
    pub(super) fn map(&mut self, nic: usize) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(ARENA + ARENA_BYTES).unwrap();
        let range = Range {
            iova: DATA,
            length: DATA_BYTES + ARENA_BYTES,
            offset: DATA,
            readable: true,
            writable: true,
        };
        self.net.memory(nic).map(&range, Some(file.try_clone().unwrap())).unwrap();
        self.files.push(file);
    }

    /// Writes the rows of the user's data and of the arena.
    pub(super) fn regions(&mut self, nic: usize) {
        self.region(nic, DATA_REGION, &[]);
        let arena =
            [(region::SYSTEM, 1), (region::TAG, SYSTEM_TAG), (region::BASE, ARENA), (region::FIRST_PAGE, 1)];
        self.region(nic, ARENA_REGION, &arena);
        for (index, at) in [(0, DATA), (1, ARENA)] {
            self.commit(nic, table::PAGE, index, row(&[(page::ADDRESS, at)]));
        }
    }

    /// Writes a region row; what is not said is as in the data region.
    pub fn region(&mut self, nic: usize, index: u16, fields: &[(Field, u64)]) {
        let usual = [
            (region::BASE, DATA),
            (region::LENGTH, DATA_BYTES),
            (region::TAG, TAG),
            (region::KEY, KEY),
            (region::PAGE_SHIFT, 20),
            (region::LIVE, 1),
            (region::RDMA_READ, 1),
            (region::RDMA_WRITE, 1),
        ];
        let mut words = row(&usual);
        fields.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::REGION, index.into(), words);
    }

    pub fn write(&self, nic: usize, at: u64, data: &[u8]) {
        self.files[nic].write_all_at(data, at).unwrap();
    }

    pub fn read(&self, nic: usize, at: u64, length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        self.files[nic].read_exact_at(&mut data, at).unwrap();
        data
    }

    pub(super) fn read_u32(&self, nic: usize, at: u64) -> u32 {
        u32::from_le_bytes(self.read(nic, at, 4).try_into().unwrap())
    }
}
