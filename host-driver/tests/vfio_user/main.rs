//! The vfio-user client against another implementation's server, and against peers that are no
//! servers at all.

mod implementation;
mod peers;

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
};

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::{
    device::{Bar, DeviceError, DmaAccess, PciDevice},
    memory::Mapping,
    vfio_user::VfioUser,
};

use self::implementation::{serve, VECTORS};

struct Place {
    _folder: tempfile::TempDir,
    socket: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    Place { socket: folder.path().join("nic.sock"), _folder: folder }
}

#[test]
fn another_implementations_server_understands_the_client() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");

    device.write64(Bar::Registers, 0x40, 0x1122_3344_5566_7788).expect("posted");
    assert_eq!(device.read64(Bar::Registers, 0x40).ok(), Some(0x1122_3344_5566_7788));
    assert_eq!(device.read32(Bar::Registers, 0x44).ok(), Some(0x1122_3344));
    device.write32(Bar::Doorbells, 0x3f008, 9).expect("posted");
    assert_eq!(device.read32(Bar::Doorbells, 0x3f008).ok(), Some(9));
    device.config_write32(4, 6).expect("taken");
    assert_eq!(device.config_read32(4).ok(), Some(6));
    device.reset().expect("taken");
    assert_eq!(device.read32(Bar::Registers, 0).ok(), Some(0x0101_0101));

    for (bar, offset) in [(Bar::Registers, 0x10000), (Bar::Registers, 0x42), (Bar::Doorbells, u64::MAX - 7)] {
        let error = device.read64(bar, offset).expect_err("outside, or not aligned");
        assert!(matches!(error, DeviceError::Refused { .. }), "{error}");
    }
    drop(device);
    server.join().expect("the server ends with its client");
}

#[test]
fn a_connection_that_somebody_else_has_made_is_taken() {
    let place = place();
    let server = serve(&place);
    let stream = UnixStream::connect(&place.socket).expect("a server");
    let device = VfioUser::of_stream(stream, "a connection of ours").expect("a server");
    assert_eq!(device.place(), "a connection of ours");
    device.write64(Bar::Registers, 0x40, 7).expect("posted");
    assert_eq!(device.read64(Bar::Registers, 0x40).ok(), Some(7));
    drop(device);
    server.join().expect("the server ends with its client");

    let (ours, other) = UnixStream::pair().expect("a pair");
    drop(other);
    let error = VfioUser::of_stream(ours, "a connection of ours").map(drop).expect_err("nobody is there");
    assert!(matches!(&error, DeviceError::Gone { place, .. } if place == "a connection of ours"), "{error}");
}

#[test]
fn the_server_reaches_mapped_memory_and_no_other() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");
    let memory = Mapping::new(8192).expect("memory");
    let start = memory.start().as_ptr() as usize;
    let word = || unsafe {
        // SAFETY: inside the mapping, aligned.
        memory.start().as_ptr().add(4096).cast::<u64>().read_volatile()
    };
    let map = |access| unsafe {
        // SAFETY: the mapping lives to the end of the test, and no reference into it exists.
        device.map_dma(start as u64, start, 8192, access)
    };
    let dma_write = |value| {
        device.write64(Bar::Registers, 0xf000, start as u64 + 4096).expect("posted");
        device.write64(Bar::Registers, 0xf008, value).expect("posted");
        device.read32(Bar::Registers, 0xf010).expect("whether it was done") == 1
    };
    map(DmaAccess::ReadWrite).expect("mapped");
    assert!(dma_write(0x5eed));
    assert_eq!(word(), 0x5eed);
    assert_eq!(device.read64(Bar::Registers, 0xf000).ok(), Some(0x5eed));
    assert!(matches!(map(DmaAccess::Read), Err(DeviceError::Refused { .. })), "mapped twice");

    device.unmap_dma(start as u64, 8192).expect("it is mapped");
    assert!(matches!(device.unmap_dma(start as u64, 8192), Err(DeviceError::Refused { .. })));
    let odd = device.unmap_dma(start as u64 + 1, 8192).expect_err("not a page").to_string();
    assert!(odd.contains("whole pages"), "{odd}");

    map(DmaAccess::Read).expect("mapped");
    assert!(!dma_write(7), "the descriptor that came with the map is for reading only");
    assert_eq!(word(), 0x5eed);
    assert_eq!(device.read64(Bar::Registers, 0xf000).ok(), Some(0x5eed));
    drop(device);
    server.join().expect("the server ends with its client");
}

#[test]
fn each_vector_has_its_eventfd() {
    let place = place();
    let server = serve(&place);
    let device = VfioUser::open(&place.socket).expect("a server");
    assert_eq!(device.vectors(), VECTORS);
    assert!(device.may_sleep());
    let events: Vec<OwnedFd> =
        (0..VECTORS).map(|_| eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd")).collect();
    let count = |n: usize| {
        let mut value = [0; 8];
        rustix::io::read(&events[n], &mut value).map_or(0, |_| u64::from_ne_bytes(value))
    };
    let raise = |vector: usize| {
        device.write32(Bar::Registers, 0xf018, vector as u32).expect("posted");
        device.read32(Bar::Registers, 0).expect("behind the write");
    };
    let borrowed: Vec<BorrowedFd<'_>> = events.iter().map(AsFd::as_fd).collect();
    device.set_interrupts(&borrowed).expect("there are as many");
    for vector in 0..VECTORS {
        raise(vector);
        raise(vector);
        let counts: Vec<u64> = (0..VECTORS).map(count).collect();
        assert!((0..VECTORS).all(|n| counts[n] == if n == vector { 2 } else { 0 }), "{vector}: {counts:?}");
    }
    // Fewer than before: the others are silent.
    device.set_interrupts(&borrowed[..2]).expect("there are more");
    (0..VECTORS).for_each(raise);
    assert_eq!((0..VECTORS).map(count).collect::<Vec<u64>>()[..3], [1, 1, 0]);
    device.set_interrupts(&[]).expect("off");
    raise(0);
    assert_eq!(count(0), 0);
    let more: Vec<BorrowedFd<'_>> = [&borrowed[..], &borrowed[..1]].concat();
    assert!(matches!(device.set_interrupts(&more), Err(DeviceError::Refused { .. })));
    drop(device);
    server.join().expect("the server ends with its client");
}
