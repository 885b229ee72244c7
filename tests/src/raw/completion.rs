//! What a NIC writes into a descriptor.

use viaduct_spec::descriptor::{control_segment, status};

use crate::memory::Memory;
use crate::world::{Host, World};

/// What a NIC wrote into a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Status word; 0 until complete.
    pub status: u32,
    /// Length word.
    pub length: u32,
    /// ImmediateData.
    pub immediate: u32,
}

impl Completion {
    /// Of the descriptor at `offset` of a memory.
    pub fn read(memory: &Memory, offset: usize) -> Self {
        let words: [u64; 4] = std::array::from_fn(|word| memory.word(offset + 8 * word));
        Self {
            status: control_segment::STATUS.get(&words) as u32,
            length: control_segment::LENGTH.get(&words) as u32,
            immediate: control_segment::IMMEDIATE.get(&words) as u32,
        }
    }

    /// The NIC is done with it.
    pub fn is_complete(&self) -> bool {
        self.status & (status::DONE | status::ERROR_MASK) != 0
    }
}

impl World {
    /// Steps until a descriptor is complete.
    pub fn complete(&self, host: &Host, place: usize) -> Completion {
        let what = format!("the descriptor at {place:#x} of host {} is complete", host.index);
        self.until(&what, 300_000, || Completion::read(&host.memory, place).is_complete());
        Completion::read(&host.memory, place)
    }
}
