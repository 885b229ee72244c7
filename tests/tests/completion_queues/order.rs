//! Entries are in the order of their work queues.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::agent::vis::Direction;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_tests::raw::{Descriptor, RawVi, LEVELS};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{random_conditions, seeds, World};

use super::consumer::Consumer;
use super::{pair, UNRELIABLE};

/// Rules CQ-1 and CQ-5.
#[test]
fn many_queues_on_one_keep_their_order_through_laps_and_resizes() {
    const ROOM: usize = 20;
    for seed in seeds(&[1, 2, 3]) {
        let world = World::new(&random_conditions(seed));
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xC0);
        let mut hosts = [0, 1].map(|n| world.host(n));
        // Host 0 has a queue for sends and one for receives, host 1 one for all.
        let mut consumers =
            [Consumer::new(&hosts[0], ROOM), Consumer::new(&hosts[0], ROOM), Consumer::new(&hosts[1], ROOM)];
        // Who takes what: [host][direction].
        let whose = [[0, 1], [2, 2]];
        let mut pairs: Vec<[RawVi; 2]> = (0..5)
            .map(|n| {
                let level = LEVELS[n % 3];
                let mut vis = [0, 1].map(|host| {
                    let cqs = whose[host].map(|consumer| consumers[consumer].index());
                    RawVi::with_cqs(&hosts[host], level, 1024, cqs)
                });
                let [a, b] = &mut vis;
                a.connect(b);
                vis
            })
            .collect();
        let (mut messages, mut resizes) = (0, 0);
        while messages < 150 {
            let (number, from) = (random.random_range(0..pairs.len()), random.random_range(0..2));
            let to = 1 - from;
            // Only as much as there is room for, were nothing taken any more; unreliable ones one by one, that none is lost.
            let full = consumers.iter().any(|consumer| consumer.outstanding() + 2 > ROOM);
            if !full {
                let length = random.random_range(0..2000);
                let [receives, sends] = [whose[to][1], whose[from][0]];
                let place = 0x8000 + random.random_range(0..0x4000);
                let receive = Descriptor::of(&hosts[to], place, length);
                let vi = &mut pairs[number][to];
                consumers[receives].post(&mut hosts[to], vi, Direction::Receive, &receive);
                world.arrived(to);
                let send = Descriptor::of(&hosts[from], random.random_range(0..0x4000), length);
                let vi = &mut pairs[number][from];
                consumers[sends].post(&mut hosts[from], vi, Direction::Send, &send);
                messages += 1;
            }
            world.run(random.random_range(1..600));
            for (n, consumer) in consumers.iter_mut().enumerate() {
                for _ in 0..random.random_range(0..4) {
                    if let Some((_, completion)) = consumer.take(&hosts[n / 2]) {
                        assert_eq!(completion.status & status::ERROR_MASK, 0, "seed {seed}");
                    }
                }
                if random.random_bool(0.03) {
                    // With whatever is on its way.
                    consumer.cq.resize(random.random_range(ROOM..4 * ROOM)).expect("room");
                    resizes += 1;
                }
            }
        }
        for (n, consumer) in consumers.iter_mut().enumerate() {
            let host = &hosts[n / 2];
            world.until("every entry comes", 1_000_000, || {
                while consumer.take(host).is_some() {}
                consumer.outstanding() == 0
            });
        }
        world.settle();
        assert!(consumers.iter_mut().enumerate().all(|(n, consumer)| consumer.take(&hosts[n / 2]).is_none()));
        println!("{resizes} resizes, {} entries", consumers.iter().map(|c| c.taken).sum::<usize>());
        assert!(resizes > 5);
        for (nic, host) in hosts.iter().enumerate() {
            assert_eq!(world.counter(nic, counter::CQ_OVERRUNS), 0);
            assert_eq!(host.agent.take_events().expect("the NIC answers"), []);
        }
        pairs.into_iter().flatten().for_each(|vi| vi.retire(&world));
        consumers.iter().for_each(|consumer| consumer.cq.destroy().expect("nobody has it"));
        world.check();
    }
}

/// Rule CQ-1.
#[test]
fn the_phase_turns_in_the_smallest_ring_too() {
    let mut scene = Scene::new(4);
    let mut consumer = Consumer::new(&scene.hosts[1], 1);
    let mut vis = pair(&scene.hosts, UNRELIABLE, [None, consumer.index()]);
    // Four entries: seven laps, the consumer up to one behind.
    for n in 0..28 {
        let [a, b] = &mut scene.hosts;
        let receive = Descriptor::of(b, 0x2000, 100);
        let place = consumer.post(b, &mut vis[1], Direction::Receive, &receive);
        scene.world.arrived(1);
        vis[0].send(a, &Descriptor::of(a, 0, n));
        scene.world.complete(b, place);
        scene.world.settle();
        let (entry, completion) = consumer.take(b).expect("an entry");
        assert_eq!((entry.receive, completion.length), (true, n as u32));
        assert!(consumer.take(b).is_none());
    }
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
    scene.others_go_on();
}
