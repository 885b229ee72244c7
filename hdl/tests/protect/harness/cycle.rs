//! One cycle: what goes in, and what comes out of it compared with what must.

use rand::Rng;
use viaduct_hdl::bus;
use viaduct_spec::tables::{region, table};

use super::{client_of, Flight, Harness, PORTS};
use crate::bundle::Bundle;
use crate::model::Region;

impl Harness {
    /// One clock cycle. Gives the clients whose access was taken.
    pub fn step(&mut self) -> Vec<usize> {
        for (port, name) in PORTS.iter().enumerate() {
            let front = self.offers[port].front().copied();
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
                self.accesses[port].set(&mut self.bench, &fields);
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
                self.bench.set(port, flight.epoch);
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
            let shown = Bundle::of::<bus::WriteVerdict>("verdict").all(&self.bench);
            assert_eq!(
                (shown["client"], shown["ok"], shown["user"]),
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
        for (port, name) in PORTS.iter().enumerate() {
            if self.bench.get(&format!("{name}_ready")) == 1 {
                if let Some(access) = self.offers[port].front() {
                    taken.push((port, access.write));
                }
            }
        }
        // A read that is issued late, and what is taken behind it.
        taken.sort_by_key(|(_, write)| *write);
        let writes = taken.iter().filter(|(_, write)| *write).count();
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
        for (port, _) in &taken {
            self.accept(*port);
        }
        self.bench.tick();
        self.cycle += 1;
        taken.into_iter().map(|(port, _)| client_of(port)).collect()
    }
}
