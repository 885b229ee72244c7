//! The raw channel: whole Ethernet frames, to and from the agent, beside the virtual interfaces.
//!
//! One VI of the agent's own has frames for messages (docs/semantics.md, "Raw channel (RAW)"). It carries what a network
//! needs besides VIA: connection management on queue pair 1, ARP, IP. The NIC gives it the frames that are for
//! nobody else and that the [`Filter`] wants; when all [`RECEIVES`] buffers are full it drops, and counts
//! ([`RawChannel::dropped`]).
//!
//! Frames are without FCS, a VLAN tag of their own included; the MAC pads short ones to 60 bytes, and so they arrive. A
//! frame to our own address goes to the wire, and does not come back.

use std::{
    fmt,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::{Duration, Instant},
};

use viaduct_spec::{
    descriptor::{control_segment, data_segment, status, COMPLETION_OFFSET},
    doorbell::{self, token},
    handle::memory_handle,
    register::{counter, raw_channel, registers},
    tables::{gather, receive, service, table, transmit, vi_states},
};

use super::{
    admin::Admin,
    vis::{Direction, Vi, ViAttributes},
    Agent, AgentError, MemoryAttributes, LONGEST_SLEEP,
};
use crate::{
    address::{Mtu, Service},
    cm::NotReady,
    device::Bar,
    memory::Mapping,
    rows,
    wait::{turn, Turn},
};

/// Fewest bytes of a frame: its Ethernet header.
pub const SHORTEST_FRAME: usize = 14;
/// Most bytes of a frame that can be sent.
pub const LONGEST_FRAME: usize = 4200;
/// Frames that wait for [`RawChannel::receive`], at most.
pub const RECEIVES: usize = 64;
/// Frames on their way out, at most.
pub const SENDS: usize = 16;

/// Most bytes of a frame that arrives: 4224 and a VLAN tag.
const LONGEST_ARRIVAL: usize = 4228;
/// How often one looks, at most, whether what is posted is flushed.
const CLOSING_LOOKS: usize = 10_000;
/// Where a slot's buffer starts; before it its descriptor.
const BUFFER: usize = 64;
/// Bytes of a slot: whole units of 64.
const SLOT: usize = (BUFFER + LONGEST_ARRIVAL).next_multiple_of(64);

/// Which frames the channel takes, besides those to the NIC's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Frames to ff:ff:ff:ff:ff:ff.
    pub broadcast: bool,
    /// Frames to all other groups.
    pub multicast: bool,
    /// Frames to anybody.
    pub promiscuous: bool,
}

/// The open channel. There is one of an agent; dropping it closes it.
pub struct RawChannel {
    agent: Arc<Agent>,
    vi: Vi,
    tag: u16,
    handle: u32,
    /// Slots: receives first, then sends.
    memory: Arc<Mapping>,
    closed: bool,
    queues: Mutex<Queues>,
}

/// Positions of the two queues: they count all descriptors.
#[derive(Debug, Default)]
struct Queues {
    /// The oldest receive that has not been taken.
    taken: u64,
    /// The next send.
    sent: u64,
}

impl Agent {
    /// Opens the raw channel: takes a VI, a tag and a region of the NIC, and posts its receives.
    ///
    /// # Errors
    /// It is open already; no VI, tag, region or memory left; the device's errors.
    pub fn open_raw(self: &Arc<Self>, filter: Filter) -> Result<RawChannel, AgentError> {
        {
            let mut state = self.state()?;
            if std::mem::replace(&mut state.raw_open, true) {
                return Err(AgentError::RawOpen);
            }
        }
        let opened = self.open_raw_once(filter);
        if opened.is_err() {
            self.state()?.raw_open = false;
        }
        opened
    }

