//! What one session has. Nothing in it means anything to another; dropping it gives everything back.

mod connections;
mod cqs;
mod vis;

use std::{collections::BTreeMap, io, os::fd::OwnedFd, sync::Arc};

use viaduct_driver::{
    agent::{
        vis::{arena_bytes, Arena},
        AgentError, ErrorClass, Event, MemoryAttributes,
    },
    device::DmaAccess,
    kernel_agent::{CqName, ViName},
    memory::Mapping,
    pages::{self, Cover},
};
use viaduct_spec::handle::memory_handle;

use crate::{
    accounts::{Quota, Share},
    connections::Party,
    forwarder::Page,
    inbox::Inbox,
    peer::Peer,
    record::Record,
    server::Nic,
};

/// What one session has.
pub struct Table {
    nic: Arc<Nic>,
    peer: Peer,
    /// The client's memory, for reading and writing, and for reading.
    memories: [OwnedFd; 2],
    arena: Arc<Arena>,
    /// Pairs of rings in the arena, and whether they are taken.
    places: Vec<bool>,
    wake: OwnedFd,
    tags: BTreeMap<u16, Share>,
    regions: BTreeMap<u32, [Share; 4]>,
    vis: BTreeMap<ViName, Vi>,
    cqs: BTreeMap<CqName, Cq>,
    party: Party,
    record: Arc<Record>,
    _session: Share,
    /// The arena's rows.
    _arena: [Share; 2],
}

struct Vi {
    page: Arc<Page>,
    place: usize,
    /// Positions count from 0 again when it is made idle.
    _share: Share,
}

struct Cq {
    page: Arc<Page>,
    /// Itself, and its ring's rows.
    _shares: [Share; 3],
}

/// Shared memory, or why there is none.
fn memory<T>(made: io::Result<T>) -> Result<T, AgentError> {
    made.map_err(AgentError::Arena)
}

