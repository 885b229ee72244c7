//! L1, at the endpoint's wish, and back.

use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::Damage;
use viaduct_link::link::dllp::Power;
use viaduct_link::ltssm::State;

use super::traffic::Traffic;
use super::world::{quick, seed, World};

const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];

#[test]
fn the_link_goes_to_l1_and_either_side_wakes_it() {
    for round in 0..4 {
        let mut options = quick(seed("pcie mac l1") + round);
        if round >= 2 {
            options.to_endpoint = Damage { odd: true, skp: true, glitches: 2000, ..Damage::default() };
            options.from_endpoint = options.to_endpoint;
        }
        let mut world = World::new(options);
        world.train();
        for wake in 0..8 {
            Traffic::new(30).run(&mut world, 50_000, |_, _| {});
            world.run(500);
            world.take_path();
            world.link.ask_for(Power::EnterL1);
            world.until(5000, |world| world.state() == L1 && world.port.state() == State::L1Idle);
            world.run(500);
            assert!(world.state() == L1 && world.from.tx_idle && world.link_up && !world.in_l0);
            match wake % 4 {
                0 => world.port.send(WRITE.to_vec()).expect("the link is up"),
                1 => world.link.send(WRITE.to_vec()).expect("the link is up"),
                2 => world.port.retrain(),
                _ => world.wake = true,
            }
            world.until(5000, |world| world.is_active());
            world.wake = false;
            world.run(2000);
            let path = world.take_path();
            assert_eq!(path, [L1_ENTRY, L1, RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE, L0]);
            world.forget();
        }
        world.assert_silent();
    }
}

#[test]
fn a_partner_that_does_not_follow_to_l1_is_left_for_recovery() {
    let mut world = World::new(quick(seed("pcie mac l1 alone")));
    world.train();
    world.take_path();
    // Nobody has agreed on it.
    world.sleep = true;
    world.reach(1000, L1_ENTRY);
    // The root port misses the SKP sets, and trains.
    world.until(40_000, |world| world.is_active());
    assert_eq!(world.take_path(), [L1_ENTRY, RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE, L0]);
    world.assert_lane();
}
