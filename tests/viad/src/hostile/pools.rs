//! Pools that could hurt viad, and more of them than there is room for.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    fallocate, fcntl_add_seals, ftruncate, memfd_create, FallocateFlags, MemfdFlags, SealFlags,
};
use viaduct_driver::{
    kernel_agent::{ErrorClass, MemoryAttributes},
    viad::{
        place::Place,
        protocol::{encode, Answer, Request},
    },
};

use super::greet;
use crate::raw::Raw;

const PAGE: u64 = 4096;
/// Seals of a pool that is as it should be.
const SEALED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

fn memfd(bytes: u64, seals: SealFlags) -> OwnedFd {
    let file = memfd_create("pool", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
    ftruncate(&file, bytes).expect("room");
    fcntl_add_seals(&file, seals).expect("a memfd");
    file
}

/// The class of a refusal.
fn refused(raw: &Raw, request: &Request, files: &[&OwnedFd]) -> ErrorClass {
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    match raw.ask_with(request, &files).0 {
        Err(refusal) => refusal.class,
        Ok(answer) => panic!("{request:?}: {answer:?}"),
    }
}

/// One turn: what is no pool is refused, and so is one too many of anything.
pub(super) fn turn(place: &Place) {
    bad_pools(place);
    too_many_pools(place);
    too_many_arenas(place);
}

/// Offers pools that viad must not take, and regions that are in none of its.
///
/// # Panics
/// viad takes one.
pub fn bad_pools(place: &Place) {
    let (raw, ..) = greet(place);
    let share = |bytes, file: &OwnedFd| refused(&raw, &Request::SharePool(bytes), &[file]);
    let plain: OwnedFd = tempfile::tempfile().expect("a file").into();
    ftruncate(&plain, 1 << 20).expect("room");
    assert_eq!(share(PAGE, &plain), ErrorClass::Parameter, "a file can be made shorter");
    let socket = raw.socket.try_clone().expect("a descriptor");
    assert_eq!(share(PAGE, &socket), ErrorClass::Parameter);
    let shrunk = memfd(2 * PAGE, SealFlags::GROW);
    assert_eq!(share(2 * PAGE, &shrunk), ErrorClass::Parameter, "it can become shorter");
    ftruncate(&shrunk, PAGE).expect("it is not sealed against that");
    assert_eq!(share(2 * PAGE, &shrunk), ErrorClass::Parameter, "it has become shorter");
    assert_eq!(
        share(PAGE, &memfd(PAGE, SEALED | SealFlags::WRITE)),
        ErrorClass::Parameter,
        "nobody may write it"
    );
    let good = memfd(2 * PAGE, SEALED);
    for bytes in [0, 1, PAGE + 1, 3 * PAGE] {
        assert_eq!(share(bytes, &good), ErrorClass::Parameter, "{bytes} bytes");
    }
    assert_eq!(share(1 << 62, &good), ErrorClass::Resource, "more than half of the machine's memory");
    // Nothing of it is left: one that is good is taken, and is the first.
    let (Ok(Answer::Pool(pool)), _) = raw.ask_with(&Request::SharePool(2 * PAGE), &[good.as_fd()]) else {
        panic!("it is as it should be")
    };
    assert!(ftruncate(&good, PAGE).is_err(), "it stays as long as it is");
    let (Ok(Answer::Tag(tag)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
    let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: true };
    let register =
        |pool, offset, address, length| Request::RegisterShared(pool, offset, address, length, attributes);
    let address = 0x7f00_0000_0000;
    for request in [
        register(pool + 1, 0, address, PAGE),
        register(pool, PAGE, address, PAGE + 1),
        register(pool, 2 * PAGE, address, 1),
        register(pool, 0, address, 0),
        register(pool, u64::MAX, address, 2),
        register(pool, 0, address, u64::MAX),
        // Another place of the page than the address says.
        register(pool, 8, address, 8),
        register(pool, 0, u64::MAX - 100, PAGE),
    ] {
        assert_eq!(refused(&raw, &request, &[]), ErrorClass::Parameter, "{request:?}");
    }
    let (Ok(Answer::Handle(handle)), _) = raw.ask(&register(pool, 8, address + 8, PAGE)) else {
        panic!("it is inside")
    };
    assert_eq!(refused(&raw, &Request::DropPool(pool), &[]), ErrorClass::State, "a region is in it");
    // A number of one session means nothing in another.
    let (other, ..) = greet(place);
    assert_eq!(refused(&other, &Request::DropPool(pool), &[]), ErrorClass::Parameter);
    assert_eq!(refused(&other, &Request::Deregister(handle), &[]), ErrorClass::Parameter);
    // It has holes, which harm nobody.
    fallocate(&good, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 2 * PAGE).expect("a memfd");
    assert!(raw.ask(&Request::Deregister(handle)).0.is_ok());
    assert!(raw.ask(&Request::DropPool(pool)).0.is_ok());
    assert_eq!(refused(&raw, &Request::DropPool(pool), &[]), ErrorClass::Parameter, "it is gone");
    // Descriptors where none belong, and none where one does, end the session.
    let (raw, ..) = greet(place);
    raw.send(&encode(&Request::SharePool(PAGE)).expect("short")).expect("it listens");
    assert!(raw.receive().is_none(), "it is closed");
}

/// As many pools as one may have; the next one is refused.
fn too_many_pools(place: &Place) {
    let (raw, ..) = greet(place);
    let file = memfd(PAGE, SEALED);
    let answers = std::iter::repeat_with(|| raw.ask_with(&Request::SharePool(PAGE), &[file.as_fd()]).0);
    let refusal = answers.take(MOST).find_map(Result::err).expect("there is an end of it");
    assert_eq!(refusal.class, ErrorClass::Resource, "{}", refusal.text);
}

/// As many sessions as one may have, with an arena each; the next one is refused.
fn too_many_arenas(place: &Place) {
    let mut sessions = Vec::new();
    let refusal = loop {
        assert!(sessions.len() < MOST, "there is an end of it");
        match Raw::greet(place) {
            (raw, Some((Ok(_), _))) => sessions.push(raw),
            (_, Some((Err(refusal), _))) => break refusal,
            (_, None) => panic!("viad says why"),
        }
    };
    assert_eq!(refusal.class, ErrorClass::Resource, "{}", refusal.text);
}

/// More of anything than a user may have.
const MOST: usize = 2000;