    fn open_raw_once(self: &Arc<Self>, filter: Filter) -> Result<RawChannel, AgentError> {
        let memory = Arc::new(Mapping::for_device((RECEIVES + SENDS) * SLOT).map_err(AgentError::Arena)?);
        let tag = self.create_tag()?;
        let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: false };
        // SAFETY: the mapping is accessed through its pointer alone, and stays until it is deregistered without an
        // error: see `RawChannel::close_down`.
        let registered =
            unsafe { self.register(memory.start().as_ptr() as usize, memory.length(), attributes) };
        let handle = match registered {
            Ok(handle) => handle,
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.destroy_tag(tag);
                return Err(error);
            }
        };
        let created = self.create_vi(ViAttributes {
            tag,
            // The rows say RAW; nobody connects it.
            service: Service::UnreliableDelivery,
            mtu: Mtu::MAX,
            max_transfer: LONGEST_FRAME as u32,
            send_log2: SENDS.ilog2(),
            receive_log2: RECEIVES.ilog2(),
            rdma_write: false,
            rdma_read: false,
            not_ready: NotReady::Break,
            send_cq: None,
            receive_cq: None,
        });
        let vi = match created {
            Ok(vi) => vi,
            Err(error) => {
                if self.deregister(handle).is_err() {
                    std::mem::forget(memory);
                }
                let _ = self.destroy_tag(tag);
                return Err(error);
            }
        };
        let channel = RawChannel {
            agent: Arc::clone(self),
            vi,
            tag,
            handle,
            memory,
            closed: false,
            queues: Mutex::default(),
        };
        // From here on dropping it gives everything back.
        channel.connect()?;
        for position in 0..RECEIVES as u64 {
            channel.post_receive(position)?;
        }
        channel.set_filter(filter)?;
        Ok(channel)
    }
}

impl RawChannel {
    /// The agent that opened it.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Index of its VI.
    pub fn vi(&self) -> u16 {
        self.vi.index()
    }

    /// Sets which frames it takes. When it returns, the NIC knows: every frame that comes from then on meets the new filter.
    ///
    /// # Errors
    /// The device's.
    pub fn set_filter(&self, filter: Filter) -> Result<(), AgentError> {
        let mut word = [0];
        raw_channel::VI.put(&mut word, self.vi.index().into());
        raw_channel::ENABLE.put(&mut word, 1);
        raw_channel::BROADCAST.put(&mut word, filter.broadcast.into());
        raw_channel::MULTICAST.put(&mut word, filter.multicast.into());
        raw_channel::PROMISCUOUS.put(&mut word, filter.promiscuous.into());
        let device = &self.agent().device;
        device.write32(Bar::Registers, registers::RAW_CHANNEL, word[0] as u32)?;
        // A write is posted and may be on its way yet; no read passes it (PCIe base specification 2.4.1).
        device.read32(Bar::Registers, registers::RAW_CHANNEL)?;
        Ok(())
    }

    /// Sends a frame of [`SHORTEST_FRAME`] to [`LONGEST_FRAME`] bytes, as it is. When it returns, the frame is copied
    /// and on its way.
    ///
    /// # Errors
    /// [`AgentError::RawFull`]: [`SENDS`] frames are on their way; try again later. A frame of no length; a channel that broke.
    pub fn send(&self, frame: &[u8]) -> Result<(), AgentError> {
        self.send_leaving(frame, 0)
    }

    /// [`RawChannel::send`], if `room` more frames could be sent at once then: they are for somebody else.
    ///
    /// # Errors
    /// As [`RawChannel::send`].
    pub fn send_leaving(&self, frame: &[u8], room: usize) -> Result<(), AgentError> {
        if !(SHORTEST_FRAME..=LONGEST_FRAME).contains(&frame.len()) {
            return Err(AgentError::Frame(frame.len()));
        }
        let mut queues = self.queues();
        let position = queues.sent;
        let slot = RECEIVES + position as usize % SENDS;
        // Frames leave in order: when the last of these slots is free, all are.
        let last = position + room.min(SENDS - 1) as u64;
        if last >= SENDS as u64 && self.completion(RECEIVES + last as usize % SENDS).is_none() {
            return Err(AgentError::RawFull);
        }
        if position >= SENDS as u64 {
            // What was in the slot before has left.
            let status = self.completion(slot).ok_or(AgentError::RawFull)?.0;
            if status & status::ERROR_MASK != 0 {
                return Err(AgentError::RawBroken(status));
            }
        }
        // SAFETY: the buffer of a slot that the NIC is done with, under the queues' lock; the frame is elsewhere.
        unsafe {
            let buffer = self.memory.start().as_ptr().add(slot * SLOT + BUFFER);
            buffer.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
        }
        self.post(Direction::Send, slot, position, frame.len())?;
        queues.sent += 1;
        Ok(())
    }

