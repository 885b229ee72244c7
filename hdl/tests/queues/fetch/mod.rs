//! The fetch block between models of everything around it: doorbells, memory, gather, receive side, agent.
//!
//! The world is in parts: what a process and the agent do ([`process`]), what memory answers ([`memory`]), what goes in and comes
//! out in a cycle ([`cycle`]). The tests: [`order`], [`turns`], [`wrong`].

mod cycle;
mod memory;
mod order;
mod process;
mod queue;
mod turns;
mod wrong;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::fetch::Fetch;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use queue::{Name, Queue, BACKLOG};

/// One answer on its way.
struct Answer {
    due: u64,
    line: bool,
    beats: VecDeque<[u64; 7]>,
}

#[derive(Default, Debug)]
struct Seen {
    lines: u64,
    /// Most lines under way at once.
    lines_at_once: usize,
    descriptors: u64,
    lost: u64,
    overruns: u64,
    wrong: u64,
    commits: u64,
    heads_full: u64,
    window_full: u64,
}

struct World {
    bench: Bench,
    rng: ChaCha8Rng,
    commit: Bundle,
    beat: Bundle,
    access: Bundle,
    head: Bundle,
    fault: Bundle,
    cycle: u64,
    queues: BTreeMap<Name, Queue>,
    run: [VecDeque<u64>; 2],
    requeues: Vec<(u64, Name)>,
    answers: VecDeque<Answer>,
    /// Words of heads to come, and heads that gather has not taken.
    words: VecDeque<u64>,
    untaken: u64,
    /// Heads asked for and not taken.
    reserved: u64,
    ahead: HashMap<(u64, u64), [u64; 8]>,
    faults: Vec<(u64, bool, u64)>,
    commits: VecDeque<(Name, Queue)>,
    /// The commit on the bus was there in the cycle before.
    waited: bool,
    /// In how many cycles the doorbell block takes the commit on the bus.
    doorbell_takes: Option<u64>,
    row: (u64, u64, u64),
    positions: (u64, u64),
    /// Rings made so far: each has a region of its own.
    rings: u64,
    /// The queue popped in this cycle.
    popped: Option<Name>,
    /// In the cycle before, the block was not busy and was offered nothing.
    rested: bool,
    next_offset: u64,
    latency: u64,
    errors: f64,
    /// How fast gather takes heads.
    gather: f64,
    /// Size of the rings made from now on, if not any.
    ring_log2: Option<u64>,
    /// Most descriptors that a process has out in one queue; more than usual are posted all at once.
    backlog: u64,
    seen: Seen,
}

impl World {
    fn new(vis: &[u64]) -> Self {
        let mut bench = Bench::new("fetch", &verilog(Fetch::default()));
        bench.set("enabled", 1);
        let mut world = Self {
            rng: ChaCha8Rng::seed_from_u64(bench.seed()),
            bench,
            commit: Bundle::of::<bus::Commit>("commit"),
            beat: Bundle::of::<bus::ReadBeat>("beat"),
            access: Bundle::of::<bus::Access>("access"),
            head: Bundle::of::<bus::SendHead>("head"),
            fault: Bundle::of::<bus::Fault>("fault"),
            cycle: 0,
            queues: BTreeMap::new(),
            run: Default::default(),
            requeues: Vec::new(),
            answers: VecDeque::new(),
            words: VecDeque::new(),
            untaken: 0,
            reserved: 0,
            ahead: HashMap::new(),
            faults: Vec::new(),
            commits: VecDeque::new(),
            waited: false,
            doorbell_takes: None,
            row: (0, 0, 0),
            positions: (0, 0),
            rings: 0,
            popped: None,
            rested: false,
            next_offset: 1,
            latency: 100,
            errors: 0.0,
            gather: 0.1,
            ring_log2: None,
            backlog: BACKLOG,
            seen: Seen::default(),
        };
        for vi in vis {
            for receive in [false, true] {
                world.queues.insert((*vi, receive), Queue { wrong: true, ..Default::default() });
                world.renew((*vi, receive));
            }
        }
        world
    }

    /// A reset in the middle of everything; then the agent makes every queue anew.
    fn reset(&mut self) {
        for port in ["beat_valid", "access_ready", "again_ready", "fault_ready", "head_taken", "commit_valid"]
        {
            self.bench.set(port, 0);
        }
        self.bench.set("reset", 1);
        self.bench.tick();
        self.bench.set("reset", 0);
        self.run = Default::default();
        (self.untaken, self.reserved, self.doorbell_takes, self.popped) = (0, 0, None, None);
        self.rested = false;
        self.requeues.clear();
        self.answers.clear();
        self.words.clear();
        self.ahead.clear();
        self.faults.clear();
        self.commits.clear();
        self.waited = false;
        let names: Vec<_> = self.queues.keys().copied().collect();
        for name in names {
            self.queues.insert(name, Queue { wrong: true, ..Default::default() });
            self.renew(name);
        }
    }

    fn quiet(&self) -> bool {
        self.run.iter().all(VecDeque::is_empty)
            && self.requeues.is_empty()
            && self.answers.is_empty()
            && self.commits.is_empty()
            && self.faults.is_empty()
            && self.queues.values().all(Queue::quiet)
    }

    /// Nothing is posted any more: everything that was must come out.
    fn settle(&mut self) {
        let names: Vec<_> = self.queues.keys().copied().collect();
        let mut patience = 60_000;
        while !self.quiet() || self.bench.get("busy") == 1 {
            for name in &names {
                self.ring(*name);
                if self.rng.random_bool(0.05) {
                    self.finish(*name);
                }
            }
            self.step();
            patience -= 1;
            if patience == 0 {
                let left: Vec<_> =
                    self.queues.iter().map(|(name, q)| (name, q.due.len(), q.asked, q.held)).collect();
                panic!("stranded: {left:?}, run {:?}, faults {:?}", self.run, self.faults);
            }
        }
        for _ in 0..20 {
            self.step();
        }
        assert!(self.quiet());
        self.bench.eval();
        assert_eq!(self.bench.get("busy"), 0);
    }

    fn traffic(&mut self, cycles: u64, posts: f64, finishes: f64, commits: f64) {
        let names: Vec<_> = self.queues.keys().copied().collect();
        for _ in 0..cycles {
            for name in &names {
                if self.commits.is_empty() && self.rng.random_bool(posts) {
                    self.post(*name);
                }
                if self.rng.random_bool(finishes) {
                    self.finish(*name);
                }
            }
            if self.commits.is_empty() && self.rng.random_bool(commits) {
                let name = names[self.rng.random_range(0..names.len())];
                self.renew(name);
            }
            // The hard moment for a commit: its queue is just being looked at.
            if let Some(name) = self.popped.filter(|_| self.commits.is_empty()) {
                if self.rng.random_bool(commits * 10.0) {
                    self.renew(name);
                }
            }
            self.step();
        }
        self.settle();
    }
}
