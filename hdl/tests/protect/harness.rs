//! Drives the checker cycle by cycle and compares everything that comes out with the model.

use std::collections::VecDeque;

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::protect::Protect;
use viaduct_spec::tables::{page, region, table};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use crate::model::{Access, Region, Tables};

const CLIENTS: [&str; 4] = ["fetch", "gather", "scatter", "complete"];

/// A command that must come.
#[derive(Debug, PartialEq)]
struct Command {
    address: u64,
    length: u64,
    client: u64,
    user: u64,
    last: bool,
    refused: bool,
}

/// A verdict that must come, and the write commands issued by then.
#[derive(Debug)]
struct Verdict {
    client: u64,
    ok: bool,
    user: u64,
    issued: u64,
}

/// What is outstanding: its epoch, its engine, and the access it belongs to.
struct Flight {
    epoch: u64,
    write: bool,
    access: u64,
}

/// How the engines and the test behave: probabilities of 0 to 1. A read engine that is ready stays so until it has a command.
#[derive(Clone, Copy)]
pub struct Pace {
    pub read_ready: f64,
    pub write_ready: f64,
    pub retire: f64,
}

pub const BRISK: Pace = Pace { read_ready: 1.0, write_ready: 1.0, retire: 1.0 };

/// What a run met.
#[derive(Default, Debug)]
pub struct Seen {
    pub granted: u64,
    pub refused: u64,
    pub crossed: u64,
    pub clipped: u64,
    pub drains: u64,
}

pub struct Harness {
    pub bench: Bench,
    pub rng: ChaCha8Rng,
    pub tables: Tables,
    pub pace: Pace,
    pub seen: Seen,
    read_ready: bool,
    /// What each client offers. `complete` shows its writes before its reads: two blocks share that port.
    offers: [VecDeque<Access>; 4],
    accesses: [Bundle; 4],
    read: Bundle,
    write: Bundle,
    commit: Bundle,
    commits: VecDeque<(u8, u16, [u64; 3])>,
    reads: VecDeque<(Command, u64)>,
    writes: VecDeque<(Command, u64)>,
    verdicts: VecDeque<Verdict>,
    granted_writes: u64,
    flights: Vec<Flight>,
    pub accepted: u64,
    /// The accesses accepted before the drain that runs.
    drain: Option<u64>,
    drain_pulse: bool,
    refusals: u64,
    counted: u64,
    pub cycle: u64,
}

impl Harness {
    pub fn new(pace: Pace) -> Self {
        let bench = Bench::new("protect", &verilog(Protect::default()));
        Self {
            rng: ChaCha8Rng::seed_from_u64(bench.seed()),
            bench,
            tables: Tables::new(),
            pace,
            seen: Seen::default(),
            read_ready: false,
            offers: Default::default(),
            accesses: CLIENTS.map(Bundle::of::<bus::Access>),
            read: Bundle::of::<bus::DmaCommand>("read"),
            write: Bundle::of::<bus::DmaCommand>("write"),
            commit: Bundle::of::<bus::Commit>("commit"),
            commits: VecDeque::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            verdicts: VecDeque::new(),
            granted_writes: 0,
            flights: Vec::new(),
            accepted: 0,
            drain: None,
            drain_pulse: false,
            refusals: 0,
            counted: 0,
            cycle: 0,
        }
    }

    /// Queues an access of a client.
    pub fn offer(&mut self, client: usize, access: Access) {
        self.offers[client].push_back(access);
    }

    pub fn offered(&self, client: usize) -> usize {
        self.offers[client].len()
    }

    /// Writes that `complete` offers.
    pub fn writes_offered(&self) -> usize {
        self.offers[3].iter().filter(|access| access.write).count()
    }

    /// Puts a region's row on the commit bus, behind those already waiting.
    pub fn commit_region(&mut self, index: u16, row: Region) {
        let mut words = [0; 3];
        region::BASE.put(&mut words, row.base);
        region::LENGTH.put(&mut words, row.length);
        region::TAG.put(&mut words, row.tag.into());
        region::KEY.put(&mut words, row.key.into());
        region::FIRST_PAGE.put(&mut words, row.first_page.into());
        region::PAGE_SHIFT.put(&mut words, row.page_shift.into());
        region::LIVE.put(&mut words, row.live.into());
        region::SYSTEM.put(&mut words, row.system.into());
        region::READ_ONLY.put(&mut words, row.read_only.into());
        region::RDMA_WRITE.put(&mut words, row.rdma_write.into());
        region::RDMA_READ.put(&mut words, row.rdma_read.into());
        self.commits.push_back((table::REGION, index, words));
    }

