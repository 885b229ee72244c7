//! Virtual interfaces: their rows in the NIC's tables, and the rings of their work queues.

use std::{
    fmt,
    sync::{
        atomic::{AtomicU32, AtomicU64, Ordering},
        Arc, Mutex, PoisonError,
    },
};

use rand::Rng;
use viaduct_spec::{
    doorbell::{arm, page},
    handle::queue_pair,
    tables::{table, vi_state, vi_states},
};

use super::{admin::Admin, interrupts::EVENT_VECTOR, Agent, AgentError};
use crate::{
    address::{ConnectionInfo, Mtu, Service},
    device::{Bar, DeviceError},
    memory::Mapping,
    rows, template,
};

/// log2 of the most slots of a ring (VIP_NIC_ATTRIBUTES.MaxDescriptorsPerQueue).
pub const MAX_RING_LOG2: u32 = 10;
/// log2 of the fewest slots of a ring.
pub const MIN_RING_LOG2: u32 = 3;
/// Largest message in bytes: with the smallest packets it has 2^22 PSNs, well inside the window of
/// 2^23 that tells old from new.
pub const MAX_TRANSFER: u32 = 1 << 30;
/// Bytes that each ring has in the arena.
const RING_BYTES: usize = 8 << MAX_RING_LOG2;

/// Bytes of the arena that holds the rings of `vis` VIs.
pub fn arena_bytes(vis: u16) -> usize {
    usize::from(vis) * 2 * RING_BYTES
}

/// What a VI is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        Ok(())
    }

    fn cq(&self, direction: Direction) -> Option<u16> {
        match direction {
            Direction::Send => self.send_cq,
            Direction::Receive => self.receive_cq,
        }
    }
}

/// A state of a VI (VIP_VI_STATE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViState {
    /// Not connected; receives may be posted and stay.
    Idle,
    /// Both queues are processed.
    Connected,
    /// Broken: everything posted is flushed, until the VI is disconnected.
    Error,
}

impl ViState {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Connected => "connected",
            Self::Error => "in error",
        }
    }
}

/// One of a VI's two work queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sends and RDMA.
    Send,
    /// Receives.
    Receive,
}

/// A created VI: what its user needs to post without the agent.
pub struct Vi {
    agent: Arc<Agent>,
    index: u16,
    /// Tells it from an earlier VI of this index.
    life: u16,
    /// Its queue pair number and first PSN are new for each connection.
    info: Mutex<ConnectionInfo>,
    send: Ring,
    receive: Ring,
    /// Arm words so far.
    arms: AtomicU32,
}

/// What the agent remembers of a VI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    life: u16,
    attributes: ViAttributes,
}

/// The token ring of a work queue, in the agent's arena.
pub struct Ring {
    arena: Arc<Mapping>,
    /// In bytes from the arena's start.
    offset: usize,
    log2: u32,
}

impl Ring {
    /// Slots.
    pub fn slots(&self) -> usize {
        1 << self.log2
    }

    /// Writes the slot of ring position `position`.
    pub fn store(&self, position: u16, token: u64) {
        self.slot(usize::from(position) & (self.slots() - 1)).store(token, Ordering::Release);
    }

    fn slot(&self, slot: usize) -> &AtomicU64 {
        // SAFETY: the ring lies inside the arena, which lives as long as `self`, is aligned to 64
        // bytes and only ever accessed as atomics (and by the NIC).
        unsafe { self.arena.start().cast::<u8>().add(self.offset + 8 * slot).cast::<AtomicU64>().as_ref() }
    }

