//! Two virtual interfaces of one NIC talk: their frames turn round inside it.

use viaduct_spec::register::counter;
use viaduct_tests::traffic::{Shape, Traffic, LEVELS, MTUS};
use viaduct_tests::world::{random_conditions, seeds};

#[test]
fn virtual_interfaces_of_one_nic_talk_without_a_wire() {
    for seed in seeds(&[1, 2]) {
        let mut setup = random_conditions(seed);
        setup.nics = 1;
        let shape = Shape { nics: 1, pairs: 3, messages: 8, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&setup, &shape);
        traffic.run();
        traffic.check();
        let world = &traffic.world;
        assert_eq!(world.net.network().fabric().counters().frames, 0, "seed {seed}: frames on the wire");
        let sent = world.counter(0, counter::FRAMES_SENT);
        assert!(sent > 0 && sent == world.counter(0, counter::FRAMES_RECEIVED));
    }
}
