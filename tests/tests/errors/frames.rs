//! Frames that are lost, damaged or come twice.

use viaduct_driver::agent::vis::ViState;
use viaduct_sim::fabric::Faults;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_tests::raw::{pair, Completion, Descriptor, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use super::{states, RECEIVED, RELIABLE, SENT, UNRELIABLE};

/// A network on which one RoCE frame, counted from 1, is lost, comes twice or is damaged.
fn faulty(seed: u64, faults: Faults) -> Scene {
    let scene = Scene::on(World::new(&quick(seed)));
    scene.world.net.network().fabric_mut().set_faults(faults);
    scene
}

fn lost(number: u64) -> Faults {
    Faults { drop: [number].into(), ..Faults::default() }
}

/// Rules UNR-1 and UNR-3.
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

/// Rules FRAME-4 and FRAME-7.
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

/// Rules UNR-2 and RSP-1.
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
