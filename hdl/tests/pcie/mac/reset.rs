//! Hot reset, Disabled, and the layer's own reset.

use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::Damage;
use viaduct_link::ltssm::State;

use super::traffic::Traffic;
use super::world::{quick, seed, World, MS};

#[test]
fn hot_reset_is_obeyed_and_the_link_trains_again() {
    for round in 0..6 {
        let mut options = quick(seed("pcie mac hot reset") + round);
        if round >= 3 {
            options.to_endpoint = Damage { odd: true, inverted: true, skp: true, ..Damage::default() };
        }
        let mut world = World::new(options);
        world.train();
        for _ in 0..3 {
            world.forget();
            let mut traffic = Traffic::new(1_000_000);
            for _ in 0..3000 + 777 * round {
                traffic.step(&mut world);
                world.step();
            }
            world.take_path();
            world.port.hot_reset();
            world.until(3000, |world| world.hot_reset);
            assert!(!world.link_up && !world.in_l0);
            let path = world.take_path();
            let to = path.iter().position(|state| *state == HOT_RESET).expect("Hot Reset");
            assert!(path[..to]
                .iter()
                .all(|state| [RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE].contains(state)));
            let stays = world.until(3 * MS, |world| !world.hot_reset);
            assert!((2 * MS..2 * MS + 1000).contains(&stays), "{stays}");
            world.train();
            world.forget();
            Traffic::new(50).run(&mut world, 50_000, |_, _| {});
        }
        world.assert_lane();
    }
}

#[test]
fn hot_reset_lasts_as_long_as_it_is_said() {
    let mut options = quick(seed("pcie mac long hot reset"));
    options.side.times.hot_reset_hold = 7 * MS;
    let mut world = World::new(options);
    world.train();
    world.port.hot_reset();
    world.reach(3000, HOT_RESET);
    // Training sets go out all the time.
    let stays = world.until(10 * MS, |world| {
        assert!(!world.from.tx_idle);
        !world.hot_reset
    });
    assert!((9 * MS - 1000..9 * MS + 1000).contains(&stays), "{stays}");
    world.train();
    world.assert_silent();
}

#[test]
fn a_disabled_link_is_quiet_until_the_root_port_comes_back() {
    let mut world = World::new(quick(seed("pcie mac disable")));
    world.train();
    for wait in [5000, 3 * MS] {
        world.port.disable();
        world.reach(3000, DISABLED_QUIET);
        assert!(world.hot_reset && !world.link_up);
        world.until(100, |world| world.from.tx_idle && world.port.state() == State::DisabledQuiet);
        for _ in 0..wait {
            world.step();
            assert!(world.from.tx_idle && world.state() == DISABLED_QUIET);
        }
        world.port.enable();
        world.train();
        world.forget();
        Traffic::new(50).run(&mut world, 50_000, |_, _| {});
    }
    world.assert_silent();
}

#[test]
fn without_a_transceiver_the_layer_is_in_reset() {
    let mut options = quick(seed("pcie mac locks"));
    options.locks = MS;
    let mut world = World::new(options);
    for _ in 0..MS - 1 {
        world.step();
        assert!(world.from.tx_idle && !world.from.detect_request && world.state() == DETECT_QUIET);
    }
    world.train();
    world.assert_silent();
}
