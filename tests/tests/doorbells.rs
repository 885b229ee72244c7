//! Doorbells and rings that are not as the library would use them.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::status;
use viaduct_spec::doorbell::page;
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::{counter, event_code};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const UNRELIABLE: Service = Service::UnreliableDelivery;

/// Where a VI's doorbell is in BAR 2.
fn doorbell(vi: u16, direction: Direction) -> u64 {
    let offset = match direction {
        Direction::Send => page::SEND,
        Direction::Receive => page::RECEIVE,
    };
    (u64::from(vi) << DOORBELL_SHIFT) + offset
}

/// A good descriptor, written and put into the ring without a doorbell: its place and token.
fn prepare(scene: &mut Scene, vis: &mut [RawVi; 2], side: usize, length: usize) -> (usize, u64) {
    let host = &mut scene.hosts[side];
    let direction = [Direction::Send, Direction::Receive][side];
    let descriptor = Descriptor::of(host, 0x1000, length);
    vis[side].store(host, direction, &descriptor)
}

#[test]
fn one_doorbell_serves_for_all_that_the_ring_holds() {
    let mut scene = Scene::new(1);
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    // Three turns of the ring; in each the doorbell is a whole token or its high half.
    for turn in 0..6 {
        for count in [1, 2, 5] {
            let mut tokens = [0; 2];
            let mut places = Vec::new();
            for _ in 0..count {
                let pair = [1, 0].map(|side| prepare(&mut scene, &mut vis, side, 100));
                tokens = [pair[1].1, pair[0].1];
                places.push([pair[1].0, pair[0].0]);
            }
            for (side, direction) in [(1, Direction::Receive), (0, Direction::Send)] {
                let at = doorbell(vis[side].index(), direction);
                let device = &scene.hosts[side].device;
                match turn % 2 {
                    0 => device.write64(Bar::Doorbells, at, tokens[side]),
                    _ => device.write32(Bar::Doorbells, at + 4, (tokens[side] >> 32) as u32),
                }
                .expect("the NIC is there");
            }
            for [send, receive] in places {
                assert_eq!(scene.world.complete(&scene.hosts[0], send).status, status::DONE);
                let received = scene.world.complete(&scene.hosts[1], receive);
                assert_eq!((received.status, received.length), (status::DONE | status::OP_RECEIVE, 100));
            }
        }
    }
    assert_eq!(scene.world.counter(0, counter::DOORBELL_IGNORED), 0);
    scene.others_go_on();
}

#[test]
fn other_stores_to_a_doorbell_page_are_ignored_and_counted() {
    let mut scene = Scene::new(2);
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let (receive, _) = prepare(&mut scene, &mut vis, 1, 100);
    let (send, token) = prepare(&mut scene, &mut vis, 0, 100);
    let at = doorbell(vis[0].index(), Direction::Send);
    let device = scene.hosts[0].device.clone();
    // No VI of this number exists; the last page's queues are not open.
    let nobody = doorbell(VIS as u16 - 1, Direction::Send);
    device.write32(Bar::Doorbells, at, token as u32).expect("the NIC is there");
    device.write64(Bar::Doorbells, at + 0x20, token).expect("the NIC is there");
    device.write32(Bar::Doorbells, at + 0x7FC, token as u32).expect("the NIC is there");
    device.write64(Bar::Doorbells, nobody, token).expect("the NIC is there");
    // Region 0 does not exist, so this is no token.
    device.write64(Bar::Doorbells, at, token & !(0xFFFF << 34)).expect("the NIC is there");
    scene.world.settle();
    assert!(!Completion::read(&scene.hosts[0].memory, send).is_complete());
    assert_eq!(scene.world.counter(0, counter::DOORBELL_IGNORED), 5);
    assert_eq!(vis[0].state(), ViState::Connected);
    // The real doorbells, then.
    vis[1]
        .vi
        .queues()
        .ring_doorbell(Direction::Receive, {
            let host = &scene.hosts[1];
            host.region.token(host.memory.address(receive), 0)
        })
        .expect("the NIC is there");
    vis[0].vi.queues().ring_doorbell(Direction::Send, token).expect("the NIC is there");
    assert_eq!(scene.world.complete(&scene.hosts[0], send).status, status::DONE);
    assert_eq!(scene.world.complete(&scene.hosts[1], receive).length, 100);
    assert_eq!(scene.world.counter(0, counter::DOORBELL_IGNORED), 5);
    scene.others_go_on();
}

