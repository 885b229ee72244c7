//! What one session has. Nothing in it means anything to another; dropping it gives everything back.

mod answer;
mod connections;
mod cqs;
mod lease;
mod own;
mod pools;
mod regions;
mod reports;
mod vis;

use std::{collections::BTreeMap, io, os::fd::OwnedFd, sync::Arc};

use viaduct_driver::{
    agent::vis::{arena_bytes, Arena},
    kernel_agent::{AgentError, CqName, ErrorClass, Event, ViName},
    memory::Mapping,
    viad::{doorbell_page::Kind, protocol::Answer},
};

pub use self::answer::Answered;
use self::{lease::Leased, pools::Pool, regions::Region};
use crate::{
    accounts::{Quota, Share},
    connections::Party,
    forwarder::Page,
    inbox::Inbox,
    nic::Nic,
    peer::Peer,
    record::Record,
};

/// What one session has.
pub struct Table {
    nic: Arc<Nic>,
    /// Its end tells the client that the session is over.
    socket: Arc<OwnedFd>,
    peer: Peer,
    /// The descriptor that came with the request.
    sent: Option<OwnedFd>,
    /// The client's memory, for reading and writing, and for reading, if it has handed it over.
    memories: Option<[OwnedFd; 2]>,
    arena: Arc<Arena>,
    /// Pairs of rings in the arena, and whether they are taken.
    places: Vec<bool>,
    wake: OwnedFd,
    tags: BTreeMap<u16, Share>,
    regions: BTreeMap<u32, Region>,
    pools: BTreeMap<u32, Pool>,
    /// The number of the last pool.
    last_pool: u32,
    /// The client is trusted, and has the function itself.
    leased: Option<Leased>,
    vis: BTreeMap<ViName, Vi>,
    cqs: BTreeMap<CqName, Cq>,
    party: Party,
    record: Arc<Record>,
    _session: Share,
    /// The arena's rows and bytes.
    _arena: [Share; 3],
}

struct Vi {
    /// None: its client rings the NIC's own doorbells.
    page: Option<Arc<Page>>,
    place: usize,
    /// Positions count from 0 again when it is made idle.
    _share: Share,
}

struct Cq {
    /// As of a VI.
    page: Option<Arc<Page>>,
    /// Itself, and its ring's rows.
    _shares: [Share; 3],
    /// Its ring's bytes.
    _ring: Share,
}

/// Shared memory, or why there is none.
fn memory<T>(made: io::Result<T>) -> Result<T, AgentError> {
    made.map_err(AgentError::Arena)
}

impl Table {
    /// A session of `peer`, with nothing yet; the descriptors of its notice page and its arena.
    pub fn new(
        nic: Arc<Nic>,
        socket: Arc<OwnedFd>,
        peer: Peer,
        memories: Option<[OwnedFd; 2]>,
        session: Share,
    ) -> Result<(Self, [OwnedFd; 2]), AgentError> {
        let vis = nic.client_limits().vis;
        // One row each: its memory is aligned to its size.
        let bytes = arena_bytes(vis);
        let take = |quota, amount| nic.accounts.take(peer.uid, quota, amount);
        let arena_shares = [take(Quota::Row, 1)?, take(Quota::Page, 1)?, take(Quota::Shared, bytes as u64)?];
        let (mapping, file) = memory(Mapping::shared("viad-arena", bytes))?;
        let (inbox, own) = memory(Inbox::new())?;
        let read = memories.as_ref().map(|memories| memory(memories[1].try_clone())).transpose()?;
        let wake = memory(nic.forwarder.add_client())?;
        let arena = match nic.agent.create_arena(Arc::new(mapping)) {
            Ok(arena) => arena,
            Err(error) => {
                nic.forwarder.remove_client(&wake);
                return Err(error);
            }
        };
        let party = Party { uid: peer.uid, inbox };
        let record = nic.records.begin(party.inbox.session, &peer, read);
        let table = Self {
            nic,
            socket,
            peer,
            sent: None,
            memories,
            arena,
            places: vec![false; vis.into()],
            wake,
            tags: BTreeMap::new(),
            regions: BTreeMap::new(),
            pools: BTreeMap::new(),
            last_pool: 0,
            leased: None,
            vis: BTreeMap::new(),
            cqs: BTreeMap::new(),
            party,
            record,
            _session: session,
            _arena: arena_shares,
        };
        Ok((table, [own, file]))
    }

