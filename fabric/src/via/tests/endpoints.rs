//! What an endpoint needs until it is enabled, and what is answered to who asks for what is not there.

use std::{
    mem::size_of_val,
    ptr::{null, null_mut},
};

use super::world::{call, close, enable, nothing, of_fid, World};
use crate::via::{
    ffi::{self, FI_MSG, FI_RECV, FI_SEND, FI_WRITE},
    info::Info,
    provider,
};

const NO_CQ: i32 = -(ffi::FI_ENOCQ as i32);
const NO_EQ: i32 = -(ffi::FI_ENOEQ as i32);

#[test]
fn an_endpoint_that_only_sends_needs_no_queue_for_receives_and_the_other_way_round() {
    let world = World::new();
    let hints = ffi::fi_info { caps: FI_MSG | FI_SEND, ..nothing() };
    let sends = World::find(Some(&hints)).expect("offered");
    let client = world.bound(sends, FI_SEND);
    assert_eq!(enable(client), 0);
    let [client, server] = world.joined(client, |info| {
        // SAFETY: it came with the event.
        unsafe { (*info).caps = FI_MSG | FI_RECV };
        let server = world.bound(info, FI_RECV);
        assert_eq!(enable(server), 0);
        server
    });
    let buffer = world.buffer();
    buffer.put(0, b"one way");
    buffer.receive(server, 100, 64, 1);
    buffer.send(client, 0, 7, 2);
    let [received, sent] = world.both();
    assert_eq!((received.op_context.addr(), sent.op_context.addr()), (1, 2));
    assert_eq!(buffer.get(100, 7), b"one way");
    let (place, descriptor) = (buffer.at(0), buffer.descriptor());
    assert_eq!(call!(client, msg.recv(place, 7, descriptor, 0, null_mut())), NO_CQ as isize);
    assert_eq!(call!(server, msg.send(place, 7, descriptor, 0, null_mut())), NO_CQ as isize);
    assert_eq!(call!(server, msg.inject(place, 7, 0)), NO_CQ as isize);
    assert_eq!(call!(server, rma.write(place, 7, descriptor, 0, 0, 0, null_mut())), NO_CQ as isize);
    buffer.receive(server, 100, 64, 3);
    close(client.cast());
    assert_eq!(world.event().what, ffi::FI_SHUTDOWN);
    close(server.cast());
    assert_eq!(world.error(), (3, libc::ECANCELED));
    buffer.close();
    // SAFETY: it was given to this.
    drop(unsafe { Info::take(sends) });
}

#[test]
fn an_endpoint_without_the_queues_of_its_capabilities_is_not_enabled() {
    let world = World::new();
    for (caps, is_enough) in [
        (FI_MSG, [false, false]),
        (FI_MSG | FI_SEND | FI_RECV, [false, false]),
        (FI_MSG | FI_SEND, [true, false]),
        (FI_MSG | FI_RECV, [false, true]),
        (ffi::FI_RMA | FI_WRITE, [true, false]),
        (ffi::FI_RMA | ffi::FI_REMOTE_WRITE, [true, true]),
    ] {
        for (flags, is_enough) in [FI_SEND, FI_RECV].into_iter().zip(is_enough) {
            // SAFETY: it is this program's.
            unsafe { (*world.info).caps = caps };
            let endpoint = world.bound(world.info, flags);
            let wanted = if is_enough { 0 } else { NO_CQ };
            assert_eq!(enable(endpoint), wanted, "{caps:#x} with {flags:#x}");
            close(endpoint.cast());
        }
    }
    let endpoint = world.bare(world.info);
    assert_eq!(of_fid!(endpoint, bind(world.cq.cast(), FI_SEND | FI_RECV)), 0);
    assert_eq!(enable(endpoint), NO_EQ);
    let address = world.address();
    assert_eq!(call!(endpoint, cm.connect((&raw const address).cast(), null(), 0)), NO_EQ);
    assert_eq!(of_fid!(endpoint, bind(world.eq.cast(), 0)), 0);
    assert_eq!(enable(endpoint), 0);
    close(endpoint.cast());
    let mut listener = null_mut();
    assert_eq!(call!(world.fabric, ops.passive_ep(world.info, &mut listener, null_mut())), 0);
    assert_eq!(call!(listener, cm.listen()), NO_EQ);
    close(listener.cast());
}

