//! A PCI function that the kernel hands to this process through VFIO: a board, or a function of a virtual
//! machine's. It needs no privilege but the right to open the function's device node.
//!
//! Registers and doorbells are memory of this process; the device reaches the memory that it was given
//! and no other, because the IOMMU stands between. There are two ways in: the
//! node of the IOMMU group, and where this user may not open that, the function's own. A process that may open neither is given the
//! descriptors by one that may.

mod cdev;
mod group;
pub(crate) mod info;
mod ioctl;
mod open;
mod region;
mod sharing;
mod space;

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    ops::RangeInclusive,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    ptr::NonNull,
    sync::{
        atomic::{AtomicBool, Ordering},
        Mutex, MutexGuard,
    },
    time::Duration,
};

use vfio_bindings::bindings::vfio;

use crate::{
    device::{sharing::Sharing, Bar, DeviceError, DmaAccess, PciDevice},
    fork::Birth,
    pci::{Function, Machine, Obstacle},
};
use ioctl::Query;
use region::{Region, Word};
use space::AddressSpace;

/// What [`PciDevice::pause`] sleeps: it leaves the processor to others, which in a virtual machine with
/// one processor may be what is waited for.
const PAUSE: Duration = Duration::from_micros(20);
/// Pages of DMA maps.
const PAGE_BYTES: u64 = 4096;
/// Configuration space: identifiers.
const CONFIG_ID: u64 = 0;
/// Configuration space: the command register, in the low half.
const CONFIG_COMMAND: u64 = 4;
/// Command register: BARs answer.
const MEMORY_ENABLE: u32 = 1 << 1;

/// A PCI function behind VFIO. When it is dropped, its interrupts are turned off and its maps taken back
/// before the kernel closes it, which stops its DMA and resets it.
pub struct Vfio {
    born: Birth,
    name: String,
    machine: Machine,
    function: Function,
    /// DMA maps: bytes by first address.
    maps: Mutex<BTreeMap<u64, usize>>,
    /// Whether interrupts are on.
    interrupts: Mutex<bool>,
    vectors: usize,
    resets: bool,
    ranges: Vec<RangeInclusive<u64>>,
    /// Memory Enable of the command register: without it an access to a mapped BAR ends the process.
    answers: AtomicBool,
    // Dropped in this order: mappings, the function's file, group and container.
    registers: Region,
    doorbells: Region,
    config: Region,
    device: File,
    space: Box<dyn AddressSpace>,
}

impl Vfio {
    /// The name it was opened by: `vfio:` and its PCI address.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the system said of it when it was opened.
    pub fn function(&self) -> &Function {
        &self.function
    }

    fn bar(&self, bar: Bar) -> &Region {
        match bar {
            Bar::Registers => &self.registers,
            Bar::Doorbells => &self.doorbells,
        }
    }

    fn read<T: Word + Into<u64>>(&self, bar: Bar, offset: u64) -> Result<T, DeviceError> {
        self.born.check()?;
        let request = || format!("a read of {} bytes at {offset:#x} of {bar:?}", size_of::<T>());
        let region = self.bar(bar);
        region.check(offset, size_of::<T>()).map_err(|rule| refusal(request(), rule))?;
        let ones = u64::MAX >> (64 - 8 * size_of::<T>());
        if !self.answers.load(Ordering::Relaxed) {
            // What a bus answers for a function that does not.
            return Ok(T::from_bytes(ones.to_le_bytes()));
        }
        let value = region.read::<T>(&self.device, offset).map_err(|error| self.failed(&request, error))?;
        if value.into() == ones {
            self.is_there()?;
        }
        Ok(value)
    }

