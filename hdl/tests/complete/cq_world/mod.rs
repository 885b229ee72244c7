//! The completion queues with whoever writes their entries, decides about VIs and takes their interrupts.

mod model;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{Closed, Commit, CqEntry, CqStore, Fault};
use viaduct_hdl::complete::CompletionQueues;
use viaduct_hdl::export::verilog;
use viaduct_hdl::rows::register::EventWord;
use viaduct_spec::profile::{CQS, VIS};
use viaduct_spec::tables::{completion_queue, table, work_queue};
use viaduct_verilate::Bench;

pub use model::{Deed, End, Model, Ring};

use crate::bundle::Bundle;

/// The region whose entries are refused.
pub const REFUSED_REGION: u64 = 0xBAD;

/// The block, the model beside it, and what both have done.
pub struct World {
    pub bench: Bench,
    pub random: ChaCha8Rng,
    pub model: Model,
    closed: Bundle,
    commit: Bundle,
    event_word: Bundle,
    entry: Bundle,
    fault: Bundle,
    store: Bundle,
    /// Cycles that the writer takes; None: it has no entry.
    writing: Option<u64>,
    counts: [u64; 3],
    pub entries: u64,
    pub raises: u64,
    pub hurry: bool,
    /// The ready that is waited for; None when it has come.
    watched: Option<String>,
    /// Every row has been committed: before, the memories hold anything.
    cleared: bool,
}

