//! One clock cycle: what goes in, what comes out.

use std::collections::VecDeque;

use crate::bundle::Bundle;
use rand::Rng;
use viaduct_hdl::bus;
use viaduct_spec::profile::RECEIVE_AHEAD;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, work_queue};

use super::queue::{Name, Queue, WRAP};
use super::World;

impl World {
    /// One clock cycle.
    pub fn step(&mut self) {
        let now = self.cycle;
        let (ready, requeue): (Vec<_>, Vec<_>) =
            self.requeues.drain(..).partition(|requeue| requeue.0 <= now);
        self.requeues = requeue;
        for (_, name) in ready {
            self.push(name);
        }
        self.offer_queues();
        self.offer_commit();
        self.offer_beat();
        let taken = self.untaken > 0 && self.rng.random_bool(self.gather);
        self.bench.set("head_taken", taken.into());
        let readies = [0.5, 0.5, 0.3].map(|chance| self.rng.random_bool(chance));
        for (port, ready) in ["access_ready", "again_ready", "fault_ready"].into_iter().zip(readies) {
            self.bench.set(port, ready.into());
        }
        self.bench.eval();

        self.check_rest();
        self.take_descriptors();
        if self.bench.get("fault_valid") == 1 && readies[2] {
            self.take_fault();
        }
        if taken {
            self.untaken -= 1;
            self.reserved -= 1;
        }
        if self.bench.get("access_valid") == 1 && readies[0] {
            self.answer();
        }
        if self.bench.get("again_valid") == 1 && readies[1] {
            let again = Bundle::of::<bus::QueueId>("again");
            self.push((again.get(&self.bench, "vi"), again.get(&self.bench, "receive") == 1));
        }
        self.take_pops();
        self.waited = !self.commits.is_empty() && self.bench.get("commit_ready") == 0;
        if self.bench.get("commit_ready") == 1 {
            self.take_commit();
        }
        // What the block asked for in this cycle is there in the next.
        let row = self.bench.get("row_index");
        let asked = self.queues.get(&(row >> 1, row & 1 == 1)).map_or((0, None), |queue| queue.row);
        self.row = (asked.0, asked.1.is_some().into(), asked.1.unwrap_or(0));
        let done = |vi, receive| self.queues.get(&(vi, receive)).map_or(0, |queue: &Queue| queue.done);
        self.positions =
            (done(self.bench.get("completed_index"), false), done(self.bench.get("consumed_index"), true));
        self.bench.tick();
        self.cycle += 1;
    }

    /// A block that is not busy has nothing to do until it is offered something.
    fn check_rest(&mut self) {
        let busy = self.bench.get("busy") == 1;
        assert!(!(self.rested && busy), "it was not busy in the cycle before, and nothing came");
        self.rested = !busy && self.run.iter().all(VecDeque::is_empty) && self.commits.is_empty();
    }

    /// The run queues' heads, and what was looked up in the cycle before.
    fn offer_queues(&mut self) {
        let bench = &mut self.bench;
        for (run, name) in self.run.iter().zip(["send", "receive"]) {
            bench.set(&format!("{name}_valid"), (!run.is_empty()).into());
            bench.set(name, run.front().copied().unwrap_or(0));
        }
        let [offset, region, short] = crate::place(self.row.2);
        let row = [("posted", self.row.0), ("with_token", self.row.1), offset, region, short];
        Bundle::of::<bus::DoorbellRow>("row_row").set(bench, &row);
        bench.set("completed_row", self.positions.0);
        bench.set("consumed_row", self.positions.1);
    }

    fn offer_commit(&mut self) {
        self.bench.set("commit_valid", (!self.commits.is_empty()).into());
        if let Some(((vi, receive), queue)) = self.commits.front() {
            let mut words = [0; 2];
            work_queue::RING_OFFSET.put(&mut words, queue.ring_offset);
            work_queue::RING_REGION.put(&mut words, queue.ring_region);
            work_queue::RING_LOG2.put(&mut words, queue.ring_log2);
            work_queue::OPEN.put(&mut words, queue.open.into());
            work_queue::SYSTEM_TAG.put(&mut words, queue.system_tag);
            work_queue::TAG.put(&mut words, queue.tag);
            let row = vi << 1 | u64::from(*receive);
            let fields = [
                ("target", table::WORK_QUEUE.into()),
                ("row", row),
                ("word0", words[0]),
                ("word1", words[1]),
            ];
            self.commit.set(&mut self.bench, &fields);
        }
        // The doorbell block takes a commit in its first or second cycle, and then the row is empty.
        if let Some((name, _)) = self.commits.front() {
            let left = self
                .doorbell_takes
                .map_or_else(|| self.rng.random_range(0..2), |left| left.saturating_sub(1));
            if left == 0 {
                self.queues.get_mut(name).unwrap().row = (0, None);
            }
            self.doorbell_takes = Some(left);
        }
    }

