//! The fetch block between models of everything around it: doorbells, memory, gather, receive side, agent.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::fetch::Fetch;
use viaduct_spec::doorbell::encode;
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, work_queue};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const WRAP: u64 = 1 << 14;
/// Most descriptors that a process has out in one queue.
const BACKLOG: u64 = 64;

/// A queue: VI, and whether it is the receive queue.
type Name = (u64, bool);

/// How the read of a descriptor ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// So many bytes are there, 1 to 64.
    Bytes(usize),
    Refused,
    /// The bus failed after so many words.
    Failed(usize),
}

#[derive(Clone, Debug)]
struct Descriptor {
    queue: Name,
    region: u64,
    offset: u64,
    position: u64,
    ending: Ending,
    words: [u64; 8],
}

impl Descriptor {
    /// What must come out: the words, how many of them are there, and whether it is lost.
    fn outcome(&self) -> ([u64; 8], u64, bool) {
        let whole = match self.ending {
            Ending::Bytes(bytes) => bytes / 8,
            Ending::Refused => 0,
            Ending::Failed(words) => words,
        };
        let mut words = self.words;
        words[whole..].fill(0);
        (words, whole as u64, !matches!(self.ending, Ending::Bytes(32..)))
    }
}

/// A work queue as its process and the agent see it.
#[derive(Default)]
struct Queue {
    ring_log2: u64,
    ring_offset: u64,
    ring_region: u64,
    tag: u64,
    system_tag: u64,
    open: bool,
    slots: Vec<u64>,
    posted: u64,
    /// Posted, not yet rung for.
    unrung: Option<u64>,
    /// Descriptors that must still come out.
    due: VecDeque<Descriptor>,
    /// How many of those have been asked for.
    asked: usize,
    /// Of how many the token has been read, or was in the doorbell.
    read: usize,
    /// A token that was read is wrong: the queue's fault comes when its turn does.
    broken: bool,
    /// Came out, not done yet.
    held: u64,
    /// Position of the oldest that is not done: what the block under test is told.
    done: u64,
    /// It is wrong: nothing is posted any more.
    wrong: bool,
    /// An overrun may stop it at any moment.
    overrun: bool,
    /// What the last doorbell said: posted, token.
    row: (u64, Option<u64>),
}

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
    descriptors: HashMap<(u64, u64), Descriptor>,
    answers: VecDeque<Answer>,
    /// Words of heads to come, and heads that gather has not taken.
    words: VecDeque<u64>,
    untaken: u64,
    /// Heads asked for and not taken.
    reserved: u64,
    ahead: HashMap<(u64, u64), [u64; 8]>,
    faults: Vec<(u64, bool, u64)>,
    commits: VecDeque<(Name, Queue)>,
    /// In how many cycles the doorbell block takes the commit on the bus.
    doorbell_takes: Option<u64>,
    row: (u64, u64, u64),
    positions: (u64, u64),
    /// Rings made so far: each has a region of its own.
    rings: u64,
    /// The queue popped in this cycle.
    popped: Option<Name>,
    next_offset: u64,
    latency: u64,
    errors: f64,
    /// How fast gather takes heads.
    gather: f64,
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
            descriptors: HashMap::new(),
            answers: VecDeque::new(),
            words: VecDeque::new(),
            untaken: 0,
            reserved: 0,
            ahead: HashMap::new(),
            faults: Vec::new(),
            commits: VecDeque::new(),
            doorbell_takes: None,
            row: (0, 0, 0),
            positions: (0, 0),
            rings: 0,
            popped: None,
            next_offset: 1,
            latency: 100,
            errors: 0.0,
            gather: 0.1,
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

    /// The agent makes a queue anew, with a ring somewhere else.
    fn renew(&mut self, name: Name) {
        self.rings += 1;
        let rng = &mut self.rng;
        let ring_log2 = [3, 3, 4, 6, 13][rng.random_range(0..5)];
        let fresh = Queue {
            ring_log2,
            ring_offset: rng.random_range(0..1 << 34),
            ring_region: self.rings,
            tag: rng.random_range(1..1 << 16),
            system_tag: rng.random_range(1..1 << 16),
            open: self.errors == 0.0 || rng.random_bool(0.95),
            slots: (0..1 << ring_log2).map(|_| rng.random()).collect(),
            ..Default::default()
        };
        self.commits.push_back((name, fresh));
    }

    /// Writes some descriptors into the ring; rings for them now or later.
    fn post(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        let rng = &mut self.rng;
        if queue.wrong {
            return;
        }
        let size = 1 << queue.ring_log2;
        let room = size.min(BACKLOG) - (queue.posted + WRAP - queue.done) % WRAP;
        let batch = match rng.random_range(0..4) {
            0 => rng.random_range(0..=12),
            _ => 1,
        };
        let stale = rng.random_bool(self.errors).then(|| rng.random_range(0..4));
        for n in 0..batch.min(room) {
            let region = rng.random_range(1..1 << 16);
            let offset = self.next_offset;
            self.next_offset += 1;
            let token = encode(region as u16, offset, queue.posted as u16);
            let slot = (queue.posted % size) as usize;
            queue.slots[slot] = token;
            if stale == Some(n) && n + 1 < batch.min(room) {
                queue.slots[slot] = match rng.random_range(0..3) {
                    0 => token & !(0xffff << 34),
                    1 => token ^ 1 << rng.random_range(50..64),
                    _ => 0,
                };
                queue.wrong = true;
            }
            let ending = match rng.random_range(0..20) {
                0 => Ending::Bytes(rng.random_range(1..=64)),
                1 => Ending::Refused,
                2 => Ending::Failed(rng.random_range(0..8)),
                _ => Ending::Bytes(64),
            };
            if !queue.wrong && queue.open {
                let words = rng.random();
                let position = queue.posted;
                let descriptor = Descriptor { queue: name, region, offset, position, ending, words };
                queue.due.push_back(descriptor.clone());
                self.descriptors.insert((region, offset), descriptor);
            }
            queue.posted = (queue.posted + 1) % WRAP;
            queue.unrung = Some(token);
        }
        if rng.random_bool(self.errors / 2.0) {
            // A posted count beyond the ring; the token with it is not looked at.
            let beyond = rng.random_range(size + 1..WRAP - BACKLOG);
            queue.posted = (queue.posted + beyond) % WRAP;
            queue.unrung = Some(encode(7, 0, 0));
            queue.wrong = true;
            queue.overrun = queue.open;
        }
        // A queue with a stale slot must be rung for, or nobody finds it; the batch's doorbell does.
        if queue.wrong || rng.random_bool(0.8) {
            self.ring(name);
        }
    }

    fn ring(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        let Some(token) = queue.unrung.take() else { return };
        let inline = self.rng.random_bool(0.9);
        // `doorbell` takes no store for a queue that is not open; this block must not rely on it.
        queue.row = (queue.posted, inline.then_some(token & ((1 << 50) - 1)));
        self.push(name);
    }

    fn push(&mut self, (vi, receive): Name) {
        let run = &mut self.run[usize::from(receive)];
        if !run.contains(&vi) {
            run.push_back(vi);
        }
    }

    /// The other side finishes the oldest descriptor it holds: position first, requeue after.
    fn finish(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        if queue.held == 0 {
            return;
        }
        queue.held -= 1;
        queue.done = (queue.done + 1) % WRAP;
        let delay = if self.rng.random() { 0 } else { self.rng.random_range(0..12) };
        self.requeues.push((self.cycle + delay, name));
    }

    fn expect_fault(&mut self, name: Name, code: u8) {
        self.faults.push((name.0, name.1, code.into()));
    }

    /// The beats that answer an access.
    fn answer(&mut self) {
        let get = |world: &Self, field| world.access.get(&world.bench, field);
        let (address, length) = (get(self, "address"), get(self, "length"));
        let (region, tag, user) = (get(self, "region"), get(self, "tag"), get(self, "user"));
        assert_eq!((get(self, "by_offset"), get(self, "write")), (1, 0));
        assert_eq!(get(self, "span"), length);
        let data: Vec<u64>;
        let mut refused = false;
        let mut failed = false;
        let mut bytes = length as usize;
        if get(self, "system") == 1 {
            self.seen.lines += 1;
            assert_eq!(get(self, "clip"), 0);
            assert!(length % 8 == 0 && length > 0 && address % 64 + length <= 64, "{address:x} {length}");
            let queue = self
                .queues
                .values_mut()
                .find(|queue| queue.ring_region == region && address >> 6 >= queue.ring_offset)
                .expect("a ring");
            assert_eq!(tag, queue.system_tag);
            let first = (address - (queue.ring_offset << 6)) as usize / 8;
            data = queue.slots[first..first + length as usize / 8].to_vec();
            // The line is judged when it arrives, but nothing can change it: slots are written once.
            let mut good = 0;
            for word in &data {
                let position = queue.due.get(queue.read + good).map(|descriptor| descriptor.position);
                if position != Some(word >> 50) || word >> 34 & 0xffff == 0 {
                    break;
                }
                good += 1;
            }
            queue.broken = good < data.len();
            if self.rng.random_bool(self.errors / 2.0) {
                refused = self.rng.random();
                failed = !refused;
                // Words before the failure may be good tokens.
                bytes = if failed { 8 * self.rng.random_range(0..data.len()) } else { 0 };
                good = good.min(bytes / 8);
                queue.wrong = true;
                queue.broken = true;
                for lost in queue.due.drain(queue.read + good..) {
                    self.descriptors.remove(&(lost.region, lost.offset));
                }
            }
            queue.read += good;
            self.seen.wrong += u64::from(queue.broken);
            let under_way = 1 + self.answers.iter().filter(|answer| answer.line).count();
            self.seen.lines_at_once = self.seen.lines_at_once.max(under_way);
        } else {
            assert_eq!((get(self, "clip"), length, address % 64), (1, 64, 0));
            let descriptor =
                self.descriptors.remove(&(region, address >> 6)).expect("posted and not yet asked for");
            let queue = self.queues.get_mut(&descriptor.queue).unwrap();
            assert_eq!(tag, queue.tag);
            assert_eq!(queue.due[queue.asked].position, descriptor.position, "in order");
            queue.asked += 1;
            queue.read = queue.read.max(queue.asked);
            let fetched = queue.held + queue.asked as u64;
            let window = if descriptor.queue.1 { RECEIVE_AHEAD } else { SEND_WINDOW } as u64;
            assert!(fetched <= window, "{fetched} fetched and not done");
            self.seen.window_full += u64::from(fetched == window);
            if !descriptor.queue.1 {
                self.reserved += 1;
                assert!(self.reserved <= 8, "room for 8 heads");
                self.seen.heads_full += u64::from(self.reserved == 8);
            }
            data = descriptor.words.to_vec();
            match descriptor.ending {
                Ending::Bytes(there) => bytes = there,
                Ending::Refused => (bytes, refused) = (0, true),
                Ending::Failed(words) => (bytes, failed) = (words * 8, true),
            }
            if descriptor.outcome().2 {
                self.seen.lost += 1;
                self.expect_fault(descriptor.queue, event_code::POST_DESC);
            }
        }
        let mut beats = VecDeque::new();
        for (n, &word) in data.iter().enumerate().take(bytes.div_ceil(8)) {
            let count = (bytes - n * 8).min(8) as u64;
            let last = (n + 1) * 8 >= bytes && !failed;
            beats.push_back([0, user, word, count, last.into(), 0, 0]);
        }
        if refused || failed {
            beats.push_back([0, user, self.rng.random(), 0, 1, refused.into(), failed.into()]);
        }
        let due = self.cycle + self.rng.random_range(5..=self.latency);
        self.answers.push_back(Answer { due, line: get(self, "system") == 1, beats });
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

    /// One clock cycle.
    fn step(&mut self) {
        let now = self.cycle;
        let (ready, requeue): (Vec<_>, Vec<_>) =
            self.requeues.drain(..).partition(|requeue| requeue.0 <= now);
        self.requeues = requeue;
        for (_, name) in ready {
            self.push(name);
        }
        let bench = &mut self.bench;
        for (run, name) in self.run.iter().zip(["send", "receive"]) {
            bench.set(&format!("{name}_valid"), (!run.is_empty()).into());
            bench.set(&format!("{name}_vi"), run.front().copied().unwrap_or(0));
        }
        bench.set("row_posted", self.row.0);
        bench.set("row_inline", self.row.1);
        bench.set("row_token", self.row.2);
        bench.set("completed_position", self.positions.0);
        bench.set("consumed_position", self.positions.1);
        bench.set("commit_valid", (!self.commits.is_empty()).into());
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
        // Answers in order; beats of other clients between them.
        let mut beat = None;
        if self.answers.front().is_some_and(|answer| answer.due <= now) && self.rng.random_bool(0.8) {
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
        let taken = self.untaken > 0 && self.rng.random_bool(self.gather);
        self.bench.set("head_taken", taken.into());
        let readies = [0.5, 0.5, 0.3].map(|chance| self.rng.random_bool(chance));
        for (port, ready) in ["access_ready", "again_ready", "fault_ready"].into_iter().zip(readies) {
            self.bench.set(port, ready.into());
        }
        self.bench.eval();

        let get = |world: &Self, port: &str| world.bench.get(port);
        if get(self, "word_valid") == 1 {
            self.words.push_back(get(self, "word"));
        }
        if get(self, "ahead_valid") == 1 {
            let place = (get(self, "ahead_vi"), get(self, "ahead_slot"));
            let word = get(self, "ahead_word") as usize;
            self.ahead.entry(place).or_default()[word] = get(self, "ahead_data");
        }
        if get(self, "head_valid") == 1 {
            let words = std::array::from_fn(|_| self.words.pop_front().expect("8 words before a head"));
            let field = |name| self.head.get(&self.bench, name);
            let facts = ["region", "offset", "words", "lost"].map(field);
            self.arrived((field("vi"), false), words, facts);
            self.untaken += 1;
        }
        if get(self, "filled_valid") == 1 {
            let vi = get(self, "filled_vi");
            let position = get(self, "filled_position");
            let slot = get(self, "filled_slot");
            let due = &self.queues[&(vi, true)].due[0];
            assert_eq!(position, (due.position + 1) % WRAP);
            assert_eq!(slot, due.position % RECEIVE_AHEAD as u64);
            let words = self.ahead.remove(&(vi, slot)).expect("8 words before filled");
            let facts =
                ["region", "offset", "words", "lost"].map(|name| get(self, &format!("filled_{name}")));
            self.arrived((vi, true), words, facts);
        }
        if get(self, "fault_valid") == 1 && readies[2] {
            let field = |name| self.fault.get(&self.bench, name);
            assert_eq!(field("breaks"), 1);
            let fault = (field("vi"), field("receive") == 1, field("code"));
            let queue = self.queues.get_mut(&(fault.0, fault.1)).unwrap();
            if fault.2 == u64::from(event_code::VI_OVERRUN) {
                assert!(queue.overrun, "no overrun on {fault:?}");
                (queue.overrun, queue.broken) = (false, false);
                // What was not asked for by now never comes.
                for lost in queue.due.drain(queue.asked..) {
                    self.descriptors.remove(&(lost.region, lost.offset));
                }
                queue.read = queue.asked;
                self.seen.overruns += 1;
            } else if let Some(known) = self.faults.iter().position(|expected| *expected == fault) {
                self.faults.swap_remove(known);
            } else {
                assert!(queue.broken, "no reason for {fault:?}");
                assert_eq!(queue.asked, queue.due.len(), "{fault:?}: what comes before the wrong token");
                (queue.overrun, queue.broken) = (false, false);
            }
        }
        if taken {
            self.untaken -= 1;
            self.reserved -= 1;
        }
        if get(self, "access_valid") == 1 && readies[0] {
            self.answer();
        }
        if get(self, "again_valid") == 1 && readies[1] {
            self.push((get(self, "again_vi"), get(self, "again_receive") == 1));
        }
        self.popped = None;
        for (queue, name) in ["send", "receive"].into_iter().enumerate() {
            if get(self, &format!("{name}_ready")) == 1 {
                assert!(self.commits.is_empty(), "nothing is popped while a commit waits");
                let vi = self.run[queue].pop_front().expect("popped from an empty queue");
                self.popped = Some((vi, queue == 1));
            }
        }
        if get(self, "commit_ready") == 1 {
            assert!(self.answers.is_empty(), "a commit waits for the reads in flight");
            assert_eq!(self.doorbell_takes.take(), Some(0), "the doorbell block takes a commit first");
            let (name, fresh) = self.commits.pop_front().expect("a commit nobody made");
            assert!(
                self.faults.iter().all(|fault| (fault.0, fault.1) != name),
                "a fault of the queue before"
            );
            let old = self.queues.insert(name, fresh).unwrap();
            assert_eq!(old.asked, 0);
            for dropped in old.due {
                self.descriptors.remove(&(dropped.region, dropped.offset));
            }
            self.seen.commits += 1;
        }
        // What the block asked for in this cycle is there in the next.
        let row = get(self, "row_address");
        let asked = self.queues.get(&(row >> 1, row & 1 == 1)).map_or((0, None), |queue| queue.row);
        self.row = (asked.0, asked.1.is_some().into(), asked.1.unwrap_or(0));
        let done = |vi, receive| self.queues.get(&(vi, receive)).map_or(0, |queue: &Queue| queue.done);
        self.positions = (done(get(self, "completed_vi"), false), done(get(self, "consumed_vi"), true));
        self.bench.tick();
        self.cycle += 1;
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
        self.requeues.clear();
        self.descriptors.clear();
        self.answers.clear();
        self.words.clear();
        self.ahead.clear();
        self.faults.clear();
        self.commits.clear();
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
            && self
                .queues
                .values()
                .all(|queue| queue.due.is_empty() && queue.held == 0 && !queue.overrun && !queue.broken)
    }

    /// Nothing is posted any more: everything that was must come out.
    fn settle(&mut self) {
        let names: Vec<_> = self.queues.keys().copied().collect();
        let mut patience = 60_000;
        while !self.quiet() {
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

#[test]
fn every_descriptor_once_and_in_order() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    for (latency, posts, finishes, gather) in [
        (10, 0.02, 0.05, 0.1),
        (150, 0.05, 0.02, 0.5),
        (60, 0.003, 0.2, 0.3),
        (300, 0.1, 0.1, 0.5),
        (9, 0.1, 0.1, 0.01),
    ] {
        (world.latency, world.gather) = (latency, gather);
        world.traffic(12_000, posts, finishes, 0.0);
    }
    println!("{:?}", world.seen);
    let seen = &world.seen;
    assert!(seen.descriptors > 3000 && seen.lines > 500 && seen.lost > 100);
    assert!(seen.heads_full > 20 && seen.window_full > 100);
    assert!(seen.lines_at_once >= 4);
}

/// A reset forgets lines and descriptors under way, heads that were not taken and faults that wait.
#[test]
fn a_reset_forgets_what_is_in_flight() {
    let mut world = World::new(&[0, 1, 7]);
    world.settle();
    (world.latency, world.gather, world.errors) = (200, 0.01, 0.001);
    let names: Vec<_> = world.queues.keys().copied().collect();
    let (mut lines, mut heads) = (0, 0);
    for _ in 0..60 {
        for _ in 0..world.rng.random_range(100..1500) {
            for name in &names {
                if world.commits.is_empty() && world.rng.random_bool(0.1) {
                    world.post(*name);
                }
                if world.rng.random_bool(0.05) {
                    world.finish(*name);
                }
            }
            world.step();
        }
        lines += world.answers.iter().filter(|answer| answer.line).count();
        heads += world.untaken;
        world.reset();
    }
    println!("{lines} lines and {heads} heads forgotten, {:?}", world.seen);
    assert!(lines > 10 && heads > 30);
    world.errors = 0.0;
    world.traffic(2000, 0.05, 0.05, 0.0);
}

/// Memory may be far away: while a line or a descriptor of one queue is under way, the others have their turns.
#[test]
fn a_turn_waits_for_no_memory() {
    let mut world = World::new(&(0..8).collect::<Vec<_>>());
    world.settle();
    (world.latency, world.gather) = (100, 1.0);
    let names: Vec<_> = world.queues.keys().copied().collect();
    let start = world.seen.descriptors;
    for _ in 0..6000 {
        for name in &names {
            world.post(*name);
            world.finish(*name);
        }
        world.step();
    }
    let each = 6000.0 / (world.seen.descriptors - start) as f64;
    println!("{each:.1} cycles a descriptor, {:?}", world.seen);
    assert!(each < 16.0, "{each} cycles a descriptor");
    world.settle();
}

/// Gather takes no heads: the sends wait, with tokens at hand, and the receives come all the same.
#[test]
fn sends_that_wait_hold_no_receive_up() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    world.gather = 0.0;
    let names: Vec<_> = world.queues.keys().copied().collect();
    for _ in 0..2000 {
        for name in &names {
            world.post(*name);
            world.ring(*name);
            if name.1 {
                world.finish(*name);
            }
        }
        world.step();
    }
    let before = world.seen.descriptors;
    for _ in 0..2000 {
        for name in names.iter().filter(|name| name.1) {
            world.post(*name);
            world.ring(*name);
            world.finish(*name);
        }
        world.step();
    }
    let receives = world.seen.descriptors - before;
    assert!(world.reserved == 8 && receives > 60, "{} heads, {receives} receives", world.reserved);
    world.gather = 0.1;
    world.settle();
}

/// Stale slots, overruns, rings that cannot be read; and queues made anew in the middle of traffic.
#[test]
fn wrong_queues_stop_until_committed_anew() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    world.errors = 0.05;
    for (latency, posts, finishes) in [(20, 0.02, 0.05), (150, 0.05, 0.1)] {
        world.latency = latency;
        for _ in 0..15 {
            world.traffic(2000, posts, finishes, 0.01);
        }
    }
    println!("{:?}", world.seen);
    let seen = &world.seen;
    assert!(seen.wrong > 10 && seen.overruns > 10 && seen.commits > 40 && seen.descriptors > 500);
}

/// One process that rings an empty receive queue all the time cannot keep the others from sending.
#[test]
fn a_storm_of_empty_doorbells_starves_nobody() {
    let mut world = World::new(&[0, 1]);
    world.settle();
    let name = (1, false);
    world.post(name);
    world.ring(name);
    let posted = world.queues[&name].due.len();
    assert!(posted > 0);
    for _ in 0..3000 {
        world.push((0, true));
        world.finish(name);
        world.step();
    }
    assert!(world.queues[&name].due.is_empty());
    world.settle();
}

/// Nothing is popped while work queues are not served, and nothing is lost by it.
#[test]
fn disabled_it_waits() {
    let mut world = World::new(&[3]);
    world.settle();
    world.bench.set("enabled", 0);
    for receive in [false, true] {
        for _ in 0..4 {
            world.post((3, receive));
        }
        world.ring((3, receive));
    }
    for _ in 0..300 {
        world.step();
    }
    assert!(world.run.iter().all(|run| run.len() == 1));
    world.bench.set("enabled", 1);
    world.settle();
    assert!(world.seen.descriptors > 1);
}

/// With nobody finishing anything, exactly as much is fetched as the windows allow, and then all is quiet: a queue
/// without room is not looked at over and over.
#[test]
fn fetches_up_to_the_window_and_rests() {
    let mut world = World::new(&[0, 9]);
    world.settle();
    for _ in 0..25 {
        let names: Vec<_> = world.queues.keys().copied().collect();
        for name in &names {
            for _ in 0..world.rng.random_range(0..30) {
                world.post(*name);
            }
            world.ring(*name);
        }
        for _ in 0..4000 {
            world.step();
        }
        for (name, queue) in &world.queues {
            let window = if name.1 { RECEIVE_AHEAD } else { SEND_WINDOW } as u64;
            let posted = (queue.posted + WRAP - queue.done) % WRAP;
            assert_eq!(queue.held, posted.min(window), "{name:?}");
        }
        assert!(world.run.iter().all(VecDeque::is_empty));
        world.bench.eval();
        assert_eq!(world.bench.get("busy"), 0);
        world.settle();
    }
}
