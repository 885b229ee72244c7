//! Groups and containers: VFIO's interface since Linux 3.6. The group of a function is put into a
//! container of its own, which is an address space of the type1v2 IOMMU driver.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
    sync::Arc,
};

use vfio_ioctls::{VfioContainer, VfioDevice, VfioError};

use super::{
    info::IommuInfo,
    ioctl::{self, Query},
    space::{AddressSpace, Opened},
};
use crate::device::sharing::OpenSpace;

/// Why a group's function did not open.
#[derive(Debug)]
pub enum Failure {
    /// Another program has the group.
    Busy,
    /// The IOMMU does not remap interrupts.
    NoInterruptRemapping,
    /// Anything else.
    System(io::Error),
}

/// Opens the function with this folder in sysfs.
pub fn open(folder: &Path) -> Result<Opened, Failure> {
    let container = Arc::new(VfioContainer::new(None).map_err(failure)?);
    let device = VfioDevice::new(folder, container.clone(), false).map_err(failure)?;
    let device = ioctl::take_file(device).map_err(Failure::System)?;
    Ok(Opened { device, space: Box::new(Space(container)) })
}

/// The DMA addresses of a container that somebody else has opened.
pub fn space(container: OwnedFd) -> Box<dyn AddressSpace> {
    Box::new(Space(Arc::new(container)))
}

/// A container, as long as it is open.
struct Space<C>(Arc<C>);

impl<C: AsRawFd> Space<C> {
    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the container is open as long as `self` is.
        unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) }
    }
}

impl<C: AsRawFd + Send + Sync> AddressSpace for Space<C> {
    unsafe fn map(&self, iova: u64, address: usize, length: usize, write: bool) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { ioctl::map_dma(self.fd(), iova, address, length, write) }
    }

    fn unmap(&self, iova: u64, length: usize) -> io::Result<u64> {
        ioctl::unmap_dma(self.fd(), iova, length)
    }

    fn info(&self) -> io::Result<IommuInfo> {
        IommuInfo::parse(&ioctl::query(self.fd(), Query::Iommu)?).map_err(io::Error::other)
    }

    fn hand_over(&self) -> io::Result<OpenSpace> {
        Ok(OpenSpace::Container(self.fd().try_clone_to_owned()?))
    }

    fn let_go(&self, null: BorrowedFd<'_>) -> io::Result<()> {
        ioctl::replace(self.fd(), null)
    }
}

fn failure(error: VfioError) -> Failure {
    let system = |text: String, errno: i32| {
        let source = io::Error::from_raw_os_error(errno);
        Failure::System(io::Error::new(source.kind(), format!("{text}: {source}")))
    };
    match error {
        VfioError::OpenGroup(error, _) if error.raw_os_error() == Some(libc::EBUSY) => Failure::Busy,
        VfioError::OpenGroup(error, group) => {
            Failure::System(io::Error::new(error.kind(), format!("group {group}: {error}")))
        }
        VfioError::OpenContainer(error) => {
            Failure::System(io::Error::new(error.kind(), format!("container: {error}")))
        }
        VfioError::ContainerSetIOMMU(error) if error.errno() == libc::EPERM => Failure::NoInterruptRemapping,
        VfioError::ContainerSetIOMMU(error) => system("the IOMMU driver type1v2".into(), error.errno()),
        VfioError::GroupGetDeviceFD(error) => system("the function's file".into(), error.errno()),
        error => Failure::System(io::Error::other(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_keep_what_the_kernel_said() {
        let busy = VfioError::OpenGroup(io::Error::from_raw_os_error(libc::EBUSY), "7".into());
        assert!(matches!(failure(busy), Failure::Busy));
        let closed = VfioError::OpenGroup(io::Error::from_raw_os_error(libc::EACCES), "7".into());
        let Failure::System(error) = failure(closed) else { panic!("a system's error") };
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().starts_with("group 7: "), "{error}");
        let Failure::System(error) = failure(VfioError::GroupViable) else { panic!("a system's error") };
        assert_eq!(error.to_string(), "group is not viable");
    }
}
