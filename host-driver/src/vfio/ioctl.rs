//! What the crate vfio-ioctls does wrong, done with the kernel's own calls. It opens container, group and function
//! ([`super::group`]), and vfio-bindings has the structures and numbers of `linux/vfio.h`. The faults of its version 0.10:
//!
//! | fault | in its place |
//! |---|---|
//! | `VfioDevice` looks its group up in sysfs when it is dropped, and panics if the function has been removed meanwhile | [`take_file`] |
//! | regions are a list without those that the kernel has refused: the numbers of all behind them are others | [`query`] |
//! | kinds of interrupts that the kernel has refused are logged, and the reason is lost | [`query`] |
//! | nothing says what an IOMMU translates | [`query`] |
//! | eventfds are all there or none: a vector cannot be left without one; the kernel's reason is lost | [`set_interrupts`] |
//! | a reset that the kernel has refused is none, without a word | [`reset`] |
//! | memory is mapped for reading and writing, never for reading alone | [`map_dma`] |
//! | an unmap of less than was asked for is an error that does not say how much it was | [`unmap_dma`] |
//! | reads and writes of a region that fail are logged, and the caller is told nothing | [`super::region::Region`] |

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, BorrowedFd},
    panic::{catch_unwind, AssertUnwindSafe},
};

use vfio_bindings::bindings::vfio;
use vfio_ioctls::VfioDevice;

/// The number of a call without a size in it: its type in bits 15:8.
pub const fn number(kind: u8, command: u32) -> libc::Ioctl {
    ((kind as u32) << 8 | command) as libc::Ioctl
}

/// The number of a call of VFIO's.
pub const fn vfio_number(command: u32) -> libc::Ioctl {
    number(vfio::VFIO_TYPE, vfio::VFIO_BASE + command)
}

const DEVICE_GET_INFO: libc::Ioctl = vfio_number(7);
const DEVICE_GET_REGION_INFO: libc::Ioctl = vfio_number(8);
const DEVICE_GET_IRQ_INFO: libc::Ioctl = vfio_number(9);
const DEVICE_SET_IRQS: libc::Ioctl = vfio_number(10);
const DEVICE_RESET: libc::Ioctl = vfio_number(11);
const IOMMU_GET_INFO: libc::Ioctl = vfio_number(12);
const IOMMU_MAP_DMA: libc::Ioctl = vfio_number(13);
const IOMMU_UNMAP_DMA: libc::Ioctl = vfio_number(14);

/// Bytes that answers get at first; longer ones are asked for again.
const FIRST_ANSWER: usize = 512;
/// No answer of the kernel's is longer.
const LONGEST_ANSWER: usize = 1 << 20;

/// A question whose answer begins with its own length.
#[derive(Debug, Clone, Copy)]
pub enum Query {
    /// To a device: `vfio_device_info`.
    Device,
    /// To a device: `vfio_region_info` of a region.
    Region(u32),
    /// To a device: `vfio_irq_info` of a kind of interrupts.
    Interrupts(u32),
    /// To a container: `vfio_iommu_type1_info`.
    Iommu,
}

/// Asks; the answer with its capabilities, as bytes.
pub fn query(fd: BorrowedFd<'_>, query: Query) -> io::Result<Vec<u8>> {
    let (number, index) = match query {
        Query::Device => (DEVICE_GET_INFO, 0),
        Query::Region(index) => (DEVICE_GET_REGION_INFO, index),
        Query::Interrupts(index) => (DEVICE_GET_IRQ_INFO, index),
        Query::Iommu => (IOMMU_GET_INFO, 0),
    };
    let mut length = FIRST_ANSWER;
    loop {
        let mut words = vec![0_u32; length.div_ceil(4)];
        words[0] = length as u32;
        words[2] = index;
        // SAFETY: the kernel writes what `words[0]` allows at most, and that is the buffer's length.
        unsafe { call(fd, number, words.as_mut_ptr()) }?;
        let needed = words[0] as usize;
        if needed <= length {
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            bytes.truncate(length);
            return Ok(bytes);
        }
        if needed > LONGEST_ANSWER {
            return Err(io::Error::other(format!("the kernel's answer has {needed} bytes")));
        }
        length = needed;
    }
}

