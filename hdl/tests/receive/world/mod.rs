//! What stands around the receive path: the fabric, host memory behind a checker, fetch, and the completion writer.

mod checker;
mod descriptor;
mod events;
mod fetch;

use std::collections::{BTreeMap, VecDeque};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::Receive;
use viaduct_spec::tables::{receive, service, table, vi_states};
use viaduct_verilate::Bench;

pub use checker::Region;
pub use descriptor::Descriptor;
pub use events::Event;

use crate::bundle::Bundle;
use crate::frames::{CLIENT, PKEY, SERVER};
use crate::shown::{beats, Beat};
use descriptor::Queue;

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
        bench.set("station_mac", u64::from_le_bytes(mac));
        bench.set("station_ip", u32::from_be_bytes(SERVER.1).into());
        bench.set("station_pkey", PKEY.into());
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

    /// One clock cycle.
    pub fn step(&mut self) {
        self.now += 1;
        // Fabric.
        let offer = !self.rx.is_empty() && self.chance(2);
        self.bench.set("rx_valid", offer.into());
        if let Some(beat) = self.rx.front().filter(|_| offer) {
            beat.set_from_mac(&mut self.bench, "rx");
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

        if self.bench.get("busy") == 0 {
            for name in ["access", "write", "completion", "acknowledged", "again_receive"] {
                let says = self.bench.get(&format!("{name}_valid"));
                assert_eq!(says, 0, "{name} comes of a path that is not busy");
            }
        }
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
        let posted = self.queues[self.bench.get("posted_index") as usize].posted.len() as u64;
        self.collect();
        self.bench.tick();
        self.bench.set("posted_row", posted % (1 << 14));
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
            self.bench.set("consumed_index", vi);
            self.step();
            self.bench.eval();
            assert_eq!(self.bench.get("consumed_row"), self.consumed(vi), "VI {vi}");
            assert_eq!(self.ended[vi as usize], self.consumed(vi), "VI {vi}: lost ones end too");
        }
    }

    /// Runs for a number of cycles.
    pub fn run(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.step();
        }
    }
}
