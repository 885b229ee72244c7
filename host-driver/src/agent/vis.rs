//! Virtual interfaces: their rows in the NIC's tables, and the arenas that hold the rings of their work queues.

use std::sync::Arc;

use rand::Rng;
use viaduct_spec::{
    handle::{memory_handle, queue_pair},
    tables::{table, transmit, vi_state, vi_states},
};

use super::{admin::Admin, interrupts::EVENT_VECTOR, regions::Request, Agent, AgentError};
pub use crate::queues::{
    ring::{arena_bytes, Ring, MAX_RING_LOG2, MIN_RING_LOG2},
    vi::Vi,
    Direction, ViState,
};
use crate::{
    address::{ConnectionInfo, Mtu, Service},
    cm::{
        end::{Agreement, End},
        NotReady,
    },
    kernel_agent::ViName,
    memory::Mapping,
    queues::{doorbells::Doorbells, ring::RING_BYTES, vi::Parts},
    rows, template,
};

/// Largest message in bytes: with the smallest packets it has 2^22 PSNs, well inside the window of
/// 2^23 that tells old from new. (A read has 2^20 at most, and so all of these bytes from packets of 1024 bytes on:
/// REQ-1.)
pub const MAX_TRANSFER: u32 = 1 << 30;

/// Memory for the rings of VIs, registered under the system tag.
#[derive(Debug)]
pub struct Arena {
    memory: Arc<Mapping>,
    handle: u32,
}

impl Arena {
    /// Its memory.
    pub fn memory(&self) -> &Arc<Mapping> {
        &self.memory
    }

    pub(super) fn region(&self) -> u16 {
        memory_handle::INDEX.get(&[self.handle.into()]) as u16
    }
}

/// What a VI is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ViAttributes {
    /// Protection tag: its descriptors and buffers lie in memory of this tag.
    pub tag: u16,
    /// Reliability level.
    pub service: Service,
    /// Largest packet.
    pub mtu: Mtu,
    /// Largest message in bytes.
    pub max_transfer: u32,
    /// log2 of the slots of the send ring.
    pub send_log2: u32,
    /// log2 of the slots of the receive ring.
    pub receive_log2: u32,
    /// The peer may write memory of this tag whose region allows it.
    pub rdma_write: bool,
    /// The peer may read memory of this tag whose region allows it. Not with Unreliable Delivery.
    pub rdma_read: bool,
    /// What becomes of a peer's message that finds no receive posted. With Unreliable Delivery it is dropped, whatever this says. A peer hears of it
    /// when the two are connected over the wire; one that is connected by [`ConnectionInfo`] alone sends no second time.
    pub not_ready: NotReady,
    /// Index of the completion queue of its sends.
    pub send_cq: Option<u16>,
    /// Index of the completion queue of its receives.
    pub receive_cq: Option<u16>,
}

impl ViAttributes {
    /// Whether there can be such a VI.
    fn check(&self) -> Result<(), AgentError> {
        if self.rdma_read && !self.service.is_reliable() {
            return Err(AgentError::RdmaRead);
        }
        for log2 in [self.send_log2, self.receive_log2] {
            if !(MIN_RING_LOG2..=MAX_RING_LOG2).contains(&log2) {
                return Err(AgentError::Ring(log2));
            }
        }
        if !(1..=MAX_TRANSFER).contains(&self.max_transfer) {
            return Err(AgentError::MaxTransfer(self.max_transfer));
        }
        self.not_ready.check().map_err(AgentError::NotReady)?;
        Ok(())
    }

    fn cq(&self, direction: Direction) -> Option<u16> {
        match direction {
            Direction::Send => self.send_cq,
            Direction::Receive => self.receive_cq,
        }
    }
}

/// What the agent remembers of a VI.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    name: ViName,
    attributes: ViAttributes,
    info: ConnectionInfo,
    arena: Arc<Arena>,
    send: Ring,
    receive: Ring,
}

