//! Recovery and the way back, from either side and in the middle of packets.

use rand::Rng;
use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::Damage;
use viaduct_link::ltssm::{State, MS};

use super::traffic::Traffic;
use super::world::{quick, seed, World};

const BACK: [u64; 4] = [RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE, L0];

#[test]
fn either_side_asks_for_recovery_in_the_middle_of_packets() {
    for round in 0..6 {
        let mut options = quick(seed("pcie mac recovery") + round);
        options.side.skp_interval = (1180, 1180 + 60 * round as u32);
        let mut world = World::new(options);
        world.train();
        world.take_path();
        let (mut ours, mut theirs) = (0, 0);
        Traffic::new(1000).run(&mut world, 1_000_000, |world, _| {
            assert!(world.link_up);
            match world.random.random_range(0..3000) {
                0 => world.port.retrain(),
                1 => world.retrain = true,
                _ => {}
            }
            ours += u32::from(world.retrain && world.in_l0);
            theirs += u32::from(world.port.state() == State::RecoveryRcvrLock);
        });
        world.until(5000, |world| world.is_active());
        let path = world.take_path();
        assert!(path.len() > 40 && path.chunks(4).all(|chunk| chunk == BACK), "{path:?}");
        assert!(ours > 0 && theirs > 0);
        world.assert_silent();
    }
}

#[test]
fn recovery_keeps_what_was_agreed_behind_a_bad_wire() {
    let mut options = quick(seed("pcie mac recovery damage"));
    options.to_endpoint = Damage { odd: true, inverted: true, skp: true, ..Damage::default() };
    options.from_endpoint = options.to_endpoint;
    options.side.link_number = 0xa7;
    let mut world = World::new(options);
    world.train();
    Traffic::new(1000).run(&mut world, 1_000_000, |world, passed| {
        if passed % 1777 == 0 {
            world.port.retrain();
        }
        assert!(world.link_up && world.from.rx_invert);
    });
    world.assert_silent();
}

#[test]
fn a_partner_that_is_gone_is_noticed_and_comes_back() {
    let mut world = World::new(quick(seed("pcie mac silence")));
    world.train();
    world.take_path();
    // 131 us without a SKP set lead to Recovery, and 24 ms there to Detect.
    world.port.silence(u64::MAX, u64::MAX);
    let passed = world.until(20_000, |world| !world.in_l0);
    assert!((14_000..16_500).contains(&passed), "{passed}");
    assert!(world.link_up);
    let passed = world.until(25 * MS, |world| !world.link_up);
    assert!((24 * MS..24 * MS + 10).contains(&passed), "{passed}");
    world.port.silence(0, 0);
    world.train();
    world.forget();
    Traffic::new(50).run(&mut world, 50_000, |_, _| {});
    world.assert_lane();
}

#[test]
fn a_short_silence_is_survived() {
    let mut world = World::new(quick(seed("pcie mac short silence")));
    world.train();
    for round in 0..20 {
        let (to, from) = [(round * 20, 0), (0, round * 20), (300, 300)][round as usize % 3];
        world.port.silence(to, from);
        Traffic::new(50).run(&mut world, 100_000, |world, _| assert!(world.link_up));
    }
    world.assert_lane();
}
