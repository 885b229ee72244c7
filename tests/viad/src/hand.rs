//! Virtual interfaces and descriptors made by hand, through the protocol's client alone: so that they can be wrong.

use std::sync::{
    atomic::{AtomicU64, Ordering},
    Arc,
};

use viaduct_driver::{
    address::{Mtu, Service},
    cm::NotReady,
    consumer::Vi,
    device_memory::DeviceMemory,
    kernel_agent::{KernelAgent, MemoryAttributes, ViAttributes},
    queues::Direction,
    viad::Client,
};
use viaduct_spec::{
    descriptor::{control_segment, data_segment, status, COMPLETION_OFFSET},
    doorbell,
    handle::memory_handle,
};

/// Bytes of an end's memory: its descriptors at the start, data behind them.
pub const BYTES: usize = 1 << 16;
/// Where data starts.
pub const DATA: usize = 1 << 12;
/// Bytes between two descriptors.
const SLOT: usize = 128;
/// log2 of the slots of each ring.
const LOG2: u32 = 3;

/// What VIs are made with that have nothing special.
pub fn vi_attributes(tag: u16, service: Service) -> ViAttributes {
    ViAttributes {
        tag,
        service,
        mtu: Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: LOG2,
        receive_log2: LOG2,
        rdma_write: service.is_reliable(),
        rdma_read: service.is_reliable(),
        not_ready: NotReady::Break,
        send_cq: None,
        receive_cq: None,
    }
}

/// A data segment, or the remote side of an RDMA: address, handle, bytes.
pub type Segment = (u64, u32, u32);

/// A VI with memory, registered for everything.
pub struct Hand {
    /// Whose it is.
    pub client: Arc<Client>,
    /// Its tag.
    pub tag: u16,
    /// Its memory, and the handle of that.
    pub memory: Arc<DeviceMemory>,
    /// See there.
    pub handle: u32,
    /// The VI.
    pub vi: Vi,
    /// Positions of the next descriptors: send, receive.
    next: [u16; 2],
}

impl Hand {
    /// A new one, idle, with memory of the process's own.
    pub fn new(client: &Arc<Client>, service: Service) -> Self {
        Self::with(client, service, DeviceMemory::new(BYTES).expect("memory"))
    }

    /// A new one, idle, with memory of the library's: in a pool.
    pub fn in_pool(client: &Arc<Client>, service: Service) -> Self {
        Self::with(client, service, Arc::clone(client).allocate(BYTES).expect("memory"))
    }

    fn with(client: &Arc<Client>, service: Service, memory: DeviceMemory) -> Self {
        let tag = client.create_tag().expect("a tag");
        let memory = Arc::new(memory);
        let attributes = MemoryAttributes { tag, rdma_write: true, rdma_read: true };
        // SAFETY: nothing but atomics and the NIC reaches it; it stays as long as the process (see `Drop`).
        let handle = unsafe { client.register(memory.start().as_ptr() as usize, BYTES, attributes) };
        let handle = handle.expect("memory");
        let vi = Vi::create(client.clone(), vi_attributes(tag, service)).expect("a VI");
        Self { client: Arc::clone(client), tag, memory, handle, vi, next: [0; 2] }
    }

    /// A segment of its own memory.
    pub fn own(&self, offset: usize, length: u32) -> Segment {
        (self.memory.start().as_ptr() as u64 + offset as u64, self.handle, length)
    }

    /// Connects two of a client's.
    pub fn connect(&self, other: &Self) {
        self.vi.connect(&other.vi.info()).expect("idle");
        other.vi.connect(&self.vi.info()).expect("idle");
    }

    /// Broken, idle and empty.
    pub fn renew(&mut self) {
        self.vi.break_off().expect("it answers");
        self.vi.make_idle().expect("broken");
        self.next = [0; 2];
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset + 8 <= BYTES && offset % 8 == 0);
        // SAFETY: inside, aligned, and accessed as atomics only (and by the NIC).
        unsafe { &*self.memory.start().as_ptr().add(offset).cast() }
    }

    fn place(direction: Direction, position: u16) -> usize {
        let receive = usize::from(direction == Direction::Receive);
        ((receive << LOG2) + usize::from(position) % (1 << LOG2)) * SLOT
    }

    /// Posts a descriptor of any segments, `remote` first, with this control word; its position.
    pub fn post(
        &mut self,
        direction: Direction,
        control: u16,
        remote: Option<Segment>,
        local: &[Segment],
    ) -> u16 {
        let receive = usize::from(direction == Direction::Receive);
        let position = self.next[receive];
        self.next[receive] = position.wrapping_add(1) & doorbell::token::POSITION.mask() as u16;
        let at = Self::place(direction, position);
        let segments: Vec<Segment> = remote.iter().chain(local).copied().collect();
        let mut words = vec![0; 4 + 2 * segments.len()];
        control_segment::SEG_COUNT.put(&mut words, segments.len() as u64);
        control_segment::CONTROL.put(&mut words, control.into());
        let length = local.iter().map(|segment| u64::from(segment.2)).sum();
        control_segment::LENGTH.put(&mut words, length);
        for (row, (address, handle, length)) in words[4..].chunks_exact_mut(2).zip(&segments) {
            data_segment::ADDRESS.put(row, *address);
            data_segment::HANDLE.put(row, (*handle).into());
            // The remote side has no length of its own.
            let own = if remote.is_some_and(|(to, ..)| to == *address) { 0 } else { *length };
            data_segment::LENGTH.put(row, own.into());
        }
        for (n, word) in words.into_iter().enumerate() {
            self.word(at + 8 * n).store(word, Ordering::Relaxed);
        }
        let region = memory_handle::INDEX.get(&[self.handle.into()]) as u16;
        self.ring(direction, position, doorbell::encode(region, (at / 64) as u64, position));
        position
    }

    /// Puts any token into a ring and rings the doorbell with it.
    pub fn ring(&self, direction: Direction, position: u16, token: u64) {
        self.vi.queues().ring(direction).store(position, token);
        self.vi.queues().ring_doorbell(direction, token).expect("it takes it");
    }

    /// The status of what was posted at a position; 0: it is not complete.
    pub fn status(&self, direction: Direction, position: u16) -> u32 {
        let word = self.word(Self::place(direction, position) + COMPLETION_OFFSET as usize);
        let status = control_segment::STATUS.get(&[0, 0, 0, word.load(Ordering::Acquire)]) as u32;
        if status & (status::DONE | status::ERROR_MASK) != 0 {
            status
        } else {
            0
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // What fails leaves the memory to the NIC.
        let _ = self.vi.break_off();
        if self.vi.destroy().and_then(|()| self.client.deregister(self.handle)).is_err() {
            std::mem::forget(Arc::clone(&self.memory));
        }
        let _ = self.client.destroy_tag(self.tag);
    }
}
