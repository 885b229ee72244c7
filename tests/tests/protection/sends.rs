//! Sends of wrong segments.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_tests::raw::{pair, Completion, Descriptor, Segment, LEVELS};
use viaduct_tests::scene::Scene;

use super::wrong::{by_hand, constant, wrong_segments};
use super::REFUSED;

#[test]
fn a_send_gives_away_nothing_that_is_not_its_own() {
    let mut scene = Scene::new(1);
    let segments = wrong_segments(&scene.world, &scene.hosts[0]);
    for level in LEVELS {
        for &(name, segment, _) in segments.iter().filter(|(_, _, receive_only)| !receive_only) {
            for shape in ["alone", "between good ones"] {
                println!("{level}: {name}, {shape}");
                let mut vis = pair(&scene.hosts, level, 1024);
                let [a, b] = &mut scene.hosts;
                let mut descriptor = Descriptor { segments: vec![segment], ..Descriptor::new() };
                if shape != "alone" {
                    let good = Segment { address: a.memory.address(5), handle: a.region.handle, length: 10 };
                    descriptor.segments = vec![good, segment, good];
                }
                let receive = vis[1].receive(b, &Descriptor::of(b, 0x8000, 2000));
                let refusals = scene.refusals(0);
                let frames = scene.world.counter(1, counter::FRAMES_RECEIVED);
                let [a, b] = &mut scene.hosts;
                let send = vis[0].send(a, &descriptor);
                let before = [a.memory.snapshot(), b.memory.snapshot()];
                assert_eq!(
                    scene.world.complete(a, send),
                    Completion { status: REFUSED, length: 0, immediate: 0 }
                );
                scene.unchanged_but(before, &[(0, send)]);
                assert!(scene.refusals(0) > refusals);
                assert_eq!(scene.world.counter(1, counter::FRAMES_RECEIVED), frames, "nothing was sent");
                assert_eq!(vis[1].state(), ViState::Connected);
                let [a, b] = &mut scene.hosts;
                let next = vis[0].send(a, &Descriptor::of(a, 7, 60));
                let next = scene.world.complete(a, next);
                if level.is_reliable() {
                    assert_eq!(vis[0].state(), ViState::Error);
                    assert_eq!(next.status, status::DONE | status::DESC_FLUSHED_ERROR);
                } else {
                    assert_eq!(vis[0].state(), ViState::Connected);
                    assert_eq!(next.status, status::DONE);
                    let received = scene.world.complete(b, receive);
                    assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 60));
                    assert_eq!(b.memory.read(0x8000, 60), a.memory.read(7, 60));
                }
                assert_eq!([scene.events(0), scene.events(1)], [[], []]);
                vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            }
        }
    }
    scene.others_go_on();
    // The row made by hand is right but for the one bit.
    let by_hand = by_hand(&scene.world, &scene.hosts[0], false);
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
    let [a, _] = &mut scene.hosts;
    let send = vis[0].send(a, &Descriptor::new().segment(by_hand.address, by_hand.handle, 100));
    assert_eq!(scene.world.complete(a, send).status, status::DONE);
    // Memory that is read-only may be sent.
    let constant = constant(a);
    let send = vis[0].send(a, &Descriptor::new().segment(constant.address, constant.handle, 100));
    assert_eq!(scene.world.complete(a, send).status, status::DONE);
}

/// Rules WQ-2 and UNR-3.
#[test]
fn a_message_that_fails_in_the_middle_is_partial_at_the_peer() {
    for level in LEVELS {
        let mut scene = Scene::new(2);
        let mut vis = pair(&scene.hosts, level, 1024);
        let part = scene.hosts[0].register(0x100, 3000, scene.hosts[0].tag);
        let [a, b] = &mut scene.hosts;
        let receives = [0, 1].map(|n| vis[1].receive(b, &Descriptor::of(b, 0x4000 * n, 5000)));
        // The third packet holds the first byte of the second segment.
        let wrong = Descriptor::new().segment(part.address, part.handle, 2500);
        let wrong = wrong.segment(part.address, part.handle ^ 0x1_0000, 10);
        let send = vis[0].send(a, &wrong);
        let sent = scene.world.complete(a, send);
        assert_eq!(sent.status, REFUSED);
        if !level.is_reliable() {
            let next = vis[0].send(a, &Descriptor::of(a, 0x3000, 4000));
            assert_eq!(scene.world.complete(a, next).status, status::DONE);
            let [partial, whole] = receives.map(|place| scene.world.complete(b, place));
            assert_eq!(partial.status, status::DONE | status::OP_RECEIVE | status::PARTIAL_ERROR);
            assert_eq!(partial.length, 2048, "what arrived");
            assert_eq!((whole.status, whole.length), (status::DONE | status::OP_RECEIVE, 4000));
            assert_eq!(b.memory.read(0x4000, 4000), a.memory.read(0x3000, 4000));
        } else {
            scene.world.settle();
            assert_eq!(vis[0].state(), ViState::Error);
            let [a, b] = receives.map(|place| Completion::read(&b.memory, place).is_complete());
            assert!(!a && !b, "a reliable message is not complete before it is whole");
        }
        scene.others_go_on();
    }
}
