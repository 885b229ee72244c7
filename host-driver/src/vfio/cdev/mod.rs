//! The function's own node and iommufd: VFIO's interface since Linux 6.6, on kernels that have
//! CONFIG_IOMMUFD and CONFIG_VFIO_DEVICE_CDEV. No kernel that the tests of this project can run has them
//! (no Debian kernel does), so it is compiled and reviewed, and has never met a device. Its maps are tested on a stand-in of the kernel's.
//!
//! By hand, because the feature of vfio-ioctls that does it brings the crates for KVM along.

mod memfd;
#[cfg(test)]
mod tests;

use std::{
    ffi::c_void,
    fs::{File, OpenOptions},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
};

use iommufd_bindings::iommufd::{
    self, iommu_ioas_alloc, iommu_ioas_iova_ranges, iommu_ioas_map, iommu_ioas_unmap, iommu_iova_range,
};
use vfio_bindings::bindings::vfio;

use super::{
    info::IommuInfo,
    ioctl::{call, number, replace, vfio_number},
    space::{AddressSpace, Opened},
};
use crate::device::sharing::OpenSpace;

const fn iommu(command: u32) -> libc::Ioctl {
    number(iommufd::IOMMUFD_TYPE, command)
}

const IOAS_ALLOC: libc::Ioctl = iommu(iommufd::IOMMUFD_CMD_IOAS_ALLOC);
const IOAS_IOVA_RANGES: libc::Ioctl = iommu(iommufd::IOMMUFD_CMD_IOAS_IOVA_RANGES);
const IOAS_MAP: libc::Ioctl = iommu(iommufd::IOMMUFD_CMD_IOAS_MAP);
const IOAS_UNMAP: libc::Ioctl = iommu(iommufd::IOMMUFD_CMD_IOAS_UNMAP);
const DEVICE_BIND_IOMMUFD: libc::Ioctl = vfio_number(18);
const DEVICE_ATTACH_IOMMUFD_PT: libc::Ioctl = vfio_number(19);

/// Who answers the calls of an iommufd: the kernel, or its stand-in in tests.
trait Calls: AsFd + Send + Sync {
    /// One ioctl.
    ///
    /// # Safety
    /// `argument` is what the call with this number takes, and may be written as the call does.
    unsafe fn call(&self, number: libc::Ioctl, argument: *mut c_void) -> io::Result<i32>;
}

impl Calls for File {
    unsafe fn call(&self, number: libc::Ioctl, argument: *mut c_void) -> io::Result<i32> {
        // SAFETY: the caller's promise.
        unsafe { call(self.as_fd(), number, argument) }
    }
}

/// An I/O address space of an iommufd.
struct Space<C> {
    iommufd: C,
    id: u32,
    /// The kernel maps memfds by themselves.
    maps_memfds: bool,
}

impl<C: Calls> Space<C> {
    fn new(iommufd: C, id: u32) -> Self {
        let maps_memfds = memfd::is_mapped_by(&iommufd, id);
        Self { iommufd, id, maps_memfds }
    }

    /// # Safety
    /// As [`Calls::call`].
    unsafe fn call<T>(&self, number: libc::Ioctl, argument: &mut T) -> io::Result<i32> {
        // SAFETY: the caller's promise.
        unsafe { self.iommufd.call(number, (&raw mut *argument).cast()) }
    }
}

/// The DMA addresses of an iommufd's address space that somebody else has made.
pub fn space(iommufd: OwnedFd, id: u32) -> Box<dyn AddressSpace> {
    Box::new(Space::new(File::from(iommufd), id))
}

/// The flags of a map at the address that it names.
fn map_flags(write: bool) -> u32 {
    let writable = if write { iommufd::iommufd_ioas_map_flags_IOMMU_IOAS_MAP_WRITEABLE } else { 0 };
    iommufd::iommufd_ioas_map_flags_IOMMU_IOAS_MAP_FIXED_IOVA
        | iommufd::iommufd_ioas_map_flags_IOMMU_IOAS_MAP_READABLE
        | writable
}

