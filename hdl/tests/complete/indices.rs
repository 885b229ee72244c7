//! Stores, entries and commits of completion queues, in every order, against a row for each queue.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::CqStore;
use viaduct_hdl::complete::{CqRow, Indices};
use viaduct_hdl::export::verilog;
use viaduct_spec::profile::{CQS, VECTORS};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const INDICES: u64 = 1 << 18;

#[derive(Clone, Copy, Default, Debug)]
struct Row {
    written: u64,
    taken: u64,
    log2: u64,
    vector: u64,
    live: bool,
    armed: bool,
    told: bool,
}

/// What the queues do, until it is done.
#[derive(Clone, Copy, Debug)]
enum Change {
    Start { log2: u64, vector: u64, live: bool, written: u64 },
    Count,
    Tell,
}

/// Queue, index, and whether it is the arm word.
type Store = (usize, u64, bool);

struct World {
    bench: Bench,
    store: Bundle,
    row: Bundle,
    started: Bundle,
    rows: Vec<Row>,
    /// Every row has been started: before, the memories hold anything.
    cleared: bool,
    /// The store that is not done yet.
    held: Option<Store>,
    /// Its row has been read.
    judged: bool,
    /// The raise that is not taken yet.
    raising: Option<u64>,
    raised: Vec<u64>,
    ignored: u64,
    counted: u64,
    random: ChaCha8Rng,
}

