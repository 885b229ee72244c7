//! Resets under load behind a link: a function reset is a write of configuration space, and a link that goes down is a hot reset, with training and
//! enumeration behind it. `own_nics::resets` has what they do to memory; it runs behind links, too (docs/simulation.md).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_sim::pcie::Options;
use viaduct_tests::load::Load;
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{seeds, World};

use super::linked;

/// A link trains, and its function is enumerated, in this time: 1024 TS1 are 8192 cycles of it.
const TRAINS: u64 = 60_000;

/// Each reset behind the other on the same NICs, which then talk as if they were new.
#[test]
fn hot_resets_and_function_resets_by_turns_leave_a_nic_that_starts_clean() {
    for seed in seeds(&[1, 2]) {
        let ratio = if seed % 2 == 0 { (5, 4) } else { (1, 1) };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut world = World::new(&linked(seed, Options { ratio, ..Options::default() }));
        for turn in 0..4 {
            let load = Load::new(Scene::on(world), Service::UnreliableDelivery);
            let now = || load.scene.world.net.network();
            load.scene.world.run(random.random_range(0..3000));
            for nic in [0, 1] {
                if turn % 2 == 0 {
                    now().link_down(nic, random.random_range(1..300));
                } else {
                    now().reset(nic);
                }
            }
            let done = || [0, 1].iter().all(|&nic| !now().is_resetting(nic));
            load.scene.world.until("the reset ends", TRAINS, done);
            load.scene.world.run(TRAINS);
            load.scene.world.settle();
            for nic in [0, 1] {
                assert_eq!(now().violations(nic), [], "seed {seed}, turn {turn}: NIC {nic}");
            }
            let Load { scene, vis, .. } = load;
            let Scene { world: same, hosts, bystanders } = scene;
            drop((vis, bystanders, hosts));
            let mut scene = Scene::on(same);
            scene.world.exchange(&mut scene.hosts, &mut scene.bystanders, 3000);
            let Scene { world: same, hosts, bystanders } = scene;
            drop((bystanders, hosts));
            world = same;
        }
    }
}
