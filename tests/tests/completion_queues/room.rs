//! Queues and rings that have no room.

use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::kernel_agent::Event;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_tests::raw::{Descriptor, RawVi};
use viaduct_tests::scene::Scene;

use super::consumer::Consumer;
use super::{pair, UNRELIABLE};

/// Rule CQ-2.
#[test]
fn an_overrun_is_told_breaks_its_virtual_interface_and_loses_nothing_else() {
    /// Entries that a queue for four has room for.
    const RING: usize = 8;
    for direction in [Direction::Receive, Direction::Send] {
        let mut scene = Scene::new(5);
        let receive = direction == Direction::Receive;
        let mut small = Consumer::new(&scene.hosts[1], 4);
        let mut other = Consumer::new(&scene.hosts[1], 4);
        let on = |consumer: &Consumer| match direction {
            Direction::Send => [consumer.index(), None],
            Direction::Receive => [None, consumer.index()],
        };
        let mut vis: Vec<[RawVi; 2]> =
            [&small, &small, &other].map(|cq| pair(&scene.hosts, UNRELIABLE, on(cq))).into();
        // One message, and the descriptor at host 1 is complete.
        let message = |scene: &mut Scene, vis: &mut [RawVi; 2], consumer: &mut Consumer| {
            let [a, b] = &mut scene.hosts;
            let [va, vb] = vis;
            let place = if receive {
                let place = consumer.post(b, vb, direction, &Descriptor::of(b, 0x2000, 300));
                scene.world.arrived(1);
                va.send(a, &Descriptor::of(a, 0, 300));
                place
            } else {
                va.receive(a, &Descriptor::of(a, 0x2000, 300));
                scene.world.arrived(0);
                consumer.post(b, vb, direction, &Descriptor::of(b, 0, 300))
            };
            let completion = scene.world.complete(&scene.hosts[1], place);
            scene.world.settle();
            completion
        };
        let done = status::DONE | if receive { status::OP_RECEIVE } else { status::OP_SEND };
        for n in 0..RING {
            assert_eq!(message(&mut scene, &mut vis[n % 2], &mut small).status, done);
        }
        let overruns = |scene: &Scene| scene.world.counter(1, counter::CQ_OVERRUNS);
        assert_eq!((overruns(&scene), scene.events(1)), (0, vec![]));
        // One too many: complete all the same, and then its VI breaks.
        assert_eq!(message(&mut scene, &mut vis[1], &mut small).status, done);
        assert_eq!((overruns(&scene), vis[1][1].state()), (1, ViState::Error));
        let queue = Event {
            code: event_code::CQ_OVERRUN,
            vi: small.cq.index(),
            life: small.cq.name().life,
            receive: false,
            broke: false,
        };
        let lost = vis[1][1].event(event_code::CONN_LOST, receive, true);
        assert_eq!(scene.events(1), [queue, lost]);
        assert_eq!((vis[0][1].state(), vis[2][1].state()), (ViState::Connected, ViState::Connected));
        // What is posted there is flushed; that has no room either, and is not told again.
        let b = &mut scene.hosts[1];
        let late = small.post(b, &mut vis[1][1], direction, &Descriptor::of(b, 0x2000, 1));
        assert_eq!(scene.world.complete(b, late).status, done | status::DESC_FLUSHED_ERROR);
        scene.world.settle();
        assert_eq!((overruns(&scene), scene.events(1)), (2, vec![]));
        // Another queue has nothing to do with it.
        message(&mut scene, &mut vis[2], &mut other);
        assert!(other.take(&scene.hosts[1]).is_some());
        // All that had room is there, in order; the lost ones are the last of their VI.
        for n in 0..RING {
            let (entry, _) = small.take(&scene.hosts[1]).expect("an entry");
            assert_eq!(entry.vi, vis[n % 2][1].index());
        }
        assert!(small.take(&scene.hosts[1]).is_none());
        assert_eq!(small.outstanding(), 2);
        small.posted.clear();
        // And there is room again.
        message(&mut scene, &mut vis[0], &mut small);
        assert!(small.take(&scene.hosts[1]).is_some());
        assert_eq!(overruns(&scene), 2);
        vis.into_iter().flatten().for_each(|vi| vi.retire(&scene.world));
        scene.others_go_on();
    }
}

/// Rule CQ-3.
#[test]
fn events_that_the_error_ring_has_no_room_for_are_counted() {
    /// Entries of the agent's ring.
    const RING: usize = 256;
    let mut scene = Scene::new(6);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None; 2]);
    // Each meets no receive.
    let strike = |scene: &mut Scene, vis: &mut [RawVi; 2]| {
        let a = &mut scene.hosts[0];
        let place = vis[0].send(a, &Descriptor::new());
        scene.world.complete(a, place);
    };
    for _ in 0..RING + 9 {
        strike(&mut scene, &mut vis);
    }
    scene.world.settle();
    assert_eq!(scene.world.counter(1, counter::EVENT_LOST), 9);
    let event = vis[1].event(event_code::RECVQ_EMPTY, true, false);
    assert_eq!(scene.events(1), vec![event; RING]);
    // The room is known at once.
    for _ in 0..3 {
        strike(&mut scene, &mut vis);
    }
    scene.world.settle();
    assert_eq!(scene.events(1), [event; 3]);
    assert_eq!(scene.world.counter(1, counter::EVENT_LOST), 9);
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}
