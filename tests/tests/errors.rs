//! What goes wrong in VIA's own terms: statuses, events and states, at all levels; and that nobody
//! else notices.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_sim::fabric::Faults;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::wire::syndrome;
use viaduct_tests::pages::TwoPages;
use viaduct_tests::raw::{pair, refused, Completion, Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, Host, World};

const SENT: u32 = status::DONE | status::OP_SEND;
const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
const RELIABLE: Service = Service::ReliableDelivery;
const UNRELIABLE: Service = Service::UnreliableDelivery;

fn states(vis: &[RawVi; 2]) -> [ViState; 2] {
    [vis[0].state(), vis[1].state()]
}

fn retire(scene: &Scene, vis: [RawVi; 2]) {
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
}

#[test]
fn a_message_without_a_receive_is_dropped_or_breaks_the_connection() {
    let mut scene = Scene::new(1);
    for level in LEVELS {
        let mut vis = pair(&scene.hosts, level, 1024);
        let before = scene.world.counter(1, counter::DROP_NO_RECEIVE);
        let [a, _] = &mut scene.hosts;
        // Three packets: the rest of the message is dropped too.
        let send = vis[0].send(a, &Descriptor::of(a, 0, 3000));
        let sent = scene.world.complete(a, send);
        scene.world.settle();
        assert_eq!(scene.world.counter(1, counter::DROP_NO_RECEIVE), before + 1);
        if level.is_reliable() {
            assert_eq!(sent.status, SENT | refused(level, syndrome::RNR_NAK));
            assert_eq!(states(&vis), [ViState::Error; 2]);
            assert_eq!(scene.events(0), [vis[0].event(event_code::CONN_LOST, false, true)]);
            assert_eq!(scene.events(1), [vis[1].event(event_code::RECVQ_EMPTY, true, true)]);
        } else {
            assert_eq!(sent.status, SENT);
            assert_eq!(states(&vis), [ViState::Connected; 2]);
            assert_eq!(scene.events(0), []);
            assert_eq!(scene.events(1), [vis[1].event(event_code::RECVQ_EMPTY, true, false)]);
            scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
        }
        retire(&scene, vis);
    }
    scene.others_go_on();
}

#[test]
fn a_message_longer_than_its_receive_is_a_length_error() {
    let mut scene = Scene::new(2);
    for level in LEVELS {
        // One byte too long in the only packet, in the last one, and from the second packet on.
        for (length, room) in [(501, 500), (2100, 2099), (3000, 1024), (10, 0)] {
            let mut vis = pair(&scene.hosts, level, 1024);
            let [a, b] = &mut scene.hosts;
            let receive = vis[1].receive(b, &Descriptor::of(b, 0x2000, room));
            let guard = b.memory.read(0x2000 + room, 4096);
            let send = vis[0].send(a, &Descriptor::of(a, 0, length));
            let (sent, received) = (scene.world.complete(a, send), scene.world.complete(b, receive));
            assert_eq!(received.status, RECEIVED | status::LENGTH_ERROR);
            assert_eq!(b.memory.read(0x2000 + room, 4096), guard, "nothing behind the buffer");
            scene.world.settle();
            if level.is_reliable() {
                assert_eq!(sent.status, SENT | refused(level, syndrome::NAK_INVALID));
                assert_eq!(states(&vis), [ViState::Error; 2]);
                assert_eq!(scene.events(0), [vis[0].event(event_code::CONN_LOST, false, true)]);
                assert_eq!(scene.events(1), [vis[1].event(event_code::CONN_LOST, true, true)]);
            } else {
                assert_eq!(sent.status, SENT);
                assert_eq!(states(&vis), [ViState::Connected; 2]);
                assert_eq!([scene.events(0), scene.events(1)], [[], []]);
                scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
            }
            retire(&scene, vis);
        }
    }
    scene.others_go_on();
}

