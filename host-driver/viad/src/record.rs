//! What others may be told of a session: kept beside its table, so that nobody who looks on waits for its client.

use std::{
    collections::BTreeMap,
    os::{fd::OwnedFd, unix::fs::FileExt},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use viaduct_driver::{
    agent::{vis::ViAttributes, AgentError},
    cm::progress::Progress,
    kernel_agent::ViName,
    queues::{ring::Ring, ViState},
    viad::{
        protocol::MOST_REPORTS,
        report::{QueueReport, SessionReport, Totals, ViReport},
    },
};
use viaduct_spec::{
    descriptor::{control_segment, status, COMPLETION_OFFSET},
    doorbell::{page, token},
};

use crate::{forwarder::Page, peer::Peer};

/// All sessions that live.
#[derive(Debug, Default)]
pub struct Records(Mutex<BTreeMap<u64, Arc<Record>>>);

/// A session.
#[derive(Debug)]
pub struct Record {
    session: u64,
    pid: i32,
    uid: u32,
    since: Instant,
    /// The client's memory, for reading.
    memory: std::fs::File,
    has: Mutex<Has>,
}

/// What it has.
#[derive(Debug, Default)]
pub struct Has {
    /// Virtual interfaces.
    pub vis: BTreeMap<ViName, Vi>,
    /// Regions, by their rows: first byte and length.
    pub regions: BTreeMap<u16, (u64, u64)>,
    /// Bytes in regions, whole pages.
    pub bytes: u64,
    /// Completion queues.
    pub cqs: u32,
}

/// A virtual interface.
#[derive(Debug, Clone)]
pub struct Vi {
    /// What it is now.
    pub attributes: ViAttributes,
    /// Its doorbell page.
    pub page: Arc<Page>,
    /// Its rings: send, receive.
    pub rings: [Ring; 2],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists: what a thread that panicked left is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Records {
    /// A session has begun.
    pub fn begin(&self, session: u64, peer: &Peer, memory: OwnedFd) -> Arc<Record> {
        let record = Arc::new(Record {
            session,
            pid: peer.pid.as_raw_nonzero().get(),
            uid: peer.uid,
            since: Instant::now(),
            memory: memory.into(),
            has: Mutex::default(),
        });
        lock(&self.0).insert(session, Arc::clone(&record));
        record
    }

    /// A session has ended.
    pub fn end(&self, session: u64) {
        lock(&self.0).remove(&session);
    }

    /// Sessions from a number on that a user may know of, as many as fit a reply.
    pub fn sessions(&self, asker: u32, from: u64) -> Vec<SessionReport> {
        let all = lock(&self.0);
        let some = all.range(from..).map(|(_, record)| record).filter(|record| record.is_open_to(asker));
        some.take(MOST_REPORTS).map(|record| record.report()).collect()
    }

    /// What all sessions but one have together.
    pub fn totals(&self, without: u64) -> Totals {
        let all = lock(&self.0);
        let mut totals = Totals::default();
        for report in all.values().filter(|record| record.session != without).map(|record| record.report()) {
            totals.sessions += 1;
            totals.vis += report.vis;
            totals.cqs += report.cqs;
            totals.regions += report.regions;
            totals.bytes = totals.bytes.saturating_add(report.bytes);
        }
        totals
    }

    /// Whose the VI of an index is.
    pub fn owner(&self, index: u16) -> Option<u32> {
        let has = |record: &&Arc<Record>| record.has().vis.keys().any(|name| name.index == index);
        lock(&self.0).values().find(has).map(|record| record.uid)
    }

    /// A session that a user may know of.
    pub fn find(&self, asker: u32, session: u64) -> Option<Arc<Record>> {
        lock(&self.0).get(&session).filter(|record| record.is_open_to(asker)).cloned()
    }
}

impl Record {
    /// What it has, to be written down.
    pub fn has(&self) -> MutexGuard<'_, Has> {
        lock(&self.has)
    }

    /// Root and viad's own user may know everything.
    fn is_open_to(&self, asker: u32) -> bool {
        asker == self.uid || asker == 0 || asker == rustix::process::geteuid().as_raw()
    }

    fn report(&self) -> SessionReport {
        let has = self.has();
        SessionReport {
            session: self.session,
            pid: self.pid,
            uid: self.uid,
            seconds: self.since.elapsed().as_secs(),
            vis: has.vis.len() as u32,
            cqs: has.cqs,
            regions: has.regions.len() as u32,
            bytes: has.bytes,
        }
    }

    /// Its virtual interfaces from an index on, as many as fit a reply. `state` and `progress` ask the NIC and the connection manager; a VI
    /// that is gone meanwhile is left out.
    pub fn vis(
        &self,
        from: u16,
        state: impl Fn(ViName) -> Result<ViState, AgentError>,
        progress: impl Fn(ViName) -> Option<Progress>,
    ) -> Vec<ViReport> {
        let some: Vec<(ViName, Vi)> = {
            let has = self.has();
            let first = ViName { index: from, life: 0 };
            has.vis.range(first..).take(MOST_REPORTS).map(|(name, vi)| (*name, vi.clone())).collect()
        };
        let report = |(name, vi): (ViName, Vi)| {
            let [send, receive] = [page::SEND, page::RECEIVE];
            Some(ViReport {
                name,
                service: vi.attributes.service,
                mtu: vi.attributes.mtu,
                max_transfer: vi.attributes.max_transfer,
                state: state(name).ok()?,
                connection: progress(name),
                send: self.queue(&vi.page, send, &vi.rings[0]),
                receive: self.queue(&vi.page, receive, &vi.rings[1]),
            })
        };
        some.into_iter().filter_map(report).collect()
    }

    fn queue(&self, page: &Page, doorbell: u64, ring: &Ring) -> QueueReport {
        let (forwarded, unforwarded) = page.doorbell(doorbell);
        let last = (forwarded != 0).then(|| token::POSITION.get(&[forwarded]) as u16);
        QueueReport {
            slots: ring.slots() as u32,
            last,
            unforwarded,
            open: last.map_or(Some(0), |last| self.open(forwarded, last, ring)),
        }
    }

    /// How many descriptors up to the one at position `last` are not complete. Nothing depends on it, so the client may have written what it
    /// likes: a token leads into one of its own regions, or nowhere.
    fn open(&self, forwarded: u64, last: u16, ring: &Ring) -> Option<u32> {
        let mut seen = Vec::new();
        let mut word = forwarded;
        while seen.len() < ring.slots() {
            let address = self.descriptor(word)?;
            // The same memory was posted again since: what it was before is complete.
            if seen.contains(&address) {
                break;
            }
            // No lock is held: whoever's memory makes this wait makes the asker wait.
            let mut bytes = [0; 8];
            self.memory.read_exact_at(&mut bytes, address + COMPLETION_OFFSET).ok()?;
            let status = control_segment::STATUS.get(&[0, 0, 0, u64::from_le_bytes(bytes)]) as u32;
            if status & (status::DONE | status::ERROR_MASK) != 0 {
                break;
            }
            seen.push(address);
            let position = (u64::from(last).wrapping_sub(seen.len() as u64)) & token::POSITION.mask();
            word = ring.load(position as u16);
            if word == 0 || token::POSITION.get(&[word]) != position {
                break;
            }
        }
        Some(seen.len() as u32)
    }

    fn descriptor(&self, word: u64) -> Option<u64> {
        let region = token::REGION.get(&[word]) as u16;
        let (start, length) = *self.has().regions.get(&region)?;
        let address = (start & !63).checked_add(64 * token::OFFSET.get(&[word]))?;
        let end = address.checked_add(COMPLETION_OFFSET + 8)?;
        (end <= start.checked_add(length)?).then_some(address)
    }
}
