//! A NIC whose descriptors somebody else has opened: a process that may not open the nodes itself is given them so.

use std::{
    net::Ipv4Addr,
    os::{
        fd::{AsRawFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    sync::Arc,
};

use anyhow::{ensure, Result};
use libtest_mimic::Completion;
use vfio_ioctls::{VfioContainer, VfioDevice};
use viaduct_driver::{
    address::Mac,
    agent::Options,
    device::{sharing::OpenSpace, PciDevice},
    vfio::Vfio,
    vfio_user::VfioUser,
};
use vipl::{MemAttributes, Nic, ViAttributes};

use crate::{
    setting::{Place, Setting},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "descriptors_of_somebody_else", body: Body::Names(handed) }];

/// A descriptor of our own of what a descriptor is of.
fn copy(of: &impl AsRawFd) -> Result<OwnedFd> {
    // SAFETY: it is open as long as `of`, which is borrowed.
    let file = unsafe { BorrowedFd::borrow_raw(of.as_raw_fd()) };
    Ok(file.try_clone_to_owned()?)
}

fn handed(setting: &Setting) -> Result<Completion> {
    for (place, number) in setting.places()?.into_iter().zip(1..) {
        match place {
            Place::Vfio(address) => {
                let container = Arc::new(VfioContainer::new(None)?);
                let folder = Path::new("/sys/bus/pci/devices").join(&address);
                let opened = VfioDevice::new(&folder, container.clone(), false)?;
                let (device, space) = (copy(&opened)?, OpenSpace::Container(copy(&*container)?));
                work(Arc::new(Vfio::of_descriptors(&address, device, space)?), number)?;
            }
            Place::VfioUser(path) => {
                let stream = UnixStream::connect(&path)?;
                work(Arc::new(VfioUser::of_stream(stream, "a connection that was handed on")?), number)?;
            }
        }
    }
    Ok(Completion::Completed)
}

/// The NIC does what is asked of it, and gives it back.
fn work(device: Arc<dyn PciDevice>, number: u8) -> Result<()> {
    let options = Options::new(Mac([2, 0, 0, 0, 0, number]), Ipv4Addr::new(10, 0, 0, number));
    let nic = Nic::open_device("a NIC that was handed on", device, options)?;
    let ptag = nic.create_ptag()?;
    let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag))?;
    let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
    ensure!(vi.query()?.state == vipl::ViState::Idle, "a new VI is idle");
    drop(vi);
    drop(memory);
    nic.check()?;
    Ok(())
}
