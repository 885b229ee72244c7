//! Deeds against the NIC, against the protocol, and against those who connect.

use std::{
    os::fd::AsFd,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc,
    },
    time::{Duration, Instant},
};

use rand::{seq::IndexedRandom, Rng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::{
    address::{ConnectionInfo, Service},
    cm::{Discriminator, Target},
    device::DmaAccess,
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent},
        CqName, MemoryAttributes, ViName,
    },
    memory::Mapping,
    queues::Direction,
    viad::{
        place::{Place, Way},
        protocol::{Answer, Request},
        Client,
    },
};
use viaduct_spec::descriptor::{control, status};

use super::{greet, told::Told};
use crate::{
    hand::{vi_attributes, Hand, Segment, DATA},
    raw::Raw,
    stage::{until, LONG},
};

/// A session.
pub(super) fn open(place: &Place) -> Arc<Client> {
    Client::open_at(place).expect("it serves")
}

/// A VI with memory that it may register.
pub(super) fn hand(client: &Arc<Client>, place: &Place, service: Service) -> Hand {
    match place.way {
        Way::Pools => Hand::in_pool(client, service),
        Way::Private | Way::Trusted => Hand::new(client, service),
    }
}

/// Descriptors with somebody else's memory in them, here and there: each completes with an error.
pub fn handles(place: &Place, told: Told) -> impl FnMut() {
    let client = open(place);
    let [mut one, mut other] = [(); 2].map(|()| hand(&client, place, Service::ReliableDelivery));
    let mut turn = 0u32;
    move || {
        one.connect(&other);
        let theirs = |handle: u32| (told.address + 64, handle, 100);
        // Theirs, as it is and nearly.
        let handle = if turn % 2 == 0 { told.handle } else { told.handle ^ 1 << (turn % 30) };
        let (own, own_there): (Segment, Segment) = (one.own(DATA, 100), other.own(DATA, 100));
        let (how, wrong) = match turn % 4 {
            // It sends what is theirs.
            0 => ((0, None, theirs(handle)), true),
            // It receives into what is theirs.
            1 => {
                other.post(Direction::Receive, 0, None, &[theirs(handle)]);
                ((0, None, own), true)
            }
            // Its own VI at the other end writes and reads what is theirs.
            2 => ((control::OP_RDMAWRITE, Some(theirs(handle)), own), true),
            _ => ((control::OP_RDMAREAD, Some(theirs(handle)), own), true),
        };
        let (operation, remote, local) = how;
        if turn % 4 == 0 {
            other.post(Direction::Receive, 0, None, &[own_there]);
        }
        let sent = one.post(Direction::Send, operation, remote, &[local]);
        assert!(until(LONG, || one.status(Direction::Send, sent) != 0), "turn {turn}: it is not complete");
        let is = one.status(Direction::Send, sent);
        assert_eq!(is & status::ERROR_MASK != 0, wrong, "turn {turn}: {is:#x}");
        for end in [&mut one, &mut other] {
            end.renew();
        }
        turn += 1;
    }
}

