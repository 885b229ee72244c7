//! How much the channel has room for, and what comes of the rest.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::agent::raw::{Filter, RECEIVES, SENDS};
use viaduct_driver::kernel_agent::AgentError;
use viaduct_tests::raw::pair;
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use super::{next, noise, on_each, open, PAIRS};

#[test]
fn a_slow_agent_loses_frames_and_nobody_else_anything() {
    on_each(4, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let channel = scene.hosts[1].agent.open_raw(Filter::default()).expect("a VI is free");
        let to = scene.hosts[1].agent.mac();
        let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 1024);
        scene.world.settle();
        for round in 0..2 {
            let before = channel.dropped().expect("a counter");
            let mut frames = Vec::new();
            for n in 0..RECEIVES + 40 {
                let length = random.random_range(60..400);
                frames.push(noise(&mut random, to, length));
                scene.world.inject(1, &frames[n]);
                if n % 20 == 0 {
                    // In the middle of them messages of both levels, as whole as ever.
                    scene.others_go_on();
                    scene.world.exchange(&mut scene.hosts, &mut vis, 2000);
                }
            }
            scene.world.settle();
            assert_eq!(channel.dropped().expect("a counter"), before + 40, "round {round}");
            for frame in &frames[..RECEIVES] {
                assert_eq!(channel.receive().expect("the channel is open").as_ref(), Some(frame));
            }
            assert_eq!(channel.receive().expect("the channel is open"), None);
            scene.world.settle();
        }
        assert_eq!(scene.events(1), []);
        scene.others_go_on();
    });
}

#[test]
fn as_many_as_there_is_room_for_and_then_no_more() {
    for kinds in PAIRS {
        println!("{kinds:?}");
        // The wire takes 4000 cycles for each frame, much longer than the agent.
        let mut setup = quick(9);
        setup.kinds = kinds.to_vec();
        setup.network.link.rate = 1;
        let mut scene = Scene::on(World::new(&setup));
        let channels = open(&scene);
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let to = scene.hosts[1].agent.mac();
        scene.world.settle();
        let mut frames = Vec::new();
        let full = loop {
            assert!(frames.len() < RECEIVES, "all of them have left");
            let frame = noise(&mut random, to, 4000);
            match channels[0].send(&frame) {
                Ok(()) => frames.push(frame),
                Err(error) => break error,
            }
        };
        assert!(frames.len() >= SENDS && matches!(full, AgentError::RawFull), "{full}");
        for frame in &frames {
            assert_eq!(&next(&scene.world, &channels[1]), frame);
        }
        scene.world.settle();
        channels[0].send(&frames[0]).expect("room");
        assert_eq!(next(&scene.world, &channels[1]), frames[0]);
        scene.others_go_on();
    }
}

/// What the host sends by TCP/IP leaves room for what is said about connections.
#[test]
fn frames_that_leave_room_leave_room() {
    const ROOM: usize = 4;
    on_each(9, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let channels = open(&scene);
        let to = scene.hosts[1].agent.mac();
        // Before any slot was used, and when all were.
        for round in 0..3 {
            let mut sent = 0;
            // Some may leave meanwhile.
            let full = loop {
                match channels[0].send_leaving(&noise(&mut random, to, 4000), ROOM) {
                    Ok(()) => sent += 1,
                    Err(error) => break error,
                }
            };
            assert!(
                matches!(full, AgentError::RawFull) && sent >= SENDS - ROOM,
                "round {round}: {sent}, {full}"
            );
            for _ in 0..ROOM {
                channels[0].send(&noise(&mut random, to, 100)).expect("there is room");
                sent += 1;
            }
            for _ in 0..sent {
                next(&scene.world, &channels[1]);
            }
            scene.world.settle();
        }
        scene.others_go_on();
    });
}
