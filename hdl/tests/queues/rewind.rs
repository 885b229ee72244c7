//! Fetch when a VI sends again: its ring is read from an earlier position on, beside what is under way and the others.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::fetch::Fetch;
use viaduct_spec::doorbell::encode;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, work_queue};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const VIS: u64 = 3;
const SLOTS: u64 = 32;
const WRAP: u64 = 1 << 14;

/// A send queue whose ring holds a token for each position up to `posted`.
#[derive(Clone, Default)]
struct Queue {
    posted: u64,
    /// Complete.
    done: u64,
    /// The next head's position and epoch.
    next: u64,
    epoch: bool,
    /// A rewind is on its way: position, PSN, packets to skip.
    rewind: Option<(u64, u64, u64)>,
    /// What its doorbell says was posted, if that is not true.
    claimed: Option<u64>,
}

struct World {
    bench: Bench,
    rng: ChaCha8Rng,
    queues: Vec<Queue>,
    run: VecDeque<u64>,
    /// The rewind on the bus.
    rewinding: Option<u64>,
    /// With the cycle from which on they may come: user, data, last, refused.
    beats: VecDeque<(u64, [u64; 4])>,
    cycle: u64,
    /// Most cycles of an answer.
    latency: u64,
    untaken: u64,
    row: u64,
    completed: u64,
    rewinds: u64,
    /// Heads that came a second time.
    again: u64,
    /// Heads of slots that were wrong.
    lost: u64,
    /// Codes of the faults.
    faults: Vec<u64>,
}

fn token(vi: u64, position: u64) -> u64 {
    encode(100 + vi as u16, position, (position % WRAP) as u16)
}

impl World {
    fn new() -> Self {
        let mut bench = Bench::new("fetch", &verilog(Fetch::default()));
        bench.set("enabled", 1);
        for vi in 0..VIS {
            let mut row = [0; 2];
            work_queue::RING_OFFSET.put(&mut row, 1000 * vi);
            work_queue::RING_REGION.put(&mut row, 1 + vi);
            work_queue::RING_LOG2.put(&mut row, SLOTS.ilog2().into());
            work_queue::OPEN.put(&mut row, 1);
            let fields =
                [("target", table::WORK_QUEUE.into()), ("row", 2 * vi), ("word0", row[0]), ("word1", row[1])];
            Bundle::of::<bus::Commit>("commit").set(&mut bench, &fields);
            bench.set("commit_valid", 1);
            bench.eval();
            while bench.get("commit_ready") == 0 {
                bench.tick();
                bench.eval();
            }
            bench.tick();
            bench.set("commit_valid", 0);
        }
        Self {
            rng: ChaCha8Rng::seed_from_u64(bench.seed()),
            bench,
            queues: vec![Queue::default(); VIS as usize],
            run: VecDeque::new(),
            rewinding: None,
            beats: VecDeque::new(),
            cycle: 0,
            latency: 1,
            untaken: 0,
            row: 0,
            completed: 0,
            rewinds: 0,
            again: 0,
            lost: 0,
            faults: Vec::new(),
        }
    }

    fn push(&mut self, vi: u64) {
        if !self.run.contains(&vi) {
            self.run.push_back(vi);
        }
    }

    fn head(&mut self) {
        let bundle = Bundle::of::<bus::SendHead>("head");
        let get = |name| bundle.get(&self.bench, name);
        let vi = get("vi");
        let queue = &mut self.queues[vi as usize];
        if get("restart") == 1 {
            // Whatever was asked for before has come; the rest of the old epoch never does.
            let (position, psn, skip) = queue.rewind.take().expect("no rewind was asked for");
            assert_eq!((get("psn"), get("skip")), (psn, skip));
            self.again += queue.next - position;
            (queue.next, queue.epoch) = (position, !queue.epoch);
        }
        let expected = (100 + vi, queue.next, queue.epoch.into());
        if get("lost") == 1 {
            assert_eq!((get("region"), get("epoch")), (0, queue.epoch.into()));
            self.lost += 1;
        } else {
            assert_eq!((get("region"), get("offset"), get("epoch")), expected);
        }
        queue.next += 1;
        self.untaken += 1;
    }