impl World {
    pub fn new() -> Self {
        let bench = Bench::new("queues", &verilog(CompletionQueues::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut world = Self {
            bench,
            random,
            model: Model::new(),
            closed: Bundle::of::<Closed>("closed"),
            commit: Bundle::of::<Commit>("commit"),
            event_word: Bundle::of::<EventWord>("ring_event"),
            entry: Bundle::of::<CqEntry>("entry"),
            fault: Bundle::of::<Fault>("fault"),
            store: Bundle::of::<CqStore>("store"),
            writing: None,
            counts: [0; 3],
            entries: 0,
            raises: 0,
            hurry: false,
            watched: None,
            cleared: false,
        };
        for cq in 0..CQS {
            world.ring(cq, Ring::default());
        }
        world.cleared = true;
        for queue in 0..2 * VIS {
            world.work_queue(queue, None);
        }
        world
    }

    /// Runs a cycle: what the block offers is what the model has done.
    pub fn cycle(&mut self) {
        let random = &mut self.random;
        self.bench.eval();
        // The writer: a few cycles for each entry.
        let mut done = false;
        if self.bench.get("entry_valid") == 1 {
            let most = if self.hurry { 1 } else { 12 };
            let left = self.writing.get_or_insert_with(|| random.random_range(0..most));
            done = *left == 0;
            *left = left.saturating_sub(1);
        }
        let ok = done && self.entry.get(&self.bench, "region") != REFUSED_REGION;
        self.bench.set("entry_end_valid", done.into());
        self.bench.set("entry_end", ok.into());
        let fault_ready = random.random_bool(0.3);
        self.bench.set("fault_ready", fault_ready.into());
        let raise_ready = random.random_bool(0.8);
        self.bench.set("raise_ready", raise_ready.into());
        self.bench.eval();
        let bench = &self.bench;
        // Only now all that it depends on is set.
        self.watched = self.watched.take().filter(|ready| bench.get(ready) == 0);
        let mut seen = Vec::new();
        if done {
            let get = |name| self.entry.get(bench, name);
            seen.push(Deed::Entry {
                region: get("region"),
                tag: get("tag"),
                address: get("address"),
                token: get("token"),
                vi: get("vi"),
                receive: get("receive"),
                phase: get("phase"),
                ok,
            });
            self.writing = None;
            self.entries += u64::from(ok);
        }
        if fault_ready && bench.get("fault_valid") == 1 {
            let get = |name| self.fault.get(bench, name);
            assert_eq!(get("breaks"), 1);
            seen.push(Deed::Break { vi: get("vi"), receive: get("receive"), code: get("code") as u8 });
        }
        if raise_ready && bench.get("raise_valid") == 1 {
            seen.push(Deed::Raise { vector: bench.get("raise") });
            self.raises += 1;
        }
        for deed in seen {
            // A raise is in nobody's order but its entry's: that came before it.
            let at = self.model.deeds.iter().position(|due| match (due, &deed) {
                (Deed::Raise { .. }, Deed::Raise { .. }) => due == &deed,
                (Deed::Raise { .. }, _) => false,
                _ => true,
            });
            let due = at.and_then(|at| self.model.deeds.remove(at));
            assert_eq!(due, Some(deed), "cycle {}, then {:?}", bench.cycles(), self.model.deeds);
        }
        for (count, port) in self.counts.iter_mut().zip(["count_overrun", "count_lost", "count_ignored"]) {
            *count += bench.get(port);
        }
        self.bench.tick();
    }

    /// Offers something until it is taken.
    fn offer(&mut self, valid: &str, ready: &str) {
        self.bench.set(valid, 1);
        for _ in 0..1000 {
            self.watched = Some(ready.into());
            self.cycle();
            if self.watched.take().is_none() {
                self.bench.set(valid, 0);
                return;
            }
        }
        panic!("{ready} never comes");
    }

    pub fn ring(&mut self, cq: usize, ring: Ring) {
        let mut words = [0; 2];
        completion_queue::RING_OFFSET.put(&mut words, ring.offset);
        completion_queue::RING_REGION.put(&mut words, ring.region);
        completion_queue::RING_LOG2.put(&mut words, ring.log2);
        completion_queue::LIVE.put(&mut words, ring.live.into());
        completion_queue::EVENTS.put(&mut words, ring.events.into());
        completion_queue::SYSTEM_TAG.put(&mut words, ring.tag);
        completion_queue::VECTOR.put(&mut words, ring.vector);
        let fields = [
            ("target", table::COMPLETION_QUEUE.into()),
            ("row", cq as u64),
            ("word0", words[0]),
            ("word1", words[1]),
        ];
        self.commit.set(&mut self.bench, &fields);
        let model = &mut self.model;
        let old = if model.rings[cq].live { model.written[cq] } else { 0 };
        if std::mem::take(&mut model.armed[cq]) && model.rings[cq].live && ring.live {
            model.deeds.push_back(Deed::Raise { vector: model.rings[cq].vector });
        }
        (model.written[cq], model.taken[cq], model.told[cq]) = (0, 0, false);
        model.rings[cq] = ring;
        if ring.live && ring.events {
            model.error_ring = Some(cq);
        } else if model.error_ring == Some(cq) {
            model.error_ring = None;
        }
        self.offer("commit_valid", "commit_ready");
        if self.cleared {
            assert_eq!(self.bench.get("result"), old, "entries of the old ring");
        }
    }

    pub fn work_queue(&mut self, queue: usize, cq: Option<usize>) {
        // Everything else of the row is somebody else's.
        let mut words = [u64::MAX; 2];
        work_queue::CQ.put(&mut words, cq.unwrap_or(5) as u64);
        work_queue::TO_CQ.put(&mut words, cq.is_some().into());
        let fields = [
            ("target", table::WORK_QUEUE.into()),
            ("row", queue as u64),
            ("word0", words[0]),
            ("word1", words[1]),
        ];
        self.commit.set(&mut self.bench, &fields);
        self.model.work[queue] = (cq, 0);
        self.offer("commit_valid", "commit_ready");
    }

    pub fn end(&mut self, end: End) {
        self.closed.set(&mut self.bench, &end.fields());
        self.model.end(&end);
        self.offer("closed_valid", "closed_ready");
    }

    /// Descriptors of a queue end, one right behind the other, and in the first one's cycle the queue's row is committed anew: the
    /// ends are the old row's.
    pub fn end_and_commit(&mut self, ends: &[End], cq: Option<usize>) {
        let mut words = [0; 2];
        work_queue::CQ.put(&mut words, cq.unwrap_or(5) as u64);
        work_queue::TO_CQ.put(&mut words, cq.is_some().into());
        let queue = 2 * ends[0].vi + ends[0].receive;
        let fields =
            [("target", table::WORK_QUEUE.into()), ("row", queue), ("word0", words[0]), ("word1", words[1])];
        self.commit.set(&mut self.bench, &fields);
        self.bench.set("commit_valid", 1);
        self.bench.set("closed_valid", 1);
        for end in ends {
            self.closed.set(&mut self.bench, &end.fields());
            self.model.end(end);
            // Taken while the commit is there, or never.
            self.watched = Some("closed_ready".into());
            while self.watched.is_some() {
                self.bench.eval();
                assert_eq!(self.bench.get("commit_ready"), 0, "the end is first");
                self.cycle();
            }
        }
        self.bench.set("closed_valid", 0);
        self.model.work[queue as usize] = (cq, 0);
        self.offer("commit_valid", "commit_ready");
    }

    pub fn event(&mut self, code: u8, vi: u64, receive: u64, broke: bool) {
        let fields = [("code", code.into()), ("vi", vi), ("receive", receive), ("broke", broke.into())];
        self.event_word.set(&mut self.bench, &fields);
        self.model.event(code, vi, receive, broke);
        self.offer("ring_event_valid", "ring_event_ready");
    }

    /// A store to a queue's page; what is under way is done first, so that the model knows the order.
    pub fn store(&mut self, cq: usize, index: u64, arm: bool) {
        self.settle();
        self.store_now(cq, index, arm);
        self.model.store((cq, index, arm));
        self.settle();
    }

    /// A store in the next cycle, whatever is under way.
    pub fn store_now(&mut self, cq: usize, index: u64, arm: bool) {
        self.store.set(&mut self.bench, &[("cq", cq as u64), ("index", index), ("arm", arm.into())]);
        self.bench.set("store_valid", 1);
        self.cycle();
        self.bench.set("store_valid", 0);
    }

    pub fn settle(&mut self) {
        for _ in 0..2000 {
            self.bench.eval();
            if self.bench.get("busy") == 0 {
                // The counts come a cycle behind.
                self.cycle();
                self.cycle();
                assert_eq!(self.model.deeds, [], "never done");
                let model = &self.model;
                assert_eq!(self.counts, [model.overruns, model.lost, model.ignored]);
                return;
            }
            self.cycle();
        }
        panic!("never at rest; due: {:?}", self.model.deeds);
    }
}
