//! A lane that damages symbols: the links send again what was hurt, and hosts and NICs do not notice.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_link::damage::Damage;
use viaduct_sim::pcie::Options;
use viaduct_spec::descriptor::status;
use viaduct_tests::raw::{pair, Completion, Descriptor};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{seeds, Host, World, SEED};

use super::{link, linked};

/// Messages posted at a time each way, their bytes, and how often: 1 MiB each way.
const WINDOW: usize = 4;
const BYTES: usize = 16 << 10;
const ROUNDS: usize = 16;
/// Where they come to.
const INTO: usize = Host::DATA / 2;

/// Moves them over links that are damaged so. What the links have sent again, and what they have found damaged.
fn transfer(seed: u64, options: Options) -> (u64, u64) {
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
    let again = |of: fn(&viaduct_link::link::Counters) -> u64| counters.iter().map(of).sum();
    (again(|c| c.replayed), again(|c| c.bad_tlps + c.missing))
}

#[test]
fn a_mebibyte_each_way_passes_one_damaged_symbol_in_a_hundred_thousand() {
    for seed in seeds(&[1]) {
        // Half of the damage shows at once, and half is found by check sums alone.
        let damage = Damage { flagged: 5, silent: 5, ..Damage::default() };
        let options = Options { to_endpoint: damage, from_endpoint: damage, ..Options::default() };
        let (replayed, bad) = transfer(seed, options);
        let hurt = replayed > 0 && bad > 0;
        assert!(hurt || std::env::var(SEED).is_ok(), "nothing was damaged: {replayed} {bad}");
    }
}

/// Clocks apart, COM in the high byte, an inverted lane, a level of electrical idle that lies: none of it costs a packet.
#[test]
fn a_mebibyte_each_way_passes_a_lane_that_is_awkward_and_hurts_nothing() {
    for seed in seeds(&[2]) {
        let damage = Damage { skp: true, odd: true, inverted: true, glitches: 2000, ..Damage::default() };
        let options =
            Options { to_endpoint: damage, from_endpoint: damage, ratio: (5, 4), ..Options::default() };
        assert_eq!(transfer(seed, options), (0, 0), "seed {seed}");
    }
}
