//! What programs do with their queues: wait for descriptors, and write events of their own. How many requests a listener keeps.

use std::{
    ffi::{c_int, c_void},
    mem::size_of,
    os::fd::BorrowedFd,
    ptr::{null, null_mut},
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    time::Timespec,
};
use viaduct_viad_tests::stage::LONG;

use super::world::{call, close, nothing, of_fid, World};
use crate::via::{ffi, info::Info};

const NO_CALL: i32 = -libc::ENOSYS;

/// What a queue says of its descriptor, by this command.
fn ask(queue: *mut ffi::fid, command: u32) -> (i32, c_int) {
    let mut number: c_int = -1;
    let place: *mut c_void = (&raw mut number).cast();
    (of_fid!(queue, control(command as i32, place)), number)
}

/// Whether a descriptor is readable, or becomes so in time.
fn is_readable(file: c_int, limit: Timespec) -> bool {
    // SAFETY: the queue has it open.
    let file = unsafe { BorrowedFd::borrow_raw(file) };
    poll(&mut [PollFd::from_borrowed_fd(file, PollFlags::IN)], Some(&limit)).expect("it is polled") == 1
}

const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

fn in_time() -> Timespec {
    LONG.try_into().expect("it is not so long")
}

#[test]
fn the_descriptors_of_queues_are_readable_when_something_has_come() {
    let world = World::new();
    let [client, server] = world.connected();
    let queues: [*mut ffi::fid; 2] = [world.cq.cast(), world.eq.cast()];
    let trywait = || {
        let mut fids = queues;
        call!(world.fabric, ops.trywait(fids.as_mut_ptr(), 2))
    };
    let [cq, eq] = queues.map(|queue| {
        assert_eq!(ask(queue, ffi::FI_GETWAITOBJ), (0, ffi::FI_WAIT_FD as c_int));
        assert_eq!(of_fid!(queue, control(ffi::FI_GETWAIT as i32, null_mut())), -libc::EINVAL);
        assert_eq!(ask(queue, ffi::FI_BACKLOG).0, NO_CALL);
        let (answer, file) = ask(queue, ffi::FI_GETWAIT);
        assert_eq!(answer, 0);
        file
    });
    let buffer = world.buffer();
    buffer.receive(server, 100, 8, 1);
    assert_eq!(trywait(), 0);
    assert!(!is_readable(cq, AT_ONCE));
    buffer.send(client, 0, 8, 2);
    assert!(is_readable(cq, in_time()));
    world.both();
    assert_eq!(trywait(), 0);
    assert_eq!(call!(client, cm.shutdown(0)), 0);
    assert!(is_readable(eq, in_time()));
    assert_eq!(world.event().what, ffi::FI_SHUTDOWN);
    assert_eq!(trywait(), 0);
    // What the program writes itself wakes it, too.
    assert_eq!(call!(world.eq, ops.write(ffi::FI_NOTIFY, null(), 0, 0)), 0);
    assert!(is_readable(eq, AT_ONCE));
    assert_eq!(trywait(), -libc::EAGAIN, "something is there");
    close(client.cast());
    close(server.cast());
    buffer.close();
}

#[test]
fn queues_that_were_to_have_no_descriptor_have_none() {
    let world = World::new();
    let (mut cq, mut eq) = (null_mut(), null_mut());
    let mut attributes = ffi::fi_cq_attr { wait_obj: ffi::FI_WAIT_NONE, ..nothing() };
    assert_eq!(call!(world.domain, ops.cq_open(&mut attributes, &mut cq, null_mut())), 0);
    let mut wanted = ffi::fi_eq_attr { wait_obj: ffi::FI_WAIT_NONE, ..nothing() };
    assert_eq!(call!(world.fabric, ops.eq_open(&mut wanted, &mut eq, null_mut())), 0);
    for queue in [cq.cast::<ffi::fid>(), eq.cast()] {
        assert_eq!(ask(queue, ffi::FI_GETWAIT).0, NO_CALL);
        let mut fids = [queue];
        assert_eq!(call!(world.fabric, ops.trywait(fids.as_mut_ptr(), 1)), -libc::EINVAL);
    }
    let mut entry: ffi::fi_cq_entry = nothing();
    let (place, mut what) = ((&raw mut entry).cast(), 0);
    assert_eq!(call!(cq, ops.sread(place, 1, null(), 0)), NO_CALL as isize);
    assert_eq!(call!(eq, ops.sread(&mut what, place, size_of_val(&entry), 0, 0)), NO_CALL as isize);
    close(cq.cast());
    close(eq.cast());
    // Other wait objects are not offered.
    attributes.wait_obj = ffi::FI_WAIT_MUTEX_COND;
    assert_eq!(call!(world.domain, ops.cq_open(&mut attributes, &mut cq, null_mut())), NO_CALL);
    wanted.wait_obj = ffi::FI_WAIT_SET;
    assert_eq!(call!(world.fabric, ops.eq_open(&mut wanted, &mut eq, null_mut())), NO_CALL);
}

