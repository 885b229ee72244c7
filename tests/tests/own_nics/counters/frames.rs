//! Steps: frames that nobody waits for, and those of the raw channel.

use viaduct_driver::address::Mac;
use viaduct_driver::agent::raw::{Filter, RECEIVES};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::pair;
use viaduct_tests::scene::Scene;

use super::connection::{message, reliable, retire};
use super::{PSN, UNRELIABLE};

pub fn ghost(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    message(scene, &mut vis, 100);
    let [to, from] = [vis[0].vi.info(), vis[1].vi.info()];
    for (ahead, code) in [(1, syndrome::ACK), (5, syndrome::NAK_SEQUENCE), (9, syndrome::NAK_ACCESS)] {
        let body = (u32::from(code) << 24 | 1).to_be_bytes();
        let frame = Frame::new(&from, &to, opcode::RC_ACKNOWLEDGE, PSN + ahead, &body);
        scene.world.inject(0, &frame.bytes());
        scene.world.settle();
    }
    retire(scene, vis);
}

pub fn strange_frames(scene: &mut Scene) {
    let vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let [from, to] = [vis[0].vi.info(), vis[1].vi.info()];
    let good = Frame::new(&from, &to, opcode::UC_SEND_ONLY, to.starting_psn, &[7; 100]);
    let mut damaged = good.bytes();
    damaged[60] ^= 1;
    let frames = [
        good.bytes()[..80].to_vec(),
        damaged,
        Frame { macs: [Mac([2, 0, 0, 0, 0, 9]), from.mac], ..good.clone() }.bytes(),
        Frame { pkey: 0x1234, ..good.clone() }.bytes(),
        Frame { queue_pair: to.queue_pair ^ 1 << 20, ..good.clone() }.bytes(),
        Frame { opcode: opcode::CONGESTION, ..good }.bytes(),
    ];
    for frame in frames {
        scene.world.inject(1, &frame);
        scene.world.settle();
    }
    retire(scene, vis);
}

pub fn raw(scene: &mut Scene) {
    let channels =
        [0, 1].map(|host| scene.hosts[host].agent.open_raw(Filter::default()).expect("a VI is free"));
    let mut frame = vec![0x5A; 300];
    frame[..6].copy_from_slice(&scene.hosts[1].agent.mac().0);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    channels[0].send(&frame).expect("room");
    scene.world.settle();
    // Nobody takes them.
    for _ in 0..RECEIVES + 2 {
        scene.world.inject(1, &frame);
        scene.world.settle();
    }
    channels.into_iter().for_each(|channel| channel.close().expect("the NIC answers"));
}
