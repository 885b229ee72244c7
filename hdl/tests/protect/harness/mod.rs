//! Drives the checker cycle by cycle and compares everything that comes out with the model.

mod cycle;

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus;
use viaduct_hdl::export::verilog;
use viaduct_hdl::protect::Protect;
use viaduct_spec::tables::{page, region, table};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use crate::model::{Access, Region, Tables};

/// The ports of the clients. The last client has two: `complete` for its writes, `flush` for its reads.
const PORTS: [&str; 5] = ["fetch", "gather", "scatter", "complete", "flush"];

/// The client that a port is of.
fn client_of(port: usize) -> usize {
    port.min(3)
}

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
    /// What each port offers.
    offers: [VecDeque<Access>; 5],
    accesses: [Bundle; 5],
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
            accesses: PORTS.map(Bundle::of::<bus::Access>),
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
        let port = client + usize::from(client == 3 && !access.write);
        self.offers[port].push_back(access);
    }

    pub fn offered(&self, client: usize) -> usize {
        (client..PORTS.len())
            .filter(|port| client_of(*port) == client)
            .map(|port| self.offers[port].len())
            .sum()
    }

    /// Writes that `complete` offers.
    pub fn writes_offered(&self) -> usize {
        self.offers[3].len()
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

    fn accept(&mut self, port: usize) {
        let access = self.offers[port].pop_front().unwrap();
        let number = self.accepted;
        self.accepted += 1;
        let pieces = self.tables.decide(&access);
        let (client, user) = (client_of(port) as u64, u64::from(access.user));
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
}