/// Opens the function with the node `device`; `iommu` is `/dev/iommu`.
pub fn open(device: &Path, iommu: &Path) -> io::Result<Opened> {
    let node = |path: &Path| {
        let open = OpenOptions::new().read(true).write(true).open(path);
        open.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    };
    let (iommufd, device) = (node(iommu)?, node(device)?);
    let mut bind = vfio::vfio_device_bind_iommufd {
        argsz: size_of::<vfio::vfio_device_bind_iommufd>() as u32,
        iommufd: iommufd.as_raw_fd(),
        ..Default::default()
    };
    // SAFETY: the kernel reads the structure and writes its `out_devid`.
    unsafe { call(device.as_fd(), DEVICE_BIND_IOMMUFD, &mut bind) }?;
    let mut alloc = iommu_ioas_alloc { size: size_of::<iommu_ioas_alloc>() as u32, ..Default::default() };
    // SAFETY: the kernel reads the structure and writes its `out_ioas_id`.
    unsafe { call(iommufd.as_fd(), IOAS_ALLOC, &mut alloc) }?;
    let mut attach = vfio::vfio_device_attach_iommufd_pt {
        argsz: size_of::<vfio::vfio_device_attach_iommufd_pt>() as u32,
        pt_id: alloc.out_ioas_id,
        ..Default::default()
    };
    // SAFETY: the kernel reads the structure and writes its `pt_id`.
    unsafe { call(device.as_fd(), DEVICE_ATTACH_IOMMUFD_PT, &mut attach) }?;
    // Closing the files undoes all of it.
    Ok(Opened { device, space: Box::new(Space::new(iommufd, alloc.out_ioas_id)) })
}

impl<C: Calls> AddressSpace for Space<C> {
    unsafe fn map(&self, iova: u64, address: usize, length: usize, write: bool) -> io::Result<()> {
        let mut map = iommu_ioas_map {
            size: size_of::<iommu_ioas_map>() as u32,
            flags: map_flags(write),
            ioas_id: self.id,
            user_va: address as u64,
            length: length as u64,
            iova,
            ..Default::default()
        };
        // SAFETY: the kernel reads the structure and writes its `iova`; what the device then does with
        // the memory is the caller's promise.
        unsafe { self.call(IOAS_MAP, &mut map) }.map(drop)
    }

    fn maps_memfds(&self) -> bool {
        self.maps_memfds
    }

    fn map_memfd(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        write: bool,
    ) -> io::Result<()> {
        memfd::map(&self.iommufd, self.id, iova, file.as_raw_fd(), offset, length, write)
    }

    fn unmap(&self, iova: u64, length: usize) -> io::Result<u64> {
        let mut unmap = iommu_ioas_unmap {
            size: size_of::<iommu_ioas_unmap>() as u32,
            ioas_id: self.id,
            iova,
            length: length as u64,
        };
        // SAFETY: the kernel reads the structure and writes its `length`.
        unsafe { self.call(IOAS_UNMAP, &mut unmap) }?;
        Ok(unmap.length)
    }

    fn info(&self) -> io::Result<IommuInfo> {
        let mut found = vec![iommu_iova_range::default(); 64];
        let ask = |found: &mut Vec<iommu_iova_range>| {
            let mut ranges = iommu_ioas_iova_ranges {
                size: size_of::<iommu_ioas_iova_ranges>() as u32,
                ioas_id: self.id,
                num_iovas: found.len() as u32,
                allowed_iovas: found.as_mut_ptr() as u64,
                ..Default::default()
            };
            // SAFETY: the kernel writes the structure, and as many ranges as it says there is room for.
            let result = unsafe { self.call(IOAS_IOVA_RANGES, &mut ranges) };
            (result, ranges)
        };
        let (mut result, mut ranges) = ask(&mut found);
        if result.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EMSGSIZE)) {
            found.resize(ranges.num_iovas as usize, iommu_iova_range::default());
            (result, ranges) = ask(&mut found);
        }
        result?;
        found.truncate(ranges.num_iovas as usize);
        Ok(IommuInfo {
            least_page: Some(ranges.out_iova_alignment.max(1)),
            ranges: Some(found.iter().map(|range| range.start..=range.last).collect()),
        })
    }

    fn hand_over(&self) -> io::Result<OpenSpace> {
        Ok(OpenSpace::Iommufd { iommufd: self.iommufd.as_fd().try_clone_to_owned()?, ioas: self.id })
    }

    fn let_go(&self, null: BorrowedFd<'_>) -> io::Result<()> {
        replace(self.iommufd.as_fd(), null)
    }
}