#[test]
fn an_endpoint_for_whose_operations_its_completion_queue_has_no_room_is_not_enabled() {
    let world = World::new();
    // SAFETY: it is this program's.
    unsafe { ((*(*world.info).tx_attr).size, (*(*world.info).rx_attr).size) = (1024, 1024) };
    // As many operations as the longest queue has entries.
    let mut all: Vec<_> = (0..16).map(|_| world.endpoint(world.info)).collect();
    let more = world.bound(world.info, FI_SEND | FI_RECV);
    assert_eq!(enable(more), -libc::ENOSPC);
    close(all.remove(0).cast());
    assert_eq!(enable(more), 0, "the other one's are free");
    close(more.cast());
    all.into_iter().for_each(|endpoint| close(endpoint.cast()));
}

#[test]
fn nothing_is_made_for_a_place_that_is_none() {
    let world = World::new();
    // SAFETY: it stays.
    let provider = unsafe { &*provider::provider() };
    let (getinfo, open) = (provider.getinfo.expect("it is there"), provider.fabric.expect("it is there"));
    // SAFETY: no node, no service, no hints, and no place.
    assert_eq!(unsafe { getinfo(1 << 16 | 17, null(), null(), 0, null(), null_mut()) }, -libc::EINVAL);
    // SAFETY: the attributes of the information, and no place.
    let fabric = unsafe { open((*world.info).fabric_attr, null_mut(), null_mut()) };
    assert_eq!(fabric, -libc::EINVAL);
    let domain = call!(world.fabric, ops.domain(world.info, null_mut(), null_mut()));
    assert_eq!(domain, -libc::EINVAL);
    let eq = call!(world.fabric, ops.eq_open(&mut nothing(), null_mut(), null_mut()));
    assert_eq!(eq, -libc::EINVAL);
    // What is made in a domain keeps it from being closed, which this program does at its end.
    let cq = call!(world.domain, ops.cq_open(&mut nothing(), null_mut(), null_mut()));
    assert_eq!(cq, -libc::EINVAL);
    let endpoint = call!(world.domain, ops.endpoint(world.info, null_mut(), null_mut()));
    assert_eq!(endpoint, -libc::EINVAL);
    let mut bytes = [0u64; 8];
    // SAFETY: the domain lives, and nothing is registered.
    let region = unsafe {
        let reg = (*(*world.domain).mr).reg.expect("it is there");
        let (start, length) = (bytes.as_mut_ptr().cast(), size_of_val(&bytes));
        reg(world.domain.cast(), start, length, FI_SEND, 0, 0, 0, null_mut(), null_mut())
    };
    assert_eq!(region, -libc::EINVAL);

    // A listener has its port for itself.
    let mut listener = null_mut();
    assert_eq!(call!(world.fabric, ops.passive_ep(world.info, &mut listener, null_mut())), 0);
    let mut address = World::address_of(listener);
    close(listener.cast());
    // SAFETY: it is this program's.
    let info = unsafe { &mut *world.info };
    let own = std::mem::replace(&mut info.src_addr, (&raw mut address).cast());
    assert_eq!(call!(world.fabric, ops.passive_ep(info, null_mut(), null_mut())), -libc::EINVAL);
    assert_eq!(call!(world.fabric, ops.passive_ep(info, &mut listener, null_mut())), 0);
    info.src_addr = own;
    close(listener.cast());
}

