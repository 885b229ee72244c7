//! SKP ordered sets that are sent, and scrambling.

use rand::Rng;
use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::LinkOptions;
use viaduct_link::ltssm::Role;
use viaduct_link::receiver::Receiver;
use viaduct_link::recogniser::Event;
use viaduct_link::symbol::Symbol;

use super::traffic::Traffic;
use super::world::{quick, seed, World};

#[test]
fn skp_sets_are_sent_in_time_and_owed_ones_follow_a_long_packet() {
    let mut options = quick(seed("pcie mac long packets"));
    options.side.link = LinkOptions::new(Role::Downstream, 4096);
    let mut world = World::new(options);
    world.train();
    let (mut receiver, mut symbols, mut sets, mut behind, mut most) =
        (Receiver::default(), 0_u64, 0_u64, 0, 0);
    let mut sent = 0;
    while sent < 400 || world.link.backlog() > 0 {
        if sent < 400 && world.link.backlog() < 4 {
            let length: u32 =
                if world.random.random_ratio(1, 2) { 1024 } else { world.random.random_range(1..1024) };
            let mut tlp = vec![0x4000_0000 | length & 0x3ff, 0xff, 0];
            tlp.extend((0..length).map(|_| world.random.random::<u32>()));
            world.link.send(tlp).expect("the link is up");
            sent += 1;
        }
        world.step();
        while world.port.receive().is_some() {}
        for symbol in world.from.sent().symbols {
            symbols += 1;
            let seen = receiver.push(Some(symbol), true);
            if let Some(Event::Skp(count)) = seen.event {
                assert_eq!(count, 3);
                sets += 1;
                behind += 1;
                most = most.max(behind);
            }
            if seen.outside.is_some() && symbol != Symbol::COM {
                behind = 0;
            }
        }
    }
    // On average one in 1180 to 1538 symbols. A packet of 4124 has three or four due while it lasts.
    assert!((symbols / 1538..=symbols / 1180 + 1).contains(&sets), "{sets} in {symbols}");
    assert!(most >= 3, "{most}");
    world.assert_silent();
}

#[test]
fn an_idle_link_sends_skp_sets() {
    let mut world = World::new(quick(seed("pcie mac idle")));
    world.train();
    world.run(300_000);
    world.assert_silent();
    assert_eq!(world.state(), L0);
}

#[test]
fn scrambling_is_off_if_either_side_asks_for_it() {
    for bits in 0..4 {
        let mut options = quick(seed("pcie mac scrambling"));
        options.side.no_scrambling = bits & 1 == 1;
        let mut world = World::with("pcie_mac", options, bits & 2 == 2, false);
        world.train();
        assert_eq!(world.port.side().is_scrambled(), bits == 0);
        Traffic::new(200).run(&mut world, 100_000, |world, passed| {
            if passed % 3000 == 0 {
                world.port.retrain();
            }
        });
        world.until(5000, |world| world.is_active());
        // A word that is 0 is there all the time, or hardly ever.
        let mut zeros = 0;
        for _ in 0..1000 {
            world.step();
            zeros += u32::from(world.from.tx_data == 0);
        }
        assert!(if bits == 0 { zeros < 10 } else { zeros > 500 }, "{zeros}");
        // Hot reset brings scrambling back, until it is asked off again.
        world.port.hot_reset();
        world.until(3000, |world| world.hot_reset);
        world.train();
        assert_eq!(world.port.side().is_scrambled(), bits == 0);
        world.assert_silent();
    }
}

#[test]
fn no_filler_is_put_into_a_packet_when_com_changes_its_byte() {
    let seed = seed("pcie mac fillers");
    for round in 0..4 {
        let mut options = quick(seed + round);
        options.to_endpoint = Damage { skp: true, odd: round & 1 == 1, ..Damage::default() };
        options.side.skp_interval = (1180, 1181);
        // Often no idle symbol is between a packet and a set, or one: sets and packets begin in either byte.
        options.side.mischief = Mischief { gaps: 1, ..Mischief::default() };
        let mut world = World::new(options);
        world.train();
        let (mut changes, mut high) = (0, false);
        Traffic::new(1500).run(&mut world, 1_000_000, |world, passed| {
            if passed % 997 == 0 {
                world.port.retrain();
            }
            for (place, symbol) in world.to.heard().symbols.into_iter().enumerate() {
                if symbol == Some(Symbol::COM) {
                    changes += u32::from(high != (place == 1));
                    high = place == 1;
                }
            }
        });
        println!("COM has changed its byte {changes} times, fillers: {:?}", world.fillers);
        assert!(
            changes > 30 && world.fillers[0] > 10 && world.fillers[1] == 0,
            "{changes} {:?}",
            world.fillers
        );
        let counters = world.link.counters();
        assert_eq!((counters.bad_tlps, counters.bad_dllps, counters.malformed), (0, 0, 0));
        world.assert_silent();
    }
}
