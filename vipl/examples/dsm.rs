//! A small distributed shared memory, by pages: what one node writes under the lock, the next one that has the lock reads.
//!
//! The home has the pages and the lock, and nothing to do with the data: nodes get pages by RDMA read when they first touch them, and put
//! those that they have written back by RDMA write before they give the lock back (release consistency). Only the lock is
//! asked for by message.
//!
//! `dsm NIC NODES` is the home; `dsm NIC ADDRESS ROUNDS` is a node: each round it adds one to a word of every page.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use vipl::{Descriptor, Remote, Vi, ViId};

mod common;
use common::{End, Result};

const PAGE: usize = 4096;
const PAGES: usize = 8;
/// Where the pages are in the memory of home and nodes; before them descriptors and messages.
const START: usize = 65536;
const BYTES: usize = START + PAGE * PAGES;
/// The message that says where the pages are.
const WINDOW: usize = 32768;

/// What nodes ask for, as immediate data. The home's answer to LOCK is a message, too, as soon as the lock is theirs.
const LOCK: u32 = 1;
const UNLOCK: u32 = 2;
const BYE: u32 = 3;

/// The shared memory, as a node sees it.
struct Dsm {
    end: End,
    vi: Vi,
    home: Remote,
    /// Pages that are here, and those of them that were written.
    here: BTreeSet<usize>,
    dirty: BTreeSet<usize>,
}

impl Dsm {
    fn join(nic: &str, home: &str) -> Result<Self> {
        let end = End::open(nic, BYTES)?;
        let vi = end.vi(None)?;
        vi.post_recv(end.describe(0, WINDOW, 16)?)?;
        end.ask(home, "dsm", &vi)?;
        let window = vi.recv_wait(None)?;
        let home = Remote { address: end.word(WINDOW)?, handle: end.word(WINDOW + 8)? as u32 };
        // From now on it is for the home's answers.
        vi.post_recv(window)?;
        Ok(Self { end, vi, home, here: BTreeSet::new(), dirty: BTreeSet::new() })
    }

    fn tell(&self, what: u32) -> Result<()> {
        self.vi.post_send(Descriptor::new().immediate(what).build(&self.end.memory, 64)?)?;
        self.vi.send_wait(None)?;
        Ok(())
    }

    /// Waits for the lock. What others have written before is seen from now on.
    fn lock(&mut self) -> Result<()> {
        self.tell(LOCK)?;
        let granted = self.vi.recv_wait(None)?;
        self.vi.post_recv(granted)?;
        self.here.clear();
        Ok(())
    }

    /// Puts back what was written, and gives the lock back.
    fn unlock(&mut self) -> Result<()> {
        for page in std::mem::take(&mut self.dirty) {
            let put = Descriptor::rdma_write(self.remote(page));
            self.vi.post_send(self.of_page(put, page)?)?;
        }
        // It arrives behind them, as everything on one VI does; the pages' descriptors are complete before its own.
        self.vi.post_send(Descriptor::new().immediate(UNLOCK).build(&self.end.memory, 64)?)?;
        loop {
            match self.vi.send_wait(None) {
                Ok(_) => {}
                Err(vipl::Error::Empty) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn remote(&self, page: usize) -> Remote {
        Remote { address: self.home.address + (PAGE * page) as u64, ..self.home }
    }

    fn of_page(&self, builder: vipl::DescriptorBuilder, page: usize) -> Result<Descriptor> {
        let memory = &self.end.memory;
        Ok(builder.segment(memory, START + PAGE * page, PAGE)?.build(memory, 1024 + 64 * page)?)
    }

    /// A page is touched: it comes here, unless it is here.
    fn touch(&mut self, page: usize) -> Result<usize> {
        if self.here.insert(page) {
            self.vi.post_send(self.of_page(Descriptor::rdma_read(self.remote(page)), page)?)?;
            self.vi.send_wait(None)?;
        }
        Ok(START + PAGE * page)
    }

    fn read(&mut self, page: usize, offset: usize) -> Result<u64> {
        let at = self.touch(page)? + offset;
        self.end.word(at)
    }

    fn write(&mut self, page: usize, offset: usize, word: u64) -> Result<()> {
        let at = self.touch(page)? + offset;
        self.end.memory.write(at, &word.to_le_bytes())?;
        self.dirty.insert(page);
        Ok(())
    }
}

fn node(nic: &str, home: &str, rounds: u64) -> Result<()> {
    let mut dsm = Dsm::join(nic, home)?;
    for _ in 0..rounds {
        dsm.lock()?;
        for page in 0..PAGES {
            let word = dsm.read(page, 8 * page)?;
            dsm.write(page, 8 * page, word + 1)?;
        }
        dsm.unlock()?;
    }
    dsm.tell(BYE)?;
    Ok(dsm.vi.disconnect()?)
}

/// Gives the lock to one node after the other, until all have left.
fn home(nic: &str, nodes: usize) -> Result<()> {
    let end = End::open(nic, BYTES)?;
    let cq = end.nic.create_cq(64)?;
    println!("{}", end.mac());
    let mut vis: BTreeMap<ViId, (Vi, usize)> = BTreeMap::new();
    let Remote { address, handle } = end.memory.remote(START)?;
    end.memory.write(WINDOW, &address.to_le_bytes())?;
    end.memory.write(WINDOW + 8, &u64::from(handle).to_le_bytes())?;
    for n in 0..nodes {
        let vi = end.vi(Some(&cq))?;
        // A node says two things in a row at most: that the lock is free, and what comes next.
        for slot in 0..2 {
            vi.post_recv(Descriptor::new().build(&end.memory, 256 * n + 64 * slot)?)?;
        }
        end.accept("dsm", &vi)?;
        vi.post_send(end.describe(256 * n + 128, WINDOW, 16)?)?;
        vi.send_wait(None)?;
        vis.insert(vi.id(), (vi, 256 * n + 128));
    }
    let (mut waiting, mut owner, mut left): (VecDeque<ViId>, Option<ViId>, usize) =
        (VecDeque::new(), None, nodes);
    while left > 0 {
        let entry = cq.wait(None)?;
        let (vi, _) = vis.get(&entry.vi).ok_or("an entry of nobody's")?;
        let asked = match vi.recv_done() {
            // Of a node that has left, a receive that it did not use.
            Err(vipl::Error::Descriptor(_)) => continue,
            asked => asked?,
        };
        match asked.immediate() {
            Some(LOCK) => waiting.push_back(entry.vi),
            Some(UNLOCK) if owner == Some(entry.vi) => owner = None,
            Some(BYE) => left -= 1,
            other => return Err(format!("a node says {other:?}").into()),
        }
        vi.post_recv(asked)?;
        if owner.is_none() {
            owner = waiting.pop_front();
            if let Some((vi, place)) = owner.and_then(|next| vis.get(&next)) {
                vi.post_send(Descriptor::new().immediate(LOCK).build(&end.memory, *place)?)?;
                vi.send_wait(None)?;
            }
        }
    }
    for (vi, _) in vis.values() {
        vi.disconnect()?;
    }
    for page in 0..PAGES {
        println!("page {page}: {}", end.word(START + PAGE * page + 8 * page)?);
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [nic, nodes] => home(nic, nodes.parse()?),
        [nic, address, rounds] => node(nic, address, rounds.parse()?),
        _ => Err("dsm NIC NODES | dsm NIC ADDRESS ROUNDS".into()),
    }
}
