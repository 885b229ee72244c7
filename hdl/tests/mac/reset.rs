//! What a reset of the core, or a clock that stands still, leaves behind: damaged frames at most, and never a wrong one.

use rand::Rng;
use viaduct_hdl::mac::counter;

use super::frames::{random, whole};
use super::world::{World, NOMINAL};

#[test]
fn a_reset_in_the_middle_of_frames_ends_both_ways() {
    let mut world = World::new("reset", [NOMINAL; 3]);
    let frame = random(&mut world.random, 300);
    for _ in 0..60 {
        world.sent.clear();
        world.received.clear();
        world.put_frame(&frame);
        world.give(&frame, false);
        let before = world.random.random_range(0..360);
        world.run(before * NOMINAL);
        world.dut.set("reset", 1);
        // The core forgets what it wanted to send and had begun to receive.
        world.forget();
        let during = world.random.random_range(1..40);
        world.run(during * NOMINAL);
        world.dut.set("reset", 0);
        world.drain();
        world.put_frame(&frame);
        world.give(&frame, false);
        world.drain();
        assert!(world.received.len() <= 2 && world.sent.len() <= 2);
        assert!(world.received.iter().all(|(received, good)| *good && *received == frame));
        assert_eq!(world.received.last(), Some(&(frame.clone(), true)));
        for sent in &world.sent {
            assert!(if sent.good {
                sent.frame == frame
            } else {
                sent.error && frame.starts_with(&sent.frame)
            });
        }
        assert!(world.sent.last().is_some_and(|sent| sent.good && sent.frame == frame));
    }
}

#[test]
fn the_phy_s_clock_may_stop_anywhere() {
    let mut world = World::new("stopped", [NOMINAL; 3]);
    let frame = random(&mut world.random, 300);
    for _ in 0..40 {
        world.put_frame(&frame);
        let before = world.random.random_range(0..360);
        world.run(before * NOMINAL);
        world.rx_stopped = true;
        let during = world.random.random_range(1..400);
        world.run(during * NOMINAL);
        if world.random.random() {
            world.dut.set("reset", 1);
            world.forget();
            world.run(4 * NOMINAL);
            world.dut.set("reset", 0);
        }
        world.rx_stopped = false;
        world.drain();
        world.received.clear();
        world.put_frame(&frame);
        world.drain();
        assert_eq!(world.received, [(frame.clone(), true)]);
    }
}

#[test]
fn a_core_whose_clock_stops_gets_no_frame_that_was_not_sent() {
    let mut world = World::new("core stopped", [NOMINAL; 3]);
    let frames: Vec<_> = (0..8).map(|_| random(&mut world.random, 300)).collect();
    let mut overruns = 0;
    for round in 0..20 {
        world.received.clear();
        for frame in &frames {
            world.put(&whole(frame), 12);
        }
        let before = world.random.random_range(0..600);
        world.run(before * NOMINAL);
        // The core's clock stands still; the other two go on, for longer than 17 words and the gap between two frames.
        let still = world.random.random_range(200..1500) * NOMINAL;
        world.core.next += still;
        world.drain();
        // The core misses some, and everything it gets as good is one of them, in order.
        let mut expected = frames.iter();
        for (frame, good) in &world.received {
            assert!(!*good || expected.any(|sent| sent == frame), "round {round}");
        }
        world.received.clear();
        world.put_frame(&frames[0]);
        world.drain();
        assert_eq!(world.received, [(frames[0].clone(), true)]);
        overruns += 1;
    }
    assert!(world.counter(counter::OVERRUN) >= overruns, "each stop lost a frame");
}