    pub fn commit_page(&mut self, row: u16, address: u64) {
        let mut words = [0; 3];
        page::ADDRESS.put(&mut words, address);
        self.commits.push_back((table::PAGE, row, words));
    }

    pub fn committing(&self) -> usize {
        self.commits.len()
    }

    /// Starts a drain in the next cycle; none may be running.
    pub fn start_drain(&mut self) {
        assert!(self.drain.is_none());
        self.drain_pulse = true;
    }

    pub fn draining(&self) -> bool {
        self.drain.is_some() || self.drain_pulse
    }

    /// Everything that was asked for has come.
    pub fn quiet(&self) -> bool {
        self.offers.iter().all(VecDeque::is_empty)
            && self.commits.is_empty()
            && self.reads.is_empty()
            && self.writes.is_empty()
            && self.verdicts.is_empty()
            && self.flights.is_empty()
            && !self.draining()
    }

    /// Runs until quiet.
    pub fn settle(&mut self) {
        let mut patience = 20_000;
        while !self.quiet() {
            self.step();
            patience -= 1;
            assert!(patience > 0, "stuck: {:?} {:?} {:?}", self.reads, self.writes, self.verdicts);
        }
        for _ in 0..4 {
            self.step();
        }
        assert_eq!(self.bench.get("busy"), 0);
        assert_eq!(self.counted, self.refusals);
    }

    /// The place of the access that a client shows.
    fn front(&self, client: usize) -> usize {
        let written = || self.offers[client].iter().position(|access| access.write);
        if client == 3 {
            written().unwrap_or(0)
        } else {
            0
        }
    }

    fn accept(&mut self, client: usize, place: usize) {
        let access = self.offers[client].remove(place).unwrap();
        let number = self.accepted;
        self.accepted += 1;
        let pieces = self.tables.decide(&access);
        let (client, user) = (client as u64, u64::from(access.user));
        let target = if access.write { &mut self.writes } else { &mut self.reads };
        match &pieces {
            Some(pieces) => {
                self.seen.granted += 1;
                self.seen.crossed += u64::from(pieces.len() > 1);
                let moved: u64 = pieces.iter().map(|piece| piece.1).sum();
                self.seen.clipped += u64::from(moved < u64::from(access.length));
                for (n, (address, length)) in pieces.iter().enumerate() {
                    let last = n + 1 == pieces.len();
                    let (address, length) = (*address, *length);
                    let command = Command { address, length, client, user, last, refused: false };
                    target.push_back((command, number));
                }
            }
            None => {
                self.seen.refused += 1;
                self.refusals += 1;
                if !access.write {
                    let refused = Command { address: 0, length: 0, client, user, last: true, refused: true };
                    target.push_back((refused, number));
                }
            }
        }
        if access.write {
            self.granted_writes += pieces.as_ref().map_or(0, Vec::len) as u64;
            self.verdicts.push_back(Verdict {
                client,
                ok: pieces.is_some(),
                user,
                issued: self.granted_writes,
            });
        }
    }

    fn command(&self, bundle: &Bundle) -> Command {
        let get = |name| bundle.get(&self.bench, name);
        Command {
            address: get("address"),
            length: get("length"),
            client: get("client"),
            user: get("user"),
            last: get("last") == 1,
            refused: get("refused") == 1,
        }
    }

