//! A function is handed to other processes: container (or iommufd) and file. They map memory of their own, and the kernel charges them.
//!
//! Since Linux 4.10 type1 knows which process has made a map, and for years it let nobody else undo it: an unmap of another's skipped it, without a
//! word, and said 0 bytes. So it is tried before anybody relies on it.

use std::{fs::File, io, os::fd::AsFd, sync::atomic::Ordering};

use rustix::{
    io::Errno,
    process::{waitpid, Pid, WaitOptions},
};

use super::{ioctl, lock, refusal, region::Region, space::AddressSpace, Vfio, CONFIG_COMMAND, PAGE_BYTES};
use crate::{
    device::{
        sharing::{Handover, Sharing},
        DeviceError,
    },
    memory::Mapping,
};

/// Command register: the function may read and write memory.
const BUS_MASTER_ENABLE: u32 = 1 << 2;
/// DMA maps of a container where the kernel does not say: its default.
const MAPS: u64 = 65_535;

impl Sharing for Vfio {
    fn hand_over(&self) -> Result<Handover, DeviceError> {
        self.born.check()?;
        let request = || "to hand the function over".to_string();
        let device = self.device.try_clone().map_err(|error| self.failed(&request, error))?;
        let space = self.space.hand_over().map_err(|error| self.failed(&request, error))?;
        Ok(Handover { address: self.function.address.to_string(), device: device.into(), space })
    }

    #[tracing::instrument(level = "debug", skip_all, fields(first = first, bytes = bytes), ret, err(level = "debug"))]
    fn take_back(&self, first: u64, bytes: u64) -> Result<u64, DeviceError> {
        self.born.check()?;
        let request =
            || format!("the unmap of what others have mapped at {bytes:#x} DMA addresses from {first:#x} on");
        match self.space.unmap(first, bytes as usize) {
            // An iommufd says so where nothing is mapped; type1 says 0 bytes.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(0),
            unmapped => unmapped.map_err(|error| self.failed(&request, error)),
        }
    }

    fn try_take_back(&self) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || "to take back a page that another process has mapped".to_string();
        let failed = |error: io::Error| self.failed(&request, error);
        let room = |range: &std::ops::RangeInclusive<u64>| range.end() - range.start() > 2 * PAGE_BYTES;
        let range = self.ranges.iter().find(|range| room(range));
        let range = range.ok_or_else(|| refusal(request(), "the IOMMU has no page for it".into()))?;
        let iova = (range.start() + 1).next_multiple_of(PAGE_BYTES);
        map_in_a_child(&*self.space, iova).map_err(failed)?;
        judge(self.take_back(iova, PAGE_BYTES)?).map_err(|reason| refusal(request(), reason))
    }

    #[tracing::instrument(level = "debug", skip_all, fields(stop = stop), ret, err(level = "debug"))]
    fn let_go(&self, stop: bool) -> Result<(), DeviceError> {
        self.born.check()?;
        let request = || "to let go of the function".to_string();
        let failed = |error: io::Error| self.failed(&request, error);
        // Calls of this process read all ones from now on, and write nothing.
        self.answers.store(false, Ordering::SeqCst);
        if stop {
            let command = self.config.read::<u32>(&self.device, CONFIG_COMMAND);
            // The upper half is the status register: writing 0 changes nothing there.
            let stopped = |command: u32| command & 0xffff & !BUS_MASTER_ENABLE;
            let written =
                command.and_then(|now| self.config.write(&self.device, CONFIG_COMMAND, stopped(now)));
            if let Err(error) = written {
                // A function that is not there does nothing.
                tracing::debug!(%error, "its DMA is not stopped");
            }
        }
        let mut maps = lock(&self.maps);
        for (iova, length) in std::mem::take(&mut *maps) {
            // What stays mapped the kernel unmaps with the container, when the last process has closed it.
            let _ = self.space.unmap(iova, length);
        }
        let null = File::options().read(true).write(true).open("/dev/null").map_err(failed)?;
        [&self.registers, &self.doorbells].into_iter().try_for_each(Region::let_go).map_err(failed)?;
        ioctl::replace(self.device.as_fd(), null.as_fd()).map_err(failed)?;
        self.space.let_go(null.as_fd()).map_err(failed)
    }

    fn most_maps(&self) -> u64 {
        self.machine.dma_entry_limit().unwrap_or(MAPS)
    }
}

/// A child of this process, which has one thread, maps a page there, and ends.
fn map_in_a_child(space: &dyn AddressSpace, iova: u64) -> io::Result<()> {
    let length = PAGE_BYTES as usize;
    // A child has it, too.
    let page = Mapping::new(length)?;
    // SAFETY: this process has one thread, by the trait's rule: so its child may do what it could.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the device does not know the address; the page is the child's until it ends.
        let mapped = unsafe { space.map(iova, page.start().as_ptr() as usize, length, true) };
        let code = mapped.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0);
        // SAFETY: it ends without running anything of its parent's.
        unsafe { libc::_exit(code) };
    }
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = Pid::from_raw(child);
    let status = loop {
        match waitpid(pid, WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            ended => break ended?,
        }
    };
    match status.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Err(io::Error::other("the process that was to map it was killed")),
    }
}

/// What the kernel says that it has unmapped of the page; if it is another, why nobody can be trusted there.
fn judge(unmapped: u64) -> Result<(), String> {
    if unmapped == PAGE_BYTES {
        return Ok(());
    }
    Err(format!(
        "this kernel says that it unmapped {unmapped} bytes of {PAGE_BYTES}: it skips what another process has mapped, so what a program leaves behind \
         that dies would stay. A newer kernel is needed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_skips_another_process_s_map_is_refused() {
        judge(PAGE_BYTES).expect("it has unmapped the page");
        for unmapped in [0, 1, 2 * PAGE_BYTES] {
            let reason = judge(unmapped).expect_err("it has not");
            assert!(reason.contains(&format!("unmapped {unmapped} bytes of 4096")), "{reason}");
            assert!(reason.contains("skips") && reason.contains("newer kernel"), "{reason}");
        }
    }
}
