//! A lane that damages symbols: the links send again what was hurt, and hosts and NICs do not notice.

use std::ops::Range;

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::Counters;
use viaduct_sim::pcie::Options;
use viaduct_spec::descriptor::status;
use viaduct_tests::raw::{pair, Completion, Descriptor};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{seeds, Host, World};

use super::{link, linked};

/// Messages posted at a time each way, their bytes, and how often: 1 MiB each way.
const WINDOW: usize = 4;
const BYTES: usize = 16 << 10;
const ROUNDS: usize = 16;
/// Where they come to.
const INTO: usize = Host::DATA / 2;
/// How often each link is retrained in a round, and the time between two of those: longer than a Recovery, and all of them pass well within a round.
const RETRAINS: u64 = 8;
const BETWEEN: Range<u64> = 1000..2400;

/// Sums over the root ports of both NICs' links.
struct Both([Counters; 2]);

impl Both {
    fn sum(&self, of: fn(&Counters) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }
}

/// Moves them over links that are damaged so, or retrained under way so often a round. What the links have seen and done.
fn transfer(seed: u64, options: Options, retrains: u64) -> Both {
    let mut scene = Scene::on(World::new(&linked(seed, options)));
    // What a NIC's peer loses comes again at no other level than this.
    let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 4096);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..ROUNDS {
        let mut receives = [[0; WINDOW]; 2];
        let mut sends = receives;
        for n in [0, 1] {
            let host = &mut scene.hosts[n];
            let mut data = vec![0; WINDOW * BYTES];
            random.fill_bytes(&mut data);
            host.memory.write(0, &data);
            host.memory.write(INTO, &vec![0; WINDOW * BYTES]);
            for (place, receive) in receives[n].iter_mut().enumerate() {
                let into = Descriptor::of(host, INTO + place * BYTES, BYTES);
                *receive = vis[n].receive(host, &into);
            }
        }
        scene.world.settle();
        for n in [0, 1] {
            let host = &mut scene.hosts[n];
            for (place, send) in sends[n].iter_mut().enumerate() {
                *send = vis[n].send(host, &Descriptor::of(host, place * BYTES, BYTES));
            }
        }
        for _ in 0..retrains {
            scene.world.run(random.random_range(BETWEEN));
            for nic in [0, 1] {
                scene.world.net.network().retrain(nic);
            }
        }
        for n in [0, 1] {
            for place in 0..WINDOW {
                let completed = |host: usize, at| scene.world.complete(&scene.hosts[host], at);
                let of =
                    |kind| Completion { status: status::DONE | kind, length: BYTES as u32, immediate: 0 };
                assert_eq!(completed(n, sends[n][place]), of(status::OP_SEND), "seed {seed}, round {round}");
                let received = completed(1 - n, receives[1 - n][place]);
                assert_eq!(received, of(status::OP_RECEIVE), "seed {seed}, round {round}");
            }
            let (sent, got) = (&scene.hosts[n].memory, &scene.hosts[1 - n].memory);
            let bytes = WINDOW * BYTES;
            assert!(got.read(INTO, bytes) == sent.read(0, bytes), "seed {seed}, round {round}: other bytes");
        }
    }
    scene.others_go_on();
    let counters = [0, 1].map(|nic| link(&scene.world, nic));
    println!("seed {seed}: {counters:?}");
    Both(counters)
}

#[test]
fn a_mebibyte_each_way_passes_one_damaged_symbol_in_a_hundred_thousand() {
    for seed in seeds(&[1]) {
        // Half of the damage shows at once, and half is found by check sums alone.
        let damage = Damage { flagged: 5, silent: 5, ..Damage::default() };
        let options = Options { to_endpoint: damage, from_endpoint: damage, ..Options::default() };
        let links = transfer(seed, options, 0);
        // Of two million symbols each way some twenty are hurt, whatever the seed.
        let (replayed, bad) = (links.sum(|c| c.replayed), links.sum(|c| c.bad_tlps + c.missing));
        assert!(replayed > 0 && bad > 0, "nothing was damaged: {replayed} {bad}");
    }
}

/// Root ports that lose Acks, send Naks without a reason and replay before their time: each end sends again, and nothing comes twice.
#[test]
fn a_mebibyte_each_way_passes_root_ports_that_are_unkind() {
    for seed in seeds(&[3]) {
        let mischief =
            Mischief { lost_acks: 500, nak_storm: 4000, early_replay: true, ..Mischief::default() };
        let links = transfer(seed, Options { mischief, ratio: (5, 4), ..Options::default() }, 0);
        let root_port = links.sum(|c| c.timeouts).min(links.sum(|c| c.replayed));
        let endpoint = links.sum(|c| c.duplicates);
        assert!(root_port > 0 && endpoint > 0, "nothing came again: {root_port} {endpoint}");
    }
}

/// Recovery in the middle of packets, which the root port cuts: what was cut comes again.
#[test]
fn a_mebibyte_each_way_passes_links_that_are_retrained() {
    for seed in seeds(&[4]) {
        let mischief = Mischief { cuts: true, ..Mischief::default() };
        let links = transfer(seed, Options { mischief, ..Options::default() }, RETRAINS);
        let asked = 2 * RETRAINS * ROUNDS as u64;
        let (recoveries, replayed) = (links.sum(|c| c.recoveries), links.sum(|c| c.replayed));
        assert!(recoveries >= asked, "{recoveries} of {asked}");
        assert!(replayed > 0, "no packet was cut");
    }
}

/// SKP sets of any length or clocks 600 ppm apart, COM in the high byte, an inverted lane, a level of electrical idle that lies: none of it costs a packet.
#[test]
fn a_mebibyte_each_way_passes_a_lane_that_is_awkward_and_hurts_nothing() {
    for (seed, ppm) in seeds(&[2, 5]).into_iter().zip([0, 600].into_iter().cycle()) {
        let damage = Damage { skp: ppm == 0, odd: true, inverted: true, glitches: 2000, ..Damage::default() };
        let options =
            Options { to_endpoint: damage, from_endpoint: damage, ppm, ratio: (5, 4), ..Options::default() };
        let links = transfer(seed, options, 0);
        assert_eq!(links.sum(|c| c.replayed + c.bad_tlps + c.missing), 0, "seed {seed}, {ppm} ppm");
    }
}
