//! A network in the program's own process, stepped by whoever uses it: for deterministic tests.
//!
//! Device time passes only inside the calls of [`InProcessDevice`]: a load takes the cycles that
//! it takes, a store [`STORE_CYCLES`], a pause one quantum. With one thread, or with threads that
//! take turns through [`InProcess::baton`], the same seed gives the same cycles and captures.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use viaduct_driver::device::{Bar, DeviceError, DmaAccess, PciDevice, Polling};
use viaduct_spec::profile::VECTORS;

use crate::baton::Baton;
use crate::memory::{Range, PAGE};
use crate::network::{Activity, Network};
use crate::root_complex::Access;

/// Cycles that pass while the host makes a store.
pub const STORE_CYCLES: u64 = 4;
/// Cycles after a reset before the host goes on.
const RESET_CYCLES: u64 = 64;

/// The network.
#[derive(Clone)]
pub struct InProcess {
    network: Arc<Mutex<Network>>,
    baton: Baton,
}

impl InProcess {
    /// Takes a network that nobody has stepped yet.
    pub fn new(network: Network) -> Self {
        Self { network: Arc::new(Mutex::new(network)), baton: Baton::new() }
    }

    /// The network itself: to look at its counters, to set faults, to run it on.
    pub fn network(&self) -> MutexGuard<'_, Network> {
        // A test that failed inside a call has said so; the others may still look.
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The PCI function of a NIC; `None` if there is no such NIC.
    pub fn device(&self, nic: usize) -> Option<InProcessDevice> {
        (nic < self.network().len()).then(|| InProcessDevice { shared: self.clone(), nic })
    }

    /// Lets several threads use the network in turns; see [`Baton`].
    pub fn baton(&self) -> &Baton {
        &self.baton
    }

    /// Lets one quantum pass, and another thread have its turn.
    pub fn pause(&self) {
        {
            let mut network = self.network();
            let quantum = network.quantum();
            match network.activity() {
                Activity::Busy => network.step(quantum),
                // Nothing can happen: time alone passes.
                Activity::Idle(_) => {
                    let then = network.now() + quantum;
                    network.skip_to(then);
                }
            }
        }
        self.baton.pass();
    }
}

/// One NIC of an [`InProcess`] network, as its driver sees it.
#[derive(Clone)]
pub struct InProcessDevice {
    shared: InProcess,
    nic: usize,
}

fn refused(request: String, reason: impl ToString) -> DeviceError {
    DeviceError::Refused { request, reason: reason.to_string() }
}

impl InProcessDevice {
    fn access(bar: Bar, offset: u64, length: usize) -> Result<Access, DeviceError> {
        Access::new(bar, offset, length).ok_or_else(|| {
            let request = format!("an access of {length} bytes at {offset:#x} of {bar:?}");
            refused(request, "it is not naturally aligned and inside the region")
        })
    }

    fn read(&self, bar: Bar, offset: u64, length: usize) -> Result<u64, DeviceError> {
        let access = Self::access(bar, offset, length)?;
        Ok(self.shared.network().load_and_wait(self.nic, access))
    }

    fn write(&self, bar: Bar, offset: u64, length: usize, value: u64) -> Result<(), DeviceError> {
        let access = Self::access(bar, offset, length)?;
        let mut network = self.shared.network();
        network.store(self.nic, access, value);
        network.step(STORE_CYCLES);
        Ok(())
    }

    fn config(offset: u16) -> Result<usize, DeviceError> {
        let offset = usize::from(offset);
        if offset % 4 != 0 || offset >= crate::root_complex::CONFIG_BYTES {
            let request = format!("configuration space at {offset:#x}");
            return Err(refused(request, "it is not aligned and inside"));
        }
        Ok(offset)
    }
}

impl PciDevice for InProcessDevice {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.read(bar, offset, 4).map(|value| value as u32)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.read(bar, offset, 8)
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.write(bar, offset, 4, value.into())
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.write(bar, offset, 8, value)
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        let mut data = [0; 4];
        self.shared.network().config_read(self.nic, Self::config(offset)?, &mut data);
        Ok(u32::from_le_bytes(data))
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        self.shared.network().config_write(self.nic, Self::config(offset)?, &value.to_le_bytes());
        Ok(())
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let request = || format!("mapping {length:#x} bytes at DMA address {iova:#x}");
        if address as u64 % PAGE != 0 {
            return Err(refused(request(), format!("{address:#x} is not the start of a page")));
        }
        let writable = access == DmaAccess::ReadWrite;
        // The system writes through this file whatever the pages' protection; the caller answers
        // for the pages.
        let file = OpenOptions::new().read(true).write(writable).open("/proc/self/mem");
        let file = file.map_err(|source| DeviceError::System { request: request(), source })?;
        let range = Range { iova, length: length as u64, offset: address as u64, readable: true, writable };
        let mapped = self.shared.network().memory(self.nic).map(&range, Some(file));
        mapped.map_err(|error| refused(request(), error))
    }

    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        let request = || format!("unmapping {length:#x} bytes at DMA address {iova:#x}");
        let unmapped = self.shared.network().memory(self.nic).unmap(iova, length as u64);
        match unmapped {
            Ok(bytes) if bytes == length as u64 => Ok(()),
            Ok(bytes) => Err(refused(request(), format!("only {bytes:#x} bytes of it were mapped"))),
            Err(error) => Err(refused(request(), error)),
        }
    }

    fn vectors(&self) -> usize {
        VECTORS
    }

    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let request = || format!("interrupts on {} vectors", events.len());
        if events.len() > VECTORS {
            return Err(refused(request(), format!("the NIC has {VECTORS}")));
        }
        let own = |event: &BorrowedFd<'_>| event.try_clone_to_owned().map(|event| Some(File::from(event)));
        let eventfds: io::Result<Vec<Option<File>>> = events.iter().map(own).collect();
        let mut eventfds = eventfds.map_err(|source| DeviceError::System { request: request(), source })?;
        eventfds.resize_with(VECTORS, || None);
        let mut network = self.shared.network();
        network.set_vectors(self.nic, 0, eventfds);
        network.step(STORE_CYCLES);
        Ok(())
    }

    /// Time passes only inside the device's calls.
    fn may_sleep(&self) -> bool {
        false
    }

    /// As an IOMMU of 39 bits has them. NICs of odd number get nothing below 4 GiB: so both forms of TLP headers
    /// are in every test.
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        const LAST: u64 = (1 << 39) - 1;
        match self.nic % 2 {
            0 => vec![0..=0xfedf_ffff, 0xfef0_0000..=LAST],
            _ => vec![1 << 32..=LAST],
        }
    }

    fn polling(&self) -> Polling {
        Polling::Pause
    }

    fn reset(&self) -> Result<(), DeviceError> {
        let mut network = self.shared.network();
        network.reset(self.nic);
        network.step(RESET_CYCLES);
        // What it sent before must not reach memory that the caller takes away.
        while network.is_resetting(self.nic) {
            network.step(RESET_CYCLES);
        }
        Ok(())
    }

    fn pause(&self) {
        self.shared.pause();
    }
}
