//! What others may be told of a session: kept beside its table, so that nobody who looks on waits for its client.

use std::{
    collections::BTreeMap,
    fs::File,
    os::{fd::OwnedFd, unix::fs::FileExt},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use viaduct_driver::{
    cm::progress::Progress,
    kernel_agent::{AgentError, ViAttributes, ViName},
    memory::Mapping,
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

/// viad's own memory, for reading.
static OWN: LazyLock<Option<File>> = LazyLock::new(|| File::open("/proc/self/mem").ok());

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
    /// The client's memory, for reading, if it has handed that over.
    private: Option<File>,
    has: Mutex<Has>,
}

/// Memory of a client's, as far as viad may look at it.
#[derive(Debug, Clone)]
pub enum Memory {
    /// In the memory that the client has handed over.
    Private,
    /// In a pool: viad's view of it, and where the memory begins there. It is read as a file, for a load of a page that the system does not have
    /// would end viad.
    View(Arc<Mapping>, u64),
    /// The client maps it by itself.
    Unseen,
}

/// A region of a client's.
#[derive(Debug, Clone)]
pub struct Region {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Where viad finds it.
    pub memory: Memory,
}

/// What it has.
#[derive(Debug, Default)]
pub struct Has {
    /// Virtual interfaces.
    pub vis: BTreeMap<ViName, Vi>,
    /// Regions, by their rows.
    pub regions: BTreeMap<u16, Region>,
    /// Bytes in regions, whole pages.
    pub bytes: u64,
    /// Completion queues.
    pub cqs: u32,
    /// It has the function itself.
    pub trusted: bool,
}

/// A virtual interface.
#[derive(Debug, Clone)]
pub struct Vi {
    /// What it is now.
    pub attributes: ViAttributes,
    /// Its doorbell page, if viad looks at it.
    pub page: Option<Arc<Page>>,
    /// Its rings: send, receive.
    pub rings: [Ring; 2],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists: what a thread that panicked left is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Records {
    /// A session has begun.
    pub fn begin(&self, session: u64, peer: &Peer, private: Option<OwnedFd>) -> Arc<Record> {
        let record = Arc::new(Record {
            session,
            pid: peer.pid.as_raw_nonzero().get(),
            uid: peer.uid,
            since: Instant::now(),
            private: private.map(File::from),
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
            trusted: has.trusted,
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
                send: self.queue(vi.page.as_deref(), send, &vi.rings[0]),
                receive: self.queue(vi.page.as_deref(), receive, &vi.rings[1]),
            })
        };
        some.into_iter().filter_map(report).collect()
    }

    fn queue(&self, page: Option<&Page>, doorbell: u64, ring: &Ring) -> QueueReport {
        let Some(page) = page else {
            // Its client rings the NIC's own doorbells.
            return QueueReport { slots: ring.slots() as u32, last: None, unforwarded: false, open: None };
        };
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
            let (address, region) = self.descriptor(word)?;
            // The same memory was posted again since: what it was before is complete.
            if seen.contains(&address) {
                break;
            }
            // No lock is held: whoever's memory makes this wait makes the asker wait.
            let bytes = self.read(&region, address + COMPLETION_OFFSET)?;
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

    /// The address of a descriptor, and the region that it lies in: whole.
    fn descriptor(&self, word: u64) -> Option<(u64, Region)> {
        let row = token::REGION.get(&[word]) as u16;
        let region = self.has().regions.get(&row)?.clone();
        let start = region.address;
        let address = (start & !63).checked_add(64 * token::OFFSET.get(&[word]))?;
        let end = address.checked_add(COMPLETION_OFFSET + 8)?;
        (start <= address && end <= start.checked_add(region.length)?).then_some((address, region))
    }

    /// 8 bytes at an address in a region.
    fn read(&self, region: &Region, address: u64) -> Option<[u8; 8]> {
        let mut bytes = [0; 8];
        match &region.memory {
            Memory::Private => self.private.as_ref()?.read_exact_at(&mut bytes, address).ok()?,
            Memory::View(view, offset) => {
                let own = view.start().as_ptr() as u64 + offset + (address - region.address);
                OWN.as_ref()?.read_exact_at(&mut bytes, own).ok()?;
            }
            Memory::Unseen => return None,
        }
        Some(bytes)
    }
}