impl Entry {
    fn ring(&self, direction: Direction) -> &Ring {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    /// The row of one of its work queues.
    fn row(&self, direction: Direction) -> u32 {
        row(self.name.index, direction)
    }
}

/// A VI that the agent has made: what its consumer's end is built of.
#[derive(Debug, Clone)]
pub struct NewVi {
    /// What the agent calls it.
    pub name: ViName,
    /// For its first connection.
    pub info: ConnectionInfo,
    /// Its send ring.
    pub send: Ring,
    /// Its receive ring.
    pub receive: Ring,
    /// Interrupt vectors of the send and the receive queue.
    pub vectors: [u8; 2],
}

/// The row of a work queue.
fn row(vi: u16, direction: Direction) -> u32 {
    2 * u32::from(vi) + u32::from(direction == Direction::Receive)
}

/// Closes a work queue: nothing of it is fetched any more.
fn close(admin: &Admin<'_>, vi: u16, direction: Direction) -> Result<(), AgentError> {
    admin.commit(table::WORK_QUEUE, row(vi, direction), &[0, 0])
}

/// Ends the life of a VI that is not connected, whatever the NIC still has of it (LIFE-3). It is idle then,
/// with these rows, and its work queues are closed.
fn end_life(admin: &Admin<'_>, vi: u16, transmit: &[u64; 2], receive: &[u64; 2]) -> Result<(), AgentError> {
    close(admin, vi, Direction::Send)?;
    close(admin, vi, Direction::Receive)?;
    admin.commit(table::TRANSMIT, vi.into(), transmit)?;
    admin.commit(table::RECEIVE, vi.into(), receive)?;
    // Nothing that was granted reaches memory later,
    admin.drain()?;
    // and what was wrong with the old queues breaks nothing any more.
    set_state(admin, vi, vi_states::IDLE)
}

fn set_state(admin: &Admin<'_>, vi: u16, to: u8) -> Result<(), AgentError> {
    let mut row = [0];
    vi_state::STATE.put(&mut row, to.into());
    admin.commit(table::VI_STATE, vi.into(), &row)
}

fn query(admin: &Admin<'_>, vi: u16) -> Result<ViState, AgentError> {
    let result = admin.query_state(vi)?;
    match u8::try_from(result) {
        Ok(vi_states::IDLE) => Ok(ViState::Idle),
        Ok(vi_states::CONNECTED) => Ok(ViState::Connected),
        Ok(vi_states::ERROR) => Ok(ViState::Error),
        _ => Err(AgentError::Limits { what: "the state of a virtual interface", value: result as u32 }),
    }
}

impl Agent {
    /// Registers an arena for rings: memory that the agent and the consumer have in common. The NIC reads it.
    pub fn create_arena(&self, memory: Arc<Mapping>) -> Result<Arc<Arena>, AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let request = Request::system(&memory, self.system_tag, state.random.random());
        // SAFETY: the memory is accessed as atomics only, and stays until `destroy_arena` has taken it back from the
        // device, or for ever: a state that is dropped leaves it if the device does not give it back.
        let handle = unsafe { state.regions.register(&*self.device, &mut state.tags, request) }?;
        state.arenas.push(Arc::clone(&memory));
        Ok(Arc::new(Arena { memory, handle }))
    }

