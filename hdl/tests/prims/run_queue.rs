//! The run queue against a list without duplicates.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::RunQueue;
use viaduct_verilate::Bench;

const IDS: u64 = 16;

/// Waits until the memories are cleared; gives the number of cycles.
fn settle(bench: &mut Bench) -> u64 {
    bench.set("push_valid", 0);
    bench.set("pop_ready", 0);
    let mut cycles = 0;
    bench.eval();
    while bench.get("busy") == 1 {
        assert_eq!(bench.get("pop_valid"), 0);
        bench.tick();
        cycles += 1;
        assert!(cycles <= IDS);
    }
    cycles
}

/// What one run saw, to be sure that it met the hard cases.
#[derive(Default)]
struct Seen {
    absorbed: u32,
    requeued: u32,
    full: u32,
}

fn run(bench: &mut Bench, seen: &mut Seen, push: f64, pop: f64, same: f64) {
    let mut rng = super::random(bench);
    let mut queue: VecDeque<u64> = VecDeque::new();
    // The push of the cycle before.
    let mut late = None;
    for _ in 0..4000 {
        let pushing = rng.random_bool(push);
        let id = match queue.front() {
            Some(first) if rng.random_bool(same) => *first,
            _ => rng.random_range(0..IDS),
        };
        let ready = rng.random_bool(pop);
        bench.set("push_valid", pushing.into());
        bench.set("push", id);
        bench.set("pop_ready", ready.into());
        bench.eval();
        assert_eq!(bench.get("busy"), 0);
        assert_eq!(bench.get("pop_valid") == 1, !queue.is_empty());
        assert_eq!(bench.get("held") == 1, late.is_some() || !queue.is_empty());
        seen.full += u32::from(queue.len() as u64 == IDS);
        // Inside when the push comes to the memories: what was popped in the push's own cycle is not.
        let inside = late.is_some_and(|(id, _)| queue.contains(&id));
        let mut popped = None;
        if let Some(first) = queue.front() {
            assert_eq!(bench.get("pop"), *first);
            if ready {
                popped = queue.pop_front();
            }
        }
        if let Some((id, leaves)) = late.take() {
            if inside {
                seen.absorbed += 1;
            } else {
                queue.push_back(id);
                seen.requeued += u32::from(leaves);
            }
        }
        late = pushing.then_some((id, popped == Some(id)));
        bench.tick();
    }
}

#[test]
fn each_identifier_once_and_none_lost() {
    let mut bench = Bench::new("run_queue", &verilog(RunQueue::<4, 5>::default()));
    let mut seen = Seen::default();
    for (push, pop, same) in [(0.5, 0.5, 0.1), (1.0, 0.1, 0.2), (1.0, 1.0, 0.5), (0.2, 0.9, 0.3)] {
        assert_eq!(settle(&mut bench), IDS);
        run(&mut bench, &mut seen, push, pop, same);
        // Reset in mid-run: memories are left as they are and must be cleared by the walk.
        bench.reset();
    }
    assert!(seen.absorbed > 1000 && seen.requeued > 100 && seen.full > 100);
}