/// The file of a function that vfio-ioctls has opened. It has its own, and `device` ends here, while the function is there.
///
/// # Errors
/// No descriptor left; the function was removed in this moment.
pub fn take_file(device: VfioDevice) -> io::Result<File> {
    // SAFETY: it is open as long as `device` is.
    let file = unsafe { BorrowedFd::borrow_raw(device.as_raw_fd()) }.try_clone_to_owned()?;
    // Its end takes the group out of the container. The kernel refuses that as long as a file of the function's is open
    // (VFIO_GROUP_UNSET_CONTAINER in linux/vfio.h), and that is so: the group stays there until the container goes.
    catch_unwind(AssertUnwindSafe(|| drop(device)))
        .map_err(|_| io::Error::other("the function was removed while it was opened"))?;
    Ok(file.into())
}

/// Sets the eventfds of a kind of interrupts: from vector 0 on, -1 for none. With no vectors at all the
/// interrupts are turned off.
pub fn set_interrupts(device: BorrowedFd<'_>, kind: u32, events: &[i32]) -> io::Result<()> {
    const HEADER: usize = size_of::<vfio::vfio_irq_set>();
    let data = if events.is_empty() { vfio::VFIO_IRQ_SET_DATA_NONE } else { vfio::VFIO_IRQ_SET_DATA_EVENTFD };
    let words = [
        (HEADER + size_of_val(events)) as u32,
        data | vfio::VFIO_IRQ_SET_ACTION_TRIGGER,
        kind,
        0,
        events.len() as u32,
    ];
    let mut set: Vec<u32> = words.into_iter().chain(events.iter().map(|fd| *fd as u32)).collect();
    // SAFETY: a `vfio_irq_set` with as many eventfds as it says; the kernel only reads it.
    unsafe { call(device, DEVICE_SET_IRQS, set.as_mut_ptr()) }.map(drop)
}

/// Resets a function.
pub fn reset(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call has no argument.
    unsafe { call::<u8>(device, DEVICE_RESET, std::ptr::null_mut()) }.map(drop)
}

/// Maps `length` bytes at `address` at the DMA address `iova`.
///
/// # Safety
/// As [`crate::device::PciDevice::map_dma`].
pub unsafe fn map_dma(
    container: BorrowedFd<'_>,
    iova: u64,
    address: usize,
    length: usize,
    write: bool,
) -> io::Result<()> {
    let writable = if write { vfio::VFIO_DMA_MAP_FLAG_WRITE } else { 0 };
    let mut map = vfio::vfio_iommu_type1_dma_map {
        argsz: size_of::<vfio::vfio_iommu_type1_dma_map>() as u32,
        flags: vfio::VFIO_DMA_MAP_FLAG_READ | writable,
        vaddr: address as u64,
        iova,
        size: length as u64,
    };
    // SAFETY: the kernel reads the structure; what the device then does with the memory is the caller's
    // promise.
    unsafe { call(container, IOMMU_MAP_DMA, &mut map) }.map(drop)
}

/// Unmaps; how many bytes it were.
pub fn unmap_dma(container: BorrowedFd<'_>, iova: u64, length: usize) -> io::Result<u64> {
    let mut unmap = vfio::vfio_iommu_type1_dma_unmap {
        argsz: size_of::<vfio::vfio_iommu_type1_dma_unmap>() as u32,
        flags: 0,
        iova,
        size: length as u64,
        ..Default::default()
    };
    // SAFETY: the kernel reads the structure and writes its `size`.
    unsafe { call(container, IOMMU_UNMAP_DMA, &mut unmap) }?;
    Ok(unmap.size)
}

/// From now on `fd` is another descriptor of what `by` is of, and what it was of is closed. Calls of other threads that are under way go on.
pub fn replace(fd: BorrowedFd<'_>, by: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both are open; the number stays its owner's.
    let result = unsafe { libc::dup3(by.as_raw_fd(), fd.as_raw_fd(), libc::O_CLOEXEC) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// One ioctl; started again when a signal came in between.
///
/// # Safety
/// `argument` is what the call with this number takes, and may be written as the call does.
pub unsafe fn call<T>(fd: BorrowedFd<'_>, number: libc::Ioctl, argument: *mut T) -> io::Result<i32> {
    loop {
        // SAFETY: the caller's promise.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), number, argument) };
        if result >= 0 {
            tracing::trace!(number = %format_args!("{number:#x}"), result, "ioctl");
            return Ok(result);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            tracing::debug!(number = %format_args!("{number:#x}"), %error, "ioctl");
            return Err(error);
        }
    }
}
