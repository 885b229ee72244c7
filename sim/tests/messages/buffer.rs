//! Memory of this process that a NIC changes.

use std::sync::atomic::{AtomicU32, Ordering};

use viaduct_driver::device::{DmaAccess, PciDevice};

use super::PAGE;

/// Memory of this process that nothing else refers to while a NIC may change it.
pub struct Buffer {
    pages: Box<[AtomicU32]>,
}

impl Buffer {
    pub fn new() -> Self {
        let pages = (0..2 * PAGE / 4).map(|n| AtomicU32::new(n as u32)).collect();
        Self { pages }
    }

    fn start(&self) -> usize {
        (self.pages.as_ptr() as usize).next_multiple_of(PAGE)
    }

    pub fn word(&self, byte: usize) -> u32 {
        let skipped = self.start() - self.pages.as_ptr() as usize;
        self.pages[(skipped + byte) / 4].load(Ordering::SeqCst)
    }

    pub fn map(&self, device: &dyn PciDevice, iova: u64) {
        // SAFETY: the words are atomics, and the buffer outlives the device's accesses.
        unsafe { device.map_dma(iova, self.start(), PAGE, DmaAccess::ReadWrite).unwrap() };
    }
}
