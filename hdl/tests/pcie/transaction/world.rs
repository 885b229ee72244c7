//! The layer between a link and a core that are both the test's.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::bus::{CoreConfig, CoreWord, Limits, TlpWord};
use viaduct_hdl::pcie::transaction::PcieTransaction;
use viaduct_verilate::Bench;

use super::tlp::{answer, configuration};
use crate::bundle::{Bundle, Fields};

/// Cycles after which something that must happen has not.
const PATIENCE: u64 = 300_000;

/// A TLP that the core was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub bar: u64,
    pub non_posted: bool,
    pub bytes: Vec<u8>,
}

/// How often in percent each side is ready, or has something.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub arriving: u32,
    pub offered: u32,
    pub core: u32,
    pub read_freed: u32,
}

impl Pace {
    pub const FULL: Self = Self { arriving: 100, offered: 100, core: 100, read_freed: 100 };
}

/// See the module's description.
pub struct World {
    pub bench: Bench,
    pub random: ChaCha8Rng,
    pub pace: Pace,
    /// TLPs that have yet to arrive, word by word.
    arriving: VecDeque<(u16, bool, bool)>,
    /// When the last word of each TLP arrived.
    pub arrived_at: Vec<u64>,
    /// TLPs of the core, word by word.
    pub core: VecDeque<(u16, bool, bool)>,
    /// What the core was given, and when.
    pub given: Vec<(Given, u64)>,
    giving: Option<Given>,
    /// What was sent to the link.
    pub sent: Vec<Vec<u8>>,
    sending: Option<Vec<u8>>,
    shown: Option<(u64, Fields)>,
    /// The core has offered a word, and may not take it back.
    core_offers: bool,
    /// Non-posted requests that the core holds.
    pub reads_held: u64,
    pub freed: u64,
    down: bool,
    arrived: Bundle,
    offered: Bundle,
    to_core: Bundle,
    from_core: Bundle,
    limits: Bundle,
    core_limits: Bundle,
    config: Bundle,
    tag: u8,
    /// The function's number, as configuration requests have it.
    pub id: u16,
}

/// A TLP, word by word.
pub fn words(bytes: &[u8]) -> Vec<(u16, bool, bool)> {
    let count = bytes.len() / 2;
    let word = |(n, pair): (usize, &[u8])| (u16::from_le_bytes([pair[0], pair[1]]), n == 0, n + 1 == count);
    bytes.chunks_exact(2).enumerate().map(word).collect()
}

