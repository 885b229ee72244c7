//! How endpoints come to their connections, and what is left at their end.

use std::ptr::null_mut;

use viaduct_viad_tests::stage::{until, LONG};

use super::world::{call, close, nothing, of_fid, World, WORD};
use crate::via::{ffi, info::Info};

#[test]
fn who_is_rejected_hears_why_and_gets_back_what_was_posted() {
    let world = World::new();
    let buffer = world.buffer();
    let client = world.endpoint(world.info);
    // As ofi_rxm does it: before the connection.
    for number in 0..128 {
        let (place, descriptor) = (buffer.at(0), buffer.descriptor());
        assert_eq!(call!(client, msg.recv(place, 64, descriptor, 0, number as *mut _)), 0);
    }
    let not_yet = call!(client, msg.send(buffer.at(0), 8, buffer.descriptor(), 0, null_mut()));
    assert_eq!(not_yet, -(libc::ENOTCONN as isize));
    world.ask(client, b"0123456789012345678901234567890123456789");
    let event = world.event();
    assert_eq!((event.what, event.data.len()), (ffi::FI_CONNREQ, 40));
    // SAFETY: it came with the event.
    let handle = unsafe { (*event.info).handle };
    let reason = [1u8, 114];
    assert_eq!(call!(world.listener, cm.reject(handle, reason.as_ptr().cast(), 2)), 0);
    // The handle is no request any more.
    // SAFETY: as above; it was given with the event.
    unsafe {
        (*event.info).handle = null_mut();
        drop(Info::take(event.info));
    }
    assert_eq!(world.failure(), (client, libc::ECONNREFUSED, reason.to_vec()));
    close(client.cast());
    for number in 0..128 {
        assert_eq!(world.error(), (number, libc::ECANCELED));
    }
    world.no_event();
    buffer.close();
}

#[test]
fn the_other_end_hears_of_an_end_and_its_receives_come_back() {
    let world = World::new();
    for ends in [0, 1] {
        let both = world.connected();
        let (one, other) = (both[ends], both[1 - ends]);
        let buffer = world.buffer();
        for number in 1..=3 {
            let (place, descriptor) = (buffer.at(0), buffer.descriptor());
            assert_eq!(call!(other, msg.recv(place, 64, descriptor, 0, number as *mut _)), 0);
        }
        // It was reported to nobody, and arrives before the end.
        assert_eq!(call!(one, msg.inject(b"the last word".as_ptr().cast(), 13, 0)), 0);
        close(one.cast());
        let last = world.completion();
        assert_eq!((last.op_context.addr(), last.len), (1, 13));
        assert_eq!(buffer.get(0, 13), b"the last word");
        let event = world.event();
        assert!(event.what == ffi::FI_SHUTDOWN && event.fid.cast() == other);
        for number in 2..=3 {
            assert_eq!(world.error(), (number, libc::ECANCELED));
        }
        let late = call!(other, msg.send(buffer.at(0), 8, buffer.descriptor(), 0, null_mut()));
        assert_eq!(late, -(libc::ENOTCONN as isize));
        close(other.cast());
        world.no_event();
        buffer.close();
    }
}

#[test]
fn who_shuts_a_connection_down_ends_it_for_both_and_the_peer_hears_of_it() {
    let world = World::new();
    let early = world.endpoint(world.info);
    assert_eq!(call!(early, cm.shutdown(0)), -libc::ENOTCONN);
    close(early.cast());
    for ends in [0, 1] {
        let both = world.connected();
        let (one, other) = (both[ends], both[1 - ends]);
        let buffer = world.buffer();
        buffer.receive(other, 0, 64, 1);
        buffer.receive(one, 100, 64, 2);
        assert_eq!(call!(one, msg.inject(b"the last word".as_ptr().cast(), 13, 0)), 0);
        assert_eq!(call!(one, cm.shutdown(1)), -(ffi::FI_EBADFLAGS as i32));
        assert_eq!(call!(one, cm.shutdown(0)), 0);
        let last = world.completion();
        assert_eq!((last.op_context.addr(), last.len), (1, 13), "what was sent has arrived");
        assert_eq!(world.error(), (2, libc::ECANCELED));
        let event = world.event();
        assert!(event.what == ffi::FI_SHUTDOWN && event.fid.cast() == other);
        world.no_event();
        for end in both {
            let late = call!(end, msg.send(null_mut(), 0, null_mut(), 0, null_mut()));
            assert_eq!(late, -(libc::ENOTCONN as isize));
            assert_eq!(call!(end, cm.shutdown(0)), 0, "it is over already");
            close(end.cast());
        }
        world.no_event();
        buffer.close();
    }
}

#[test]
fn what_nobody_has_read_of_an_endpoint_goes_with_it() {
    let world = World::new();
    let client = world.endpoint(world.info);
    world.ask(client, b"");
    let event = world.event();
    let server = world.endpoint(event.info);
    assert_eq!(call!(server, cm.accept(std::ptr::null(), 0)), 0);
    // SAFETY: it was given with the event.
    drop(unsafe { Info::take(event.info) });
    // FI_CONNECTED of the one is read; then both are closed, whatever has come for them by then.
    assert_eq!(world.event().what, ffi::FI_CONNECTED);
    close(client.cast());
    close(server.cast());
    world.no_event();
}