    fn write<T: Word>(&self, bar: Bar, offset: u64, value: T) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || format!("a write of {} bytes at {offset:#x} of {bar:?}", size_of::<T>());
        let region = self.bar(bar);
        region.check(offset, size_of::<T>()).map_err(|rule| refusal(request(), rule))?;
        if !self.answers.load(Ordering::Relaxed) {
            return Ok(());
        }
        region.write(&self.device, offset, value).map_err(|error| self.failed(&request, error))
    }

    /// A function that was removed reads as all ones, its identifiers too.
    fn is_there(&self) -> Result<(), DeviceError> {
        match self.config.read::<u32>(&self.device, CONFIG_ID) {
            Ok(identifiers) if identifiers != u32::MAX => Ok(()),
            Ok(_) => Err(self.gone("it reads as all ones".into())),
            Err(error) => Err(self.gone(error.to_string())),
        }
    }

    fn gone(&self, reason: String) -> DeviceError {
        DeviceError::Gone { place: self.name.clone(), reason }
    }

    /// A call of the kernel's failed.
    fn failed(&self, request: &dyn Fn() -> String, source: io::Error) -> DeviceError {
        match source.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => self.gone(format!("{}: {source}", request())),
            _ => DeviceError::System { request: format!("{} on {}", request(), self.name), source },
        }
    }

    /// Maps memory by `map`, and keeps a record of it.
    fn map(
        &self,
        iova: u64,
        from: u64,
        length: usize,
        request: &dyn Fn() -> String,
        map: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), DeviceError> {
        check_pages(&[iova, from, length as u64], request)?;
        let mut maps = lock(&self.maps);
        map().map_err(|error| self.map_failed(request, iova, length as u64, error))?;
        maps.insert(iova, length);
        Ok(())
    }

    /// A map failed.
    fn map_failed(
        &self,
        request: &dyn Fn() -> String,
        iova: u64,
        length: u64,
        error: io::Error,
    ) -> DeviceError {
        let blocked = |obstacle| DeviceError::Obstacle { request: request(), obstacle: Box::new(obstacle) };
        let last = iova.checked_add(length.max(1) - 1);
        let inside = |last| self.ranges.iter().any(|range| range.contains(&iova) && range.contains(&last));
        match error.raw_os_error() {
            Some(libc::ENOMEM) => {
                let memlock = self.machine.memlock();
                match memlock.allows(length) {
                    false => blocked(Obstacle::Memlock { memlock, bytes: length }),
                    true => self.failed(request, error),
                }
            }
            Some(libc::ENOSPC) => blocked(Obstacle::Maps { limit: self.machine.dma_entry_limit() }),
            Some(libc::EEXIST) => refusal(request(), "part of it is mapped already".into()),
            Some(libc::EFAULT) => {
                refusal(request(), "the process may not reach all of this memory itself in this way".into())
            }
            Some(libc::EINVAL) if !last.is_some_and(inside) => {
                let ranges: Vec<String> =
                    self.ranges.iter().map(|r| format!("{:#x} to {:#x}", r.start(), r.end())).collect();
                refusal(request(), format!("the IOMMU translates {} for it", ranges.join(" and ")))
            }
            _ => self.failed(request, error),
        }
    }
}

