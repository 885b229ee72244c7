//! Regions on their way into the NIC's tables, and out of them: their memory is mapped and unmapped meanwhile, which may take its time.

use std::os::fd::BorrowedFd;

use super::place::Place;
use crate::{
    device::{DeviceError, DmaAccess, PciDevice},
    device_protocol::rows,
};

/// A region that the NIC does not know yet: what it will have is its own already.
#[derive(Debug)]
#[must_use]
pub struct Draft {
    pub(super) index: u16,
    pub(super) row: rows::Region,
    pub(super) place: Place,
    /// First byte of its first page.
    pub(super) start: u64,
    pub(super) access: DmaAccess,
}

impl Draft {
    /// Maps its memory, of this process.
    ///
    /// # Safety
    /// As [`PciDevice::map_dma`], until [`End::unmap`] has returned without an error.
    pub unsafe fn map(&self, device: &dyn PciDevice) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { self.map_view(device, self.start as usize) }
    }

    /// Maps its memory, of which this process has a view: its pages, from `view` on.
    ///
    /// # Safety
    /// As [`Draft::map`], of the view.
    pub unsafe fn map_view(&self, device: &dyn PciDevice, view: usize) -> Result<(), DeviceError> {
        let Place { iova, bytes, .. } = self.place;
        // SAFETY: the caller's promise.
        unsafe { device.map_dma(iova, view, bytes as usize, self.access) }
    }

    /// Maps its memory, which is a memfd's: its pages, from `offset` on.
    pub fn map_memfd(
        &self,
        device: &dyn PciDevice,
        file: BorrowedFd<'_>,
        offset: u64,
    ) -> Result<(), DeviceError> {
        let Place { iova, bytes, .. } = self.place;
        device.map_memfd(iova, file, offset, bytes as usize, self.access)
    }

    /// Maps its memory, of another process, which is `file`.
    pub fn map_file(&self, device: &dyn PciDevice, file: BorrowedFd<'_>) -> Result<(), DeviceError> {
        let Place { iova, bytes, .. } = self.place;
        device.map_file(iova, file, self.start, bytes as usize, self.access)
    }
}

/// A region that the NIC has no more, but whose memory is mapped.
#[derive(Debug)]
#[must_use]
pub struct End {
    pub(super) index: u16,
    pub(super) place: Place,
}

impl End {
    /// Takes the memory back from the device.
    pub fn unmap(&self, device: &dyn PciDevice) -> Result<(), DeviceError> {
        self.place.unmap(device)
    }
}
