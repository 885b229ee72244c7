//! What two endpoints that are connected send each other.

use std::ptr::null_mut;

use viaduct_viad_tests::stage::{until, LONG};

use super::world::{call, close, nothing, Buffer, World};
use crate::via::{
    card::Card,
    ffi::{self, FI_MSG, FI_READ, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_WRITE, FI_RMA, FI_SEND, FI_WRITE},
    object::Word,
};

const WORD: u64 = 0x1122_3344;

#[test]
fn a_message_arrives_as_it_was_sent_and_both_ends_hear_of_it() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    buffer.put(0, b"a message");
    buffer.receive(server, 100, 64, 7);
    buffer.send(client, 0, 9, 8);
    let [received, sent] = world.both();
    assert_eq!((received.op_context.addr(), sent.op_context.addr()), (7, 8));
    assert_eq!((received.flags, sent.flags), (FI_MSG | FI_RECV, FI_MSG | FI_SEND));
    assert_eq!((received.len, received.buf), (9, buffer.at(100)));
    assert_eq!(buffer.get(100, 9), b"a message");

    // With data, of two pieces, and the other way.
    buffer.receive(client, 200, 64, 1);
    let (place, descriptor) = (buffer.at(0), buffer.descriptor());
    assert_eq!(call!(server, msg.senddata(place, 2, descriptor, WORD, 0, 2 as *mut _)), 0);
    let [received, _] = world.both();
    assert_eq!((received.flags, received.data), (FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA, WORD));
    buffer.receive(client, 200, 64, 1);
    let pieces = [buffer.piece(2, 7), buffer.piece(0, 1)];
    let mut descriptors = [buffer.descriptor(); 2];
    let sent = call!(server, msg.sendv(pieces.as_ptr(), descriptors.as_mut_ptr(), 2, 0, null_mut()));
    assert_eq!(sent, 0);
    assert_eq!(world.both()[0].len, 8);
    assert_eq!(buffer.get(200, 8), b"messagea");

    // What is too long for a place to be copied to is refused; what is not is nobody's completion.
    let bytes = [5u8; 65];
    assert_eq!(call!(client, msg.inject(bytes.as_ptr().cast(), 65, 0)), -(libc::EMSGSIZE as isize));
    buffer.receive(server, 300, 64, 9);
    assert_eq!(call!(client, msg.inject(bytes.as_ptr().cast(), 64, 0)), 0);
    let received = world.completion();
    assert_eq!((received.op_context.addr(), received.len), (9, 64));
    assert_eq!(buffer.get(300, 64), bytes[..64]);
    close(client.cast());
    close(server.cast());
    buffer.close();
}

#[test]
fn a_message_that_finds_no_receive_waits_for_one() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    let card = Card::open().expect("it is open");
    let count = || {
        let counters = card.nic.counters().expect("it answers");
        counters.iter().find(|(code, _)| code.name == "RNR_SENT").expect("a counter").1
    };
    for round in 0..10u8 {
        let before = count();
        buffer.put(0, &[round; 16]);
        buffer.send(client, 0, 16, 1);
        assert!(until(LONG, || count() > before), "the receiver is not ready");
        buffer.receive(server, 100, 16, 2);
        let [received, sent] = world.both();
        assert_eq!((received.op_context.addr(), sent.op_context.addr()), (2, 1));
        assert_eq!(buffer.get(100, 16), [round; 16]);
    }
    close(client.cast());
    close(server.cast());
    buffer.close();
}

#[test]
fn remote_memory_is_written_and_read_and_data_take_a_receive() {
    let world = World::new();
    let [client, server] = world.connected();
    let (near, far) = (world.buffer(), world.buffer());
    let place = |buffer: &Buffer, offset: usize| buffer.at(offset).addr() as u64;
    near.put(0, b"written there");
    let to = (place(&far, 1000), far.key());
    let written = call!(
        client,
        rma.write(near.at(0), 13, near.descriptor(), 0, to.0, to.1, std::ptr::without_provenance_mut(1))
    );
    assert_eq!(written, 0);
    let done = world.completion();
    assert_eq!((done.op_context.addr(), done.flags), (1, FI_RMA | FI_WRITE));
    assert_eq!(far.get(1000, 13), b"written there");

    far.put(2000, b"to be read");
    let from = place(&far, 2000);
    let read = call!(client, rma.read(near.at(100), 10, near.descriptor(), 0, from, far.key(), 2 as *mut _));
    assert_eq!(read, 0);
    let done = world.completion();
    assert_eq!((done.op_context.addr(), done.flags), (2, FI_RMA | FI_READ));
    assert_eq!(near.get(100, 10), b"to be read");

    far.receive(server, 3000, 64, 3);
    let written =
        call!(client, rma.writedata(near.at(0), 7, near.descriptor(), WORD, 0, to.0, to.1, 4 as *mut _));
    assert_eq!(written, 0);
    let mut found = [world.completion(), world.completion()];
    found.sort_by_key(|entry| entry.op_context.addr());
    assert_eq!(found.map(|entry| entry.op_context.addr()), [3, 4]);
    assert_eq!((found[0].flags, found[0].data), (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, WORD));
    assert_eq!(far.get(3000, 7), [0; 7], "the receive's own memory is left alone");

    // Memory that may not be reached so: the operation fails, and the connection ends.
    let wrong =
        call!(client, rma.read(near.at(0), 8, near.descriptor(), 0, from, u64::from(u32::MAX), null_mut()));
    assert_eq!(wrong, 0);
    let (_, error) = world.error();
    assert_eq!(error, libc::EACCES);
    let event = world.event();
    assert!(event.what == ffi::FI_SHUTDOWN && event.fid.cast() == client);
    close(client.cast());
    close(server.cast());
    near.close();
    far.close();
}