impl World {
    /// The link is up.
    pub fn new(name: &str) -> Self {
        let bench = Bench::new(name, &verilog(PcieTransaction::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut world = Self {
            bench,
            random,
            pace: Pace::FULL,
            arriving: VecDeque::new(),
            arrived_at: Vec::new(),
            core: VecDeque::new(),
            given: Vec::new(),
            giving: None,
            sent: Vec::new(),
            sending: None,
            shown: None,
            core_offers: false,
            reads_held: 0,
            freed: 0,
            down: false,
            arrived: Bundle::of::<TlpWord>("arrived"),
            offered: Bundle::of::<TlpWord>("offered"),
            to_core: Bundle::of::<CoreWord>("to_core"),
            from_core: Bundle::of::<TlpWord>("from_core"),
            limits: Bundle::of::<Limits>("limits"),
            core_limits: Bundle::of::<Limits>("core_limits"),
            config: Bundle::of::<CoreConfig>("core_config"),
            tag: 0,
            id: 0x0100,
        };
        for port in ["link_up", "hot_reset", "function_reset_done", "read_freed", "active"] {
            world.bench.set(port, 0);
        }
        world.set_limits(&[]);
        world.run(4);
        world.bench.set("link_up", 1);
        world.run(4);
        world.bench.set("active", 1);
        world.run(4);
        world
    }

    /// What the link partner has allowed.
    pub fn set_limits(&mut self, values: &[(&str, u64)]) {
        self.limits.set(&mut self.bench, values);
    }

    /// What the core may use.
    pub fn core_limit(&self, name: &str) -> u64 {
        self.core_limits.get(&self.bench, name)
    }

    /// A field of the core's `cfg`.
    pub fn config(&self, name: &str) -> u64 {
        self.config.get(&self.bench, name)
    }

    /// A TLP is to arrive.
    pub fn arrive(&mut self, bytes: &[u8]) {
        self.arriving.extend(words(bytes));
    }

    /// The core has a TLP to send.
    pub fn core_sends(&mut self, bytes: &[u8]) {
        self.core.extend(words(bytes));
    }

    /// Nothing of what was to arrive has not.
    pub fn has_arrived(&self) -> bool {
        self.arriving.is_empty()
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.bench.cycles();
        // From the link.
        let arrives = !self.arriving.is_empty() && self.random.random_ratio(self.pace.arriving, 100);
        self.bench.set("arrived_valid", arrives.into());
        if arrives {
            let (data, first, last) = self.arriving.pop_front().unwrap();
            self.arrived.set(
                &mut self.bench,
                &[("data", data.into()), ("first", first.into()), ("last", last.into())],
            );
            if last {
                self.arrived_at.push(now);
            }
        }
        // From the core.
        self.core_offers =
            !self.core.is_empty() && (self.core_offers || self.random.random_ratio(self.pace.core, 100));
        self.bench.set("from_core_valid", self.core_offers.into());
        if let (true, Some(&(data, first, last))) = (self.core_offers, self.core.front()) {
            self.from_core.set(
                &mut self.bench,
                &[("data", data.into()), ("first", first.into()), ("last", last.into())],
            );
        }
        let frees = self.reads_held > 0 && self.random.random_ratio(self.pace.read_freed, 100);
        self.reads_held -= u64::from(frees);
        self.bench.set("read_freed", frees.into());
        let ready = self.random.random_ratio(self.pace.offered, 100);
        self.bench.set("offered_ready", ready.into());
        self.bench.eval();

        if self.core_offers && self.bench.get("from_core_ready") == 1 {
            self.core.pop_front();
            self.core_offers = false;
        }
        self.freed += self.bench.get("freed");
        if !self.down {
            self.look_at_offered(ready);
            self.look_at_core(now);
        }
        self.bench.tick();
    }

    fn look_at_offered(&mut self, ready: bool) {
        let valid = self.bench.get("offered_valid");
        let fields = self.offered.all(&self.bench);
        if let Some((_, before)) = self.shown.take() {
            assert_eq!((valid, &fields), (1, &before), "a word on show stays");
        }
        if valid == 0 {
            return;
        }
        if !ready {
            self.shown = Some((valid, fields));
            return;
        }
        let sending = match (fields["first"], self.sending.take()) {
            (1, None) => Vec::new(),
            (0, Some(bytes)) => bytes,
            (first, before) => panic!("offered: first is {first} behind {before:x?}"),
        };
        let mut sending = sending;
        sending.extend((fields["data"] as u16).to_le_bytes());
        if fields["last"] == 1 {
            self.sent.push(sending);
        } else {
            self.sending = Some(sending);
        }
    }

    fn look_at_core(&mut self, now: u64) {
        if self.bench.get("to_core_valid") == 0 {
            return;
        }
        let fields = self.to_core.all(&self.bench);
        let mut giving = match (fields["first"], self.giving.take()) {
            (1, None) => {
                Given { bar: fields["bar"], non_posted: fields["non_posted"] == 1, bytes: Vec::new() }
            }
            (0, Some(giving)) => giving,
            (first, before) => panic!("to_core: first is {first} behind {before:x?}"),
        };
        assert_eq!((giving.bar, u64::from(giving.non_posted)), (fields["bar"], fields["non_posted"]));
        giving.bytes.extend((fields["data"] as u16).to_le_bytes());
        if fields["last"] == 1 {
            self.reads_held += u64::from(giving.non_posted);
            self.given.push((giving, now));
        } else {
            self.giving = Some(giving);
        }
    }

    /// So many cycles.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Runs until something holds.
    #[track_caller]
    pub fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = self.bench.cycles() + PATIENCE;
        while !holds(self) {
            assert!(self.bench.cycles() < end, "{what}: it takes for ever");
            self.step();
        }
    }

    /// Runs until nothing is under way any more.
    #[track_caller]
    pub fn drain(&mut self) {
        self.until("drain", |world| world.arriving.is_empty() && world.core.is_empty());
        let mut quiet = 0;
        let end = self.bench.cycles() + PATIENCE;
        while quiet < 100 {
            let before = (self.sent.len(), self.given.len(), self.freed);
            self.step();
            let same = before == (self.sent.len(), self.given.len(), self.freed);
            let busy =
                self.sending.is_some() || self.giving.is_some() || self.bench.get("offered_valid") == 1;
            quiet = if same && !busy { quiet + 1 } else { 0 };
            assert!(self.bench.cycles() < end, "drain: it takes for ever");
        }
    }

    /// The link goes down, or is in Hot Reset, by this port: what is half over either edge ends there.
    pub fn take_down(&mut self, port: &str) {
        self.bench.set(port, u64::from(port == "hot_reset"));
        self.down = true;
        self.core_offers = false;
        self.arriving.clear();
        self.sending = None;
        self.giving = None;
        self.shown = None;
        self.reads_held = 0;
    }

    /// The link is up again.
    pub fn bring_up(&mut self) {
        self.bench.set("hot_reset", 0);
        self.bench.set("link_up", 1);
        self.down = false;
        self.run(5);
    }

    /// A configuration request, and its answer: the data of a read.
    #[track_caller]
    pub fn request(&mut self, register: u16, enables: u8, data: Option<u32>) -> u32 {
        self.tag = self.tag.wrapping_add(1);
        let request = configuration(self.id, register, enables, self.tag, data);
        let sent = self.sent.len();
        self.arrive(&request);
        self.until("a completion", |world| world.sent.len() > sent);
        let got = self.sent.pop().unwrap();
        // A write takes the identity on; a read is answered by the identity of before.
        let from = u16::from_be_bytes([got[4], got[5]]);
        let value = data.is_none().then(|| u32::from_le_bytes(got[12..16].try_into().unwrap()));
        assert_eq!(got, answer(&request, from, value, false), "register {register:#x}");
        if data.is_some() {
            assert_eq!(from, self.id, "the identity of a write");
        }
        value.unwrap_or(0)
    }

    #[track_caller]
    pub fn read(&mut self, register: u16) -> u32 {
        self.request(register, 0xF, None)
    }

    #[track_caller]
    pub fn write(&mut self, register: u16, data: u32) {
        self.request(register, 0xF, Some(data));
    }
}