    /// Answers in order; beats of other clients between them.
    fn offer_beat(&mut self) {
        let mut beat = None;
        if self.answers.front().is_some_and(|answer| answer.due <= self.cycle) && self.rng.random_bool(0.8) {
            let answer = self.answers.front_mut().unwrap();
            beat = answer.beats.pop_front();
            if answer.beats.is_empty() {
                self.answers.pop_front();
            }
        } else if self.rng.random_bool(0.3) {
            let user = self.rng.random_range(0..256);
            beat = Some([
                self.rng.random_range(1..4),
                user,
                self.rng.random(),
                8,
                self.rng.random_range(0..2),
                0,
                0,
            ]);
        }
        self.bench.set("beat_valid", beat.is_some().into());
        if let Some([client, user, data, count, last, refused, failed]) = beat {
            let fields = [
                ("client", client),
                ("user", user),
                ("data", data),
                ("count", count),
                ("last", last),
                ("refused", refused),
                ("failed", failed),
            ];
            self.beat.set(&mut self.bench, &fields);
        }
    }

    /// Words and heads for gather; descriptors for the receive side.
    fn take_descriptors(&mut self) {
        let get = |world: &Self, port: &str| world.bench.get(port);
        if get(self, "word_valid") == 1 {
            self.words.push_back(get(self, "word"));
        }
        if get(self, "ahead_valid") == 1 {
            let ahead = Bundle::of::<bus::AheadWord>("ahead").all(&self.bench);
            let word = ahead["index"] as usize;
            self.ahead.entry((ahead["vi"], ahead["slot"])).or_default()[word] = ahead["data"];
        }
        if get(self, "head_valid") == 1 {
            let field = |name| self.head.get(&self.bench, name);
            let count = if self.queues[&(field("vi"), false)].due[0].short { 6 } else { 8 };
            assert_eq!(self.words.len(), count, "words before a head");
            let mut words = [0; 8];
            self.words.drain(..).zip(&mut words).for_each(|(word, place)| *place = word);
            let facts = ["region", "offset", "words", "lost"].map(field);
            self.arrived((field("vi"), false), words, facts);
            self.untaken += 1;
        }
        if get(self, "filled_valid") == 1 {
            let filled = Bundle::of::<bus::Filled>("filled").all(&self.bench);
            let (vi, position, slot) = (filled["vi"], filled["position"], filled["slot"]);
            let due = &self.queues[&(vi, true)].due[0];
            assert_eq!(position, (due.position + 1) % WRAP);
            assert_eq!(slot, due.position % RECEIVE_AHEAD as u64);
            let words = self.ahead.remove(&(vi, slot)).expect("words before filled");
            let facts = ["region", "offset", "words", "lost"].map(|name| filled[name]);
            self.arrived((vi, true), words, facts);
        }
    }

    fn arrived(&mut self, name: Name, words: [u64; 8], [region, offset, count, lost]: [u64; 4]) {
        let queue = self.queues.get_mut(&name).unwrap();
        let descriptor = queue.due.pop_front().expect("a descriptor that was posted");
        let (expected, whole, gone) = descriptor.outcome();
        assert_eq!((region, offset), (descriptor.region, descriptor.offset));
        assert_eq!(lost == 1, gone, "{descriptor:?}");
        if !gone {
            assert_eq!((words, count), (expected, whole), "{descriptor:?}");
        }
        queue.asked -= 1;
        queue.read -= 1;
        queue.held += 1;
        self.seen.descriptors += 1;
    }

    fn take_fault(&mut self) {
        let field = |name| self.fault.get(&self.bench, name);
        assert_eq!(field("breaks"), 1);
        let fault = (field("vi"), field("receive") == 1, field("code"));
        let queue = self.queues.get_mut(&(fault.0, fault.1)).unwrap();
        if fault.2 == u64::from(event_code::VI_OVERRUN) {
            assert!(queue.over, "no overrun on {fault:?}");
            // It is said again in every turn.
            self.seen.overruns += u64::from(std::mem::take(&mut queue.overrun));
        } else {
            let known = self.faults.iter().position(|expected| *expected == fault);
            self.faults.swap_remove(known.unwrap_or_else(|| panic!("no reason for {fault:?}")));
        }
    }

    fn take_pops(&mut self) {
        self.popped = None;
        for (queue, name) in ["send", "receive"].into_iter().enumerate() {
            if self.bench.get(&format!("{name}_ready")) == 1 {
                assert!(!self.waited, "nothing is popped while a commit waits");
                let vi = self.run[queue].pop_front().expect("popped from an empty queue");
                self.popped = Some((vi, queue == 1));
            }
        }
    }

    fn take_commit(&mut self) {
        assert!(self.answers.is_empty(), "a commit waits for the reads in flight");
        assert_eq!(self.doorbell_takes.take(), Some(0), "the doorbell block takes a commit first");
        let (name, fresh) = self.commits.pop_front().expect("a commit nobody made");
        assert!(self.faults.iter().all(|fault| (fault.0, fault.1) != name), "a fault of the queue before");
        let old = self.queues.insert(name, fresh).unwrap();
        assert_eq!(old.asked, 0);
        self.seen.commits += 1;
    }
}