    /// Takes the oldest frame that has arrived, if there is one.
    ///
    /// # Errors
    /// [`AgentError::RawBroken`]: the channel broke; it must be closed and opened again. The device's errors.
    pub fn receive(&self) -> Result<Option<Vec<u8>>, AgentError> {
        let mut queues = self.queues();
        let slot = queues.taken as usize % RECEIVES;
        let Some((status, length)) = self.completion(slot) else { return Ok(None) };
        let length = length as usize;
        if status & status::ERROR_MASK != 0 || length > LONGEST_ARRIVAL {
            return Err(AgentError::RawBroken(status));
        }
        let mut frame = vec![0; length];
        // SAFETY: the buffer of a slot that the NIC is done with, under the queues' lock; `length` bytes of it.
        unsafe {
            let buffer = self.memory.start().as_ptr().add(slot * SLOT + BUFFER);
            frame.as_mut_ptr().copy_from_nonoverlapping(buffer, length);
        }
        self.post_receive(queues.taken + RECEIVES as u64)?;
        queues.taken += 1;
        Ok(Some(frame))
    }

    /// [`RawChannel::receive`], as soon as there is a frame: waits for `timeout` at most, then there is none.
    pub fn wait_receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>, AgentError> {
        self.wait_receive_unless(timeout, || false)
    }

    /// [`RawChannel::wait_receive`], but no longer than until `given_up` says so. Who makes it say so calls [`RawChannel::wake`] then.
    pub fn wait_receive_unless(
        &self,
        timeout: Duration,
        given_up: impl Fn() -> bool,
    ) -> Result<Option<Vec<u8>>, AgentError> {
        let start = Instant::now();
        let agent = self.agent();
        let vector = self.vi.vector(Direction::Receive);
        let mut looks = 0u32;
        loop {
            if let Some(frame) = self.receive()? {
                return Ok(Some(frame));
            }
            let left = || match given_up() {
                true => Duration::ZERO,
                false => timeout.saturating_sub(start.elapsed()).min(LONGEST_SLEEP),
            };
            let arm = || {
                let position = self.queues().taken & token::POSITION.mask();
                Ok(self.vi.arm(Direction::Receive, position as u16)?)
            };
            match turn(&**agent, vector, left, arm, || self.receive())? {
                Turn::Found(frame) => return Ok(Some(frame)),
                Turn::Over => return Ok(None),
                Turn::Slept(true) => {}
                Turn::Slept(false) => agent.check()?,
                Turn::Polls => {
                    agent.pause();
                    // Looks and not time: in a deterministic simulation the question comes at the same place in every
                    // run.
                    looks = looks.wrapping_add(1);
                    if looks % super::CHECK == 0 {
                        agent.check()?;
                    }
                }
            }
        }
    }

    /// Wakes those who wait for frames: they look whether there is one, and whether they have given up.
    pub fn wake(&self) {
        self.agent().wake(self.vi.vector(Direction::Receive));
    }

    /// Frames that the NIC dropped because no buffer was free, since its reset.
    pub fn dropped(&self) -> Result<u64, AgentError> {
        self.agent().counter(counter::RAW_DROPPED)
    }

    /// Closes it: what has arrived and was not taken is lost, and so may be what has not left.
    pub fn close(mut self) -> Result<(), AgentError> {
        self.close_down()
    }