#[test]
fn what_a_program_writes_into_its_event_queue_is_read_there_in_its_turn() {
    let world = World::new();
    let words = [world.listener.addr() as u64, 7, 9];
    let bytes = size_of::<ffi::fi_eq_entry>();
    assert_eq!(bytes, size_of_val(&words));
    let write = |words: &[u64; 3], flags| {
        call!(world.eq, ops.write(ffi::FI_NOTIFY, words.as_ptr().cast(), bytes, flags))
    };
    assert_eq!(write(&words, 1), -(ffi::FI_EBADFLAGS as isize));
    assert_eq!(call!(world.eq, ops.write(ffi::FI_NOTIFY, null(), bytes, 0)), -(libc::EINVAL as isize));
    world.no_event();
    assert_eq!([write(&words, 0), write(&[1, 2, 3], 0)], [bytes as isize; 2]);
    let read = |room, flags| {
        let (mut what, mut place) = (0, [0u64; 4]);
        let count = call!(world.eq, ops.read(&mut what, place.as_mut_ptr().cast(), room, flags));
        (count, what, place)
    };
    assert_eq!(read(bytes - 1, 0).0, -(ffi::FI_ETOOSMALL as isize));
    let first = (bytes as isize, ffi::FI_NOTIFY, [words[0], 7, 9, 0]);
    assert_eq!(read(32, ffi::FI_PEEK), first);
    assert_eq!(read(32, 0), first);
    assert_eq!(read(32, 0), (bytes as isize, ffi::FI_NOTIFY, [1, 2, 3, 0]));
    world.no_event();
}

#[test]
fn a_listener_keeps_as_many_requests_as_its_backlog_says_and_refuses_more() {
    let world = World::new();
    let mut listener = null_mut();
    assert_eq!(call!(world.fabric, ops.passive_ep(world.info, &mut listener, null_mut())), 0);
    let backlog = |mut number: c_int| {
        let place: *mut c_void = (&raw mut number).cast();
        of_fid!(listener, control(ffi::FI_BACKLOG as i32, place))
    };
    assert_eq!([backlog(0), backlog(-1)], [-libc::EINVAL; 2]);
    assert_eq!(of_fid!(listener, control(ffi::FI_BACKLOG as i32, null_mut())), -libc::EINVAL);
    assert_eq!(of_fid!(listener, control(ffi::FI_ENABLE as i32, null_mut())), NO_CALL);
    assert_eq!(backlog(1), 0);
    assert_eq!(of_fid!(listener, bind(world.eq.cast(), 0)), 0);
    assert_eq!(call!(listener, cm.listen()), 0);
    assert_eq!(backlog(2), -(ffi::FI_EOPBADSTATE as i32), "it listens already");
    let address = World::address_of(listener);
    let ask = || {
        let client = world.endpoint(world.info);
        World::ask_at(client, address, b"");
        client
    };
    let refused = |client: *mut ffi::fid_ep| {
        assert_eq!(world.failure(), (client, libc::ECONNREFUSED, Vec::new()));
        close(client.cast());
    };
    // When the one that has waited is decided on, there is room again.
    for _ in 0..2 {
        let first = ask();
        let event = world.event();
        assert!(event.what == ffi::FI_CONNREQ && event.fid.cast() == listener);
        refused(ask());
        // SAFETY: it came with the event.
        let handle = unsafe { (*event.info).handle };
        assert_eq!(call!(listener, cm.reject(handle, null(), 0)), 0);
        // SAFETY: as above; it was given with the event, and the handle is no request any more.
        unsafe {
            (*event.info).handle = null_mut();
            drop(Info::take(event.info));
        }
        refused(first);
    }
    close(listener.cast());
    world.no_event();
}
