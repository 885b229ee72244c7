//! The whole path against a second reading of the rules: several VIs, sends and RDMA writes, losses, duplicates, swaps,
//! bad receives, writes that may not be.

mod model;
mod piece;
mod post;

use std::collections::BTreeMap;

use rand::Rng;
use viaduct_spec::tables::{receive, service};

use super::frames::{Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};
use model::Model;
use piece::{opcode, pieces};
use post::posts;

const BUFFERS: u64 = 0x4000_0000;
/// What peers may write to, and its handle.
const WRITES: u64 = 0x6000_0000;
const WRITE_HANDLE: u32 = 0x5151_0004;
const POSTS: usize = 40;

#[test]
fn many_vis_under_a_bad_network() {
    let mut world = World::new();
    world
        .regions
        .insert(3, Region { base: BUFFERS, length: 0x1000_0000, key: 0x4242, tag: 7, writable: false });
    world
        .regions
        .insert(4, Region { base: WRITES, length: 0x1000_0000, key: 0x5151, tag: 7, writable: true });
    let mut models = Vec::new();
    let mut senders = Vec::new();
    for vi in [0, 3, 17, 31, 40, 45, 50, 63] {
        let reliable = vi % 2 == 1;
        let writable = vi != 50 && vi != 31;
        let stays = [3, 45].contains(&vi).then_some(vi % 32);
        let service = if reliable { service::RELIABLE_DELIVERY } else { service::UNRELIABLE };
        let mtu = world.random.random_range(0..3);
        let first_psn = world.random.random_range(0..1 << 24);
        world.connect_with(vi, service, mtu, first_psn, vi + 1000, |row| {
            receive::RDMA_WRITE.put(row, writable.into());
            receive::RNR_STAY.put(row, stays.is_some().into());
            receive::RNR_TIMER.put(row, stays.unwrap_or(7));
        });
        // A VI that stays when there is no receive has few.
        let posts = posts(&mut world, vi, if stays.is_some() { 5 } else { POSTS });
        for post in &posts {
            world.post(vi, Descriptor::new(&post.segments), true);
        }
        senders.push((pieces(&mut world, vi, 256 << mtu), 0u64));
        models.push(Model {
            vi,
            reliable,
            writable,
            stays,
            first_psn,
            expected: 0,
            msn: 0,
            consumed: 0,
            open: None,
            refused: false,
            broken: false,
            repeats: 0,
            posts,
            events: Vec::new(),
            memory: BTreeMap::new(),
            counts: BTreeMap::new(),
        });
    }
    // Every VI's packets in an order of their own: mostly the next one, now and then one from the neighbourhood.
    let mut frames = 0;
    for _ in 0..2000 {
        let random = &mut world.random;
        let which = random.random_range(0..models.len());
        let (model, (pieces, cursor)) = (&mut models[which], &mut senders[which]);
        if model.reliable {
            *cursor = model.expected;
        }
        let mut n = *cursor;
        if random.random_ratio(1, 8) {
            n = (n + random.random_range(0..6)).saturating_sub(3);
        }
        // A broken connection's peer soon stops.
        if n >= pieces.len() as u64 || model.broken && random.random_ratio(9, 10) {
            continue;
        }
        *cursor = n + 1;
        let piece = &pieces[n as usize];
        let ask = model.reliable && (piece.ends || random.random_ratio(1, 10));
        let frame = Frame {
            to: SERVER,
            from: CLIENT,
            opcode: opcode(piece, model.reliable),
            queue_pair: ((model.vi + 1000) << 10 | model.vi) as u32,
            psn: model.psn(n) as u32,
            ack_request: ask,
            reth: piece.target.filter(|_| piece.begins),
            extension: piece.immediate,
            payload: piece.payload.clone(),
        };
        model.take(n, piece, ask);
        world.send(&frame.bytes(), false);
        frames += 1;
        // Not so many at once that the MAC's queue overflows.
        while world.waiting() || world.bench.get("pause") == 1 {
            world.step();
        }
    }
    world.settle();
    assert_eq!(world.count("count_overflow"), 0);

    let mut messages = 0;
    for model in &models {
        let of = |event: &Event| match event {
            Event::Complete { vi, .. }
            | Event::Acknowledge { vi, .. }
            | Event::Fault { vi, .. }
            | Event::Acknowledged { vi, .. } => *vi == model.vi,
            // When among the flushes it comes, nobody says.
            Event::Repeat { .. } | Event::Count(_) => false,
        };
        let found: Vec<_> = world.events.iter().filter(|event| of(event)).cloned().collect();
        for (n, (is, should)) in found.iter().zip(&model.events).enumerate() {
            assert_eq!(is, should, "VI {}, event {n}", model.vi);
        }
        assert_eq!(found.len(), model.events.len(), "VI {}", model.vi);
        let repeats = world.events.iter().filter(|event| **event == Event::Repeat { vi: model.vi }).count();
        assert_eq!(repeats, model.repeats, "VI {}", model.vi);
        for (address, byte) in &model.memory {
            assert_eq!(world.memory.get(address), Some(byte), "VI {} at {address:#x}", model.vi);
        }
        messages += model.counts.get("count_message").copied().unwrap_or(0);
    }
    // Nothing was written that should not have been.
    let allowed: usize = models.iter().map(|model| model.memory.len()).sum();
    let written = world.memory.range(BUFFERS..WRITES + 0x1000_0000).count();
    assert_eq!(written, allowed);
    for name in
        ["count_message", "count_duplicate", "count_psn", "count_partial", "count_no_receive", "count_no_vi"]
    {
        let should: usize = models.iter().filter_map(|model| model.counts.get(name)).sum();
        assert_eq!(world.count(name), should, "{name}");
    }
    let broken = models.iter().filter(|model| model.broken).count();
    println!("{frames} frames, {messages} messages, {broken} connections broken");
    println!("{:?}", models.iter().map(|model| &model.counts).collect::<Vec<_>>());
    let not_ready = models.iter().flat_map(|model| &model.events);
    let not_ready =
        not_ready.filter(|event| matches!(event, Event::Acknowledge { syndrome, .. } if syndrome >> 5 == 1));
    println!("{} receiver-not-ready answers", not_ready.count());
    assert!(messages > 60, "only {messages} messages were delivered");
    world.check_consumed();
}
