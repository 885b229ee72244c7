//! Frames of every length arrive as they were sent, beside messages too.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::agent::raw::{LONGEST_FRAME, SHORTEST_FRAME};
use viaduct_driver::kernel_agent::AgentError;
use viaduct_tests::raw::pair;
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{random_conditions, World};

use super::{next, noise, on_each, open, padded, PAIRS};

#[test]
fn frames_of_every_length_both_ways() {
    on_each(1, |mut scene| {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let channels = open(&scene);
        let fixed =
            [14, 15, 16, 17, 22, 23, 24, 59, 60, 61, 64, 65, 1514, 4095, 4096, 4097, 4110, 4199, 4200];
        let others: Vec<usize> =
            (0..10).map(|_| random.random_range(SHORTEST_FRAME..=LONGEST_FRAME)).collect();
        for (n, length) in fixed.into_iter().chain(others).enumerate() {
            let (from, to) = (n % 2, 1 - n % 2);
            let mut frame = noise(&mut random, scene.hosts[to].agent.mac(), length);
            if n % 5 == 4 && length > 18 {
                frame[12..16].copy_from_slice(&[0x81, 0x00, 0x20, 0x07]);
            }
            channels[from].send(&frame).expect("room");
            assert_eq!(next(&scene.world, &channels[to]), padded(&frame), "{length}");
        }
        for channel in &channels {
            for length in [0, 13, 4201, 9000] {
                let error = channel.send(&vec![0; length]).expect_err("no frame");
                assert!(matches!(error, AgentError::Frame(of) if of == length), "{error}");
            }
            assert_eq!(channel.dropped().expect("a counter"), 0);
        }
        scene.others_go_on();
    });
}

#[test]
fn frames_and_messages_at_once() {
    for (kinds, seed) in PAIRS.into_iter().zip(5..) {
        println!("{kinds:?}");
        let mut setup = random_conditions(seed);
        setup.kinds = kinds.to_vec();
        let mut scene = Scene::on(World::new(&setup));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let channels = open(&scene);
        let mut vis = pair(&scene.hosts, Service::UnreliableDelivery, 512);
        let (mut sent, mut got) = ([vec![], vec![]], [vec![], vec![]]);
        for _ in 0..40 {
            for from in 0..2 {
                for _ in 0..random.random_range(0..6) {
                    let length =
                        *[60, 64, random.random_range(60..1600), 4200].choose(&mut random).expect("some");
                    let frame = noise(&mut random, scene.hosts[1 - from].agent.mac(), length);
                    match channels[from].send(&frame) {
                        Ok(()) => sent[from].push(frame),
                        Err(AgentError::RawFull) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            let length = random.random_range(0..5000);
            scene.world.exchange(&mut scene.hosts, &mut vis, length);
            let length = random.random_range(0..5000);
            scene.world.exchange(&mut scene.hosts, &mut scene.bystanders, length);
            for to in 0..2 {
                while let Some(frame) = channels[to].receive().expect("the channel is open") {
                    got[1 - to].push(frame);
                }
            }
        }
        scene.world.settle();
        for to in 0..2 {
            while let Some(frame) = channels[to].receive().expect("the channel is open") {
                got[1 - to].push(frame);
            }
            assert_eq!(channels[to].dropped().expect("a counter"), 0);
        }
        assert!(sent.iter().all(|sent| sent.len() > 50));
        assert!(got == sent, "frames are missing, doubled or changed");
        scene.others_go_on();
    }
}