/// Descriptors that are wrong in themselves: what is wrong, the descriptor, the error it completes with
/// on the send queue, and whether it is wrong on the receive queue too.
fn malformed(scene: &Scene, side: usize) -> Vec<(&'static str, Descriptor, u32, bool)> {
    let host = &scene.hosts[side];
    let good = Descriptor::of(host, 0x100, 100);
    let segments = |count| {
        (0..count).fold(good.clone(), |d, _| d.segment(host.memory.address(0), host.region.handle, 0))
    };
    let format = status::FORMAT_ERROR;
    let flag = |bits| Descriptor { control: bits, ..good.clone() };
    vec![
        ("Length one more", Descriptor { length: Some(101), ..good.clone() }, status::LENGTH_ERROR, false),
        ("Length one less", Descriptor { length: Some(99), ..good.clone() }, status::LENGTH_ERROR, false),
        ("Length 0", Descriptor { length: Some(0), ..good.clone() }, status::LENGTH_ERROR, false),
        (
            "Length of no segments",
            Descriptor { length: Some(1), ..Descriptor::new() },
            status::LENGTH_ERROR,
            false,
        ),
        ("above MaxTransferSize", Descriptor::of(host, 0x100, (1 << 16) + 1), status::LENGTH_ERROR, false),
        ("253 segments", segments(252), format, true),
        ("65535 segments", Descriptor { count: Some(0xFFFF), ..good.clone() }, format, true),
        ("256 segments", Descriptor { count: Some(0x100), ..good.clone() }, format, true),
        ("lowest reserved bit of Control", flag(0x10), format, true),
        ("highest reserved bit of Control", flag(0x8000), format, true),
        ("Reserved", Descriptor { reserved: 1 << 31, ..good.clone() }, format, true),
        ("RDMA write", flag(control::OP_RDMAWRITE), format, true),
        ("RDMA read", flag(control::OP_RDMAREAD), format, true),
        ("operation 3", flag(control::OP_MASK), format, true),
    ]
}

#[test]
fn a_malformed_send_sends_nothing() {
    let mut scene = Scene::new(3);
    for level in LEVELS {
        for (name, descriptor, error, _) in malformed(&scene, 0) {
            println!("{level}: {name}");
            let mut vis = pair(&scene.hosts, level, 1024);
            let frames = scene.world.counter(1, counter::FRAMES_RECEIVED);
            let [a, _] = &mut scene.hosts;
            let send = vis[0].send(a, &descriptor);
            let completion = scene.world.complete(a, send);
            let operation = match descriptor.control & control::OP_MASK {
                control::OP_RDMAWRITE => status::OP_RDMA_WRITE,
                control::OP_RDMAREAD => status::OP_RDMA_READ,
                _ => status::OP_SEND,
            };
            assert_eq!((completion.status, completion.length), (status::DONE | operation | error, 0));
            scene.world.settle();
            assert_eq!(scene.world.counter(1, counter::FRAMES_RECEIVED), frames);
            let state = if level.is_reliable() { ViState::Error } else { ViState::Connected };
            assert_eq!(states(&vis), [state, ViState::Connected]);
            if !level.is_reliable() {
                scene.world.exchange(&mut scene.hosts, &mut vis, 10);
            }
            assert_eq!([scene.events(0), scene.events(1)], [[], []]);
            retire(&scene, vis);
        }
    }
    scene.others_go_on();
}

#[test]
fn a_status_that_is_not_0_is_malformed() {
    let mut scene = Scene::new(4);
    for side in [0, 1] {
        let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
        let host = &mut scene.hosts[side];
        let mut bytes = Descriptor::of(host, 0x100, 100).encode();
        // A bit that no completion has: the test sees when it is written over.
        bytes[31] = 0x80;
        let place = host.place(bytes.len());
        host.memory.write(place, &bytes);
        let direction = [Direction::Send, Direction::Receive][side];
        let token = vis[side].token(direction, &host.region, host.memory.address(place));
        vis[side].post_token(direction, token);
        if side == 1 {
            let [a, _] = &mut scene.hosts;
            vis[0].send(a, &Descriptor::of(a, 0, 10));
        }
        scene.world.settle();
        let status = Completion::read(&scene.hosts[side].memory, place).status;
        assert_eq!(status & !status::OP_MASK, status::DONE | status::FORMAT_ERROR);
        scene.world.exchange(&mut scene.hosts, &mut vis, 10);
        retire(&scene, vis);
    }
}

#[test]
fn a_malformed_receive_takes_a_message_with_it() {
    let mut scene = Scene::new(5);
    for level in LEVELS {
        for (name, descriptor, error, _) in malformed(&scene, 1).into_iter().filter(|case| case.3) {
            println!("{level}: {name}");
            let mut vis = pair(&scene.hosts, level, 1024);
            let [a, b] = &mut scene.hosts;
            let receive = vis[1].receive(b, &descriptor);
            let data = b.memory.read(0, 0x1000);
            let send = vis[0].send(a, &Descriptor::of(a, 0x3000, 80));
            let (sent, received) = (scene.world.complete(a, send), scene.world.complete(b, receive));
            assert_eq!(received.status, RECEIVED | error);
            assert_eq!(b.memory.read(0, 0x1000), data);
            scene.world.settle();
            if level.is_reliable() {
                assert_eq!(sent.status, SENT | refused(level, syndrome::NAK_OPERATIONAL));
                assert_eq!(states(&vis), [ViState::Error; 2]);
                assert_eq!(scene.events(0), [vis[0].event(event_code::CONN_LOST, false, true)]);
                assert_eq!(scene.events(1), [vis[1].event(event_code::CONN_LOST, true, true)]);
            } else {
                assert_eq!(sent.status, SENT);
                scene.world.exchange(&mut scene.hosts, &mut vis, 10);
                assert_eq!([scene.events(0), scene.events(1)], [[], []]);
            }
            retire(&scene, vis);
        }
    }
    scene.others_go_on();
}