impl World {
    fn new() -> Self {
        let mut bench = Bench::new("indices", &verilog(Indices::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        for port in ["start", "count", "tell", "store_valid"] {
            bench.set(port, 0);
        }
        let mut world = Self {
            bench,
            store: Bundle::of::<CqStore>("store"),
            row: Bundle::of::<CqRow>("row"),
            started: Bundle::of::<CqRow>("started"),
            rows: vec![Row::default(); CQS],
            cleared: false,
            held: None,
            judged: false,
            raising: None,
            raised: Vec::new(),
            ignored: 0,
            counted: 0,
            random,
        };
        // What the memories hold before is anything: a row that does not live raises nothing.
        for live in [false, true] {
            for cq in 0..CQS {
                let vector = cq as u64 % VECTORS as u64;
                world.change(cq, Change::Start { log2: 3, vector, live, written: 0 });
            }
            world.cleared = true;
            assert_eq!(world.settle(), [] as [u64; 0]);
        }
        world
    }

    /// Runs a cycle and says whether the change was done.
    fn cycle(&mut self, store: Option<Store>, cq: usize, change: Option<Change>, raise_ready: bool) -> bool {
        let bench = &mut self.bench;
        bench.set("store_valid", store.is_some().into());
        // Who offers nothing may show anything.
        let random = &mut self.random;
        let any = (random.random_range(0..CQS), random.random_range(0..INDICES), random.random());
        let (of, index, arm) = store.unwrap_or(any);
        self.store.set(bench, &[("cq", of as u64), ("index", index), ("arm", arm.into())]);
        bench.set("cq", cq as u64);
        bench.set("start", matches!(change, Some(Change::Start { .. })).into());
        bench.set("count", matches!(change, Some(Change::Count)).into());
        let following = match change {
            Some(Change::Count) => (self.rows[cq].written + 1) % INDICES,
            _ => random.random_range(0..INDICES),
        };
        bench.set("following", following);
        bench.set("tell", matches!(change, Some(Change::Tell)).into());
        let (log2, vector, live, written) = match change {
            Some(Change::Start { log2, vector, live, written }) => (log2, vector, live, written),
            _ => {
                let vector = random.random_range(0..VECTORS as u64);
                (random.random_range(0..18), vector, random.random(), random.random_range(0..INDICES))
            }
        };
        let started = [("log2", log2), ("vector", vector), ("live", live.into()), ("written", written)];
        self.started.set(bench, &started);
        bench.set("raise_ready", raise_ready.into());
        bench.eval();
        assert_eq!(bench.get("busy"), u64::from(self.held.is_some() || self.raising.is_some()));
        assert_eq!(bench.get("raise_valid"), u64::from(self.raising.is_some()));
        if let Some(vector) = self.raising {
            assert_eq!(bench.get("raise"), vector);
        }
        self.counted += bench.get("count_ignored");
        let free = self.raising.is_none() || raise_ready;
        let ready = free && self.held.is_none();
        assert_eq!(bench.get("ready"), u64::from(ready));
        if ready && self.cleared {
            let get = |name| self.row.get(bench, name);
            let row = &self.rows[cq];
            assert_eq!(
                (get("written"), get("log2"), get("vector"), get("live"), get("armed"), get("told")),
                (row.written, row.log2, row.vector, row.live.into(), row.armed.into(), row.told.into())
            );
            assert_eq!(bench.get("taken"), row.taken);
        }
        if raise_ready {
            self.raised.extend(self.raising.take());
        }
        let judged = std::mem::replace(&mut self.judged, self.held.is_some());
        if free && (judged || self.held.is_none()) {
            if let Some((cq, index, arm)) = self.held.take() {
                self.judged = false;
                let row = &mut self.rows[cq];
                if !row.live {
                    self.ignored += 1;
                } else if !arm {
                    row.taken = index;
                } else {
                    row.armed = row.written == index;
                    self.raising = (!row.armed).then_some(row.vector);
                }
            } else {
                let row = &mut self.rows[cq];
                match change {
                    Some(Change::Start { log2, vector, live, written }) => {
                        self.raising = (row.live && row.armed && live).then_some(row.vector);
                        *row = Row { log2, vector, live, written, ..Default::default() };
                    }
                    Some(Change::Count) => {
                        row.written = (row.written + 1) % INDICES;
                        row.told = false;
                        self.raising = std::mem::take(&mut row.armed).then_some(row.vector);
                    }
                    Some(Change::Tell) => row.told = true,
                    None => {}
                }
            }
        }
        if store.is_some() {
            assert!(self.held.is_none(), "the edge is slower than that");
            self.held = store;
        }
        self.bench.tick();
        ready
    }

    fn change(&mut self, cq: usize, change: Change) {
        while !self.cycle(None, cq, Some(change), true) {}
    }

    fn settle(&mut self) -> Vec<u64> {
        for _ in 0..6 {
            self.cycle(None, 0, None, true);
        }
        assert_eq!(self.counted, self.ignored);
        std::mem::take(&mut self.raised)
    }
}

/// Rule CQ-6.
#[test]
fn arm_and_entry_in_every_order_raise_exactly_once() {
    let mut world = World::new();
    for offset in -6i64..=6 {
        for cq in [0, 5, CQS - 1] {
            let index = world.rows[cq].written;
            let mut count = None;
            for cycle in -6i64..=6 {
                let arm = (cycle == 0).then_some((cq, index, true));
                if cycle == offset {
                    count = Some(Change::Count);
                }
                if world.cycle(arm, cq, count, true) {
                    count = None;
                }
            }
            if count.is_some() {
                world.change(cq, Change::Count);
            }
            assert_eq!(world.settle(), [cq as u64 % VECTORS as u64], "offset {offset}");
            world.change(cq, Change::Count);
            assert_eq!(world.settle(), [] as [u64; 0], "one shot");
        }
    }
}

#[test]
fn a_resize_raises_who_sleeps_and_an_end_raises_nobody() {
    let mut world = World::new();
    let start = |vector, live| Change::Start { log2: 4, vector, live, written: 0 };
    world.cycle(Some((7, 0, true)), 0, None, true);
    assert_eq!(world.settle(), [] as [u64; 0], "armed");
    world.change(7, start(2, true));
    assert_eq!(world.settle(), [7], "its old vector");
    world.change(7, Change::Count);
    world.cycle(Some((7, 0, true)), 0, None, true);
    assert_eq!(world.settle(), [2], "behind");
    world.cycle(Some((7, 1, true)), 0, None, true);
    world.settle();
    world.change(7, start(3, false));
    assert_eq!(world.settle(), [] as [u64; 0]);
    // What does not live takes no stores.
    world.cycle(Some((7, 9, true)), 0, None, true);
    world.settle();
    world.cycle(Some((7, 9, false)), 0, None, true);
    world.settle();
    assert_eq!(world.counted, 2);
}

#[test]
fn anything_in_any_cycle() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.bench.seed());
    let (mut since, mut change, mut blocked) = (0, None, 0);
    let mut raised = 0;
    for cycle in 0..60_000 {
        let cqs = if cycle < 40_000 { 3 } else { CQS };
        // A store of 8 bytes takes three beats.
        since += 1;
        let store = (since >= 3 && random.random_bool(0.6)).then(|| {
            let cq = random.random_range(0..cqs);
            let written = world.rows[cq].written;
            let index = match random.random_range(0..10) {
                0..6 => written,
                6 => random.random_range(0..INDICES),
                7 => written ^ 1 << random.random_range(0..18),
                _ => (written + INDICES - random.random_range(1..4)) % INDICES,
            };
            (cq, index, random.random())
        });
        if store.is_some() {
            since = 0;
        }
        let (cq, now) = *change.get_or_insert_with(|| {
            let change = match random.random_range(0..100) {
                0 => Some(Change::Start {
                    log2: random.random_range(2..17),
                    vector: random.random_range(0..VECTORS as u64),
                    live: random.random_bool(0.8),
                    written: random.random_range(0..INDICES),
                }),
                1..10 => Some(Change::Tell),
                10..60 => Some(Change::Count),
                _ => None,
            };
            (random.random_range(0..cqs), change)
        });
        // Others raise in two cycles at a stretch, and no more.
        let ready = blocked >= 2 || random.random_bool(0.6);
        blocked = if ready { 0 } else { blocked + 1 };
        if world.cycle(store, cq, now, ready) {
            change = None;
        }
        raised += world.raised.drain(..).count();
    }
    assert!(raised > 5000, "{raised}");
    world.settle();
}
