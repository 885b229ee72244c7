//! Arms, ends and commits of queues, in every order, against a row for each queue.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Arm, Commit, QUEUE_LOG2};
use viaduct_hdl::export::verilog;
use viaduct_hdl::interrupt::Notify;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::tables::{table, work_queue};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const QUEUES: usize = 1 << QUEUE_LOG2;
const POSITIONS: u64 = 1 << 14;
/// No vector is raised.
const NONE: [u64; 0] = [];

/// What the contract says of a queue.
#[derive(Clone, Copy, Default)]
struct Row {
    position: u64,
    armed: bool,
    vector: u64,
}

/// What is offered in a cycle.
#[derive(Clone, Copy, Default, Debug)]
struct Cycle {
    /// Queue and position.
    arm: Option<(usize, u64)>,
    /// Queue.
    ended: Option<usize>,
    /// Queue and vector.
    commit: Option<(usize, u64)>,
}

struct World {
    bench: Bench,
    commit: Bundle,
    rows: Vec<Row>,
    /// Raises that are due, with their cycle.
    expected: std::collections::VecDeque<(u64, u64)>,
    raised: Vec<u64>,
    random: ChaCha8Rng,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new("notify", &verilog(Notify::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut world = Self {
            bench,
            random,
            commit: Bundle::of::<Commit>("commit"),
            rows: vec![Row::default(); QUEUES],
            expected: Default::default(),
            raised: Vec::new(),
        };
        for queue in 0..QUEUES {
            world.cycle(Cycle { commit: Some((queue, queue as u64 % VECTORS as u64)), ..Default::default() });
        }
        world
    }

    /// Runs a cycle, checks it, and gives whether the end and the commit were taken.
    fn cycle(&mut self, now: Cycle) -> (bool, bool) {
        let bench = &mut self.bench;
        // Who offers nothing may show anything.
        let random = &mut self.random;
        let (queue, position) =
            now.arm.unwrap_or_else(|| (random.random_range(0..QUEUES), random.random_range(0..POSITIONS)));
        bench.set("arm_valid", now.arm.is_some().into());
        Bundle::of::<Arm>("arm").set(bench, &[("queue", queue as u64), ("position", position)]);
        bench.set("ended_valid", now.ended.is_some().into());
        let queue = now.ended.unwrap_or_else(|| random.random_range(0..QUEUES));
        bench.set("ended", queue as u64);
        bench.set("commit_valid", now.commit.is_some().into());
        let any = (random.random_range(0..QUEUES), random.random_range(0..VECTORS as u64));
        {
            let (queue, vector) = now.commit.unwrap_or(any);
            let mut words = [u64::MAX; 2];
            work_queue::VECTOR.put(&mut words, vector);
            let fields = [
                ("target", table::WORK_QUEUE.into()),
                ("row", queue as u64),
                ("word0", words[0]),
                ("word1", words[1]),
            ];
            self.commit.set(bench, &fields);
        }
        bench.eval();
        let ended = now.ended.is_some() && bench.get("ended_ready") == 1;
        let committed = bench.get("commit_ready") == 1;
        assert_eq!(ended, now.ended.is_some() && now.arm.is_none(), "{now:?}");
        assert_eq!(committed, now.commit.is_some() && now.arm.is_none() && now.ended.is_none(), "{now:?}");

        let due = bench.cycles();
        let raise = (bench.get("raise_valid") == 1).then(|| bench.get("raise"));
        let expected = self.expected.front().filter(|(cycle, ..)| *cycle == due).copied();
        assert_eq!(raise, expected.map(|(_, vector)| vector), "in cycle {due}");
        if let Some((_, vector)) = expected {
            self.raised.push(vector);
            self.expected.pop_front();
            assert_eq!(bench.get("busy"), 1);
        }

        // What the contract makes of it; a raise shows three cycles after its job was taken.
        if let Some((queue, position)) = now.arm {
            let row = &mut self.rows[queue];
            row.armed = row.position == position;
            if !row.armed {
                self.expected.push_back((due + 3, row.vector));
            }
        } else if let (true, Some(queue)) = (ended, now.ended) {
            let row = &mut self.rows[queue];
            row.position = (row.position + 1) % POSITIONS;
            if std::mem::take(&mut row.armed) {
                self.expected.push_back((due + 3, row.vector));
            }
        } else if let (true, Some((queue, vector))) = (committed, now.commit) {
            self.rows[queue] = Row { vector, ..Default::default() };
        }
        bench.tick();
        (ended, committed)
    }

    fn idle(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle(Cycle::default());
        }
    }

    fn end(&mut self, queue: usize) {
        self.cycle(Cycle { ended: Some(queue), ..Default::default() });
    }

    fn arm(&mut self, queue: usize, position: u64) {
        self.cycle(Cycle { arm: Some((queue, position)), ..Default::default() });
    }

    /// The vectors raised since.
    fn settle(&mut self) -> Vec<u64> {
        self.idle(6);
        assert!(self.expected.is_empty());
        self.bench.eval();
        assert_eq!(self.bench.get("busy"), 0);
        std::mem::take(&mut self.raised)
    }
}

