//! The DMA addresses of a function: what an IOMMU translates for it.

use std::{fs::File, io, os::fd::BorrowedFd};

use super::info::IommuInfo;
use crate::device::sharing::OpenSpace;

/// An IOMMU's address space with one function in it. Dropped after the function's file.
pub trait AddressSpace: Send + Sync {
    /// Maps `length` bytes at `address` at the DMA address `iova`, for reading, and with `write` for
    /// writing too.
    ///
    /// # Safety
    /// As [`crate::device::PciDevice::map_dma`].
    unsafe fn map(&self, iova: u64, address: usize, length: usize, write: bool) -> io::Result<()>;
    /// Whether it maps memfds by themselves ([`AddressSpace::map_memfd`]): known since it was opened.
    fn maps_memfds(&self) -> bool {
        false
    }
    /// Maps `length` bytes of a memfd, from `offset` on, at the DMA address `iova`, for reading, and with `write` for writing too.
    fn map_memfd(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        write: bool,
    ) -> io::Result<()> {
        let _ = (iova, file, offset, length, write);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Unmaps; how many bytes it were.
    fn unmap(&self, iova: u64, length: usize) -> io::Result<u64>;
    /// What it can translate.
    fn info(&self) -> io::Result<IommuInfo>;
    /// Descriptors of it for another process.
    fn hand_over(&self) -> io::Result<OpenSpace>;
    /// Closes it, with `null` in its place: calls fail from now on.
    fn let_go(&self, null: BorrowedFd<'_>) -> io::Result<()>;
}

/// A function that has been opened.
pub struct Opened {
    /// Its file: regions, interrupts, reset.
    pub device: File,
    /// Its DMA addresses.
    pub space: Box<dyn AddressSpace>,
}
