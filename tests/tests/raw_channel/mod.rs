//! The raw channel between two whole NICs, of the RTL, the model, and one of each; through the agent, and by descriptors made by
//! hand where those must be wrong.

mod descriptors;
mod filter;
mod frames;
mod room;

use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Mac;
use viaduct_driver::agent::raw::{Filter, RawChannel};
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_spec::register::counter;
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const PAIRS: [[Kind; 2]; 4] = [[Rtl, Rtl], [Model, Model], [Rtl, Model], [Model, Rtl]];
const BROADCAST: Mac = Mac([0xFF; 6]);

/// A scene on each pair of NICs.
fn on_each(seed: u64, mut test: impl FnMut(Scene)) {
    for kinds in PAIRS {
        println!("{kinds:?}");
        let mut setup = quick(seed);
        setup.kinds = kinds.to_vec();
        test(Scene::on(World::new(&setup)));
    }
}

/// Both agents open the channel.
fn open(scene: &Scene) -> [RawChannel; 2] {
    [0, 1].map(|host| scene.hosts[host].agent.open_raw(Filter::default()).expect("a VI is free"))
}

/// A frame of random bytes that is no IP.
fn noise(random: &mut ChaCha8Rng, to: Mac, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    random.fill_bytes(&mut frame);
    frame[..6].copy_from_slice(&to.0);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    frame
}

/// As it arrives: padded by the MAC that sent it.
fn padded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Steps until a frame is there.
fn next(world: &World, channel: &RawChannel) -> Vec<u8> {
    let mut frame = None;
    world.until("a frame arrives", 200_000, || {
        frame = channel.receive().expect("the channel is open");
        frame.is_some()
    });
    frame.expect("it is there")
}

/// The name of a counter.
fn by_name(number: u64) -> &'static str {
    counter::CODES.codes.iter().find(|code| code.value == number).expect("a counter").name
}
