//! What stands around the receive path: the fabric, host memory behind a checker, fetch, and the completion writer.

use std::collections::{BTreeMap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{self, client, word};
use viaduct_hdl::{export::verilog, receive::Receive};
use viaduct_spec::tables::{receive, service, table, vi_states};
use viaduct_spec::wire::syndrome as wire;
use viaduct_verilate::Bench;

use super::frames::{CLIENT, PKEY, SERVER};
use super::shown::{beats, Beat};
use crate::bundle::Bundle;

/// A registered region, as far as the checker looks.
#[derive(Clone, Debug)]
pub struct Region {
    pub base: u64,
    pub length: u64,
    pub key: u64,
    pub tag: u64,
    /// Peers may write to it.
    pub writable: bool,
}

/// What came out, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A descriptor completed: VI, position, length, status, immediate data.
    Complete { vi: u64, position: u64, length: u64, status: u64, immediate: Option<u64> },
    /// An acknowledgement to send: VI, PSN, MSN, syndrome.
    Acknowledge { vi: u64, psn: u64, msn: u64, syndrome: u64 },
    /// The last word is to be said again.
    Repeat { vi: u64 },
    /// A fault: VI, code, breaks.
    Fault { vi: u64, code: u64, breaks: bool },
    /// An acknowledgement that came in: VI, PSN, syndrome.
    Acknowledged { vi: u64, psn: u64, syndrome: u64 },
    /// A count.
    Count(&'static str),
}

const COUNTS: [&str; 15] = [
    "count_frame",
    "count_overflow",
    "count_malformed",
    "count_icrc",
    "count_not_ours",
    "count_bth",
    "count_congestion",
    "count_message",
    "count_no_vi",
    "count_duplicate",
    "count_psn",
    "count_no_receive",
    "count_partial",
    "count_raw",
    "count_raw_dropped",
];

/// A receive descriptor as it lies in memory, and where.
#[derive(Clone, Debug)]
pub struct Descriptor {
    pub words: Vec<u64>,
    /// Words that the region holds of the first eight.
    pub held: u64,
    pub lost: bool,
}

impl Descriptor {
    /// A receive with these segments: address, handle, length.
    pub fn new(segments: &[(u64, u64, u64)]) -> Self {
        let mut words = vec![0, (segments.len() as u64) << 32, 0, 0];
        for (address, handle, length) in segments {
            words.extend([*address, handle | length << 32]);
        }
        let held = (words.len() as u64).min(8);
        Self { words, held, lost: false }
    }
}

/// One VI's receive queue: what is posted, and what fetch has brought.
#[derive(Default)]
struct Queue {
    posted: Vec<Descriptor>,
    /// Descriptors that fetch may bring; the others are posted but slow.
    fetchable: usize,
    filled: usize,
    state: u8,
}

/// The receive path in its surroundings. Every delay is random.
pub struct World {
    pub bench: Bench,
    pub random: ChaCha8Rng,
    pub memory: BTreeMap<u64, u8>,
    pub regions: BTreeMap<u64, Region>,
    pub events: Vec<Event>,
    /// Bytes that have arrived in memory.
    pub written: u64,
    queues: Vec<Queue>,
    /// Receiver-not-ready answers do not break these VIs.
    stays: [bool; 64],
    /// Acknowledgements of these VIs wait until the data is in memory.
    reception: [bool; 64],
    rx: VecDeque<Beat>,
    loopback: VecDeque<Beat>,
    /// Writes granted: address and length.
    commands: VecDeque<(u64, u64)>,
    verdicts: VecDeque<(u64, bool)>,
    /// When, bytes left, refused, address, failed on the bus.
    reads: VecDeque<(u64, u64, bool, u64, bool)>,
    /// Words to write into `ahead`, then the fill.
    fills: VecDeque<(usize, usize)>,
    fill_word: u64,
    states: VecDeque<(u64, u8)>,
    commits: VecDeque<(u8, u64, [u64; 2])>,
    /// Every read fails on the bus.
    pub reads_fail: bool,
    /// Nothing waits at random: for measuring.
    pub calm: bool,
    now: u64,
    /// The region that descriptors lie in.
    pub descriptors: u64,
    /// Descriptors of each VI that the writer was told the end of.
    ended: [u64; 64],
}

impl World {
    /// After reset: all VIs idle, all queues empty, region 1 for descriptors of tag 7.
    pub fn new() -> Self {
        let mut bench = Bench::new("receive", &verilog(Receive::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut mac = [0; 8];
        mac[..6].copy_from_slice(&SERVER.0);
        bench.set("mac", u64::from_le_bytes(mac));
        bench.set("ip", u32::from_be_bytes(SERVER.1).into());
        bench.set("pkey", PKEY.into());
        bench.set("enabled", 1);
        let mut world = Self {
            bench,
            random,
            memory: BTreeMap::new(),
            regions: BTreeMap::new(),
            events: Vec::new(),
            written: 0,
            queues: (0..64).map(|_| Queue::default()).collect(),
            rx: VecDeque::new(),
            loopback: VecDeque::new(),
            commands: VecDeque::new(),
            verdicts: VecDeque::new(),
            reads: VecDeque::new(),
            fills: VecDeque::new(),
            fill_word: 0,
            states: VecDeque::new(),
            commits: VecDeque::new(),
            calm: false,
            stays: [false; 64],
            reception: [false; 64],
            reads_fail: false,
            now: 0,
            descriptors: 1,
            ended: [0; 64],
        };
        world
            .regions
            .insert(1, Region { base: 0x10_0000, length: 0x100_0000, key: 0x1111, tag: 7, writable: false });
        for _ in 0..64 {
            world.bench.tick();
        }
        for vi in 0..64 {
            world.state(vi, vi_states::IDLE);
            world.commit(table::WORK_QUEUE, vi * 2 + 1, [0, 0]);
        }
        world
    }

    /// Commits a row and waits until it is taken.
    pub fn commit(&mut self, target: u8, row: u64, words: [u64; 2]) {
        self.commits.push_back((target, row, words));
        while !self.commits.is_empty() {
            self.step();
        }
    }

    /// Broadcasts a VI's state and waits until it is out.
    pub fn state(&mut self, vi: u64, state: u8) {
        self.states.push_back((vi, state));
        while !self.states.is_empty() {
            self.step();
        }
    }

    /// Connects a VI to the client: RECEIVE row, then the state.
    pub fn connect(&mut self, vi: u64, service: u8, mtu: u64, psn: u64, generation: u64) {
        self.connect_with(vi, service, mtu, psn, generation, |_| ());
    }

    /// The same with more in the RECEIVE row.
    pub fn connect_with(
        &mut self,
        vi: u64,
        service: u8,
        mtu: u64,
        psn: u64,
        generation: u64,
        more: impl FnOnce(&mut [u64]),
    ) {
        let mut row = [0; 2];
        more(&mut row);
        receive::PEER_IP.put(&mut row, u32::from_be_bytes(CLIENT.1).into());
        receive::PSN.put(&mut row, psn);
        receive::SERVICE.put(&mut row, service.into());
        receive::MTU.put(&mut row, mtu);
        receive::TAG.put(&mut row, 7);
        receive::GENERATION.put(&mut row, generation);
        self.reception[vi as usize] = service == service::RELIABLE_RECEPTION;
        self.stays[vi as usize] = receive::RNR_STAY.get(&row) == 1;
        self.commit(table::RECEIVE, vi, row);
        self.state(vi, vi_states::CONNECTED);
    }

    /// Posts a receive descriptor; with `fetched` it is brought at once.
    pub fn post(&mut self, vi: u64, descriptor: Descriptor, fetched: bool) {
        let queue = &mut self.queues[vi as usize];
        let place = self.regions[&self.descriptors].base + Self::offset(vi as usize, queue.posted.len()) * 64;
        for (n, word) in descriptor.words.iter().enumerate() {
            for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
                self.memory.insert(place + n as u64 * 8 + k as u64, byte);
            }
        }
        queue.posted.push(descriptor);
        if fetched {
            queue.fetchable = queue.posted.len();
        }
    }

    /// Lets fetch bring whatever is posted.
    pub fn fetch_all(&mut self, vi: u64) {
        let queue = &mut self.queues[vi as usize];
        queue.fetchable = queue.posted.len();
    }

    /// Offset of a descriptor in the descriptors' region, in units of 64 bytes: room for 4096 bytes each.
    fn offset(vi: usize, position: usize) -> u64 {
        (vi * 64 + position) as u64 * 64
    }

    /// Queues a frame at the MAC, or inside the NIC.
    pub fn send(&mut self, frame: &[u8], loopback: bool) {
        let queue = if loopback { &mut self.loopback } else { &mut self.rx };
        queue.extend(beats(frame, false));
    }

    /// Frames that have not gone in yet.
    pub fn waiting(&self) -> bool {
        !self.rx.is_empty() || !self.loopback.is_empty()
    }

    fn chance(&mut self, of: u32) -> bool {
        self.calm || self.random.random_ratio(1, of)
    }

    /// Is it, or a peer's whole span, in a region of the right tag? Where it begins.
    fn check(&self, a: &Ask) -> Option<u64> {
        let region = self.regions.get(&a.region)?;
        let address = if a.by_offset { region.base / 64 * 64 + a.address } else { a.address };
        let fits = address >= region.base
            && address.checked_add(if a.remote == 0 { a.length } else { a.span })?
                <= region.base + region.length
            && (a.remote == 0 || a.span >= a.length)
            && (1..=4096).contains(&a.length);
        let right = match a.remote {
            0 => true,
            1 => region.writable && a.write,
            other => panic!("a right that is not asked for here: {other}"),
        };
        (fits && right && region.tag == a.tag && (a.by_offset || region.key == a.key)).then_some(address)
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        self.now += 1;
        // Fabric.
        let offer = !self.rx.is_empty() && self.chance(2);
        self.bench.set("rx_valid", offer.into());
        if let Some(beat) = self.rx.front().filter(|_| offer) {
            beat.set(&mut self.bench, "rx");
            self.rx.pop_front();
        }
        let looped = !self.loopback.is_empty() && self.chance(2);
        self.bench.set("loopback_valid", looped.into());
        if let Some(beat) = self.loopback.front() {
            beat.set(&mut self.bench, "loopback");
        }
        // Admin.
        let commit = self.commits.front().copied();
        self.bench.set("commit_valid", commit.is_some().into());
        if let Some((target, row, words)) = commit {
            let fields = [("target", target.into()), ("row", row), ("word0", words[0]), ("word1", words[1])];
            Bundle::of::<bus::Commit>("commit").set(&mut self.bench, &fields);
        }
        let state = self.states.pop_front();
        self.bench.set("state_valid", state.is_some().into());
        if let Some((vi, state)) = state {
            self.bench.set("state", vi | u64::from(state) << 6);
            self.queues[vi as usize].state = state;
        }
        self.fetch();
        self.answer();
        for name in ["access", "write", "completion", "acknowledged", "fault", "again_receive"] {
            let ready = self.chance(2);
            self.bench.set(&format!("{name}_ready"), ready.into());
        }
        self.bench.eval();

        if looped && self.bench.get("loopback_ready") == 1 {
            self.loopback.pop_front();
        }
        if let Some((target, row, _)) = commit {
            if self.bench.get("commit_ready") == 1 {
                self.commits.pop_front();
                if target == table::WORK_QUEUE && row % 2 == 1 {
                    let state = self.queues[row as usize / 2].state;
                    self.queues[row as usize / 2] = Queue { state, ..Queue::default() };
                }
            }
        }
        let posted = self.queues[self.bench.get("posted_vi") as usize].posted.len() as u64;
        self.collect();
        self.bench.tick();
        self.bench.set("posted_position", posted % (1 << 14));
    }

    /// Fetch: brings at most four descriptors ahead of what is consumed, word by word.
    fn fetch(&mut self) {
        if self.fills.is_empty() {
            let vi = self.random.random_range(0..64usize);
            let vi = if self.calm { self.now as usize % 64 } else { vi };
            let done = self.consumed(vi as u64);
            let queue = &mut self.queues[vi];
            if queue.filled < queue.fetchable && (queue.filled as u64) < done + 4 {
                self.fills.push_back((vi, queue.filled));
            }
        }
        self.bench.set("ahead_valid", 0);
        self.bench.set("filled_valid", 0);
        let Some((vi, position)) = self.fills.front().copied() else { return };
        if self.queues[vi].posted.len() <= position {
            // Emptied by a commit meanwhile.
            self.fills.pop_front();
            self.fill_word = 0;
            return;
        }
        let descriptor = self.queues[vi].posted[position].clone();
        let bench = &mut self.bench;
        if self.fill_word < 8 {
            let word = descriptor.words.get(self.fill_word as usize).copied().unwrap_or(0);
            bench.set("ahead_valid", 1);
            bench.set("ahead_vi", vi as u64);
            bench.set("ahead_slot", position as u64 % 4);
            bench.set("ahead_word", self.fill_word);
            bench.set("ahead_data", word);
            self.fill_word += 1;
        } else {
            bench.set("filled_valid", 1);
            bench.set("filled_vi", vi as u64);
            bench.set("filled_slot", position as u64 % 4);
            bench.set("filled_region", self.descriptors);
            bench.set("filled_offset", Self::offset(vi, position));
            bench.set("filled_words", descriptor.held);
            bench.set("filled_lost", descriptor.lost.into());
            bench.set("filled_position", (position as u64 + 1) % (1 << 14));
            self.queues[vi].filled += 1;
            self.fill_word = 0;
            self.fills.pop_front();
        }
    }

    /// Descriptors of a VI's receive queue that are done, lost ones included.
    pub fn consumed(&self, vi: u64) -> u64 {
        self.events
            .iter()
            .filter(|event| matches!(event, Event::Complete { vi: of, .. } if *of == vi))
            .count() as u64
            + self.lost_before(vi)
    }

    /// Lost descriptors in front of the next one to complete.
    fn lost_before(&self, vi: u64) -> u64 {
        let done = self
            .events
            .iter()
            .filter(|event| matches!(event, Event::Complete { vi: of, .. } if *of == vi))
            .count();
        let (mut good, mut lost) = (0, 0);
        for descriptor in &self.queues[vi as usize].posted {
            if descriptor.lost {
                lost += 1;
            } else if good == done {
                break;
            } else {
                good += 1;
            }
        }
        lost
    }

    /// The checker's answers, each after a while.
    fn answer(&mut self) {
        self.bench.set("verdict_valid", 0);
        self.bench.set("beat_valid", 0);
        if let Some((_, ok)) = self.verdicts.front().copied().filter(|(at, _)| *at <= self.now) {
            self.verdicts.pop_front();
            self.bench.set("verdict_valid", 1);
            self.bench.set("verdict_client", 2);
            self.bench.set("verdict_ok", ok.into());
        } else if !self.calm && self.random.random_ratio(1, 4) {
            // Somebody else's.
            self.bench.set("verdict_valid", 1);
            self.bench.set("verdict_client", 3);
            self.bench.set("verdict_ok", 1);
        }
        let Some((at, left, refused, address, failed)) = self.reads.front().copied() else { return };
        if at > self.now || !self.chance(2) {
            return;
        }
        let mut data = [0; 8];
        for (n, byte) in data.iter_mut().enumerate() {
            *byte = self.memory.get(&(address + n as u64)).copied().unwrap_or(0);
        }
        let last = left <= 8 || refused;
        let fields = [
            ("client", client::SCATTER),
            ("data", u64::from_le_bytes(data)),
            ("count", if refused { 0 } else { 8 }),
            ("last", last.into()),
            ("refused", refused.into()),
            ("failed", failed.into()),
        ];
        self.bench.set("beat_valid", 1);
        Bundle::of::<bus::ReadBeat>("beat").set(&mut self.bench, &fields);
        if last {
            self.reads.pop_front();
        } else {
            self.reads[0] = (at, left - 8, refused, address + 8, failed);
        }
    }

    /// Whatever the path says in this cycle.
    fn collect(&mut self) {
        let taken = |bench: &Bench, name: &str| {
            bench.get(&format!("{name}_valid")) == 1 && bench.get(&format!("{name}_ready")) == 1
        };
        if taken(&self.bench, "access") {
            let ask = Ask::get(&self.bench);
            let place = self.check(&ask);
            let wait = if self.calm { 4 } else { self.random.random_range(1..12) };
            if ask.write {
                assert!(!ask.by_offset && !ask.clip && !ask.system, "{ask:?}");
                if let Some(place) = place {
                    self.commands.push_back((place, ask.length));
                }
                self.verdicts.push_back((self.now + wait, place.is_some()));
            } else {
                assert!(ask.by_offset && !ask.system, "{ask:?}");
                let refused = place.is_none();
                self.reads.push_back((
                    self.now + wait,
                    ask.length,
                    refused,
                    place.unwrap_or(0),
                    self.reads_fail,
                ));
            }
        }
        if taken(&self.bench, "write") {
            let beat = Bundle::of::<bus::WriteBeat>("write");
            let get = |name| beat.get(&self.bench, name);
            let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
            assert!(count >= 1 && start + count <= 8, "lanes {start}+{count}");
            for lane in start..start + count {
                let (address, left) = self.commands.front_mut().expect("a byte that no command asked for");
                self.memory.insert(*address, data[lane as usize]);
                self.written += 1;
                *address += 1;
                *left -= 1;
                if *left == 0 {
                    self.commands.pop_front();
                }
            }
        }
        if taken(&self.bench, "completion") {
            self.complete();
        }
        if taken(&self.bench, "acknowledged") {
            let bundle = Bundle::of::<bus::Acknowledged>("acknowledged");
            let [vi, psn, syndrome] = ["vi", "psn", "syndrome"].map(|name| bundle.get(&self.bench, name));
            self.events.push(Event::Acknowledged { vi, psn, syndrome });
        }
        if taken(&self.bench, "fault") {
            let bundle = Bundle::of::<bus::Fault>("fault");
            let get = |name| bundle.get(&self.bench, name);
            let (vi, code, breaks) = (get("vi"), get("code"), get("breaks") == 1);
            assert_eq!(get("receive"), 1);
            self.events.push(Event::Fault { vi, code, breaks });
            if breaks {
                self.states.push_back((vi, vi_states::ERROR));
            }
        }
        for name in COUNTS {
            if self.bench.get(name) == 1 && name != "count_frame" {
                self.events.push(Event::Count(name));
            }
        }
    }

    fn complete(&mut self) {
        let bundle = Bundle::of::<bus::Completion>("completion");
        let got = |name| bundle.get(&self.bench, name);
        let flag = |name| got(name) == 1;
        let (vi, region, offset, length) = (got("vi"), got("region"), got("offset"), got("length"));
        let (status, immediate, psn) = (got("status"), got("immediate"), got("psn"));
        let (msn, syndrome, kind) = (got("msn"), got("syndrome"), got("kind"));
        let [receive, write, has_immediate] = ["receive", "write", "has_immediate"].map(flag);
        let [acknowledge, ends, reception] = ["acknowledge", "ends", "reception"].map(flag);
        assert_eq!(reception, self.reception[vi as usize]);
        let last = match kind {
            word::REPEAT => {
                assert!(acknowledge && !write && !ends);
                return self.events.push(Event::Repeat { vi });
            }
            kind => kind == word::LAST,
        };
        assert!(receive && (acknowledge || ends) && (ends || !write));
        self.ended[vi as usize] += u64::from(ends);
        if write {
            let position = self.consumed(vi);
            let place = (self.descriptors, Self::offset(vi as usize, position as usize));
            assert_eq!((region, offset), place, "VI {vi} completes the descriptor at {position}");
            let immediate = has_immediate.then_some(immediate);
            self.events.push(Event::Complete { vi, position, length, status, immediate });
        }
        if acknowledge {
            // A refusal is the last word unless it asks to come again.
            let again = [wire::ACK, wire::NAK_SEQUENCE].map(u64::from).contains(&syndrome);
            let again = again || syndrome >> 5 == 1 && self.stays[vi as usize];
            assert_eq!(last, !again, "syndrome {syndrome:#x}");
            self.events.push(Event::Acknowledge { vi, psn, msn, syndrome });
        }
    }

    /// Runs until nothing is left to do.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..200_000 {
            self.step();
            let idle = self.bench.get("busy") == 0 && !self.waiting() && self.states.is_empty();
            quiet = if idle { quiet + 1 } else { 0 };
            // Long enough for fetch to come round to every VI.
            if quiet > 1500 {
                assert!(self.commands.is_empty(), "granted bytes that never came");
                return;
            }
        }
        panic!("still busy after 200000 cycles; last events {:?}", self.events.iter().rev().take(5));
    }

    /// What fetch is told is consumed is what has completed.
    pub fn check_consumed(&mut self) {
        for vi in 0..64 {
            self.bench.set("consumed_vi", vi);
            self.step();
            self.bench.eval();
            assert_eq!(self.bench.get("consumed_position"), self.consumed(vi), "VI {vi}");
            assert_eq!(self.ended[vi as usize], self.consumed(vi), "VI {vi}: lost ones end too");
        }
    }

    /// Runs for a number of cycles.
    pub fn run(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// The events since last asked, without counts.
    pub fn take(&mut self) -> Vec<Event> {
        self.events.iter().filter(|event| !matches!(event, Event::Count(_))).cloned().collect()
    }

    /// How often a count came.
    pub fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Count(n) if *n == name)).count()
    }

    /// Bytes of memory; what was never written reads as 0xcc.
    pub fn bytes(&self, address: u64, length: u64) -> Vec<u8> {
        (address..address + length).map(|at| self.memory.get(&at).copied().unwrap_or(0xcc)).collect()
    }
}

/// An access, as it is asked for.
#[derive(Debug)]
struct Ask {
    address: u64,
    span: u64,
    length: u64,
    region: u64,
    key: u64,
    tag: u64,
    by_offset: bool,
    system: bool,
    write: bool,
    clip: bool,
    remote: u64,
}

impl Ask {
    fn get(bench: &Bench) -> Self {
        let bundle = Bundle::of::<bus::Access>("access");
        let get = |name| bundle.get(bench, name);
        let flag = |name| get(name) == 1;
        Self {
            address: get("address"),
            span: get("span"),
            length: get("length"),
            region: get("region"),
            key: get("key"),
            tag: get("tag"),
            by_offset: flag("by_offset"),
            system: flag("system"),
            write: flag("write"),
            clip: flag("clip"),
            remote: get("remote"),
        }
    }
}