    /// Its number.
    pub fn session(&self) -> u64 {
        self.party.inbox.session
    }

    /// Who has it.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The eventfd that wakes the forwarder.
    pub fn wake(&self) -> &OwnedFd {
        &self.wake
    }

    /// Bytes of the arena.
    pub fn arena_bytes(&self) -> usize {
        self.arena.memory().length()
    }

    fn share(&self, quota: Quota, amount: u64) -> Result<Share, AgentError> {
        self.nic.accounts.take(self.peer.uid, quota, amount)
    }

    /// A doorbell page that the forwarder looks at, at this place of the device's, and its client's descriptor. None: the client has the device's
    /// own.
    fn new_page(&self, kind: Kind, at: u64) -> Result<Option<(Arc<Page>, OwnedFd)>, AgentError> {
        match self.leased {
            Some(_) => Ok(None),
            None => memory(Page::create(kind, at)).map(Some),
        }
    }

    /// Makes a protection tag.
    fn create_tag(&mut self, [share]: [Share; 1]) -> Result<u16, AgentError> {
        let tag = self.nic.agent.create_tag()?;
        self.tags.insert(tag, share);
        Ok(tag)
    }

    /// Destroys one.
    fn destroy_tag(&mut self, tag: u16) -> Result<(), AgentError> {
        self.nic.agent.destroy_tag(tag)?;
        self.tags.remove(&tag);
        Ok(())
    }

    /// From now on the session is told when something is raised. Descriptor: the client's end of the socket by which it is.
    fn watch(&self) -> Answered {
        let file = memory(self.party.inbox.watch())?.ok_or_else(|| AgentError::Remote {
            class: ErrorClass::State,
            text: "the session is told already when something is raised: once in a session".into(),
        })?;
        self.nic.watchers.add(&self.party.inbox);
        Ok((Answer::Watched, vec![file]))
    }

    /// Takes the events of its VIs.
    fn take_events(&self) -> Result<Vec<Event>, AgentError> {
        self.nic.events.collect()?;
        Ok(self.party.inbox.take_errors())
    }

    /// Gives everything back.
    fn give_back(&mut self) -> Result<(), AgentError> {
        let vis: Vec<ViName> = self.vis.keys().copied().collect();
        // All of it, whatever the first error is. The peers hear of it first.
        let mut result = self.nic.connections.leave(&self.party);
        result = result.and(self.retire(&vis));
        for cq in self.cqs.keys().copied().collect::<Vec<_>>() {
            result = result.and(self.destroy_cq(cq));
        }
        let mapped = self.leased_bytes();
        for handle in self.regions.keys().copied().collect::<Vec<_>>() {
            result = result.and(self.deregister(handle));
        }
        // The NIC reaches nothing of its memory any more.
        result = result.and(self.take_lease_back(mapped));
        for tag in self.tags.keys().copied().collect::<Vec<_>>() {
            result = result.and(self.destroy_tag(tag));
        }
        result.and(self.nic.agent.destroy_arena(&self.arena))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.nic.forwarder.remove_client(&self.wake);
        let pages = self.vis.values().map(|vi| &vi.page).chain(self.cqs.values().map(|cq| &cq.page));
        for page in pages.flatten() {
            self.nic.forwarder.settle(page).unwrap_or_default();
        }
        if let Err(error) = self.give_back() {
            tracing::warn!(pid = self.peer.pid.as_raw_nonzero(), %error, "not everything was given back");
        }
        // Until here it had what the reports say.
        self.nic.records.end(self.party.inbox.session);
    }
}
