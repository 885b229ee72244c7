//! D3hot: the link sleeps in L1, and the host wakes it.

use viaduct_hdl::pcie::mac::state::codes::L1;
use viaduct_link::damage::Damage;
use viaduct_link::generation::Generation;
use viaduct_link::ltssm::State;

use super::traffic::Traffic;
use super::world::{quick, seed, World, BAR0, PERIODS};

const POWER_CONTROL: u16 = 0x44;

impl World {
    /// Both sides are in L1.
    #[track_caller]
    pub fn until_asleep(&mut self) {
        self.until(50_000, |world| world.state() == L1 && world.port.state() == State::L1Idle);
    }
}

#[test]
fn a_function_in_d3hot_sleeps_in_l1_and_comes_back_as_it_was() {
    let seed = seed("endpoint d3hot");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut options = quick(seed + round as u64);
        if round == 2 {
            options.to_endpoint = Damage { odd: true, skp: true, glitches: 2000, ..Damage::default() };
            options.from_endpoint = options.to_endpoint;
            options.side.generation = Generation::Fifth;
        }
        let mut world = World::enumerated(options, periods);
        for value in [0x0BAD_CAFE, 1, 0x8000_0000] {
            world.traffic = Traffic::of(40);
            world.drain(200_000);
            world.store(0, BAR0, value);
            world.write(POWER_CONTROL, 3);
            world.until_asleep();
            world.run(3000);
            assert!(world.from.tx_idle && !world.core.is_down() && !world.core.may_ask(&world.dut));
            // A look wakes the link; then it sleeps again.
            assert_eq!(world.read(POWER_CONTROL) & 3, 3);
            world.until_asleep();
            world.write(POWER_CONTROL, 0);
            world.until(1000, |world| world.core.may_ask(&world.dut));
            assert_eq!(world.load(0, BAR0), [value], "addresses and the core are as they were");
        }
        world.assert_silent();
    }
}
