//! Reads: what comes in the same cycle, and what a reset meets.

use viaduct_hdl::bus::{Answer, Commit, ReadSent};
use viaduct_hdl::receive::{ReadPlaced, Told};
use viaduct_spec::tables::table;
use viaduct_spec::wire::syndrome;

use super::answers::{World, LEAVES, TOLD};
use crate::bundle::Bundle;

/// Of what comes in the same cycle nothing is lost: each is done, one after the other.
#[test]
fn what_comes_at_once_is_done_one_after_the_other() {
    let mut world = World::new();
    world.begin();
    let vis: Vec<u64> = world.vis.keys().copied().collect();
    let (reader, other, forgotten) = (vis[0], vis[1], vis[2]);
    for round in 0..16 {
        let read = [("vi", reader), ("number", round % 8), ("psn", 100 + round), ("length", 1)];
        Bundle::of::<ReadSent>("sent").set(&mut world.bench, &read);
        let ack = [("vi", other), ("psn", 7), ("syndrome", syndrome::ACK.into())];
        Bundle::of::<Answer>("answer").set(&mut world.bench, &ack);
        let row = [("target", table::RECEIVE.into()), ("row", forgotten)];
        Bundle::of::<Commit>("commit").set(&mut world.bench, &row);
        let mut open = vec![
            ("sent_valid", "sent_ready"),
            ("answer_valid", "told_valid"),
            ("commit_valid", "commit_ready"),
        ];
        // None of them, or all but one.
        open.truncate(3 - round as usize % 2);
        open.iter().for_each(|(valid, _)| world.bench.set(valid, 1));
        let mut cycles = 0;
        while !open.is_empty() {
            world.bench.eval();
            if world.bench.get("told_valid") == 1 {
                assert_eq!(Bundle::of::<Told>("told").get(&world.bench, "word.vi"), other);
            }
            let (taken, rest): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|(_, ready)| world.bench.get(ready) == 1);
            open = rest;
            assert!(taken.len() <= 1, "{taken:?} at once");
            world.bench.tick();
            taken.iter().for_each(|(valid, _)| world.bench.set(valid, 0));
            cycles += 1;
            assert!(cycles < 30, "{open:?} is never taken");
        }
        world.bench.tick();
        world.bench.tick();
        let answer =
            [("vi", reader), ("response", 1), ("first", 1), ("last", 1), ("psn", 100 + round), ("length", 1)];
        Bundle::of::<Answer>("answer").set(&mut world.bench, &answer);
        world.bench.set("answer_valid", 1);
        world.bench.set("done_valid", 1);
        Bundle::of::<ReadPlaced>("done").set(&mut world.bench, &[("ok", 1)]);
        for _ in 0..TOLD {
            world.bench.tick();
        }
        world.bench.eval();
        assert_eq!(
            (world.bench.get("told_valid"), Bundle::of::<Told>("told").get(&world.bench, "keep")),
            (1, 1),
            "round {round}"
        );
        world.bench.tick();
        world.bench.tick();
        world.bench.set("answer_valid", 0);
        world.bench.set("done_valid", 0);
        world.bench.tick();
        world.bench.tick();
    }
}

/// A reset ends what is under way: nothing more is said of it.
#[test]
fn a_reset_ends_what_is_under_way() {
    let mut world = World::new();
    for cycles in 1..=TOLD + 2 {
        world.begin();
        let vi = *world.vis.keys().next().unwrap();
        let read = [("vi", vi), ("psn", 100), ("length", 8)];
        Bundle::of::<ReadSent>("sent").set(&mut world.bench, &read);
        world.bench.set("sent_valid", 1);
        for _ in 0..LEAVES - 2 {
            world.bench.tick();
        }
        world.bench.eval();
        assert_eq!(world.bench.get("sent_ready"), 1);
        world.bench.tick();
        world.bench.set("sent_valid", 0);
        world.bench.tick();
        let answer = [("vi", vi), ("response", 1), ("first", 1), ("last", 1), ("psn", 100), ("length", 8)];
        Bundle::of::<Answer>("answer").set(&mut world.bench, &answer);
        world.bench.set("answer_valid", 1);
        for _ in 0..cycles {
            world.bench.tick();
        }
        world.bench.set("reset", 1);
        world.bench.set("answer_valid", 0);
        world.bench.tick();
        world.bench.set("reset", 0);
        for _ in 0..12 {
            world.rests();
            world.bench.tick();
        }
    }
}