    fn step(&mut self) {
        let queue = &self.queues[(self.row >> 1) as usize];
        // A doorbell leaves its token, which serves when it is the only new one.
        let newest = token(self.row >> 1, queue.posted.wrapping_sub(1) % WRAP);
        let posted = queue.claimed.unwrap_or(queue.posted) % WRAP;
        let [offset, region, short] = crate::place(newest);
        let row = [("posted", posted), ("with_token", (queue.posted > 0).into()), offset, region, short];
        Bundle::of::<bus::DoorbellRow>("row_row").set(&mut self.bench, &row);
        self.bench.set("completed_row", self.queues[self.completed as usize].done % WRAP);
        self.bench.set("send_valid", (!self.run.is_empty()).into());
        self.bench.set("send", self.run.front().copied().unwrap_or(0));
        let taken = self.untaken > 0 && self.rng.random_bool(0.1);
        self.untaken -= u64::from(taken);
        self.bench.set("head_taken", taken.into());
        let due = self.beats.front().is_some_and(|(due, _)| *due <= self.cycle);
        let beat = (due && self.rng.random_bool(0.6)).then(|| self.beats.pop_front()).flatten();
        self.bench.set("beat_valid", beat.is_some().into());
        if let Some((_, [user, data, last, refused])) = beat {
            let count = if refused == 1 { 0 } else { 8 };
            let fields =
                [("user", user), ("data", data), ("count", count), ("last", last), ("refused", refused)];
            Bundle::of::<bus::ReadBeat>("beat").set(&mut self.bench, &fields);
        }
        let ready = [self.rng.random_bool(0.5), self.rng.random_bool(0.5)];
        self.bench.set("access_ready", ready[0].into());
        self.bench.set("again_ready", ready[1].into());
        self.bench.set("rewind_valid", self.rewinding.is_some().into());
        if let Some(vi) = self.rewinding {
            let queue = &self.queues[vi as usize];
            let (position, psn, skip) = queue.rewind.expect("it is on its way");
            let fields = [
                ("vi", vi),
                ("epoch", (!queue.epoch).into()),
                ("position", position % WRAP),
                ("psn", psn),
                ("skip", skip),
            ];
            Bundle::of::<bus::Rewind>("rewind").set(&mut self.bench, &fields);
        }
        self.bench.eval();

        if self.bench.get("head_valid") == 1 {
            self.head();
        }
        let faulty = self.bench.get("fault_valid") == 1;
        if faulty {
            self.faults.push(Bundle::of::<bus::Fault>("fault").get(&self.bench, "code"));
        }
        self.bench.set("fault_ready", faulty.into());
        if self.bench.get("access_valid") == 1 && ready[0] {
            let bundle = Bundle::of::<bus::Access>("access");
            let get = |name| bundle.get(&self.bench, name);
            let (region, address, words) = (get("region"), get("address"), get("length") / 8);
            let due = self.cycle + self.rng.random_range(0..self.latency);
            if region == 0 {
                self.beats.push_back((due, [get("user"), 0, 1, 1]));
            }
            for n in (0..words).filter(|_| region != 0) {
                let data = if get("system") == 1 {
                    let slot = (address - ((1000 * (region - 1)) << 6)) / 8 + n;
                    // The newest position that has this slot.
                    let queue = &self.queues[region as usize - 1];
                    let position = (queue.posted - 1) - (queue.posted - 1 + SLOTS - slot) % SLOTS;
                    token(region - 1, position)
                } else {
                    address
                };
                self.beats.push_back((due, [get("user"), data, (n + 1 == words).into(), 0]));
            }
        }
        if self.bench.get("again_valid") == 1 && ready[1] {
            self.push(Bundle::of::<bus::QueueId>("again").get(&self.bench, "vi"));
        }
        if self.bench.get("send_ready") == 1 {
            self.run.pop_front().expect("popped from an empty queue");
        }
        if self.bench.get("rewind_ready") == 1 {
            self.rewinding.take().expect("no rewind was there");
            self.rewinds += 1;
        }
        self.row = self.bench.get("row_index");
        self.completed = self.bench.get("completed_index");
        assert_eq!(self.row & 1, 0);
        self.bench.tick();
        self.cycle += 1;
    }
}