impl Table {
    /// A session of `peer`, with nothing yet; the descriptors of its notice page and its arena.
    pub fn new(
        nic: Arc<Nic>,
        peer: Peer,
        memories: [OwnedFd; 2],
        session: Share,
    ) -> Result<(Self, [OwnedFd; 2]), AgentError> {
        let vis = nic.client_limits().vis;
        // One row each: its memory is aligned to its size.
        let row = |quota| nic.accounts.take(peer.uid, quota, 1);
        let arena_rows = [row(Quota::Row)?, row(Quota::Page)?];
        let (mapping, file) = memory(Mapping::shared("viad-arena", arena_bytes(vis)))?;
        let (inbox, own) = memory(Inbox::new())?;
        let read = memory(memories[1].try_clone())?;
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
            peer,
            memories,
            arena,
            places: vec![false; vis.into()],
            wake,
            tags: BTreeMap::new(),
            regions: BTreeMap::new(),
            vis: BTreeMap::new(),
            cqs: BTreeMap::new(),
            party,
            record,
            _session: session,
            _arena: arena_rows,
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

    fn own_tag(&self, tag: u16) -> Result<(), AgentError> {
        self.tags.contains_key(&tag).then_some(()).ok_or(AgentError::UnknownTag(tag))
    }

    fn own_vi(&self, vi: ViName) -> Result<&Vi, AgentError> {
        self.vis.get(&vi).ok_or(AgentError::UnknownVi(vi.index))
    }

    fn own_region(&self, handle: u32) -> Result<(), AgentError> {
        self.regions.contains_key(&handle).then_some(()).ok_or(AgentError::UnknownHandle(handle))
    }

    /// Makes a protection tag.
    pub fn create_tag(&mut self) -> Result<u16, AgentError> {
        let share = self.share(Quota::Tag, 1)?;
        let tag = self.nic.agent.create_tag()?;
        self.tags.insert(tag, share);
        Ok(tag)
    }

    /// Destroys one.
    pub fn destroy_tag(&mut self, tag: u16) -> Result<(), AgentError> {
        self.own_tag(tag)?;
        self.nic.agent.destroy_tag(tag)?;
        self.tags.remove(&tag);
        Ok(())
    }

    /// Registers memory of the client's.
    pub fn register(
        &mut self,
        address: u64,
        length: u64,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        self.own_tag(attributes.tag)?;
        let (start, bytes) =
            pages::whole_pages(address, length).ok_or(AgentError::Range { address, length })?;
        let [region, own_row] = [self.share(Quota::Region, 1)?, self.share(Quota::Row, 1)?];
        let bytes_share = self.share(Quota::Bytes, bytes)?;
        // Where DMA addresses are scarce it may cost more rows than these.
        let least = Cover::all(start, bytes).next().map_or(0, |cover| cover.count);
        drop(self.share(Quota::Page, least)?);
        let most = self.nic.accounts.rest(self.peer.uid, Quota::Page);
        let end = start.checked_add(bytes).ok_or(AgentError::Range { address, length })?;
        // Writes through its descriptor would ignore that a page is read-only.
        let access = self.peer.access(start, end)?;
        let file = &self.memories[usize::from(access == DmaAccess::Read)];
        use std::os::fd::AsFd;
        let agent = &self.nic.agent;
        let handle = agent.register_file(file.as_fd(), (address, length), access, attributes, most)?;
        let pages = agent.page_rows(handle).and_then(|pages| self.share(Quota::Page, pages));
        let shares = match pages {
            Ok(pages) => [region, own_row, bytes_share, pages],
            // Another session of the user's was quicker.
            Err(error) => {
                agent.deregister(handle)?;
                return Err(error);
            }
        };
        let mut has = self.record.has();
        has.regions.insert(row(handle), (address, length));
        has.bytes += bytes;
        drop(has);
        self.regions.insert(handle, shares);
        Ok(handle)
    }

    /// Ends a registration.
    pub fn deregister(&mut self, handle: u32) -> Result<(), AgentError> {
        self.own_region(handle)?;
        self.nic.agent.deregister(handle)?;
        let mut has = self.record.has();
        if let Some((address, length)) = has.regions.remove(&row(handle)) {
            has.bytes -= pages::whole_pages(address, length).map_or(0, |(_, bytes)| bytes);
        }
        drop(has);
        self.regions.remove(&handle);
        Ok(())
    }

    /// Gives a region another tag and other rights.
    pub fn set_memory_attributes(&self, handle: u32, attributes: MemoryAttributes) -> Result<(), AgentError> {
        self.own_region(handle)?;
        self.own_tag(attributes.tag)?;
        self.nic.agent.set_memory_attributes(handle, attributes)
    }

    /// What a handle was registered with.
    pub fn memory_attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        self.own_region(handle)?;
        self.nic.agent.memory_attributes(handle)
    }

    /// From now on the session is told when something is raised: the client's end of the socket by which it is.
    pub fn watch(&self) -> Result<OwnedFd, AgentError> {
        let file = memory(self.party.inbox.watch())?.ok_or_else(|| AgentError::Remote {
            class: ErrorClass::State,
            text: "the session is told already when something is raised: once in a session".into(),
        })?;
        self.nic.watchers.add(&self.party.inbox);
        Ok(file)
    }

    /// Takes the events of its VIs.
    pub fn take_events(&self) -> Result<Vec<Event>, AgentError> {
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
        for handle in self.regions.keys().copied().collect::<Vec<_>>() {
            result = result.and(self.deregister(handle));
        }
        for tag in self.tags.keys().copied().collect::<Vec<_>>() {
            result = result.and(self.destroy_tag(tag));
        }
        result.and(self.nic.agent.destroy_arena(&self.arena))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.nic.records.end(self.party.inbox.session);
        self.nic.forwarder.remove_client(&self.wake);
        for page in self.vis.values().map(|vi| &vi.page).chain(self.cqs.values().map(|cq| &cq.page)) {
            self.nic.forwarder.settle(page).unwrap_or_default();
        }
        if let Err(error) = self.give_back() {
            tracing::warn!(pid = self.peer.pid.as_raw_nonzero(), %error, "not everything was given back");
        }
    }
}

/// The row of a region.
fn row(handle: u32) -> u16 {
    memory_handle::INDEX.get(&[handle.into()]) as u16
}