#[test]
fn who_reads_an_entry_of_a_closed_endpoint_finds_the_program_s_word_in_it() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    // As with ofi_rxm: the word of an entry leads to the endpoint, and its word to what the program knows of that.
    let (place, descriptor) = (buffer.at(0), buffer.descriptor());
    assert_eq!(call!(server, msg.recv(place, 64, descriptor, 0, server.cast())), 0);
    assert_eq!(call!(client, msg.inject(b"the last word".as_ptr().cast(), 13, 0)), 0);
    // Its end waits until that has arrived.
    close(client.cast());
    close(server.cast());
    let last = world.completion();
    assert_eq!((last.op_context, last.len), (server.cast(), 13));
    // SAFETY: the completion queue keeps it.
    assert_eq!(unsafe { (&raw const (*server).fid.context).read() }.addr(), WORD);
    let late = call!(server, msg.recv(place, 64, descriptor, 0, null_mut()));
    assert_eq!(late, -(libc::EINVAL as isize));
    world.no_event();
    buffer.close();
}

#[test]
fn memory_may_be_closed_though_a_receive_is_posted_and_queues_may_not_while_they_are_used() {
    let world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    let (place, descriptor) = (buffer.at(0), buffer.descriptor());
    assert_eq!(call!(server, msg.recv(place, 64, descriptor, 0, std::ptr::without_provenance_mut(1))), 0);
    for queue in [world.cq.cast(), world.eq.cast(), world.domain.cast::<ffi::fid>()] {
        assert_eq!(of_fid!(queue, close()), -libc::EBUSY);
    }
    // As fi_pingpong does it.
    buffer.close();
    close(client.cast());
    close(server.cast());
    assert_eq!(world.error(), (1, libc::ECANCELED));
}

#[test]
fn a_port_that_somebody_has_and_an_address_of_another_host_are_refused() {
    let world = World::new();
    let mut address = world.address();
    // SAFETY: it is this program's.
    let info = unsafe { &mut *world.info };
    let (own, length) = (info.src_addr, info.src_addrlen);
    let mut listener = null_mut();
    info.src_addr = (&raw mut address).cast();
    assert_eq!(call!(world.fabric, ops.passive_ep(info, &mut listener, null_mut())), -libc::EADDRINUSE);
    address.sin_addr.s_addr = !address.sin_addr.s_addr;
    info.src_addr = (&raw mut address).cast();
    assert_eq!(call!(world.fabric, ops.passive_ep(info, &mut listener, null_mut())), -libc::EINVAL);
    (info.src_addr, info.src_addrlen) = (own, length);
    // Nor may it have another host's address later, though with the port that it has.
    assert_eq!(call!(world.fabric, ops.passive_ep(info, &mut listener, null_mut())), 0);
    let (mut named, mut length) = (address, size_of::<libc::sockaddr_in>());
    // SAFETY: the listener is open, and the address is as long as is said.
    unsafe {
        let (own, table) = (listener.cast(), &*(*listener).cm);
        let getname = table.getname.expect("it is there");
        assert_eq!(getname(own, (&raw mut named).cast(), &mut length), 0);
        named.sin_addr.s_addr = !named.sin_addr.s_addr;
        let setname = table.setname.expect("it is there");
        assert_eq!(setname(own, (&raw mut named).cast(), length), -libc::EINVAL);
    }
    close(listener.cast());
}

#[test]
fn nobody_who_listens_is_a_refusal() {
    let world = World::new();
    let client = world.endpoint(world.info);
    let mut address = world.address();
    address.sin_port = address.sin_port.wrapping_add(0x0100);
    let place = (&raw const address).cast();
    assert_eq!(call!(client, cm.connect(place, std::ptr::null(), 0)), 0);
    assert_eq!(world.failure(), (client, libc::ECONNREFUSED, Vec::new()));
    let again = call!(client, cm.connect(place, std::ptr::null(), 0));
    assert_eq!(again, -libc::EISCONN, "once in its life");
    close(client.cast());
}

#[test]
fn a_nic_that_goes_is_the_end_of_its_connections_and_nobody_hangs() {
    let mut world = World::new();
    let [client, server] = world.connected();
    let buffer = world.buffer();
    // Without bytes a receive needs no memory.
    for number in 1..=3 {
        assert_eq!(call!(server, msg.recv(null_mut(), 0, null_mut(), 0, number as *mut _)), 0);
    }
    world.lose_the_nic();
    let mut ended = [world.event(), world.event()].map(|event| {
        assert_eq!(event.what, ffi::FI_SHUTDOWN);
        event.fid.addr()
    });
    let mut both = [client.addr(), server.addr()];
    ended.sort_unstable();
    both.sort_unstable();
    assert_eq!(ended, both);
    let late = call!(client, msg.send(null_mut(), 0, null_mut(), 0, null_mut()));
    assert_eq!(late, -(libc::ENOTCONN as isize));
    let gone = || {
        let mut place: ffi::fi_cq_data_entry = nothing();
        call!(world.cq, ops.read((&raw mut place).cast(), 1)) == -(libc::ENODEV as isize)
    };
    assert!(until(LONG, gone), "who looks for completions hears of it");
    close(client.cast());
    close(server.cast());
    for number in 1..=3 {
        assert_eq!(world.error(), (number, libc::ECANCELED));
    }
    // Nobody knows what the NIC still does with the memory. That is said once, and the handle is none any more: the domain can be closed.
    assert_eq!([buffer.end(), buffer.end()], [-libc::ENODEV, -libc::EINVAL]);
}
