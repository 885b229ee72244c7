//! PME_Turn_Off, and what resets do.

use super::enumeration::{enable, hits};
use super::tlp::{completion, configuration, memory, message, slot_power, turn_off, turn_off_ack};
use super::world::World;

#[test]
fn turn_off_is_answered_behind_what_is_under_way() {
    let mut world = World::new("pcie_turn_off");
    enable(&mut world);
    world.sent.clear();
    let first = completion(1, 1, &[1; 64]);
    world.pace.offered = 0;
    world.core_sends(&first);
    world.run(20);
    world.core_sends(&completion(1, 2, &[2; 8]));
    world.arrive(&turn_off());
    world.run(50);
    assert_eq!(world.bench.get("enter_l23"), 0);
    world.pace.offered = 100;
    world.until("the answer", |world| world.sent.len() == 2);
    assert_eq!(world.sent, [first, turn_off_ack(world.id)]);
    world.until("the link may sleep", |world| world.bench.get("enter_l23") == 1);
    world.run(100);
    assert_eq!(world.sent.len(), 2, "the core's next one does not begin");
    // Who asks again is answered again, and so are requests.
    world.arrive(&turn_off());
    world.until("the answer", |world| world.sent.len() == 3);
    assert_eq!(world.read(4), 0x0010_0006);
    world.until("the link may sleep", |world| world.bench.get("enter_l23") == 1);
    // A new link begins anew.
    world.take_down("link_up");
    world.run(30);
    assert!(world.core.is_empty(), "what the core had begun is dropped");
    world.bring_up();
    assert_eq!(world.bench.get("enter_l23"), 0);
    world.sent.clear();
    let last = completion(1, 3, &[3; 8]);
    world.core_sends(&last);
    world.drain();
    assert_eq!(world.sent, [last]);
}

#[test]
fn other_messages_are_swallowed() {
    let mut world = World::new("pcie_messages");
    let close = [
        slot_power(),
        // Almost PME_Turn_Off: other codes, another routing, data, poison, a wrong length.
        message(3, 0x18, &[]),
        message(3, 0x1B, &[]),
        message(4, 0x19, &[]),
        message(3, 0x19, &[0; 4]),
        turn_off()[..14].to_vec(),
        [turn_off(), vec![0; 4]].concat(),
        message(4, 0x7F, &[1; 64]),
        message(0, 0x14, &[]),
    ];
    for _ in 0..3 {
        for tlp in &close {
            world.arrive(tlp);
        }
    }
    world.drain();
    assert!(world.sent.is_empty() && world.given.is_empty());
    assert_eq!((world.bench.get("enter_l23"), world.freed), (0, 0));
    assert_eq!(world.read(0x58) >> 16, 0x4, "those of a wrong length are malformed");
    world.arrive(&turn_off());
    world.until("the answer", |world| !world.sent.is_empty());
}

#[test]
fn a_link_that_goes_down_at_any_time_leaves_nothing() {
    let mut world = World::new("pcie_link_down");
    for cycle in 0..120u64 {
        let port = ["link_up", "hot_reset"][cycle as usize % 2];
        enable(&mut world);
        world.write(0x58, 0x5020);
        world.sent.clear();
        world.given.clear();
        // Something of everything is under way.
        world.pace.offered = if cycle % 3 == 0 { 0 } else { 60 };
        world.core_sends(&completion(1, 1, &[1; 64]));
        world.core_sends(&completion(1, 2, &[2; 64]));
        for tag in 0..4 {
            world.arrive(&memory(0, tag, 1, None));
            world.arrive(&configuration(world.id, 0, 0xF, tag, None));
            world.arrive(&memory(0xFE00_0000, tag, 1, Some(&[1; 4])));
        }
        world.arrive(&turn_off());
        world.run(cycle);
        world.take_down(port);
        let before = (world.sent.len(), world.given.len());
        // The crossing drops its half, or gives it yet, or later: beginning with the core's first word or not.
        let rest: usize = [0, 3, 20][cycle as usize % 3];
        world.core.clear();
        world.run(3);
        assert_eq!(world.bench.get("core_reset"), 1);
        assert_eq!((world.bench.get("offered_valid"), world.bench.get("to_core_valid")), (0, 0));
        world.run(10);
        assert_eq!((world.bench.get("offered_valid"), world.bench.get("to_core_valid")), (0, 0));
        world.bring_up();
        assert_eq!(world.bench.get("core_reset"), 0);
        world.pace.offered = 100;
        assert_eq!((world.sent.len(), world.given.len()), before, "cycle {cycle}: nothing of before");
        world.freed = 0;
        world.sent.clear();
        world.given.clear();
        let stray = super::world::words(&completion(1, 9, &[9; 64]));
        world.core.extend(&stray[stray.len() - rest..]);
        world.drain();
        assert!(world.sent.is_empty() && world.given.is_empty(), "cycle {cycle}: {:x?}", world.sent);
        assert_eq!(world.freed, 0);
        for (register, value) in [(0x04, 0x0010_0000), (0x10, 0), (0x1C, 0), (0x58, 0x2810), (0x3C, 0)] {
            assert_eq!(world.read(register), value, "cycle {cycle}");
        }
        assert_eq!(world.config("requester_id"), 0);
        let next = completion(1, 4, &[4; 12]);
        world.core_sends(&next);
        world.drain();
        assert_eq!(world.sent, [next]);
        enable(&mut world);
        assert_eq!(hits(&mut world, 0xFE00_0000), Some(0));
    }
}

#[test]
fn nothing_begins_before_the_link_is_active() {
    let mut world = World::new("pcie_active");
    world.bench.set("active", 0);
    let first = completion(1, 1, &[1; 8]);
    world.core_sends(&first);
    world.arrive(&configuration(world.id, 0, 0xF, 1, None));
    world.run(200);
    assert!(world.sent.is_empty());
    world.bench.set("active", 1);
    world.drain();
    assert_eq!(world.sent.len(), 2);
    assert!(world.sent.contains(&first));
}
