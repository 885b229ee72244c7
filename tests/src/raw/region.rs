//! Registered regions.

use viaduct_spec::doorbell;
use viaduct_spec::handle::memory_handle;

/// A registered region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Region {
    /// The memory handle.
    pub handle: u32,
    /// Virtual address of its first byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
}

impl Region {
    /// Its row of the region table.
    pub fn index(&self) -> u16 {
        memory_handle::INDEX.get(&[self.handle.into()]) as u16
    }

    /// The token, at ring position `position`, of a descriptor at `address`, which need not lie in the region.
    pub fn token(&self, address: u64, position: u16) -> u64 {
        doorbell::encode(self.index(), address.wrapping_sub(self.address & !63) / 64, position)
    }
}
