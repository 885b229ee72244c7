//! What the Kernel Agent needs of a PCI function, whatever stands behind it: a simulator's socket, a
//! simulation in the same process, or VFIO.

pub mod sharing;

use std::{io, ops::RangeInclusive, os::fd::BorrowedFd, ptr::NonNull};

use self::sharing::Sharing;
use crate::pci::Obstacle;

/// A base address region of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// BAR 0: registers.
    Registers,
    /// BAR 2: doorbell pages.
    Doorbells,
}

/// What the device may do with memory that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmaAccess {
    /// Read only.
    Read,
    /// Read and write.
    ReadWrite,
}

/// What somebody does between two looks at a device who has found nothing many times in a row, and does not want to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Polling {
    /// Nothing: hardware needs no processor.
    Spin,
    /// Yields the processor: the device is a program of this machine's, which needs one. It never sleeps.
    Yield,
    /// [`PciDevice::pause`]: time passes only there.
    Pause,
}

/// What the system says of a function beside its interrupts. After either the function is of no use to its driver any more, and is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Somebody unplugs or unbinds it, and waits until its driver has let go of it.
    Removal,
    /// The bus has found an error that it cannot mend (PCIe AER), and stopped it.
    Error,
}

/// Why a device did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The device is gone: the simulator ended, or the function was removed.
    #[error("the device at {place} is gone: {reason}")]
    Gone {
        /// Its socket or PCI address.
        place: String,
        /// What was seen of it.
        reason: String,
    },
    /// The device refused the request.
    #[error("the device refused {request}: {reason}")]
    Refused {
        /// The request, with its numbers.
        request: String,
        /// The rule that it breaks.
        reason: String,
    },
    /// The caller is a child of the process that opened the device.
    #[error("this process is a fork of the one that opened the NIC: it must open the NIC itself")]
    Forked,
    /// The machine is not set up for it.
    #[error("{request}: {obstacle}")]
    Obstacle {
        /// What was being done.
        request: String,
        /// What is in the way, and how to mend it.
        obstacle: Box<Obstacle>,
    },
    /// The operating system refused.
    #[error("{request}: {source}")]
    System {
        /// What was being done.
        request: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// One PCI function with the NIC behind it. Calls may come from any thread.
///
/// Offsets are naturally aligned; one outside its BAR is [`DeviceError::Refused`].
pub trait PciDevice: Send + Sync {
    /// Reads 4 bytes of a BAR.
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError>;
    /// Reads 8 bytes of a BAR in one access.
    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError>;
    /// Writes 4 bytes of a BAR. Posted: it may return before the device has seen it; order is kept.
    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError>;
    /// Writes 8 bytes of a BAR in one access. Posted, as [`PciDevice::write32`].
    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError>;
    /// [`PciDevice::write64`], but when it returns the device has it: nothing that another device does from now on, because it
    /// was told of this, comes before. On a bus a posted write has that by itself, being faster than any message; a
    /// server's socket has not.
    fn write64_taken(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.write64(bar, offset, value)
    }
    /// The doorbell page at `offset` of the doorbells' BAR, if it is memory of this process: a store of a whole word there is
    /// [`PciDevice::write64`]. It stays as long as the device.
    fn doorbell_page(&self, offset: u64) -> Option<NonNull<u8>> {
        let _ = offset;
        None
    }
    /// Reads 4 bytes of configuration space.
    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError>;
    /// Writes 4 bytes of configuration space.
    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError>;
    /// Lets the device reach `length` bytes of this process's memory from `address` on, at DMA
    /// address `iova`. All three are multiples of 4096.
    ///
    /// # Safety
    /// From now until [`PciDevice::unmap_dma`] the device may read, and with
    /// [`DmaAccess::ReadWrite`] change, these bytes at any time: they stay mapped, and no Rust
    /// reference that forbids it may exist while the device uses them.
    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError>;
    /// Lets the device reach `length` bytes of a file, from `offset` on: of another process's memory, where that is its
    /// `/proc/self/mem` (offset = virtual address). A server of the vfio-user protocol can; what translates addresses of this process alone
    /// cannot, and refuses, with the ways that there are.
    fn map_file(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let _ = (file, access);
        Err(DeviceError::Refused {
            request: format!("a map of {length:#x} bytes at {offset:#x} of another process to DMA address {iova:#x}"),
            reason: "its IOMMU maps memory of the process that asks, and that is viad: of programs that viad does not trust \
                     the NIC reaches memory that the library has allocated (Nic::allocate, VipExtAllocateMem). Any memory is registered by a \
                     program that viad trusts (way=trusted in the NIC's name, `users` of [trusted] in viad.toml), or that opens \
                     the NIC itself (vfio:ADDRESS)"
                .into(),
        })
    }
    /// Whether [`PciDevice::map_memfd`] is the way to memory of which this process has a descriptor. Else it maps its view of it.
    fn maps_memfds(&self) -> bool {
        false
    }
    /// Lets the device reach `length` bytes of a memfd, from `offset` on. All three numbers are multiples of 4096. With [`DmaAccess::ReadWrite`] the caller
    /// knows that the descriptor is open for writing, and that the memfd is not sealed against that.
    fn map_memfd(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let _ = (file, access);
        Err(DeviceError::Refused {
            request: format!("a map of {length:#x} bytes at {offset:#x} of a memfd to DMA address {iova:#x}"),
            reason: "it maps memory of this process".into(),
        })
    }
    /// Takes the memory back; returns when no access of the device can still come.
    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError>;
    /// DMA addresses at which memory may be mapped, first and last, lowest first: what the IOMMU
    /// can translate, without what it keeps for itself (interrupts, reserved regions).
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>>;
    /// Interrupt vectors.
    fn vectors(&self) -> usize;
    /// From now on each interrupt of vector `n` adds one to the eventfd `events[n]`; vectors without
    /// one are silent. Replaces what was set before; with none, interrupts are off.
    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError>;
    /// From now on the eventfd of `removal` hears when the system wants the function back ([`Alarm::Removal`]), and that of `error` when the bus
    /// gives it up ([`Alarm::Error`]). Where the system says neither, nothing happens.
    fn set_alarms(&self, removal: BorrowedFd<'_>, error: BorrowedFd<'_>) -> Result<(), DeviceError> {
        let _ = (removal, error);
        Ok(())
    }
    /// Whether a thread may sleep until an interrupt comes. Not where time passes only inside the
    /// device's calls, as in a deterministic simulation: there one waits with [`PciDevice::pause`].
    fn may_sleep(&self) -> bool;
    /// What somebody does who polls. Hardware needs nothing.
    fn polling(&self) -> Polling {
        Polling::Spin
    }
    /// How other processes may have the function beside this one, if they may at all.
    fn sharing(&self) -> Option<&dyn Sharing> {
        None
    }
    /// Resets the function.
    fn reset(&self) -> Result<(), DeviceError>;
    /// Lets time pass while the caller waits for the device: sleeps for a moment on a
    /// device with its own clock, and runs a deterministic simulation on by one step. For calls that wait; who only looks goes by
    /// [`PciDevice::polling`].
    fn pause(&self);
}
