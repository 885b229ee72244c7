//! Resets under load, then a clean start.

use rand::Rng;
use viaduct_link::ltssm::Times;
use viaduct_link::monitor::{Party, Rule};

use super::traffic::Traffic;
use super::world::{quick, seed, World, PERIODS};

impl World {
    /// The link is down at both ends, comes up again, and works.
    #[track_caller]
    fn starts_anew(&mut self) {
        self.until(10_000_000, |world| !world.port.link_up() && world.core.is_down());
        self.traffic = Traffic::default();
        self.train();
        assert!(self.host.is_empty());
        self.enumerate();
        self.traffic = Traffic::of(150);
        self.drain(400_000);
    }
}

#[test]
fn a_hot_reset_under_load_leaves_nothing_behind() {
    let seed = seed("endpoint hot reset");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::enumerated(quick(seed + round as u64), periods);
        for _ in 0..4 {
            world.traffic = Traffic::ENDLESS;
            let cycles = world.random.random_range(100..5000);
            world.run(cycles);
            world.port.hot_reset();
            world.starts_anew();
        }
        world.assert_silent();
    }
}

#[test]
fn a_link_that_is_disabled_under_load_starts_anew() {
    let seed = seed("endpoint disabled");
    let mut world = World::enumerated(quick(seed), PERIODS[2]);
    world.traffic = Traffic::ENDLESS;
    world.run(2000);
    world.port.disable();
    world.until(1_000_000, |world| !world.port.link_up() && world.core.is_down());
    world.run(1000);
    world.port.enable();
    world.starts_anew();
    world.assert_silent();
}

#[test]
fn a_function_level_reset_under_load_ends_what_the_core_does() {
    let seed = seed("endpoint flr");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::enumerated(quick(seed + round as u64), periods);
        for _ in 0..4 {
            // The host has stopped its requests and waits for no answer, as Linux does; the core goes on.
            world.traffic = Traffic { stores: 0, loads: 0, ..Traffic::ENDLESS };
            let cycles = world.random.random_range(100..3000);
            world.run(cycles);
            world.function_reset();
            world.traffic = Traffic::of(150);
            world.drain(400_000);
        }
        world.assert_silent();
    }
}

#[test]
fn a_transceiver_that_stops_in_l0_starts_anew() {
    let seed = seed("endpoint not ready");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut options = quick(seed + round as u64);
        // The root port gives up after 2 ms in place of 24.
        options.side.times = Times { rcvr_lock: 250_000, ..options.side.times };
        let mut world = World::enumerated(options, periods);
        world.traffic = Traffic::ENDLESS;
        let cycles = world.random.random_range(100..3000);
        world.run(cycles);
        world.assert_silent();
        world.ready = false;
        world.run(200);
        assert!(world.core.is_down() && world.told() == viaduct_link::seam::FromEndpoint::default());
        // It can send nothing more, and so say nothing of it either; a packet may be cut.
        let allowed = [Rule::SilenceUnannounced, Rule::PacketCut, Rule::SetCut];
        let counts = world.monitor.counts().clone();
        for ((party, rule), count) in &counts {
            assert!(
                *party == Party::Endpoint && allowed.contains(rule) && *count == 1,
                "{}",
                world.violations()
            );
        }
        world.ready = true;
        world.starts_anew();
        assert_eq!(world.monitor.counts(), &counts, "{}", world.violations());
    }
}
