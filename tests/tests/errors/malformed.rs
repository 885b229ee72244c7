//! Descriptors that are wrong in themselves, or cannot be read.

use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::wire::syndrome;
use viaduct_tests::pages::TwoPages;
use viaduct_tests::raw::{pair, refused, Completion, Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::Host;

use super::{retire, states, RECEIVED, SENT, UNRELIABLE};

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
        ("SHORT, two segments", Descriptor { short: true, ..segments(1) }, format, true),
        ("SHORT, 253 segments", Descriptor { short: true, ..segments(252) }, format, true),
    ]
}

/// Rules WQ-2 and WQ-3.
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

/// Its head is in one page, the rest in the next, behind which the bus has nothing. The descriptor says so itself: a send's as a
/// send's data would, a receive's when its message has come as far.
/// Rule WQ-8.
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
            // A send says it itself, and a receive's NAK is heard at the other end.
            let broke = |of: usize| match (side, level.is_reliable()) {
                (1, true) => vec![vis[of].event(event_code::CONN_LOST, of == 1, true)],
                _ => vec![],
            };
            assert_eq!([scene.events(0), scene.events(1)], [broke(0), broke(1)], "{level}, {side}");
            let Scene { world, hosts, bystanders } = &mut scene;
            world.exchange(hosts, bystanders, 3000);
        }
    }
}