    /// Gives everything back. After an error the memory stays: the NIC may still reach it.
    fn close_down(&mut self) -> Result<(), AgentError> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        let agent = Arc::clone(self.agent());
        let result = (|| {
            agent.device.write32(Bar::Registers, registers::RAW_CHANNEL, 0)?;
            self.vi.break_off()?;
            self.wait_flushed();
            self.vi.destroy()?;
            agent.deregister(self.handle)?;
            agent.destroy_tag(self.tag)
        })();
        match &result {
            Ok(()) => agent.state()?.raw_open = false,
            Err(_) => std::mem::forget(Arc::clone(&self.memory)),
        }
        result
    }

    /// Waits a while until all that is posted is complete, as it is when a VI has broken.
    fn wait_flushed(&self) {
        let queues = self.queues();
        let receive = (queues.taken as usize + RECEIVES - 1) % RECEIVES;
        let send = queues.sent.checked_sub(1).map(|sent| RECEIVES + sent as usize % SENDS);
        let open = |slot: usize| self.completion(slot).is_none();
        for _ in 0..CLOSING_LOOKS {
            if !open(receive) && !send.is_some_and(open) {
                return;
            }
            self.agent().pause();
        }
    }

    /// Writes its rows: service RAW, connected to nobody.
    fn connect(&self) -> Result<(), AgentError> {
        let agent = self.agent();
        let _one_commit = agent.state()?;
        let admin = Admin::of(&*agent.device);
        let vi = u32::from(self.vi.index());
        let raw = u64::from(service::RAW);
        let level = Service::UnreliableDelivery;
        let mut row = rows::gather(self.tag, level, Mtu::MAX, LONGEST_FRAME as u32);
        gather::RAW.put(&mut row, 1);
        admin.commit(table::GATHER, vi, &row)?;
        let mut row = rows::transmit(0, level, false, 0);
        transmit::SERVICE.put(&mut row, raw);
        admin.commit(table::TRANSMIT, vi, &row)?;
        let mut row = [0; 2];
        receive::TAG.put(&mut row, self.tag.into());
        receive::SERVICE.put(&mut row, raw);
        admin.commit(table::RECEIVE, vi, &row)?;
        admin.commit(table::VI_STATE, vi, &[vi_states::CONNECTED.into()])
    }

    /// Posts the receive of ring position `position`.
    fn post_receive(&self, position: u64) -> Result<(), AgentError> {
        self.post(Direction::Receive, position as usize % RECEIVES, position, LONGEST_ARRIVAL)
    }

    /// Posts a slot: one segment, its buffer, of `length` bytes.
    fn post(
        &self,
        direction: Direction,
        slot: usize,
        position: u64,
        length: usize,
    ) -> Result<(), AgentError> {
        let mut words = [0; 6];
        control_segment::SEG_COUNT.put(&mut words, 1);
        control_segment::LENGTH.put(&mut words, length as u64);
        let (_, segment) = words.split_at_mut(4);
        data_segment::ADDRESS
            .put(segment, (self.memory.start().as_ptr() as usize + slot * SLOT + BUFFER) as u64);
        data_segment::HANDLE.put(segment, self.handle.into());
        data_segment::LENGTH.put(segment, length as u64);
        for (n, word) in words.into_iter().enumerate() {
            self.word(slot, 8 * n).store(word, Ordering::Relaxed);
        }
        let region = memory_handle::INDEX.get(&[self.handle.into()]) as u16;
        let position = (position & token::POSITION.mask()) as u16;
        let token = doorbell::encode(region, (slot * SLOT / 64) as u64, position);
        self.vi.ring(direction).store(position, token);
        Ok(self.vi.ring_doorbell(direction, token)?)
    }

    /// Status and length of a slot's descriptor, if it is complete.
    fn completion(&self, slot: usize) -> Option<(u32, u32)> {
        let word = self.word(slot, COMPLETION_OFFSET as usize).load(Ordering::Acquire);
        let words = [0, 0, 0, word];
        let status = control_segment::STATUS.get(&words) as u32;
        let done = status & (status::DONE | status::ERROR_MASK) != 0;
        done.then(|| (status, control_segment::LENGTH.get(&words) as u32))
    }

    /// A word of a slot's descriptor.
    fn word(&self, slot: usize, offset: usize) -> &AtomicU64 {
        // SAFETY: inside the mapping, aligned to 8 bytes (it starts at a page, and slots are multiples of 64), and
        // descriptors are only ever accessed as atomics (and by the NIC).
        unsafe { &*self.memory.start().as_ptr().add(slot * SLOT + offset).cast::<AtomicU64>() }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        // Two numbers, each written when its descriptor is posted: what a thread that panicked left is usable.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RawChannel {
    fn drop(&mut self) {
        // What fails leaves the memory where it is, and the agent's own end resets the NIC.
        let _ = self.close_down();
    }
}

impl fmt::Debug for RawChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawChannel").field("vi", &self.vi.index()).finish_non_exhaustive()
    }
}