/// Requests about what is somebody else's: each is refused.
pub fn numbers(place: &Place, told: Told, mut random: ChaCha8Rng) -> impl FnMut() {
    let (raw, ..) = greet(place);
    let (Ok(Answer::Tag(own)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
    move || {
        let tag = random.random();
        let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: true };
        let index = told.vi.queue_pair as u16 & 0x3ff;
        let vi = ViName { index: random.random_range(0..64), life: random.random_range(0..9) };
        let vi = if random.random() { vi } else { ViName { index, ..vi } };
        let cq = CqName { index: random.random_range(0..64), life: random.random_range(0..200) };
        let handle = if random.random() { told.handle } else { random.random() };
        let vi_attributes = vi_attributes(own, Service::ReliableDelivery);
        let requests = [
            Request::DestroyTag(if tag == own { 0 } else { tag }),
            Request::Deregister(handle),
            Request::SetMemoryAttributes(handle, MemoryAttributes { tag: own, ..attributes }),
            Request::MemoryAttributes(handle),
            // Its memory is not this process's; under its tag it is nobody's.
            Request::Register(told.address, 64, MemoryAttributes { tag: own ^ 1, ..attributes }),
            Request::SetViAttributes(vi, vi_attributes, true),
            Request::ConnectVi(vi, told.vi),
            Request::BreakVi(vi),
            Request::IdleVi(vi),
            Request::ViState(vi),
            Request::DestroyVi(vi),
            Request::ResizeCq(cq, 8),
            Request::DestroyCq(cq),
            Request::CreateVi(viaduct_driver::kernel_agent::ViAttributes {
                send_cq: Some(cq.index),
                ..vi_attributes
            }),
        ];
        for request in requests {
            let (reply, _) = raw.ask(&request);
            assert!(reply.is_err(), "{request:?}: {reply:?}");
        }
    }
}

/// Anything at all in the rings and at every word of the doorbell pages, of VIs that are connected with each other.
pub fn rings(place: &Place, random: &mut ChaCha8Rng) {
    let (raw, welcome, files) = greet(place);
    let map = |file: &std::os::fd::OwnedFd, length| {
        Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite).expect("ours")
    };
    let mut places = vec![map(&files[2], welcome.arena as usize)];
    let (Ok(Answer::Tag(tag)), _) = raw.ask(&Request::CreateTag) else { panic!("no tag") };
    let (Ok(Answer::Cq { name: cq, .. }), cq_files) = raw.ask(&Request::CreateCq(8)) else {
        panic!("no queue")
    };
    places.extend([map(&cq_files[0], 64), map(&cq_files[1], 4096)]);
    let mut vis = Vec::new();
    for service in [Service::ReliableDelivery, Service::UnreliableDelivery] {
        for _ in 0..2 {
            let attributes = viaduct_driver::kernel_agent::ViAttributes {
                send_cq: Some(cq.index),
                receive_cq: Some(cq.index),
                ..vi_attributes(tag, service)
            };
            let (Ok(Answer::Vi { name, info, .. }), page) = raw.ask(&Request::CreateVi(attributes)) else {
                panic!("no VI")
            };
            places.push(map(&page[0], 4096));
            vis.push((name, info));
        }
    }
    for (n, (name, _)) in vis.iter().enumerate() {
        assert!(raw.ask(&Request::ConnectVi(*name, vis[n ^ 1].1)).0.is_ok());
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        let memory = places.choose(random).expect("some");
        let word = random.random_range(0..memory.length() / 8);
        // Regions that others have, at any position; or anything.
        let value = match random.random_range(0..3) {
            0 => random.random(),
            1 => random.random_range(0..1 << 16),
            _ => {
                let region = random.random_range(0..256);
                viaduct_spec::doorbell::encode(region, random.random_range(0..64), random.random_range(0..16))
            }
        };
        // SAFETY: inside the mapping, and accessed as atomics by everybody.
        let place = unsafe { &*memory.start().as_ptr().cast::<AtomicU64>().add(word) };
        place.store(value, Ordering::Relaxed);
        if random.random_ratio(1, 64) {
            let _ = rustix::io::write(&files[3], &random.random_range(1..u64::MAX).to_ne_bytes());
        }
    }
    let _ = raw.ask(&Request::TakeEvents);
}

/// A flood of requests, of sessions, and of what is no request.
pub fn requests(place: &Place, mut random: ChaCha8Rng) -> impl FnMut() {
    let place = place.clone();
    move || {
        let (raw, ..) = greet(&place);
        let bytes = viaduct_driver::viad::protocol::encode(&Request::Counters).expect("short");
        // It never reads, until its replies have no room.
        for _ in 0..300 {
            let _ = raw.send(&bytes);
        }
        for _ in 0..5 {
            let mute = Raw::connect(&place.socket);
            let mut garbage = vec![0; random.random_range(1..300)];
            random.fill(&mut garbage[..]);
            let _ = mute.send(&garbage);
        }
    }
}

/// Messages that nobody has posted a receive for: the NIC reports each.
pub fn messages(place: &Place) -> impl FnMut() {
    let client = open(place);
    let [mut one, other] = [(); 2].map(|()| hand(&client, place, Service::UnreliableDelivery));
    one.connect(&other);
    move || {
        for _ in 0..50 {
            let own = one.own(DATA, 16);
            let sent = one.post(Direction::Send, 0, None, &[own]);
            assert!(until(LONG, || one.status(Direction::Send, sent) != 0));
            assert_eq!(one.status(Direction::Send, sent) & status::ERROR_MASK, 0);
        }
    }
}

/// Connections with whoever it is not to have, and many that come to nothing.
pub fn connections(place: &Place, told: Told, mut random: ChaCha8Rng) -> impl FnMut() {
    let client = open(place);
    let end = hand(&client, place, Service::ReliableDelivery);
    let name = |text: String| Discriminator::try_from(text.as_bytes()).expect("short");
    move || {
        let generation = random.random_range(0..1 << 14) << 10;
        let guessed = ConnectionInfo { queue_pair: told.vi.queue_pair & 0x3ff | generation, ..told.vi };
        for peer in [told.vi, guessed] {
            end.vi.connect(&peer).expect_err("nobody has asked it");
        }
        for n in 0..50 {
            // Nobody is there, or nobody has that address.
            let mac = viaduct_driver::address::Mac([2, 0, 0, 0, 0, if n % 2 == 0 { 1 } else { 99 }]);
            let from = name(format!("from {n}"));
            let to = name(format!("to {n}"));
            let ask = Ask {
                vi: end.vi.name(),
                target: Target::Mac(mac),
                from,
                to,
                data: Vec::new(),
                timeout: Some(LONG),
            };
            if let Ok(id) = client.connect(ask) {
                client.disconnect(id).expect("it answers");
            }
        }
    }
}