    /// Takes an arena back. No VI has its rings there.
    pub fn destroy_arena(&self, arena: &Arc<Arena>) -> Result<(), AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let users = state.vis.iter().flatten().filter(|entry| Arc::ptr_eq(&entry.arena, arena)).count();
        if users > 0 {
            return Err(AgentError::TagInUse { tag: self.system_tag, users });
        }
        // After an error it stays in `arenas`, and so for ever if the device is never reset.
        state.regions.deregister(&*self.device, &mut state.tags, arena.handle)?;
        state.arenas.retain(|memory| !Arc::ptr_eq(memory, &arena.memory));
        Ok(())
    }

    /// Creates a VI, idle.
    ///
    /// # Errors
    /// A ring size or transfer size that the NIC has not, RDMA reads without reliability; a tag or completion queue
    /// that does not exist; no VI left.
    pub fn create_vi(self: &Arc<Self>, attributes: ViAttributes) -> Result<Vi, AgentError> {
        let NewVi { name, info, send, receive, vectors } = self.new_vi(&self.arena, None, attributes)?;
        let page = self.limits.vi_page(name.index);
        let doorbells = Doorbells::of_device(Arc::clone(&self.device), page);
        Ok(Vi::new(Arc::clone(self) as Arc<_>, name, info, Parts { send, receive, vectors, doorbells }))
    }

    /// Creates a VI with its rings at the `place`-th pair of an arena; None: the pair of its index.
    #[tracing::instrument(level = "debug", skip_all, fields(attributes = ?attributes), err(level = "debug"))]
    pub fn new_vi(
        &self,
        arena: &Arc<Arena>,
        place: Option<usize>,
        attributes: ViAttributes,
    ) -> Result<NewVi, AgentError> {
        attributes.check()?;
        let mut guard = self.state()?;
        let state = &mut *guard;
        self.check_not_system(attributes.tag)?;
        state.tags.check(attributes.tag)?;
        let count = state.vis.len();
        let index = (0..count)
            .map(|n| (state.next_vi + n) % count)
            .find(|n| state.vis[*n].is_none())
            .ok_or(AgentError::Full(count, "virtual interface"))?;
        let place = place.unwrap_or(index);
        let ring = |receive: usize, log2| {
            let offset = place.saturating_mul(2).saturating_add(receive).saturating_mul(RING_BYTES);
            Ring::new(&arena.memory, offset, log2).ok_or(AgentError::Ring(log2))
        };
        let (send, receive) = (ring(0, attributes.send_log2)?, ring(1, attributes.receive_log2)?);

        let (queue_pair, first_psn) = state.next_connection(index);
        state.lives[index] = state.lives[index].wrapping_add(1);
        let name = ViName { index: index as u16, life: state.lives[index] };
        let info = ConnectionInfo {
            mac: self.mac,
            ip: self.ip,
            queue_pair,
            first_psn,
            mtu: attributes.mtu,
            service: attributes.service,
            max_transfer: attributes.max_transfer,
        };
        let entry = Entry { name, attributes, info, arena: Arc::clone(arena), send, receive };
        let cqs = [attributes.send_cq, attributes.receive_cq];
        for (n, cq) in cqs.iter().enumerate().filter_map(|(n, cq)| Some((n, (*cq)?))) {
            if let Err(error) = state.use_cq(cq, 1) {
                for taken in cqs[..n].iter().flatten() {
                    state.use_cq(*taken, -1)?;
                }
                return Err(error);
            }
        }
        let admin = Admin::of(&*self.device);
        set_state(&admin, name.index, vi_states::IDLE)?;
        self.open_vi(&admin, &entry)?;
        state.tags.take(attributes.tag)?;
        let vectors =
            [Direction::Send, Direction::Receive].map(|direction| self.vi_vector(&entry, direction));
        let (send, receive) = (entry.send.clone(), entry.receive.clone());
        state.vis[index] = Some(entry);
        state.next_vi = (index + 1) % count;
        tracing::debug!(vi = ?name, ?info, "a VI is made");
        Ok(NewVi { name, info, send, receive, vectors })
    }

    pub(super) fn connect_vi(&self, vi: ViName, peer: &ConnectionInfo) -> Result<(), AgentError> {
        self.state()?.vi(vi)?.info.check(peer)?;
        // At most eight.
        let reads = self.limits.read_depth as u8;
        let not_ready_retries = rows::RNR_RETRIES;
        let agreement =
            Agreement { peer: *peer, reads_asked: reads, reads_answered: reads, not_ready_retries };
        self.connect_vi_as(vi, &agreement)
    }

    /// What a VI's end tells the other one, for its next connection.
    pub(super) fn vi_end(&self, vi: ViName) -> Result<End, AgentError> {
        let mut state = self.state()?;
        let entry = state.vi(vi)?;
        let ViAttributes { rdma_write, rdma_read, not_ready, .. } = entry.attributes;
        Ok(End { rdma_write, rdma_read, not_ready, ..End::new(entry.info, self.limits.read_depth as u8) })
    }

    /// Connects an idle VI as it was agreed on.
    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi, agreement = ?agreement), ret, err(level = "debug"))]
    pub(super) fn connect_vi_as(&self, vi: ViName, agreement: &Agreement) -> Result<(), AgentError> {
        let Agreement { peer, reads_asked, reads_answered, not_ready_retries } = agreement;
        let mut state = self.state()?;
        let entry = state.vi(vi)?;
        let own = entry.info;
        own.check_any(peer)?;
        let admin = Admin::of(&*self.device);
        let now = query(&admin, vi.index)?;
        if now != ViState::Idle {
            let rule = "only an idle one can be connected";
            return Err(AgentError::State { vi: vi.index, state: now.name(), rule });
        }
        let mtu = entry.attributes.mtu.min(peer.mtu);
        let index = u32::from(vi.index);
        for (word, row) in template::words(&own, peer, self.pkey).iter().zip(8 * index..) {
            admin.commit(table::TEMPLATE, row, &[*word])?;
        }
        // What was posted on the idle VI is not this connection's (LIFE-1).
        close(&admin, vi.index, Direction::Send)?;
        let loopback = peer.mac == own.mac && peer.ip == own.ip;
        let ViAttributes { tag, service, max_transfer, not_ready, .. } = entry.attributes;
        let rights = rows::Rights { reads: (*reads_answered).into(), ..self.rights(&entry.attributes) };
        let receive = rows::Receive { not_ready, ..rows::Receive::connected(&own, peer, tag, rights) };
        let mut send = rows::transmit(own.first_psn, service, loopback, (*reads_asked).into());
        transmit::RNR_RETRIES.put(&mut send, (*not_ready_retries).into());
        admin.commit(table::TRANSMIT, index, &send)?;
        admin.commit(table::RECEIVE, index, &receive.words())?;
        admin.commit(table::GATHER, index, &rows::gather(tag, service, mtu, max_transfer))?;
        let (row, words) = self.work_queue(Direction::Send, entry);
        admin.commit(table::WORK_QUEUE, row, &words)?;
        admin.commit(table::VI_STATE, index, &[vi_states::CONNECTED.into()])?;
        Ok(())
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(super) fn break_vi(&self, vi: ViName) -> Result<(), AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        set_state(&Admin::of(&*self.device), vi.index, vi_states::ERROR)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(super) fn idle_vi(&self, vi: ViName) -> Result<ConnectionInfo, AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        let admin = Admin::of(&*self.device);
        set_state(&admin, vi.index, vi_states::IDLE)?;
        let next = state.next_connection(vi.index.into());
        let entry = state.vi(vi)?;
        (entry.info.queue_pair, entry.info.first_psn) = next;
        self.open_vi(&admin, entry)?;
        Ok(entry.info)
    }

    pub(super) fn vi_state(&self, vi: ViName) -> Result<ViState, AgentError> {
        let mut state = self.state()?;
        state.vi(vi)?;
        query(&Admin::of(&*self.device), vi.index)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi, attributes = ?new), ret, err(level = "debug"))]
    pub(super) fn set_vi_attributes(
        &self,
        vi: ViName,
        new: ViAttributes,
        anew: bool,
    ) -> Result<ConnectionInfo, AgentError> {
        new.check()?;
        let mut guard = self.state()?;
        let state = &mut *guard;
        let mut entry = state.vi(vi)?.clone();
        let old = entry.attributes;
        let admin = Admin::of(&*self.device);
        let now = query(&admin, vi.index)?;
        if now != ViState::Idle {
            let rule = "only an idle one can have other attributes";
            return Err(AgentError::State { vi: vi.index, state: now.name(), rule });
        }
        self.check_not_system(new.tag)?;
        if !anew && new.tag != old.tag {
            return Err(AgentError::UnknownTag(new.tag));
        }
        state.tags.take(new.tag)?;
        let ViAttributes { send_log2, receive_log2, send_cq, receive_cq, .. } = old;
        entry.attributes = ViAttributes { send_log2, receive_log2, send_cq, receive_cq, ..new };
        let info = &mut entry.info;
        (info.mtu, info.service, info.max_transfer) = (new.mtu, new.service, new.max_transfer);
        let info = *info;
        if anew {
            self.open_vi(&admin, &entry)?;
        } else {
            self.idle_rows(&admin, &entry)?;
        }
        state.tags.give_back(old.tag);
        *state.vi(vi)? = entry;
        Ok(info)
    }

    #[tracing::instrument(level = "debug", skip_all, fields(vi = ?vi), ret, err(level = "debug"))]
    pub(super) fn destroy_vi(&self, vi: ViName) -> Result<(), AgentError> {
        let mut state = self.state()?;
        let ViAttributes { tag, send_cq, receive_cq, .. } = state.vi(vi)?.attributes;
        let admin = Admin::of(&*self.device);
        set_state(&admin, vi.index, vi_states::IDLE)?;
        // Whoever has the index next finds nothing of this life. Generation 0 is in no queue pair number.
        end_life(&admin, vi.index, &[0, 0], &[0, 0])?;
        self.empty_error_ring(&mut state)?;
        state.tags.give_back(tag);
        for cq in [send_cq, receive_cq].into_iter().flatten() {
            state.use_cq(cq, -1)?;
        }
        state.vis[usize::from(vi.index)] = None;
        Ok(())
    }

    /// The interrupt vector of one of a VI's queues.
    fn vi_vector(&self, entry: &Entry, direction: Direction) -> u8 {
        self.interrupts.as_ref().map_or(EVENT_VECTOR, |all| all.of_queue(entry.row(direction)))
    }

    /// Row and contents of one of its work queues.
    fn work_queue(&self, direction: Direction, entry: &Entry) -> (u32, [u64; 2]) {
        let ring = entry.ring(direction);
        let words = rows::WorkQueue {
            ring_offset: ring.offset() as u64 / 64,
            ring_region: entry.arena.region(),
            ring_log2: ring.log2(),
            system_tag: self.system_tag,
            tag: entry.attributes.tag,
            vector: self.vi_vector(entry, direction),
            cq: entry.attributes.cq(direction),
        }
        .words();
        (entry.row(direction), words)
    }

    /// What its peer may do.
    fn rights(&self, attributes: &ViAttributes) -> rows::Rights {
        let ViAttributes { rdma_write: write, rdma_read: read, .. } = *attributes;
        rows::Rights { write, read, reads: self.limits.read_depth }
    }

    /// Begins a life of an idle VI, with both queues empty; the doorbells open last.
    fn open_vi(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let (transmit, receive) = self.idle_ends(entry);
        end_life(admin, entry.name.index, &transmit, &receive)?;
        self.idle_gather(admin, entry)?;
        for direction in [Direction::Send, Direction::Receive] {
            entry.ring(direction).clear();
            let (row, words) = self.work_queue(direction, entry);
            admin.commit(table::WORK_QUEUE, row, &words)?;
        }
        Ok(())
    }

    /// Writes the rows of an idle VI that are not its work queues'.
    fn idle_rows(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let vi = u32::from(entry.name.index);
        let (transmit, receive) = self.idle_ends(entry);
        admin.commit(table::TRANSMIT, vi, &transmit)?;
        admin.commit(table::RECEIVE, vi, &receive)?;
        self.idle_gather(admin, entry)
    }

    /// The TRANSMIT and the RECEIVE row of an idle VI.
    fn idle_ends(&self, entry: &Entry) -> ([u64; 2], [u64; 2]) {
        let ViAttributes { tag, service, .. } = entry.attributes;
        let own = &entry.info;
        let receive = rows::Receive::idle(own, tag, self.rights(&entry.attributes));
        (rows::transmit(own.first_psn, service, false, 0), receive.words())
    }

    /// Writes the GATHER row of an idle VI.
    fn idle_gather(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let ViAttributes { tag, service, mtu, max_transfer, .. } = entry.attributes;
        let row = rows::gather(tag, service, mtu, max_transfer);
        admin.commit(table::GATHER, entry.name.index.into(), &row)
    }
}