/// A network on which one RoCE frame, counted from 1, is lost, comes twice or is damaged.
fn faulty(seed: u64, faults: Faults) -> Scene {
    let scene = Scene::on(World::new(&quick(seed)));
    scene.world.net.network().fabric_mut().set_faults(faults);
    scene
}

fn lost(number: u64) -> Faults {
    Faults { drop: [number].into(), ..Faults::default() }
}

#[test]
fn an_unreliable_message_that_loses_a_frame_is_partial_and_the_connection_stays() {
    // Three packets of a message of 2500 bytes; then one of three more.
    for missing in 1..=3 {
        let mut scene = faulty(6, lost(missing));
        let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
        let [a, b] = &mut scene.hosts;
        let receives = [0, 1].map(|n| vis[1].receive(b, &Descriptor::of(b, 0x4000 * n, 5000)));
        let sends = [0x100, 0x1100].map(|from| vis[0].send(a, &Descriptor::of(a, from, 2500)));
        for send in sends {
            assert_eq!(scene.world.complete(a, send).status, SENT, "the sender does not hear of it");
        }
        scene.world.settle();
        let received = receives.map(|place| Completion::read(&b.memory, place));
        if missing == 1 {
            // Nothing of it is taken: its receive is the next message's.
            assert_eq!((received[0].status, received[0].length), (RECEIVED, 2500));
            assert_eq!(b.memory.read(0, 2500), a.memory.read(0x1100, 2500));
            assert!(!received[1].is_complete());
        } else {
            assert_eq!(received[0].status, RECEIVED | status::PARTIAL_ERROR);
            assert_eq!(received[0].length, 1024 * (missing as u32 - 1));
            assert_eq!((received[1].status, received[1].length), (RECEIVED, 2500));
            assert_eq!(b.memory.read(0x4000, 2500), a.memory.read(0x1100, 2500));
        }
        assert_eq!(states(&vis), [ViState::Connected; 2]);
        assert_eq!([scene.events(0), scene.events(1)], [[], []]);
        let strays = [2, 1, 0][missing as usize - 1];
        assert_eq!(scene.world.counter(1, counter::DROP_PARTIAL), strays);
        scene.others_go_on();
    }
}

#[test]
fn a_damaged_frame_is_a_lost_one() {
    let flip = Faults { flip_icrc: [2].into(), ..Faults::default() };
    let damage = Faults { damage: [2].into(), ..Faults::default() };
    for (faults, reason) in [(flip, counter::DROP_ICRC), (damage, counter::DROP_MALFORMED)] {
        let mut scene = faulty(7, faults);
        let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
        let [a, b] = &mut scene.hosts;
        let receive = vis[1].receive(b, &Descriptor::of(b, 0, 5000));
        vis[0].send(a, &Descriptor::of(a, 0x100, 2500));
        let received = scene.world.complete(b, receive);
        assert_eq!((received.status, received.length), (RECEIVED | status::PARTIAL_ERROR, 1024));
        assert_eq!(scene.world.counter(1, reason), 1);
        scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
        scene.others_go_on();
    }
}