/// Rule WQ-6.
#[test]
fn a_position_outside_the_ring_breaks_that_virtual_interface_alone() {
    for side in [0, 1] {
        let mut scene = Scene::new(3);
        let direction = [Direction::Send, Direction::Receive][side];
        // 16 slots: the token of position 15 fills the ring, the one of position 16 is too many, and so
        // is one far behind. That of the last position posted is rung again: nothing is new.
        for (position, breaks) in
            [(RawVi::SLOTS, true), (0x3FFE, true), (0x3FFF, false), (RawVi::SLOTS - 1, false)]
        {
            let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
            let places: Vec<usize> =
                (0..RawVi::SLOTS).map(|_| prepare(&mut scene, &mut vis, side, 0).0).collect();
            let host = &scene.hosts[side];
            let place = places[usize::from(position % RawVi::SLOTS)];
            let token = host.region.token(host.memory.address(place), position);
            vis[side].vi.queues().ring_doorbell(direction, token).expect("the NIC is there");
            scene.world.settle();
            let complete =
                places.iter().filter(|place| Completion::read(&host.memory, **place).is_complete()).count();
            println!("{direction:?}, position {position}: {complete} are complete");
            let overrun = vis[side].event(event_code::VI_OVERRUN, side == 1, true);
            if breaks {
                assert_eq!(vis[side].state(), ViState::Error);
                assert_eq!(scene.events(side), [overrun]);
                assert_eq!(vis[1 - side].state(), ViState::Connected);
                assert_eq!(complete, places.len(), "the ring says what was posted");
            } else {
                assert_eq!(vis[side].state(), ViState::Connected);
                let all = side == 0 && position != 0x3FFF;
                assert_eq!(complete, if all { places.len() } else { 0 });
                // The sends found no receive; that is reported at the other end, and is not the point.
                let _ = [scene.events(0), scene.events(1)];
            }
            scene.others_go_on();
            vis.into_iter().for_each(|vi| vi.retire(&scene.world));
        }
    }
}

/// Rule WQ-6.
#[test]
fn a_slot_that_was_not_written_breaks_that_virtual_interface_alone() {
    for side in [0, 1] {
        let mut scene = Scene::new(4);
        let direction = [Direction::Send, Direction::Receive][side];
        for stale in [0, 1] {
            let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
            let [first, wrong, last] = [0; 3].map(|_| prepare(&mut scene, &mut vis, side, 0));
            // Slot 1 is empty, or holds what was there a turn of the ring before.
            let host = &scene.hosts[side];
            let old = host.region.token(host.memory.address(wrong.0), RawVi::SLOTS + 1);
            vis[side].vi.queues().ring(direction).store(1, [0, old][stale]);
            let doorbell = doorbell(vis[side].index(), direction);
            // The high half alone: the NIC has to read the ring.
            host.device
                .write32(Bar::Doorbells, doorbell + 4, (last.1 >> 32) as u32)
                .expect("the NIC is there");
            scene.world.until("the VI breaks", 20_000, || vis[side].state() == ViState::Error);
            let posted = vis[side].event(event_code::POST_DESC, side == 1, true);
            let events = scene.events(side);
            assert!(events.contains(&posted), "{events:?}");
            scene.others_go_on();
            // What is good before it is completed all the same: done, or flushed. What is good behind it is flushed.
            assert!(Completion::read(&scene.hosts[side].memory, first.0).is_complete());
            let behind = scene.world.complete(&scene.hosts[side], last.0).status;
            assert_eq!(behind & status::ERROR_MASK, status::DESC_FLUSHED_ERROR);
            assert!(!Completion::read(&scene.hosts[side].memory, wrong.0).is_complete());
            assert_eq!(scene.refusals(side), 1 + stale as u64, "a wrong slot is one access to region 0");
            let _ = [scene.events(0), scene.events(1)];
            vis.into_iter().for_each(|vi| vi.retire(&scene.world));
        }
    }
}