#[test]
fn memory_that_is_not_registered_is_refused_before_anything_is_posted() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    let wrong = -(libc::EINVAL as isize);
    assert_eq!(call!(client, msg.send(buffer.at(0), 8, null_mut(), 0, null_mut())), wrong, "no descriptor");
    let other = [0u8; 8];
    let (place, descriptor) = (other.as_ptr().cast(), buffer.descriptor());
    assert_eq!(call!(client, msg.send(place, 8, descriptor, 0, null_mut())), wrong, "another's");
    // Nothing has no address.
    buffer.receive(server, 0, 8, 1);
    assert_eq!(call!(client, msg.send(std::ptr::null(), 0, null_mut(), 0, 2 as *mut _)), 0);
    assert_eq!(world.both()[0].len, 0);
    close(client.cast());
    close(server.cast());
    buffer.close();
}

#[test]
fn flags_that_ofi_rxm_has_for_other_providers_are_taken_and_unknown_ones_are_not() {
    let world = World::new();
    let mut bytes = [0u64; 512];
    let mut register = |flags| {
        let (start, length, mut mr) = (bytes.as_mut_ptr().cast(), size_of_val(&bytes), null_mut());
        let fid = world.domain.cast();
        // SAFETY: the domain lives, and the memory stays until it is closed.
        let registered = unsafe {
            let reg = (*(*world.domain).mr).reg.expect("it is there");
            reg(fid, start, length, FI_SEND | FI_RECV, 0, 0, flags, &mut mr, null_mut())
        };
        (registered, mr)
    };
    // OFI_MR_NOCACHE, which ofi_rxm's own buffers have.
    let (registered, mr) = register(1 << 60);
    assert_eq!(registered, 0);
    close(mr.cast());
    assert_eq!(register(ffi::FI_RMA_EVENT).0, -(ffi::FI_EBADFLAGS as i32));
}

#[test]
fn a_region_is_one_piece_of_memory() {
    let world = World::new();
    let mut bytes = [[0u64; 8]; 2];
    let pieces = bytes
        .each_mut()
        .map(|piece| ffi::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: size_of_val(piece) });
    let register = |count| {
        let (start, fid, mut mr) = (pieces.as_ptr(), world.domain.cast(), null_mut());
        // SAFETY: the domain lives, and the memory stays until it is closed.
        let registered = unsafe {
            let regv = (*(*world.domain).mr).regv.expect("it is there");
            regv(fid, start, count, FI_SEND, 0, 0, 0, &mut mr, null_mut())
        };
        (registered, mr)
    };
    assert_eq!([register(0).0, register(2).0], [-libc::EINVAL; 2]);
    let (registered, mr) = register(1);
    assert_eq!(registered, 0);
    close(mr.cast());
}

#[test]
fn a_queue_that_is_full_is_to_be_tried_again() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    // As many as were offered.
    for number in 0..256 {
        buffer.receive(server, 0, 8, number);
    }
    let (place, descriptor) = (buffer.at(0), buffer.descriptor());
    let full = call!(server, msg.recv(place, 8, descriptor, 0, null_mut()));
    assert_eq!(full, -(libc::EAGAIN as isize));
    buffer.send(client, 100, 8, 1000);
    assert_eq!(world.both()[0].op_context.addr(), 0);
    buffer.receive(server, 0, 8, 256);
    close(client.cast());
    close(server.cast());
    // What was posted comes back, in its order.
    for number in 1..=256 {
        assert_eq!(world.error(), (number, libc::ECANCELED));
    }
    buffer.close();
}

#[test]
fn a_signal_ends_one_wait_and_says_nothing_to_who_waits_for_the_descriptor() {
    let world = World::new();
    let again = -(libc::EAGAIN as isize);
    // Without end, if nobody signals.
    let wait = |cq: *mut ffi::fid_cq| {
        let mut entry: ffi::fi_cq_data_entry = nothing();
        call!(cq, ops.sread((&raw mut entry).cast(), 1, std::ptr::null(), -1))
    };
    assert_eq!(call!(world.cq, ops.signal()), 0);
    let mut fids = [world.cq.cast::<ffi::fid>()];
    assert_eq!(call!(world.fabric, ops.trywait(fids.as_mut_ptr(), 1)), 0);
    assert_eq!(wait(world.cq), again, "the signal was there before");
    let cq = Word(world.cq.cast());
    std::thread::scope(|scope| {
        let waits = scope.spawn(move || {
            let whole = cq;
            wait(whole.0.cast())
        });
        assert_eq!(call!(world.cq, ops.signal()), 0);
        assert_eq!(waits.join().expect("it returns"), again);
    });
}