#[test]
fn a_frame_that_comes_twice_is_delivered_once() {
    for level in LEVELS {
        for twice in 1..=3 {
            let mut scene = faulty(8, Faults { duplicate: [twice].into(), ..Faults::default() });
            let mut vis = pair(&scene.hosts, level, 1024);
            let [a, b] = &mut scene.hosts;
            let receives = [0, 1].map(|n| vis[1].receive(b, &Descriptor::of(b, 0x4000 * n, 5000)));
            let send = vis[0].send(a, &Descriptor::of(a, 0x100, 2500));
            assert_eq!(scene.world.complete(a, send).status, SENT);
            scene.world.settle();
            let received = receives.map(|place| Completion::read(&b.memory, place));
            assert_eq!((received[0].status, received[0].length), (RECEIVED, 2500));
            assert_eq!(b.memory.read(0, 2500), a.memory.read(0x100, 2500));
            assert!(!received[1].is_complete());
            // A reliable VI acknowledges the copy again.
            let again = u64::from(level.is_reliable());
            assert_eq!(scene.world.counter(1, counter::DROP_PSN), 1 - again);
            assert_eq!(scene.world.counter(1, counter::DUPLICATES), again);
            // To the RTL the last packet's copy comes while the first acknowledgement still waits: one says both. With
            // Reliable Reception the first has left the place where they are merged, and waits for the bus.
            let merged = twice == 3 && level == RELIABLE && !scene.world.is_model(1);
            let acks = scene.world.counter(1, counter::ACKS_SENT);
            assert_eq!(acks, again * if merged { 1 } else { 2 }, "{level:?}, copy of {twice}");
            assert_eq!(states(&vis), [ViState::Connected; 2]);
            scene.others_go_on();
        }
    }
}

#[test]
fn a_reliable_connection_repairs_a_gap() {
    let mut scene = faulty(9, lost(2));
    let mut vis = pair(&scene.hosts, RELIABLE, 1024);
    let [a, b] = &mut scene.hosts;
    let receives = [0, 0x2000].map(|at| vis[1].receive(b, &Descriptor::of(b, at, 5000)));
    let sends = [0x100, 0x1100].map(|from| vis[0].send(a, &Descriptor::of(a, from, 2500)));
    for n in [0, 1] {
        assert_eq!(scene.world.complete(a, sends[n]).status, SENT);
        let received = scene.world.complete(b, receives[n]);
        assert_eq!((received.status, received.length), (RECEIVED, 2500));
        assert_eq!(b.memory.read(0x2000 * n, 2500), a.memory.read(0x100 + 0x1000 * n, 2500));
    }
    scene.world.settle();
    assert_eq!(states(&vis), [ViState::Connected; 2]);
    assert_eq!(
        (scene.world.counter(1, counter::NAKS_SENT), scene.world.counter(0, counter::NAKS_RECEIVED)),
        (1, 1)
    );
    let again = scene.world.counter(0, counter::RETRANSMITTED);
    assert!((1..=5).contains(&again), "{again} packets sent again");
    assert_eq!(scene.world.counter(0, counter::TIMEOUTS), 0);
    scene.others_go_on();
}

/// Its head is in one page, the rest in the next, behind which the bus has nothing. The descriptor says so itself: a send's as a
/// send's data would, a receive's when its message has come as far.
#[test]
fn segments_that_cannot_be_read_are_a_transport_error() {
    const PLACE: usize = 0x1DFC0;
    for level in LEVELS {
        for side in [0, 1] {
            let mut scene = Scene::new(5);
            let mut vis = pair(&scene.hosts, level, 1024);
            let pages = TwoPages::around(&scene.world, &scene.hosts[side], PLACE);
            pages.lose_second(&scene.world, &scene.hosts[side]);
            let direction = [Direction::Send, Direction::Receive][side];
            let segments = |host: &Host| {
                [0x1000, 0x2000, 0x3000].into_iter().fold(Descriptor::new(), |descriptor, at| {
                    descriptor.segment(host.memory.address(at), host.region.handle, 100)
                })
            };
            let post = |vi: &mut RawVi, host: &mut Host, of: usize| match of == side {
                true => {
                    host.memory.write(PLACE, &segments(host).encode());
                    let token = vi.token(direction, &pages.region, host.memory.address(PLACE));
                    vi.post_token(direction, token);
                    PLACE
                }
                false => vi.post(host, [Direction::Send, Direction::Receive][of], &segments(host)),
            };
            let [a, b] = &mut scene.hosts;
            let receive = post(&mut vis[1], b, 1);
            scene.world.arrived(1);
            let send = post(&mut vis[0], a, 0);
            let wrong = [send, receive][side];
            let ended = scene.world.complete(&scene.hosts[side], wrong);
            scene.world.settle();
            let good = [SENT, RECEIVED][side];
            assert_eq!((ended.status, ended.length), (good | status::TRANSPORT_ERROR, 0), "{level}, {side}");
            let expected = if level.is_reliable() { ViState::Error } else { ViState::Connected };
            assert_eq!(
                states(&vis),
                [expected, if side == 0 { ViState::Connected } else { expected }],
                "{level}"
            );
            if side == 0 {
                assert!(!Completion::read(&scene.hosts[1].memory, receive).is_complete(), "nothing has left");
            }
            let Scene { world, hosts, bystanders } = &mut scene;
            world.exchange(hosts, bystanders, 3000);
        }
    }
}
