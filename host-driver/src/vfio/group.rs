//! Groups and containers: VFIO's interface since Linux 3.6. The group of a function is put into a
//! container of its own, which is an address space of the type1v2 IOMMU driver.

use std::{
    any::Any,
    fs::File,
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
};

use vfio_ioctls::{VfioContainer, VfioDevice, VfioError, VfioOps};

use super::{
    info::IommuInfo,
    ioctl::{self, Query},
    space::{AddressSpace, Opened},
};

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

/// A container with one group in it.
struct Container {
    container: VfioContainer,
    /// A [`VfioDevice`] is being opened, and may see the container.
    opening: AtomicBool,
}

/// Opens the function with this folder in sysfs.
pub fn open(folder: &Path) -> Result<Opened, Failure> {
    let container = VfioContainer::new(None).map_err(failure)?;
    let container = Arc::new(Container { container, opening: AtomicBool::new(true) });
    let ops: Arc<dyn VfioOps> = container.clone();
    let opened = VfioDevice::new(folder, ops, false).map_err(failure)?;
    // From here on the function is ours. VfioDevice's own end would look its group up in sysfs once
    // more and panic when the function has been removed meanwhile; with no container in sight it does
    // nothing, closes nothing, and the group stays in the container until that goes.
    container.opening.store(false, Ordering::Relaxed);
    // SAFETY: VfioDevice (of the versions that Cargo.toml allows) keeps its file in a ManuallyDrop that
    // it closes for containers only, and it sees none: the file has one owner, this.
    let device = unsafe { File::from_raw_fd(opened.as_raw_fd()) };
    drop(opened);
    Ok(Opened { device, space: Box::new(Space(container)) })
}

impl VfioOps for Container {
    fn as_any(&self) -> &dyn Any {
        if self.opening.load(Ordering::Relaxed) {
            &self.container
        } else {
            self
        }
    }
}

struct Space(Arc<Container>);

impl Space {
    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the container is open as long as `self` is.
        unsafe { BorrowedFd::borrow_raw(self.0.container.as_raw_fd()) }
    }
}

impl AddressSpace for Space {
    unsafe fn map(&self, iova: u64, address: usize, length: usize, write: bool) -> io::Result<()> {
        // vfio-ioctls maps for reading and writing only.
        // SAFETY: the caller's promise.
        unsafe { ioctl::map_dma(self.fd(), iova, address, length, write) }
    }

    fn unmap(&self, iova: u64, length: usize) -> io::Result<u64> {
        ioctl::unmap_dma(self.fd(), iova, length)
    }

    fn info(&self) -> io::Result<IommuInfo> {
        IommuInfo::parse(&ioctl::query(self.fd(), Query::Iommu)?).map_err(io::Error::other)
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
