//! What one session has. Nothing in it means anything to another; dropping it gives everything back.

use std::{collections::BTreeMap, io, os::fd::OwnedFd, sync::Arc};

use viaduct_driver::{
    address::ConnectionInfo,
    agent::{
        vis::{arena_bytes, Arena, NewVi, ViAttributes},
        AgentError, ErrorClass, Event, MemoryAttributes,
    },
    cm::{self, ConnectionId, Discriminator, ListenerId},
    connection_agent::{Ask, ConnectorError},
    device::DmaAccess,
    kernel_agent::{CqName, KernelAgent, ViName},
    memory::Mapping,
    pages::{self, Cover},
    queues::{entries::Entries, ViState},
    viad::doorbell_page::Kind,
};
use viaduct_spec::handle::{memory_handle, queue_pair};

use crate::{
    accounts::{Good, Share},
    connections::{Connections, Party},
    events::Subject,
    forwarder::Page,
    inbox::Inbox,
    peer::Peer,
    record::{self, Record},
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
        let row = |good| nic.accounts.take(peer.uid, good, 1);
        let arena_rows = [row(Good::Row)?, row(Good::Page)?];
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

    fn share(&self, good: Good, amount: u64) -> Result<Share, AgentError> {
        self.nic.accounts.take(self.peer.uid, good, amount)
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
        let share = self.share(Good::Tag, 1)?;
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
        let (start, bytes) = pages::whole(address, length).ok_or(AgentError::Range { address, length })?;
        let [region, own_row] = [self.share(Good::Region, 1)?, self.share(Good::Row, 1)?];
        let bytes_share = self.share(Good::Bytes, bytes)?;
        // Where DMA addresses are scarce it may cost more rows than these.
        let least = Cover::all(start, bytes).next().map_or(0, |cover| cover.count);
        drop(self.share(Good::Page, least)?);
        let most = self.nic.accounts.rest(self.peer.uid, Good::Page);
        let end = start.checked_add(bytes).ok_or(AgentError::Range { address, length })?;
        // Writes through its descriptor would ignore that a page is read-only.
        let access = self.peer.access(start, end)?;
        let file = &self.memories[usize::from(access == DmaAccess::Read)];
        use std::os::fd::AsFd;
        let agent = &self.nic.agent;
        let handle = agent.register_file(file.as_fd(), (address, length), access, attributes, most)?;
        let pages = agent.page_rows(handle).and_then(|pages| self.share(Good::Page, pages));
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
            has.bytes -= pages::whole(address, length).map_or(0, |(_, bytes)| bytes);
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

    /// Creates a VI: what it is, and the descriptor of its doorbell page.
    pub fn create_vi(&mut self, attributes: ViAttributes) -> Result<(NewVi, OwnedFd), AgentError> {
        self.own_tag(attributes.tag)?;
        for cq in [attributes.send_cq, attributes.receive_cq].into_iter().flatten() {
            if !self.cqs.keys().any(|name| name.index == cq) {
                return Err(AgentError::UnknownCq(cq));
            }
        }
        let count = self.places.len();
        let free = self.places.iter().position(|taken| !taken);
        let place = free.ok_or(AgentError::Full(count, "client's virtual interface"))?;
        let share = self.share(Good::Vi, 1)?;
        let new = self.nic.agent.new_vi(&self.arena, Some(place), attributes)?;
        let at = self.nic.agent.limits().vi_page(new.name.index);
        let (page, file) = match memory(Page::create(Kind::Vi, at)) {
            Ok(made) => made,
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.nic.agent.destroy_vi(new.name);
                return Err(error);
            }
        };
        self.places[place] = true;
        self.nic.events.own(Subject::Vi(new.name), &self.party.inbox);
        self.nic.forwarder.add(&page);
        let rings = [new.send.clone(), new.receive.clone()];
        let record = record::Vi { attributes, page: Arc::clone(&page), rings };
        self.record.has().vis.insert(new.name, record);
        self.vis.insert(new.name, Vi { page, place, _share: share });
        Ok((new, file))
    }

    /// Gives an idle VI other attributes; with `anew` both of its rings start anew.
    pub fn set_vi_attributes(
        &self,
        vi: ViName,
        attributes: ViAttributes,
        anew: bool,
    ) -> Result<ConnectionInfo, AgentError> {
        let page = &self.own_vi(vi)?.page;
        self.own_tag(attributes.tag)?;
        if anew && self.nic.agent.vi_state(vi)? == ViState::Idle {
            self.nic.forwarder.renew(page, false)?;
        }
        let info = self.nic.agent.set_vi_attributes(vi, attributes, anew)?;
        if let Some(vi) = self.record.has().vis.get_mut(&vi) {
            vi.attributes = attributes;
        }
        Ok(info)
    }

    /// Connects a VI.
    pub fn connect_vi(&self, vi: ViName, peer: &ConnectionInfo) -> Result<(), AgentError> {
        self.check_neighbour(peer)?;
        self.prepare(vi)?;
        self.nic.agent.connect_vi(vi, peer)
    }

    /// A VI of this NIC is somebody's, and frames from this NIC are its peer's to it: only its own user connects with it without its being
    /// asked.
    fn check_neighbour(&self, peer: &ConnectionInfo) -> Result<(), AgentError> {
        let index = queue_pair::VI.get(&[peer.queue_pair.into()]) as u16;
        if peer.ip != self.nic.agent.ip() || self.nic.records.owner(index) == Some(self.peer.uid) {
            return Ok(());
        }
        let text = format!(
            "virtual interface {index} of this NIC is not this user's: connect with it by its discriminator, so that it is asked"
        );
        Err(AgentError::Remote { class: ErrorClass::Reject, text })
    }

    /// Breaks a VI.
    pub fn break_vi(&self, vi: ViName) -> Result<(), AgentError> {
        // What was posted is flushed too.
        self.nic.forwarder.settle(&self.own_vi(vi)?.page)?;
        self.nic.agent.break_vi(vi)
    }

    /// Makes a broken VI idle.
    pub fn idle_vi(&self, vi: ViName) -> Result<ConnectionInfo, AgentError> {
        let page = &self.own_vi(vi)?.page;
        let state = self.nic.agent.vi_state(vi)?;
        if state != ViState::Error {
            let state = if state == ViState::Idle { "idle" } else { "connected" };
            return Err(AgentError::State { vi: vi.index, state, rule: "only a broken one is made idle" });
        }
        // Nobody is connected with it any more, whoever has not said so.
        self.nic.connections.leave_vi(&self.party, vi)?;
        self.nic.forwarder.renew(page, false)?;
        self.nic.agent.idle_vi(vi)
    }

    /// A VI's state.
    pub fn vi_state(&self, vi: ViName) -> Result<ViState, AgentError> {
        self.own_vi(vi)?;
        self.nic.agent.vi_state(vi)
    }

    /// Destroys a VI, whatever is posted on it.
    pub fn destroy_vi(&mut self, vi: ViName) -> Result<(), AgentError> {
        self.own_vi(vi)?;
        self.retire(&[vi])
    }

    /// Destroys VIs, whatever is posted on them: the NIC forgets it. All of them, whatever the first error is.
    fn retire(&mut self, vis: &[ViName]) -> Result<(), AgentError> {
        let nic = Arc::clone(&self.nic);
        let mut result = Ok(());
        for &name in vis {
            let Some(vi) = self.vis.get(&name) else { continue };
            result = result.and(nic.connections.leave_vi(&self.party, name));
            // A thread of the client's that posts hears that it has.
            result = result.and(nic.forwarder.settle(&vi.page).map_err(AgentError::from));
            nic.forwarder.remove(&vi.page);
            let destroyed = nic.agent.destroy_vi(name);
            if destroyed.is_ok() {
                nic.events.disown(Subject::Vi(name));
                self.record.has().vis.remove(&name);
                if let Some(vi) = self.vis.remove(&name) {
                    self.places[vi.place] = false;
                }
            }
            result = result.and(destroyed);
        }
        result
    }

    /// Creates a completion queue: name, vector, and the descriptors of its ring and doorbell page.
    pub fn create_cq(&mut self, entries: usize) -> Result<(CqName, u8, [OwnedFd; 2]), AgentError> {
        let shares = [self.share(Good::Cq, 1)?, self.share(Good::Row, 1)?, self.share(Good::Page, 1)?];
        let (ring, ring_file) = ring(entries)?;
        let (name, vector) = self.nic.agent.new_cq(&ring)?;
        let at = self.nic.agent.limits().cq_page(name.index);
        let (page, file) = match memory(Page::create(Kind::Cq, at)) {
            Ok(made) => made,
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.nic.agent.destroy_cq(name);
                return Err(error);
            }
        };
        self.nic.events.own(Subject::Cq(name), &self.party.inbox);
        self.nic.forwarder.add(&page);
        self.cqs.insert(name, Cq { page, _shares: shares });
        self.record.has().cqs = self.cqs.len() as u32;
        Ok((name, vector, [ring_file, file]))
    }

    /// Gives a completion queue another ring: entries of the old one, and the new one's descriptor.
    pub fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(u32, OwnedFd), AgentError> {
        let page = &self.cqs.get(&cq).ok_or(AgentError::UnknownCq(cq.index))?.page;
        let (ring, file) = ring(entries)?;
        // An index of the old ring is none of the new one's.
        self.nic.forwarder.settle(page)?;
        let written = self.nic.agent.replace_cq(cq, &ring)?;
        Ok((written, file))
    }

    /// Destroys a completion queue that no VI has.
    pub fn destroy_cq(&mut self, cq: CqName) -> Result<(), AgentError> {
        let kept = self.cqs.get(&cq).ok_or(AgentError::UnknownCq(cq.index))?;
        self.nic.agent.destroy_cq(cq)?;
        self.nic.events.disown(Subject::Cq(cq));
        self.nic.forwarder.remove(&kept.page);
        self.cqs.remove(&cq);
        self.record.has().cqs = self.cqs.len() as u32;
        Ok(())
    }

    /// Waits for the next who asks for a discriminator.
    pub fn listen(&self, name: Discriminator) -> Result<ListenerId, AgentError> {
        self.nic.connections.listen(&self.party, name, self.share(Good::Listener, 1)?)
    }

    /// Waits no longer.
    pub fn unlisten(&self, listener: ListenerId) -> Result<(), AgentError> {
        self.nic.connections.unlisten(&self.party, listener)
    }

    /// Asks for a connection, who listens or who asks us.
    pub fn connect(
        &self,
        ask: Ask,
        how: fn(&Connections, &Party, Ask) -> Result<ConnectionId, ConnectorError>,
    ) -> Result<ConnectionId, ConnectorError> {
        self.prepare(ask.vi)?;
        how(&self.nic.connections, &self.party, ask)
    }

    /// Accepts a request with a VI.
    pub fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError> {
        self.prepare(vi)?;
        self.nic.connections.accept(&self.party, id, vi, data)
    }

    /// Refuses a request.
    pub fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        self.nic.connections.reject(&self.party, id, data)
    }

    /// Ends a connection.
    pub fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        self.nic.connections.disconnect(&self.party, id)
    }

    /// Takes events of its connections.
    pub fn take_news(&self) -> Vec<cm::Event> {
        self.party.inbox.take_news()
    }

    /// A VI is to be connected: its send queue starts anew then, and what was posted to it while idle is to be flushed first.
    fn prepare(&self, vi: ViName) -> Result<(), AgentError> {
        let page = &self.own_vi(vi)?.page;
        if self.nic.agent.vi_state(vi)? == ViState::Idle {
            self.nic.forwarder.renew(page, true)?;
        }
        Ok(())
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

/// A ring for a completion queue, and its descriptor.
fn ring(entries: usize) -> Result<(Entries, OwnedFd), AgentError> {
    let bytes = Entries::bytes(entries).ok_or(AgentError::Entries(entries))?;
    let (mapping, file) = memory(Mapping::shared("viad-cq", bytes))?;
    let ring = Entries::over(Arc::new(mapping), entries).ok_or(AgentError::Entries(entries))?;
    Ok((ring, file))
}