/// An arena that is registered already.
pub(super) fn arena(memory: Arc<Mapping>, handle: u32) -> Arc<Arena> {
    Arc::new(Arena { memory, handle })
}

impl super::State {
    /// The entry of a VI that still exists.
    fn vi(&mut self, vi: ViName) -> Result<&mut Entry, AgentError> {
        self.vis
            .get_mut(usize::from(vi.index))
            .and_then(Option::as_mut)
            .filter(|entry| entry.name == vi)
            .ok_or(AgentError::UnknownVi(vi.index))
    }

    /// The life of the VI that has an index.
    pub(super) fn vi_life(&self, index: u16) -> Option<u64> {
        Some(self.vis.get(usize::from(index))?.as_ref()?.name.life.into())
    }

    /// Queue pair number and first PSN of the next connection of a VI, both random, so that nobody guesses them; the generation is not the
    /// last one that the index had.
    fn next_connection(&mut self, index: usize) -> (u32, u32) {
        let generation = next_generation(self.generations[index], &mut self.random);
        self.generations[index] = generation;
        let mut number = [0];
        queue_pair::VI.put(&mut number, index as u64);
        queue_pair::GENERATION.put(&mut number, generation.into());
        (number[0] as u32, self.random.random::<u32>() & 0xff_ffff)
    }
}

/// Any generation but `now` and 0.
fn next_generation(now: u16, random: &mut impl Rng) -> u16 {
    let all = queue_pair::GENERATION.mask() as u16;
    loop {
        let next = random.random::<u16>() & all;
        if next != 0 && next != now {
            return next;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_generation_is_never_0_nor_the_last_one_nor_to_be_guessed() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let (mut now, mut steps) = (0, std::collections::HashSet::new());
        for _ in 0..50_000 {
            let next = next_generation(now, &mut random);
            assert!(next != 0 && next != now && next <= 0x3fff);
            steps.insert(next.wrapping_sub(now));
            now = next;
        }
        assert!(steps.len() > 10_000, "{} steps", steps.len());
    }
}
