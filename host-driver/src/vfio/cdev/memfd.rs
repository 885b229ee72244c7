//! The call that maps a memfd by itself: no view of it is needed. Linux has it since 6.13.

use std::{io, os::fd::RawFd};

use iommufd_bindings::iommufd::{self, iommu_ioas_map_file};

use super::{super::PAGE_BYTES, iommu, map_flags, Calls};

/// The number of the call.
pub(super) const IOAS_MAP_FILE: libc::Ioctl = iommu(iommufd::IOMMUFD_CMD_IOAS_MAP_FILE);

/// Whether the kernel has the call. It is asked to map no file: one that has it looks for the file, finds none and maps nothing (EBADF). All
/// other answers are those of a kernel that has it not (ENOTTY), or not in this form (EOPNOTSUPP), and a view works with every kernel.
pub(super) fn is_mapped_by(iommufd: &impl Calls, ioas: u32) -> bool {
    let asked = map(iommufd, ioas, 0, -1, 0, PAGE_BYTES as usize, false);
    let found = asked.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBADF));
    tracing::debug!(found, answer = ?asked, "IOMMU_IOAS_MAP_FILE");
    found
}

/// Maps `length` bytes of a memfd, from `offset` on, at the DMA address `iova`. The kernel keeps the file as long as that, and pins its pages. Some
/// kernels do not ask whether the descriptor is open for writing: that is the caller's affair.
pub(super) fn map(
    iommufd: &impl Calls,
    ioas: u32,
    iova: u64,
    file: RawFd,
    offset: u64,
    length: usize,
    write: bool,
) -> io::Result<()> {
    let mut map = iommu_ioas_map_file {
        size: size_of::<iommu_ioas_map_file>() as u32,
        flags: map_flags(write),
        ioas_id: ioas,
        fd: file,
        start: offset,
        length: length as u64,
        iova,
    };
    // SAFETY: the kernel reads the structure and writes its `iova`. What is mapped is the file's, and no memory of this process.
    unsafe { iommufd.call(IOAS_MAP_FILE, (&raw mut map).cast()) }.map(drop)
}
