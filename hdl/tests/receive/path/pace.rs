//! The pace of small messages that come back to back.

use viaduct_spec::tables::service;
use viaduct_spec::wire::opcode;

use super::{buffer, packet, world, GENERATION, PSN, VI};
use crate::frames::Frame;
use crate::world::Descriptor;

/// Cycles between the completions of small messages that come back to back, to these VIs in turn.
fn cycles_a_message(vis: &[u64]) -> u64 {
    let mut world = world(service::UNRELIABLE);
    world.calm = true;
    for vi in vis {
        if *vi != VI {
            world.connect(*vi, service::UNRELIABLE, 0, PSN, GENERATION);
        }
        for n in 0..16 {
            world.post(*vi, Descriptor::new(&[buffer(n * 64, 64)]), true);
        }
    }
    world.run(1000);
    // A few in a row, all descriptors there: the steady state.
    let rounds = 8 / vis.len() as u64;
    for n in 0..rounds {
        for vi in vis {
            let queue_pair = (GENERATION << 10 | vi) as u32;
            let frame = Frame { queue_pair, ..packet(opcode::UC_SEND_ONLY, n, b"8 bytes!") };
            world.send(&frame.bytes(), false);
        }
    }
    let mut at = Vec::new();
    for _ in 0..600 {
        world.step();
        if world.take().len() > at.len() {
            at.push(world.bench.cycles());
        }
    }
    assert_eq!(at.len(), 8);
    println!("a completion at {at:?}, the checker answering after 4");
    (at[7] - at[0]) / 7
}

#[test]
fn a_small_message_is_quick() {
    // One VI: its context is saved before the next message is looked up.
    assert!(cycles_a_message(&[VI]) <= 19);
}

#[test]
fn messages_of_different_vis_overlap() {
    assert!(cycles_a_message(&[VI, 9]) <= 16);
}
