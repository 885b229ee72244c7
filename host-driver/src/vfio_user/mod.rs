//! A PCI function behind a vfio-user socket: the simulator, or any other server of the protocol.
//!
//! The server reaches this process's memory through a descriptor of `/proc/self/mem` that goes with
//! each mapping (file offset = virtual address), so any memory can be registered, not only shared
//! memory. Nothing that the server says is trusted: a reply that is late, short, long or not the one
//! that was due ends the connection, and from then on every call answers [`DeviceError::Gone`].

mod connection;
mod mapped;
pub mod message;
mod open;

use std::{
    fs::File,
    io,
    ops::RangeInclusive,
    os::fd::{AsFd, BorrowedFd},
    ptr::NonNull,
    sync::{
        atomic::{AtomicU64, Ordering},
        Mutex, MutexGuard,
    },
    time::Duration,
};

use connection::{Connection, Failure};
use message::{irq, Request, Write};

use crate::{
    barrier,
    device::{Bar, DeviceError, DmaAccess, PciDevice, Polling},
    fork::Birth,
    memory::Mapping,
};

/// How long a reply may take. A server that died is seen at once, by the end of its stream; this is
/// for one that stopped answering.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(4);
/// What [`PciDevice::pause`] sleeps: long enough to leave the processor to the simulator, short
/// against anything a person waits for.
const PAUSE: Duration = Duration::from_micros(20);
/// Pages of DMA maps.
const PAGE_BYTES: u64 = 4096;

/// A PCI function behind a vfio-user socket.
pub struct VfioUser {
    place: String,
    /// A child of a fork has the mapping, too, and may not use it.
    born: Birth,
    connection: Mutex<Connection>,
    /// `/proc/self/mem`, for memory that the device may write.
    writable: File,
    /// The same, opened for reading only: read-only maps stay so whatever the server does.
    readable: File,
    registers: Region,
    doorbells: Region,
    /// The doorbells, where the server lets its client map them.
    mapped: Option<Mapping>,
    config: Region,
    /// MSI-X vectors.
    vectors: u32,
    /// Descriptors that the server takes with one message.
    files: usize,
}

#[derive(Debug, Clone, Copy)]
struct Region {
    index: u32,
    size: u64,
    /// Bytes of all that the server says of it, if it may be mapped.
    mappable: Option<u32>,
}

impl VfioUser {
    /// The socket's path.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked with the lock held left no half-sent message behind that `gone`
        // would not show: calls end it on every early return.
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn call(
        &self,
        what: impl Fn() -> String,
        request: &Request<'_>,
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, DeviceError> {
        self.connection()
            .call(request, files)
            .map_err(|failure| refused_or_gone(&self.place, &what(), failure))
    }

    fn region(&self, bar: Bar) -> Region {
        match bar {
            Bar::Registers => self.registers,
            Bar::Doorbells => self.doorbells,
        }
    }

    /// The `N` bytes at `offset`.
    fn read<const N: usize>(&self, region: Region, offset: u64) -> Result<[u8; N], DeviceError> {
        let what = || format!("a read of {N} bytes at {offset:#x} of region {}", region.index);
        check_place(region, offset, N as u32, what)?;
        let request = Request::Read { region: region.index, offset, count: N as u32 };
        let answer = self.call(what, &request, &[])?;
        match answer.strip_prefix(&request.body()[..]).map(<[u8; N]>::try_from) {
            Some(Ok(bytes)) => Ok(bytes),
            _ => {
                let reason = format!("it answered {} with {} bytes of something else", what(), answer.len());
                Err(self.end(reason))
            }
        }
    }

    fn write(&self, region: Region, offset: u64, data: &[u8], posted: bool) -> Result<(), DeviceError> {
        let count = data.len() as u32;
        let what = || format!("a write of {count} bytes at {offset:#x} of region {}", region.index);
        check_place(region, offset, count, what)?;
        let request = Request::Write(Write { region: region.index, offset, data });
        if posted {
            self.connection().post(&request).map_err(|failure| refused_or_gone(&self.place, &what(), failure))
        } else {
            self.call(what, &request, &[]).map(drop)
        }
    }

    /// A store to the doorbells that are mapped.
    fn store(&self, mapped: &Mapping, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.born.check()?;
        check_place(self.doorbells, offset, 8, || {
            format!("a store of 8 bytes at {offset:#x} of the doorbells")
        })?;
        barrier::to_device();
        // SAFETY: aligned and inside the region, all of which is mapped, by the check; everybody accesses it as atomics.
        let word = unsafe { mapped.start().add(offset as usize).cast::<AtomicU64>().as_ref() };
        word.store(value.to_le(), Ordering::Release);
        Ok(())
    }

    /// Ends the connection because of what the server did.
    fn end(&self, reason: String) -> DeviceError {
        let reason = self.connection().end(reason);
        DeviceError::Gone { place: self.place.clone(), reason }
    }
}

impl PciDevice for VfioUser {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.read(self.region(bar), offset).map(u32::from_le_bytes)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.read(self.region(bar), offset).map(u64::from_le_bytes)
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.write(self.region(bar), offset, &value.to_le_bytes(), true)
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        if let (Bar::Doorbells, Some(mapped)) = (bar, &self.mapped) {
            return self.store(mapped, offset, value);
        }
        self.write(self.region(bar), offset, &value.to_le_bytes(), true)
    }

