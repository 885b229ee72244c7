//! Limits of the provider, which docs/mpi.md names. Those that are large are less in tests.

use std::{ffi::c_void, mem::size_of, time::Instant};

use super::world::{call, close, Buffer, World};
use crate::via::{
    cq::{Queue, SHELLS},
    endpoint::DRAIN,
    ffi::{self, FI_READ, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, FI_RMA, FI_WRITE},
    info::Info,
    offer::CM_DATA,
    rma::PART,
};

const INVALID: i32 = -libc::EINVAL;
/// The program's word with a write.
const WORD: u64 = 0x1122_3344;

/// Bytes of which no two parts are alike.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / PART) as u8).collect()
}

#[test]
fn an_access_that_takes_several_descriptors_is_one_to_the_program() {
    let world = World::new();
    let [client, server] = world.connected();
    let [near, far]: [Buffer; 2] = [world.buffer(), world.buffer()];
    let length = 3 * PART + 1;
    near.put(0, &pattern(length));
    far.receive(server, 60_000, 64, 1);
    let (place, key) = (far.at(100).addr() as u64, far.key());
    let written = call!(
        client,
        rma.writedata(near.at(0), length, near.descriptor(), WORD, 0, place, key, 2 as *mut c_void)
    );
    assert_eq!(written, 0);
    let mut found = [world.completion(), world.completion()];
    found.sort_by_key(|entry| entry.op_context.addr());
    let [heard, done] = found;
    assert_eq!(
        (heard.op_context.addr(), heard.flags, heard.data),
        (1, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, WORD)
    );
    assert_eq!((done.op_context.addr(), done.flags), (2, FI_RMA | FI_WRITE));
    assert_eq!(far.get(100, length), pattern(length));
    near.put(0, &vec![0; length]);
    let read =
        call!(client, rma.read(near.at(0), length, near.descriptor(), 0, place, key, 3 as *mut c_void));
    assert_eq!(read, 0);
    let done = world.completion();
    assert_eq!((done.op_context.addr(), done.flags), (3, FI_RMA | FI_READ));
    assert_eq!(near.get(0, length), pattern(length));
    world.no_completion();
    close(client.cast());
    close(server.cast());
    near.close();
    far.close();
}

#[test]
fn the_end_of_an_endpoint_does_not_wait_for_ever_for_a_peer_that_does_not_listen() {
    let world = World::new();
    let [client, server] = world.connected();
    // The other one has posted no receive: the message is asked for again and again.
    assert_eq!(call!(client, msg.inject(b"nobody".as_ptr().cast(), 6, 0)), 0);
    let start = Instant::now();
    close(client.cast());
    assert!(start.elapsed() >= DRAIN, "it has not waited");
    assert_eq!(world.event().what, ffi::FI_SHUTDOWN);
    close(server.cast());
    world.no_completion();
}

#[test]
fn what_is_left_of_closed_endpoints_is_kept_until_their_entries_are_read_and_no_longer() {
    let world = World::new();
    // SAFETY: it is open.
    let queue = unsafe { Queue::at(world.cq) }.expect("it is one");
    let buffer = world.buffer();
    for pair in 1..=3 {
        for end in world.connected() {
            buffer.receive(end, 0, 64, pair);
            close(end.cast());
        }
        world.take_events();
    }
    // Each is kept for its sends and for its receives.
    assert_eq!(queue.shells(), 2 * 6, "their receives were canceled, and nobody has read that");
    for pair in [1, 1, 2, 2, 3, 3] {
        assert_eq!(world.error(), (pair, libc::ECANCELED));
    }
    close(world.endpoint(world.info).cast());
    assert_eq!(queue.shells(), SHELLS);
    buffer.close();
}

#[test]
fn so_much_data_goes_with_a_connection_and_no_more() {
    let world = World::new();
    let client = world.endpoint(world.info);
    for fid in [client.cast::<ffi::fid>(), world.listener.cast()] {
        let (mut most, mut length) = (0_usize, size_of::<usize>());
        let mut ask = |length: &mut usize| {
            let (level, option) = (ffi::FI_OPT_ENDPOINT as i32, ffi::FI_OPT_CM_DATA_SIZE as i32);
            // SAFETY: the endpoints live, each is behind a structure that begins with its `fid` and its operations, and there is a place.
            unsafe {
                let ops = match fid == client.cast() {
                    true => (*client).ops,
                    false => (*world.listener).ops,
                };
                (*ops).getopt.expect("it is there")(fid, level, option, (&raw mut most).cast(), length)
            }
        };
        assert_eq!(ask(&mut length), 0);
        length -= 1;
        assert_eq!(ask(&mut length), -(ffi::FI_ETOOSMALL as i32));
        assert_eq!(most, CM_DATA);
    }
    let data = [7_u8; CM_DATA + 1];
    let address = world.address();
    let place: *const c_void = (&raw const address).cast();
    assert_eq!(call!(client, cm.connect(place, data.as_ptr().cast(), data.len())), INVALID);
    world.ask(client, &data[1..]);
    let event = world.event();
    assert_eq!((event.what, &event.data[..]), (ffi::FI_CONNREQ, &data[1..]));
    // SAFETY: it came with the event.
    let handle = unsafe { (*event.info).handle };
    assert_eq!(call!(world.listener, cm.reject(handle, data.as_ptr().cast(), data.len())), INVALID);
    let server = world.endpoint(event.info);
    assert_eq!(call!(server, cm.accept(data.as_ptr().cast(), data.len())), INVALID);
    assert_eq!(call!(server, cm.accept(data.as_ptr().cast(), CM_DATA)), 0);
    // SAFETY: it was given with the event.
    drop(unsafe { Info::take(event.info) });
    for _ in 0..2 {
        assert_eq!(world.event().what, ffi::FI_CONNECTED);
    }
    close(client.cast());
    close(server.cast());
    world.take_events();
}