#[test]
fn calls_that_are_not_offered_say_so() {
    let world = World::new();
    let (fabric, domain, info) = (world.fabric, world.domain, world.info);
    let endpoint = world.endpoint(info);
    let calls = [
        call!(fabric, ops.wait_open(null_mut(), null_mut())),
        call!(domain, ops.av_open(null_mut(), null_mut(), null_mut())),
        call!(domain, ops.scalable_ep(info, null_mut(), null_mut())),
        call!(domain, ops.cntr_open(null_mut(), null_mut(), null_mut())),
        call!(domain, ops.poll_open(null_mut(), null_mut())),
        call!(domain, ops.stx_ctx(null_mut(), null_mut(), null_mut())),
        call!(domain, ops.srx_ctx(null_mut(), null_mut(), null_mut())),
        call!(endpoint, ops.tx_ctx(0, null_mut(), null_mut(), null_mut())),
        call!(endpoint, ops.rx_ctx(0, null_mut(), null_mut(), null_mut())),
        call!(endpoint, cm.join(null(), 0, null_mut(), null_mut())),
        of_fid!(domain, ops_open(c"ofix_flow_ctrl_v1".as_ptr(), 0, null_mut(), null_mut())),
        of_fid!(domain, ops_set(c"".as_ptr(), 0, null_mut(), null_mut())),
        of_fid!(domain, bind(null_mut(), 0)),
        of_fid!(endpoint, control(ffi::FI_BACKLOG as i32, null_mut())),
    ];
    assert!(calls.iter().all(|answer| *answer == -libc::ENOSYS), "{calls:?}");
    // SAFETY: the endpoint lives.
    let canceled = unsafe { (*(*endpoint).ops).cancel.expect("it is there")(endpoint.cast(), null_mut()) };
    assert_eq!(canceled, -(libc::ENOSYS as isize));
    assert_eq!(call!(endpoint, ops.tx_size_left()), -(libc::ENOSYS as isize));
    close(endpoint.cast());
}

#[test]
fn hints_of_what_is_not_offered_find_nothing() {
    let _world = World::new();
    let find = |hints: ffi::fi_info| World::find(Some(&hints)).map(|_| ());
    let wrong = [
        ffi::fi_info { caps: ffi::FI_TAGGED, ..nothing() },
        ffi::fi_info { caps: ffi::FI_ATOMIC, ..nothing() },
        ffi::fi_info { caps: ffi::FI_MULTICAST, ..nothing() },
        ffi::fi_info { caps: FI_MSG | ffi::FI_SOURCE, ..nothing() },
        ffi::fi_info { caps: FI_MSG | ffi::FI_FENCE, ..nothing() },
        ffi::fi_info { addr_format: ffi::FI_SOCKADDR_IN6, ..nothing() },
        ffi::fi_info { ep_attr: &mut ffi::fi_ep_attr { type_: ffi::FI_EP_RDM, ..nothing() }, ..nothing() },
        ffi::fi_info { ep_attr: &mut ffi::fi_ep_attr { type_: ffi::FI_EP_DGRAM, ..nothing() }, ..nothing() },
        ffi::fi_info { tx_attr: &mut ffi::fi_tx_attr { rma_iov_limit: 2, ..nothing() }, ..nothing() },
        ffi::fi_info { tx_attr: &mut ffi::fi_tx_attr { inject_size: 65, ..nothing() }, ..nothing() },
        ffi::fi_info { rx_attr: &mut ffi::fi_rx_attr { size: 1025, ..nothing() }, ..nothing() },
        ffi::fi_info { domain_attr: &mut named(c"no such NIC".as_ptr().cast_mut()), ..nothing() },
        ffi::fi_info { domain_attr: &mut ffi::fi_domain_attr { mr_iov_limit: 2, ..any() }, ..nothing() },
        ffi::fi_info { domain_attr: &mut ffi::fi_domain_attr { cq_data_size: 5, ..any() }, ..nothing() },
        ffi::fi_info { domain_attr: &mut ffi::fi_domain_attr { cntr_cnt: 1, ..any() }, ..nothing() },
    ];
    // What they have beside that is offered.
    for hints in [nothing(), ffi::fi_info { domain_attr: &mut any(), ..nothing() }] {
        let found = World::find(Some(&hints)).expect("offered");
        // SAFETY: it was given to this.
        drop(unsafe { Info::take(found) });
    }
    for (number, hints) in wrong.into_iter().enumerate() {
        assert_eq!(find(hints), Err(-libc::ENODATA), "{number}");
    }
}

/// Attributes of any domain.
fn any() -> ffi::fi_domain_attr {
    named(null_mut())
}

/// Attributes of a domain of this name, for a program that does all that VIA wants of it.
fn named(name: *mut std::ffi::c_char) -> ffi::fi_domain_attr {
    ffi::fi_domain_attr { name, mr_mode: 0x74, ..nothing() }
}