    /// One clock cycle. Gives the clients whose access was taken.
    pub fn step(&mut self) -> Vec<usize> {
        for (client, name) in CLIENTS.iter().enumerate() {
            let front = self.offers[client].get(self.front(client)).copied();
            self.bench.set(&format!("{name}_valid"), front.is_some().into());
            if let Some(a) = front {
                let fields = [
                    ("address", a.address),
                    ("span", a.span.into()),
                    ("length", a.length.into()),
                    ("region", a.region.into()),
                    ("key", a.key.into()),
                    ("tag", a.tag.into()),
                    ("by_offset", a.by_offset.into()),
                    ("system", a.system.into()),
                    ("write", a.write.into()),
                    ("clip", a.clip.into()),
                    ("remote", a.remote.into()),
                    ("user", a.user.into()),
                ];
                self.accesses[client].set(&mut self.bench, &fields);
            }
        }
        let commit = self.commits.front().copied();
        self.bench.set("commit_valid", commit.is_some().into());
        if let Some((target, row, words)) = commit {
            let fields = [
                ("target", target.into()),
                ("row", row.into()),
                ("word0", words[0]),
                ("word1", words[1]),
                ("word2", words[2]),
            ];
            self.commit.set(&mut self.bench, &fields);
        }
        let read_ready = self.read_ready || self.rng.random_bool(self.pace.read_ready);
        self.read_ready = read_ready;
        let write_ready = self.rng.random_bool(self.pace.write_ready);
        self.bench.set("read_ready", read_ready.into());
        self.bench.set("write_ready", write_ready.into());
        self.bench.set("drain", self.drain_pulse.into());

        // Retire one of each kind, of any age.
        for (write, port) in [(false, "read_retire"), (true, "write_retire")] {
            let due: Vec<_> = (0..self.flights.len()).filter(|n| self.flights[*n].write == write).collect();
            let retires = !due.is_empty() && self.rng.random_bool(self.pace.retire);
            self.bench.set(&format!("{port}_valid"), retires.into());
            if retires {
                let flight = self.flights.swap_remove(due[self.rng.random_range(0..due.len())]);
                self.bench.set(&format!("{port}_epoch"), flight.epoch);
            }
        }
        self.bench.eval();

        self.counted += self.bench.get("count_refused");
        // A drain is over only when everything accepted before it has been issued and retired.
        if let Some(before) = self.drain {
            if self.bench.get("draining") == 0 {
                assert!(self.flights.iter().all(|flight| flight.access >= before), "drained too early");
                assert!(self.reads.iter().chain(&self.writes).all(|(_, access)| *access >= before));
                self.drain = None;
                self.seen.drains += 1;
            }
        }
        if self.bench.get("verdict_valid") == 1 {
            let verdict = self.verdicts.pop_front().expect("a verdict nobody asked for");
            let get = |name: &str| self.bench.get(&format!("verdict_{name}"));
            assert_eq!(
                (get("client"), get("ok"), get("user")),
                (verdict.client, verdict.ok.into(), verdict.user)
            );
            assert_eq!(self.bench.get("issued"), verdict.issued % 256, "issued with the verdict");
        }
        for (write, port, ready) in [(false, "read", read_ready), (true, "write", write_ready)] {
            if self.bench.get(&format!("{port}_valid")) == 0 {
                continue;
            }
            let bundle = if write { &self.write } else { &self.read };
            let (command, epoch) = (self.command(bundle), bundle.get(&self.bench, "epoch"));
            let queue = if write { &self.writes } else { &self.reads };
            let (expected, _) = queue.front().expect("a command nobody asked for");
            assert_eq!(&command, expected, "cycle {}", self.cycle);
            if ready {
                let queue = if write { &mut self.writes } else { &mut self.reads };
                let (_, access) = queue.pop_front().unwrap();
                self.read_ready &= write;
                self.flights.push(Flight { epoch, write, access });
            }
        }
        let mut taken = Vec::new();
        for (client, name) in CLIENTS.iter().enumerate() {
            let place = self.front(client);
            if self.bench.get(&format!("{name}_ready")) == 1 && !self.offers[client].is_empty() {
                taken.push((client, place, self.offers[client][place].write));
            }
        }
        if self.bench.get("complete_issued") == 1 {
            let place = self.offers[3].iter().position(|access| !access.write);
            taken.push((3, place.expect("a read"), false));
        }
        // A read that is issued late, and what is taken behind it.
        taken.sort_by_key(|(_, _, write)| *write);
        let writes = taken.iter().filter(|(_, _, write)| *write).count();
        assert!(writes <= 1 && taken.len() - writes <= 1, "one access at a time");
        if self.bench.get("commit_ready") == 1 {
            assert!(taken.is_empty(), "no access is taken with a commit");
            let (target, row, words) = self.commits.pop_front().expect("a commit nobody made");
            if target == table::PAGE {
                if let Some(page) = self.tables.pages.get_mut(usize::from(row)) {
                    *page = words[0];
                }
            } else if let Some(entry) = self.tables.regions.get_mut(usize::from(row)) {
                *entry = Region {
                    base: region::BASE.get(&words),
                    length: region::LENGTH.get(&words),
                    tag: region::TAG.get(&words) as u16,
                    key: region::KEY.get(&words) as u16,
                    first_page: region::FIRST_PAGE.get(&words) as u16,
                    page_shift: region::PAGE_SHIFT.get(&words) as u8,
                    live: region::LIVE.get(&words) == 1,
                    system: region::SYSTEM.get(&words) == 1,
                    read_only: region::READ_ONLY.get(&words) == 1,
                    rdma_write: region::RDMA_WRITE.get(&words) == 1,
                    rdma_read: region::RDMA_READ.get(&words) == 1,
                };
            }
        }
        if self.drain_pulse {
            self.drain_pulse = false;
            // What is accepted in this very cycle may fall on either side.
            self.drain = Some(self.accepted);
        }
        for (client, place, write) in &taken {
            // A read that went first has moved the places of its client's others.
            let place = if *write { self.front(*client) } else { *place };
            self.accept(*client, place);
        }
        self.bench.tick();
        self.cycle += 1;
        taken.into_iter().map(|(client, ..)| client).collect()
    }
}