/// Rule WQ-4.
#[test]
fn an_idle_virtual_interface_breaks_by_its_own_queues_and_comes_back_by_a_disconnect() {
    for kind in [Kind::Rtl, Kind::Model] {
        let mut scene = Scene::on(World::new(&Setup { kinds: vec![kind], ..quick(5) }));
        for (direction, side) in [(Direction::Send, 0), (Direction::Receive, 1)] {
            // More than the ring holds; a slot that was never written.
            for (position, code) in [(RawVi::SLOTS, event_code::VI_OVERRUN), (0, event_code::POST_DESC)] {
                println!("{kind:?}, {direction:?}: position {position}");
                let mut vis = [0, 1].map(|n| RawVi::new(&scene.hosts[n], UNRELIABLE, 1024));
                let host = &scene.hosts[side];
                let token = host.region.token(host.memory.address(0x1000), position);
                // The high half alone: the NIC has to read the ring.
                let at = doorbell(vis[side].index(), direction) + 4;
                host.device.write32(Bar::Doorbells, at, (token >> 32) as u32).expect("the NIC is there");
                scene.world.settle();
                assert_eq!(vis[side].state(), ViState::Error);
                let event = vis[side].event(code, side == 1, true);
                assert_eq!(scene.events(side), [event]);
                let peer = vis[1 - side].vi.info();
                assert!(vis[side].vi.connect(&peer).is_err(), "in Error");
                // What is posted then is flushed, if its ring can still be followed.
                let other = [Direction::Receive, Direction::Send][side];
                let host = &mut scene.hosts[side];
                let place = vis[side].post(host, other, &Descriptor::of(host, 0x1000, 10));
                let flushed = scene.world.complete(&scene.hosts[side], place).status;
                assert_eq!(flushed & status::ERROR_MASK, status::DESC_FLUSHED_ERROR);
                vis[side].make_idle();
                assert_eq!(vis[side].state(), ViState::Idle);
                let [a, b] = &mut vis;
                a.connect(b);
                scene.world.exchange(&mut scene.hosts, &mut vis, 3000);
                vis.into_iter().for_each(|vi| vi.retire(&scene.world));
            }
        }
        scene.others_go_on();
    }
}

/// Rule WQ-6.
#[test]
fn what_the_ring_holds_is_flushed_when_more_is_posted() {
    let kinds = [Kind::Rtl, Kind::Model];
    for (kind, settled, side) in kinds.into_iter().flat_map(|kind| {
        [(false, 0), (false, 1), (true, 0), (true, 1)].map(|(settled, side)| (kind, settled, side))
    }) {
        let direction = [Direction::Send, Direction::Receive][side];
        println!("{kind:?}, {direction:?}, settled: {settled}");
        let mut scene = Scene::on(World::new(&Setup { kinds: vec![kind], ..quick(6) }));
        let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
        let descriptor = Descriptor::of(&scene.hosts[side], 0x1000, 100);
        let posted: Vec<usize> =
            (0..12).map(|_| vis[side].post(&mut scene.hosts[side], direction, &descriptor)).collect();
        if settled {
            scene.world.settle();
        }
        // One more is in the ring; the doorbell says a hundred.
        let (last, token) = prepare(&mut scene, &mut vis, side, 100);
        let far = token.wrapping_add(100 << 50);
        vis[side].vi.queues().ring_doorbell(direction, far).expect("the NIC is there");
        scene.world.settle();
        assert_eq!(vis[side].state(), ViState::Error);
        let event = vis[side].event(event_code::VI_OVERRUN, side == 1, true);
        assert!(scene.events(side).contains(&event));
        for place in posted {
            let complete = Completion::read(&scene.hosts[side].memory, place);
            assert!(complete.is_complete());
            // Nothing took a receive; sends without one may have left.
            assert!(side == 0 || complete.status & status::ERROR_MASK == status::DESC_FLUSHED_ERROR);
        }
        let complete = Completion::read(&scene.hosts[side].memory, last);
        assert_eq!(complete.status & status::ERROR_MASK, status::DESC_FLUSHED_ERROR);
        let _ = scene.events(1 - side);
        scene.others_go_on();
        vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    }
}