    fn write64_taken(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        if let (Bar::Doorbells, Some(mapped)) = (bar, &self.mapped) {
            // A server that lets its doorbells be mapped sees a store before it sees a frame that comes later: `mapped`.
            return self.store(mapped, offset, value);
        }
        // The server answers when it has handed it on.
        self.write(self.region(bar), offset, &value.to_le_bytes(), false)
    }

    fn doorbell_page(&self, offset: u64) -> Option<NonNull<u8>> {
        let mapped = self.mapped.as_ref().filter(|_| offset % PAGE_BYTES == 0)?;
        let end = offset.checked_add(PAGE_BYTES).filter(|end| *end <= mapped.length() as u64)?;
        // SAFETY: the page ends inside the mapping.
        Some(unsafe { mapped.start().add((end - PAGE_BYTES) as usize) })
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        self.read(self.config, offset.into()).map(u32::from_le_bytes)
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        // Configuration writes are non-posted in PCI.
        self.write(self.config, offset.into(), &value.to_le_bytes(), false)
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let file = match access {
            DmaAccess::Read => &self.readable,
            DmaAccess::ReadWrite => &self.writable,
        };
        self.map_file(iova, file.as_fd(), address as u64, length, access)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(iova = iova, length = length, access = ?access), ret, err(level = "debug"))]
    fn map_file(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let what = || format!("a map of {length:#x} bytes at {offset:#x} to DMA address {iova:#x}");
        check_pages(&[iova, offset, length as u64], what)?;
        let request = Request::DmaMap {
            readable: true,
            writable: access == DmaAccess::ReadWrite,
            offset,
            address: iova,
            size: length as u64,
        };
        self.call(what, &request, &[file]).map(drop)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(iova = iova, length = length), ret, err(level = "debug"))]
    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        let what = || format!("the unmap of {length:#x} bytes at DMA address {iova:#x}");
        check_pages(&[iova, length as u64], what)?;
        let request = Request::DmaUnmap { address: iova, size: length as u64, all: false };
        self.call(what, &request, &[]).map(drop)
    }

    /// Below what x86 keeps for interrupts, and above it: the server translates whatever it is told to, the
    /// rest is habit.
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        vec![0x1000..=0xfedf_ffff, 0xfef0_0000..=(1 << 47) - 1]
    }

    fn vectors(&self) -> usize {
        self.vectors as usize
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vectors = events.len()), ret, err(level = "debug"))]
    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let what = || format!("interrupts on {} vectors", events.len());
        if events.len() > self.vectors() {
            return Err(refusal(&what(), format!("there are {}", self.vectors)));
        }
        let set = |data, start, files: &[BorrowedFd<'_>]| {
            let request = Request::SetIrqs {
                flags: data | irq::ACTION_TRIGGER,
                index: irq::MSIX,
                start,
                count: files.len() as u32,
                data: &[],
            };
            self.call(what, &request, files).map(drop)
        };
        if self.vectors > 0 {
            set(irq::DATA_NONE, 0, &[])?;
        }
        for (files, n) in events.chunks(self.files).zip(0..) {
            set(irq::DATA_EVENTFD, n * self.files as u32, files)?;
        }
        Ok(())
    }

    fn may_sleep(&self) -> bool {
        true
    }

    /// A server that looks at memory for doorbells has a processor for that.
    fn polling(&self) -> Polling {
        match self.mapped {
            Some(_) => Polling::Spin,
            None => Polling::Yield,
        }
    }

    #[tracing::instrument(level = "debug", skip_all, ret, err(level = "debug"))]
    fn reset(&self) -> Result<(), DeviceError> {
        self.call(|| "a function reset".into(), &Request::Reset, &[]).map(drop)
    }

    fn pause(&self) {
        std::thread::sleep(PAUSE);
    }
}

fn refusal(request: &str, reason: String) -> DeviceError {
    DeviceError::Refused { request: request.into(), reason }
}

fn refused_or_gone(place: &str, request: &str, failure: Failure) -> DeviceError {
    match failure {
        Failure::Refused(0) => refusal(request, format!("{place} gives no reason")),
        Failure::Refused(errno) => {
            refusal(request, io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0)).to_string())
        }
        Failure::Forked => DeviceError::Forked,
        Failure::Gone(reason) => DeviceError::Gone { place: place.into(), reason },
    }
}

fn check_place(
    region: Region,
    offset: u64,
    count: u32,
    request: impl Fn() -> String,
) -> Result<(), DeviceError> {
    let count = u64::from(count);
    if offset % count != 0 {
        return Err(refusal(&request(), "offsets are naturally aligned".into()));
    }
    if offset.checked_add(count).is_none_or(|end| end > region.size) {
        return Err(refusal(&request(), format!("the region has {:#x} bytes", region.size)));
    }
    Ok(())
}

fn check_pages(numbers: &[u64], request: impl Fn() -> String) -> Result<(), DeviceError> {
    if numbers.iter().any(|n| n % PAGE_BYTES != 0) {
        return Err(refusal(&request(), format!("not in whole pages of {PAGE_BYTES} bytes")));
    }
    Ok(())
}