#[test]
fn arm_and_completion_in_every_order_raise_exactly_once() {
    let mut world = World::new();
    for offset in -6i64..=6 {
        for queue in [0, 1, 77] {
            let position = world.rows[queue].position;
            let mut ended = None;
            for cycle in -6i64..=6 {
                let arm = (cycle == 0).then_some((queue, position));
                if cycle == offset {
                    ended = Some(queue);
                }
                if world.cycle(Cycle { arm, ended, ..Default::default() }).0 {
                    ended = None;
                }
            }
            if ended.is_some() {
                world.cycle(Cycle { ended, ..Default::default() });
            }
            assert_eq!(world.settle(), [queue as u64 % VECTORS as u64], "offset {offset}");
            // The queue is disarmed: nothing more comes of the next one.
            world.end(queue);
            assert_eq!(world.settle(), NONE);
        }
    }
}

#[test]
fn a_queue_is_raised_for_what_its_consumer_has_not_seen_and_for_nothing_else() {
    let mut world = World::new();
    world.end(5);
    world.end(5);
    assert_eq!(world.settle(), NONE, "nobody sleeps");
    world.arm(5, 0);
    assert_eq!(world.settle(), [5], "two behind");
    world.arm(5, 1);
    assert_eq!(world.settle(), [5], "one behind");
    world.arm(5, 2);
    world.end(6);
    assert_eq!(world.settle(), NONE, "another queue's");
    world.arm(5, 2);
    assert_eq!(world.settle(), NONE, "twice the same");
    world.end(5);
    world.end(5);
    assert_eq!(world.settle(), [5], "once");
    assert_eq!(world.rows[5].position, 4);
}

#[test]
fn a_commit_starts_a_queue_anew() {
    let mut world = World::new();
    for _ in 0..3 {
        world.end(9);
    }
    world.arm(9, 3);
    world.cycle(Cycle { commit: Some((9, 6)), ..Default::default() });
    world.end(9);
    assert_eq!(world.settle(), NONE, "disarmed");
    world.arm(9, 1);
    world.end(9);
    assert_eq!(world.settle(), [6], "from position 0, to another vector");
}

#[test]
fn positions_wrap_at_two_to_the_fourteen() {
    let mut world = World::new();
    for _ in 0..POSITIONS - 1 {
        world.end(3);
    }
    world.arm(3, POSITIONS - 1);
    assert_eq!(world.settle(), NONE);
    world.end(3);
    assert_eq!(world.settle(), [3]);
    world.arm(3, 0);
    assert_eq!(world.settle(), NONE, "it is at position 0 again");
    world.end(3);
    assert_eq!(world.settle(), [3]);
}

#[test]
fn anything_in_any_cycle() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.bench.seed());
    let (mut ended, mut commit) = (None, None);
    let mut raised = 0;
    for cycle in 0..60_000 {
        // Few queues, whose numbers differ in a bit, so that jobs follow each other closely; then all of them.
        let base = if cycle < 40_000 { cycle / 4000 * 37 % QUEUES } else { random.random_range(0..QUEUES) };
        let one_of = |random: &mut ChaCha8Rng| match random.random_range(0..3) {
            0 => base ^ 1 << (cycle / 4000 % QUEUE_LOG2),
            _ => base,
        };
        if ended.is_none() && random.random_bool(0.6) {
            ended = Some(one_of(&mut random));
        }
        // Now and then positions grow for long.
        let commits = if cycle / 4000 % 2 == 0 { 0.02 } else { 0.0005 };
        if commit.is_none() && random.random_bool(commits) {
            commit = Some((one_of(&mut random), random.random_range(0..VECTORS as u64)));
        }
        let arm = random.random_bool(0.3).then(|| {
            let queue = one_of(&mut random);
            let position = world.rows[queue].position;
            match random.random_range(0..10) {
                0..7 => (queue, position),
                7 => (queue, position ^ 1 << random.random_range(0..14)),
                _ => (queue, (position + POSITIONS - random.random_range(1..4)) % POSITIONS),
            }
        });
        let (end_taken, commit_taken) = world.cycle(Cycle { arm, ended, commit });
        if end_taken {
            ended = None;
        }
        if commit_taken {
            commit = None;
        }
        raised += world.raised.drain(..).count();
    }
    assert!(raised > 5000, "{raised}");
    world.settle();
}

/// What a reset meets is dropped: nothing is raised behind it.
#[test]
fn a_reset_drops_what_is_under_way() {
    let mut world = World::new();
    for cycles in 0..6 {
        world.end(5);
        world.idle(6);
        // Behind, so that it is to be raised.
        world.bench.set("arm_valid", 1);
        let arm = [("queue", 5), ("position", world.rows[5].position ^ 1)];
        Bundle::of::<Arm>("arm").set(&mut world.bench, &arm);
        world.bench.tick();
        world.bench.set("arm_valid", 0);
        (0..cycles).for_each(|_| world.bench.tick());
        world.bench.set("reset", 1);
        world.bench.tick();
        world.bench.set("reset", 0);
        for _ in 0..6 {
            world.bench.eval();
            assert_eq!((world.bench.get("raise_valid"), world.bench.get("busy")), (0, 0), "{cycles} cycles");
            world.bench.tick();
        }
        // The rows are cleared by commits.
        world.cycle(Cycle { commit: Some((5, 5)), ..Default::default() });
    }
}