    fn clear(&self) {
        for slot in 0..self.slots() {
            self.slot(slot).store(0, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Vi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vi").field("index", &self.index).field("info", &self.info()).finish()
    }
}

impl Vi {
    /// Its index: the row of its tables, the number of its doorbell page.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// What the other end needs to know for the next connection, or of this one: it changes when the
    /// VI is made idle.
    pub fn info(&self) -> ConnectionInfo {
        // Written whole: what a thread that panicked left is as good as ever.
        *self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent that made it.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// One of its rings.
    pub fn ring(&self, direction: Direction) -> &Ring {
        match direction {
            Direction::Send => &self.send,
            Direction::Receive => &self.receive,
        }
    }

    /// Rings the doorbell: one 8-byte store to the VI's page. The ring slot is written before.
    pub fn ring_doorbell(&self, direction: Direction, token: u64) -> Result<(), DeviceError> {
        let offset = match direction {
            Direction::Send => page::SEND,
            Direction::Receive => page::RECEIVE,
        };
        self.store(offset, token)
    }

    /// Asks for one interrupt of a queue's [`Vi::vector`]: when the descriptor at `position` is complete, or at
    /// once if it is. Whoever sleeps has read the vector's generation before: [`Agent::sleep`].
    pub fn arm(&self, direction: Direction, position: u16) -> Result<(), DeviceError> {
        let offset = match direction {
            Direction::Send => page::SEND_ARM,
            Direction::Receive => page::RECEIVE_ARM,
        };
        let mut word = [0];
        arm::POSITION.put(&mut word, u64::from(position) & arm::POSITION.mask());
        arm::SEQUENCE.put(&mut word, self.arms.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        self.store(offset, word[0])
    }

    /// The interrupt vector of a queue's completions.
    pub fn vector(&self, direction: Direction) -> u8 {
        self.agent.interrupts.as_ref().map_or(EVENT_VECTOR, |all| all.of_queue(self.row(direction)))
    }

    /// Stores a word into its doorbell page.
    fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError> {
        let page = u64::from(self.index) << self.agent.limits.doorbell_shift;
        self.agent.device.write64(Bar::Doorbells, page + offset, word)
    }

    /// Connects to the VI that `peer` describes. The send ring starts anew at position 0, so nothing
    /// may be posted to it that is not complete; posted receives stay.
    ///
    /// When it returns, messages of the peer are received; but the peer can take ours only when it
    /// has done the same.
    pub fn connect(&self, peer: &ConnectionInfo) -> Result<(), AgentError> {
        let own = self.info();
        own.check(peer)?;
        let agent = &*self.agent;
        let state = agent.state();
        let entry = *state.vi(self)?;
        let admin = Admin::of(&*agent.device);
        let now = self.query(&admin)?;
        if now != ViState::Idle {
            let rule = "only an idle one can be connected";
            return Err(AgentError::State { vi: self.index, state: now.name(), rule });
        }
        let mtu = entry.attributes.mtu.min(peer.mtu);
        let vi = u32::from(self.index);
        for (word, row) in template::words(&own, peer, agent.pkey).iter().zip(8 * vi..) {
            admin.commit(table::TEMPLATE, row, &[*word])?;
        }
        let loopback = peer.mac == own.mac && peer.ip == own.ip;
        let ViAttributes { tag, service, max_transfer, .. } = entry.attributes;
        let reads = agent.limits.read_depth;
        let receive = rows::Receive::connected(&own, peer, tag, self.rights(&entry.attributes));
        admin.commit(table::GATHER, vi, &rows::gather(tag, service, mtu, max_transfer))?;
        admin.commit(table::TRANSMIT, vi, &rows::transmit(own.first_psn, service, loopback, reads))?;
        admin.commit(table::RECEIVE, vi, &receive.words())?;
        let (row, words) = self.work_queue(Direction::Send, &entry.attributes);
        admin.commit(table::WORK_QUEUE, row, &words)?;
        admin.commit(table::VI_STATE, vi, &[vi_states::CONNECTED.into()])?;
        Ok(())
    }

    /// Breaks the VI: everything posted to either queue is completed, FLUSHED at the latest.
    pub fn break_off(&self) -> Result<(), AgentError> {
        let state = self.agent.state();
        state.vi(self)?;
        self.set_state(&Admin::of(&*self.agent.device), vi_states::ERROR)
    }

    /// Makes a broken VI idle again, with both rings empty at position 0. To be called when all that
    /// was posted is complete; what is not then is lost to its owner. Its queue pair number and first
    /// PSN are new from then on: frames of the connection that was match nothing.
    pub fn make_idle(&self) -> Result<(), AgentError> {
        let mut state = self.agent.state();
        let entry = *state.vi(self)?;
        let admin = Admin::of(&*self.agent.device);
        self.set_state(&admin, vi_states::IDLE)?;
        // Nothing that was granted to the old connection reaches memory after the rows are new.
        admin.drain()?;
        let next = state.next_connection(self.index.into());
        {
            let mut info = self.info.lock().unwrap_or_else(PoisonError::into_inner);
            (info.queue_pair, info.first_psn) = next;
        }
        self.open(&admin, &entry)
    }

    /// The VI's state in the NIC.
    pub fn state(&self) -> Result<ViState, AgentError> {
        let state = self.agent.state();
        state.vi(self)?;
        self.query(&Admin::of(&*self.agent.device))
    }

    /// Gives an idle VI other attributes; rings and completion queues stay. With `anew` both rings start anew at position 0:
    /// nothing may be posted that is not complete. Without it, what is posted to receive stays posted, and the tag is to be
    /// the same.
    ///
    /// # Errors
    /// Not idle; as [`Agent::create_vi`].
    pub fn set_attributes(&self, new: ViAttributes, anew: bool) -> Result<(), AgentError> {
        new.check()?;
        let mut guard = self.agent.state();
        let state = &mut *guard;
        let Entry { life, attributes: old } = *state.vi(self)?;
        let admin = Admin::of(&*self.agent.device);
        let now = self.query(&admin)?;
        if now != ViState::Idle {
            let rule = "only an idle one can have other attributes";
            return Err(AgentError::State { vi: self.index, state: now.name(), rule });
        }
        if new.tag == self.agent.system_tag || (!anew && new.tag != old.tag) {
            return Err(AgentError::UnknownTag(new.tag));
        }
        state.tags.take(new.tag)?;
        let rings = (old.send_log2, old.receive_log2, old.send_cq, old.receive_cq);
        let (send_log2, receive_log2, send_cq, receive_cq) = rings;
        let entry =
            Entry { life, attributes: ViAttributes { send_log2, receive_log2, send_cq, receive_cq, ..new } };
        {
            let mut info = self.info.lock().unwrap_or_else(PoisonError::into_inner);
            (info.mtu, info.service, info.max_transfer) = (new.mtu, new.service, new.max_transfer);
        }
        match anew {
            true => self.open(&admin, &entry)?,
            false => self.rest(&admin, &entry)?,
        }
        state.tags.give_back(old.tag);
        state.vis[usize::from(self.index)] = Some(entry);
        Ok(())
    }

    /// Destroys the VI: doorbells and frames for it are ignored from now on. To be called when all
    /// that was posted is complete.
    pub fn destroy(&self) -> Result<(), AgentError> {
        let mut state = self.agent.state();
        let ViAttributes { tag, send_cq, receive_cq, .. } = state.vi(self)?.attributes;
        let admin = Admin::of(&*self.agent.device);
        for direction in [Direction::Send, Direction::Receive] {
            admin.commit(table::WORK_QUEUE, self.row(direction), &[0, 0])?;
        }
        self.set_state(&admin, vi_states::IDLE)?;
        // Generation 0 is in no queue pair number.
        admin.commit(table::RECEIVE, self.index.into(), &[0, 0])?;
        admin.drain()?;
        state.tags.give_back(tag);
        for cq in [send_cq, receive_cq].into_iter().flatten() {
            state.use_cq(cq, -1)?;
        }
        state.vis[usize::from(self.index)] = None;
        Ok(())
    }

    fn set_state(&self, admin: &Admin<'_>, to: u8) -> Result<(), AgentError> {
        let mut row = [0];
        vi_state::STATE.put(&mut row, to.into());
        admin.commit(table::VI_STATE, self.index.into(), &row)
    }

    fn query(&self, admin: &Admin<'_>) -> Result<ViState, AgentError> {
        let result = admin.query_state(self.index)?;
        match u8::try_from(result) {
            Ok(vi_states::IDLE) => Ok(ViState::Idle),
            Ok(vi_states::CONNECTED) => Ok(ViState::Connected),
            Ok(vi_states::ERROR) => Ok(ViState::Error),
            _ => Err(AgentError::Limits { what: "the state of a virtual interface", value: result as u32 }),
        }
    }

    /// Row and contents of one of its work queues.
    fn work_queue(&self, direction: Direction, attributes: &ViAttributes) -> (u32, [u64; 2]) {
        let ring = self.ring(direction);
        let words = rows::WorkQueue {
            ring_offset: ring.offset as u64 / 64,
            ring_region: self.agent.arena_region,
            ring_log2: ring.log2,
            system_tag: self.agent.system_tag,
            tag: attributes.tag,
            vector: self.vector(direction),
            cq: attributes.cq(direction),
        }
        .words();
        (self.row(direction), words)
    }

    /// What its peer may do.
    fn rights(&self, attributes: &ViAttributes) -> rows::Rights {
        let ViAttributes { rdma_write: write, rdma_read: read, .. } = *attributes;
        rows::Rights { write, read, reads: self.agent.limits.read_depth }
    }

    /// The row of one of its work queues.
    fn row(&self, direction: Direction) -> u32 {
        2 * u32::from(self.index) + u32::from(direction == Direction::Receive)
    }

    /// Writes the rows of an idle VI; the doorbells open last.
    fn open(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        self.rest(admin, entry)?;
        for direction in [Direction::Send, Direction::Receive] {
            self.ring(direction).clear();
            let (row, words) = self.work_queue(direction, &entry.attributes);
            admin.commit(table::WORK_QUEUE, row, &words)?;
        }
        Ok(())
    }

    /// Writes the rows of an idle VI that are not its work queues'.
    fn rest(&self, admin: &Admin<'_>, entry: &Entry) -> Result<(), AgentError> {
        let ViAttributes { tag, service, mtu, max_transfer, .. } = entry.attributes;
        let (vi, own) = (u32::from(self.index), self.info());
        let receive = rows::Receive::idle(&own, tag, self.rights(&entry.attributes));
        admin.commit(table::GATHER, vi, &rows::gather(tag, service, mtu, max_transfer))?;
        admin.commit(table::TRANSMIT, vi, &rows::transmit(own.first_psn, service, false, 0))?;
        admin.commit(table::RECEIVE, vi, &receive.words())
    }
}

impl Agent {
    /// Creates a VI, idle.
    ///
    /// # Errors
    /// A ring size or transfer size that the NIC has not, RDMA reads without reliability; a tag or completion queue
    /// that does not exist; no VI left.
    pub fn create_vi(self: &Arc<Self>, attributes: ViAttributes) -> Result<Vi, AgentError> {
        attributes.check()?;
        let mut guard = self.state();
        let state = &mut *guard;
        if attributes.tag == self.system_tag {
            return Err(AgentError::UnknownTag(attributes.tag));
        }
        state.tags.check(attributes.tag)?;
        let count = state.vis.len();
        let index = (0..count)
            .map(|n| (state.next_vi + n) % count)
            .find(|n| state.vis[*n].is_none())
            .ok_or(AgentError::Full(count, "virtual interface"))?;

        let (queue_pair, first_psn) = state.next_connection(index);
        let life = state.generations[index];
        let ring = |receive: usize, log2| Ring {
            arena: Arc::clone(&self.arena),
            offset: (2 * index + receive) * RING_BYTES,
            log2,
        };
        let entry = Entry { life, attributes };
        let vi = Vi {
            agent: Arc::clone(self),
            index: index as u16,
            life,
            info: Mutex::new(ConnectionInfo {
                mac: self.mac,
                ip: self.ip,
                queue_pair,
                first_psn,
                mtu: attributes.mtu,
                service: attributes.service,
                max_transfer: attributes.max_transfer,
            }),
            send: ring(0, attributes.send_log2),
            receive: ring(1, attributes.receive_log2),
            arms: AtomicU32::new(0),
        };
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
        vi.set_state(&admin, vi_states::IDLE)?;
        vi.open(&admin, &entry)?;
        state.tags.take(attributes.tag)?;
        state.vis[index] = Some(entry);
        state.next_vi = (index + 1) % count;
        Ok(vi)
    }
}

impl super::State {
    /// The entry of a VI that still exists.
    fn vi(&self, vi: &Vi) -> Result<&Entry, AgentError> {
        self.vis
            .get(usize::from(vi.index))
            .and_then(Option::as_ref)
            .filter(|entry| entry.life == vi.life)
            .ok_or(AgentError::UnknownVi(vi.index))
    }

    /// Queue pair number and first PSN of the next connection of a VI: the generation is the one after
    /// the last that the index had, the PSN is random.
    fn next_connection(&mut self, index: usize) -> (u32, u32) {
        let generation = next_generation(self.generations[index]);
        self.generations[index] = generation;
        let mut number = [0];
        queue_pair::VI.put(&mut number, index as u64);
        queue_pair::GENERATION.put(&mut number, generation.into());
        (number[0] as u32, self.random.random::<u32>() & 0xff_ffff)
    }
}

/// The generation after `now`, never 0.
fn next_generation(now: u16) -> u16 {
    let next = now.wrapping_add(1) & queue_pair::GENERATION.mask() as u16;
    next.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_never_0() {
        assert_eq!(next_generation(0), 1);
        assert_eq!(next_generation(5), 6);
        assert_eq!(next_generation(0x3fff), 1);
    }

    #[test]
    fn positions_wrap_in_the_ring_and_rings_do_not_touch() {
        let arena = Arc::new(Mapping::new(arena_bytes(1)).expect("memory"));
        let ring = |offset| Ring { arena: Arc::clone(&arena), offset, log2: 3 };
        let (first, second) = (ring(0), ring(RING_BYTES));
        for position in 0..9 {
            first.store(position, 100 + u64::from(position));
        }
        first.store(0x3fff, 7);
        second.store(0, 1);
        let slots: Vec<u64> = (0..8).map(|n| first.slot(n).load(Ordering::Relaxed)).collect();
        assert_eq!(slots, [108, 101, 102, 103, 104, 105, 106, 7]);
        assert_eq!(second.slot(0).load(Ordering::Relaxed), 1);
        first.clear();
        assert_eq!(first.slot(7).load(Ordering::Relaxed), 0);
        assert_eq!(second.slot(0).load(Ordering::Relaxed), 1);
    }
}