#[test]
fn a_rewound_queue_comes_again_from_its_ring_and_no_other_notices() {
    let mut world = World::new();
    for cycle in 0..150_000 {
        // Short answers, and such that a rewind finds a line under way.
        world.latency = [1, 60, 200][cycle / 50_000];
        let vi = world.rng.random_range(0..VIS);
        let chance = world.rng.random_range(0..600);
        let queue = &mut world.queues[vi as usize];
        if chance < 12 && queue.posted - queue.done < SLOTS {
            queue.posted += 1;
            world.push(vi);
        } else if chance < 30 && queue.done < queue.next && queue.rewind.is_none() {
            // It completes; and then there is room.
            queue.done += 1;
            world.push(vi);
        } else if chance < 33
            && world.rewinding.is_none()
            && queue.rewind.is_none()
            && queue.done < queue.next
        {
            queue.rewind =
                Some((queue.done, world.rng.random_range(0..1 << 24), world.rng.random_range(0..1 << 24)));
            world.rewinding = Some(vi);
        }
        world.step();
    }
    // All is fetched in the end.
    for _ in 0..3000 {
        for vi in 0..VIS {
            let queue = &mut world.queues[vi as usize];
            if queue.rewind.is_none() && queue.done < queue.next {
                queue.done += 1;
                world.push(vi);
            }
        }
        world.step();
    }
    println!("{} rewinds, {} heads again", world.rewinds, world.again);
    assert!(world.rewinds > 100 && world.again > 500);
    assert!(world.faults.is_empty() && world.lost == 0);
    for queue in &world.queues {
        assert_eq!((queue.next, queue.rewind), (queue.posted, None));
        assert!(queue.posted > 200);
    }
}

/// An overrun queue rests behind its ring's first wrong slot. What its VI still needs of it, to flush it, comes again.
/// Rule WQ-6.
#[test]
fn an_overrun_queue_that_has_come_to_its_end_is_rewound() {
    for seen in 0..8 {
        let mut world = World::new();
        world.latency = 40;
        let post = |world: &mut World, count: u64| {
            for _ in 0..count {
                world.queues[0].posted += 1;
                world.push(0);
                (0..150).for_each(|_| world.step());
                if world.queues[0].done + 8 < world.queues[0].next {
                    world.queues[0].done += 1;
                }
            }
        };
        post(&mut world, SLOTS + seen);
        let posted = world.queues[0].posted;
        assert_eq!((world.queues[0].next, world.lost), (posted, 0));
        // The doorbell of a program that is wrong.
        world.queues[0].claimed = Some(posted + 3 * SLOTS);
        world.push(0);
        (0..1500).for_each(|_| world.step());
        assert_eq!((world.queues[0].next, world.lost), (posted + 1, 1), "up to the first wrong slot");
        let overrun = u64::from(event_code::VI_OVERRUN);
        assert!(world.faults.contains(&overrun), "{:?}", world.faults);
        let done = world.queues[0].done;
        for _ in 0..2 {
            world.queues[0].rewind = Some((done, 7, 1));
            world.rewinding = Some(0);
            (0..3000).for_each(|_| world.step());
            assert_eq!(
                (world.rewinding, world.queues[0].rewind),
                (None, None),
                "the rewind's first head came"
            );
            assert_eq!(world.queues[0].next, posted + 1, "and all behind it");
        }
        assert_eq!((world.lost, world.rewinds), (3, 2));
    }
}

/// A program may write into its own doorbell page whatever it likes, and a rewind may be under way then. Its queue is
/// followed all the same up to the first wrong slot, so that its VI can be flushed; and no other VI waits.
/// Rule WQ-6.
#[test]
fn a_doorbell_that_is_set_back_under_a_rewind_holds_nothing_up() {
    for when in (0..60).step_by(3) {
        for claim in 0..4 {
            let mut world = World::new();
            world.latency = 20;
            let posted = SLOTS + 4;
            for so_far in (4..=posted).step_by(4) {
                for vi in [0, 1] {
                    world.queues[vi].posted = so_far;
                    world.push(vi as u64);
                }
                (0..200).for_each(|_| world.step());
                world.queues.iter_mut().for_each(|queue| queue.done = queue.next.saturating_sub(4));
            }
            assert_eq!((world.queues[0].next, world.queues[0].done), (posted, posted - 4));
            world.queues[0].rewind = Some((posted - 4, 7, 1));
            world.rewinding = Some(0);
            (0..when).for_each(|_| world.step());
            world.queues[0].claimed = Some(posted - 4 + claim);
            world.push(0);
            (0..300).for_each(|_| world.step());
            assert_eq!((world.rewinding, world.queues[0].rewind), (None, None), "{when}, {claim}: it comes");
            assert_eq!(world.queues[0].next, posted + 1, "{when}, {claim}: all of it");
            assert!(world.lost > 0, "{when}, {claim}: the wrong slot is told");
            assert!(world.faults.contains(&u64::from(event_code::VI_OVERRUN)), "{:?}", world.faults);
            // Another VI's.
            world.queues[1].rewind = Some((posted - 4, 9, 0));
            world.rewinding = Some(1);
            (0..200).for_each(|_| world.step());
            assert_eq!((world.rewinding, world.queues[1].next), (None, posted));
        }
    }
}