impl PciDevice for Vfio {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.read(bar, offset)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.read(bar, offset)
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.write(bar, offset, value)
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.write(bar, offset, value)
    }

    fn doorbell_page(&self, offset: u64) -> Option<NonNull<u8>> {
        self.doorbells.page(offset)
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        let offset = u64::from(offset);
        self.born.check()?;
        let request = || format!("a read of configuration space at {offset:#x}");
        self.config.check(offset, 4).map_err(|rule| refusal(request(), rule))?;
        let value = self.config.read(&self.device, offset).map_err(|error| self.failed(&request, error))?;
        if value == u32::MAX {
            self.is_there()?;
        }
        Ok(value)
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        let offset = u64::from(offset);
        self.born.check()?;
        let request = || format!("a write of {value:#x} to configuration space at {offset:#x}");
        self.config.check(offset, 4).map_err(|rule| refusal(request(), rule))?;
        let enables = offset == CONFIG_COMMAND && value & MEMORY_ENABLE != 0;
        if offset == CONFIG_COMMAND && !enables {
            self.answers.store(false, Ordering::SeqCst);
        }
        self.config.write(&self.device, offset, value).map_err(|error| self.failed(&request, error))?;
        if enables {
            self.answers.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    #[tracing::instrument(level = "debug", skip_all, fields(iova = iova, length = length, access = ?access), ret, err(level = "debug"))]
    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || format!("a map of {length:#x} bytes at {address:#x} to DMA address {iova:#x}");
        // SAFETY: the caller's promise.
        let map = || unsafe { self.space.map(iova, address, length, access == DmaAccess::ReadWrite) };
        self.map(iova, address as u64, length, &request, map)
    }

    fn maps_memfds(&self) -> bool {
        self.space.maps_memfds()
    }

    #[tracing::instrument(level = "debug", skip_all, fields(iova = iova, offset = offset, length = length, access = ?access), ret, err(level = "debug"))]
    fn map_memfd(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        self.born.check()?;
        let request =
            || format!("a map of {length:#x} bytes at {offset:#x} of a memfd to DMA address {iova:#x}");
        let map = || self.space.map_memfd(iova, file, offset, length, access == DmaAccess::ReadWrite);
        self.map(iova, offset, length, &request, map)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(iova = iova, length = length), ret, err(level = "debug"))]
    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || format!("the unmap of {length:#x} bytes at DMA address {iova:#x}");
        check_pages(&[iova, length as u64], &request)?;
        let mut maps = lock(&self.maps);
        if maps.get(&iova) != Some(&length) {
            return Err(refusal(request(), "it takes back what one map gave, whole".into()));
        }
        let unmapped = self.space.unmap(iova, length).map_err(|error| self.failed(&request, error))?;
        if unmapped != length as u64 {
            return Err(refusal(request(), format!("the kernel unmapped {unmapped:#x} bytes")));
        }
        maps.remove(&iova);
        Ok(())
    }

    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        self.ranges.clone()
    }

    fn vectors(&self) -> usize {
        self.vectors
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vectors = events.len()), ret, err(level = "debug"))]
    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || format!("interrupts on {} vectors", events.len());
        if events.len() > self.vectors {
            return Err(refusal(request(), format!("the function has {}", self.vectors)));
        }
        let mut on = lock(&self.interrupts);
        if events.is_empty() && !*on {
            // The kernel turns off only what is on.
            return Ok(());
        }
        // All vectors, so that those without an eventfd become silent.
        let silent = std::iter::repeat(-1);
        let count = if events.is_empty() { 0 } else { self.vectors };
        let events: Vec<i32> = events.iter().map(AsRawFd::as_raw_fd).chain(silent).take(count).collect();
        ioctl::set_interrupts(self.device.as_fd(), vfio::VFIO_PCI_MSIX_IRQ_INDEX, &events)
            .map_err(|error| self.failed(&request, error))?;
        *on = !events.is_empty();
        Ok(())
    }

    fn set_alarms(&self, removal: BorrowedFd<'_>, error: BorrowedFd<'_>) -> Result<(), DeviceError> {
        self.born.check()?;
        let kinds = [(vfio::VFIO_PCI_REQ_IRQ_INDEX, removal), (vfio::VFIO_PCI_ERR_IRQ_INDEX, error)];
        for (kind, event) in kinds {
            // A kernel or a function without it says so by an error, or by none of them.
            let there = ioctl::query(self.device.as_fd(), Query::Interrupts(kind));
            if !there.is_ok_and(|bytes| info::vectors(&bytes).is_ok_and(|count| count > 0)) {
                continue;
            }
            let request = || format!("an eventfd for interrupts of kind {kind}");
            ioctl::set_interrupts(self.device.as_fd(), kind, &[event.as_raw_fd()])
                .map_err(|error| self.failed(&request, error))?;
        }
        Ok(())
    }

    fn may_sleep(&self) -> bool {
        true
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        Some(self)
    }

    #[tracing::instrument(level = "debug", skip_all, ret, err(level = "debug"))]
    fn reset(&self) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || "a function reset".to_string();
        if !self.resets {
            return Err(refusal(request(), format!("{} has none that the kernel knows", self.name)));
        }
        ioctl::reset(self.device.as_fd()).map_err(|error| self.failed(&request, error))?;
        // The kernel puts configuration space back as it was.
        let command = self.config_read32(CONFIG_COMMAND as u16)?;
        self.answers.store(command & MEMORY_ENABLE != 0, Ordering::SeqCst);
        Ok(())
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }
}

impl Drop for Vfio {
    fn drop(&mut self) {
        if !self.born.is_here() {
            // A copy in a child.
            return;
        }
        // Nobody is left to tell; closing the function's file does the same once more.
        let _ = self.set_interrupts(&[]);
        for (iova, length) in lock(&self.maps).iter() {
            let _ = self.space.unmap(*iova, *length);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these locks guard is changed in one step, after the kernel's answer.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn refusal(request: String, reason: String) -> DeviceError {
    DeviceError::Refused { request, reason }
}

fn check_pages(numbers: &[u64], request: &dyn Fn() -> String) -> Result<(), DeviceError> {
    if numbers.iter().any(|n| n % PAGE_BYTES != 0) {
        return Err(refusal(request(), format!("not in whole pages of {PAGE_BYTES} bytes")));
    }
    Ok(())
}
