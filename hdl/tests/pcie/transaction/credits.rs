//! The core's share of the credits, and what is freed.

use super::tlp::{memory, turn_off};
use super::world::{Pace, World};

#[test]
fn what_this_layer_sends_is_taken_off() {
    let mut world = World::new("pcie_own_credits");
    let limits = [
        ("posted.headers", 0x20),
        ("posted.data", 0x123),
        ("non_posted.headers", 9),
        ("non_posted.data", 8),
        ("completions.headers", 2),
        ("completions.data", 1),
        ("completions.endless_headers", 1),
        ("posted.endless_data", 1),
    ];
    world.set_limits(&limits);
    world.run(3);
    for (name, value) in limits {
        assert_eq!(world.core_limit(name), value, "{name}");
    }
    let (mut headers, mut data) = (2u64, 1u64);
    for n in 0..300 {
        match n % 3 {
            0 => {
                world.read(0);
                data = data.wrapping_sub(1) & 0xFFF;
            }
            1 => world.write(0x0C, n),
            _ => {
                world.arrive(&memory(0x1234_0000, 7, 1, None));
                world.until("refused", |world| !world.sent.is_empty());
                world.sent.clear();
            }
        }
        headers = headers.wrapping_sub(1) & 0xFF;
        world.run(2);
        assert_eq!(world.core_limit("completions.headers"), headers);
        assert_eq!(world.core_limit("completions.data"), data);
        assert_eq!(world.core_limit("posted.headers"), 0x20);
    }
    world.arrive(&turn_off());
    world.drain();
    assert_eq!((world.core_limit("posted.headers"), world.core_limit("posted.data")), (0x1F, 0x123));
    assert_eq!(world.core_limit("completions.headers"), headers);
    // A new link counts anew.
    world.take_down("link_up");
    world.run(3);
    world.bring_up();
    for (name, value) in limits {
        assert_eq!(world.core_limit(name), value, "{name}");
    }
}

#[test]
fn each_non_posted_request_is_freed_once() {
    let mut world = World::new("pcie_freed");
    world.write(0x10, 0xFE00_0000);
    world.write(0x1C, 0x40);
    world.write(0x04, 6);
    world.drain();
    let before = world.freed;
    world.pace = Pace { read_freed: 0, ..Pace::FULL };
    for tag in 0..8 {
        world.arrive(&memory(0xFE00_0000, tag, 1, None));
    }
    world.drain();
    assert_eq!((world.given.len(), world.freed - before), (8, 0), "the core has not taken them up");
    world.pace = Pace::FULL;
    world.drain();
    assert_eq!(world.freed - before, 8);
    // A request that is answered here, and one that the core takes up, in every distance.
    for distance in 0..30 {
        let before = world.freed;
        world.pace.read_freed = 0;
        world.arrive(&memory(0xFE00_0000, 1, 1, None));
        world.drain();
        world.arrive(&memory(0, 2, 1, None));
        world.run(distance);
        world.pace.read_freed = 100;
        world.drain();
        assert_eq!(world.freed - before, 2, "distance {distance}");
    }
    // A ninth one that there are no credits for is lost, is fatal, and gives no credit; the eight are answered.
    world.write(0x58, !0x8000);
    world.drain();
    let before = world.freed;
    world.sent.clear();
    world.pace.offered = 0;
    for tag in 0..10 {
        world.arrive(&memory(0, tag, 1, None));
    }
    world.run(200);
    world.pace.offered = 100;
    world.drain();
    let tags: Vec<u8> = world.sent.drain(..).map(|tlp| tlp[10]).collect();
    assert_eq!(tags, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(world.freed - before, 8);
    assert_eq!(world.read(0x58) >> 16, 0xD, "correctable, fatal, unsupported");
}
