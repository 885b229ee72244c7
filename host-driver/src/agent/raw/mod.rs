//! The raw channel: whole Ethernet frames, to and from the agent, beside the virtual interfaces.
//!
//! One VI of the agent's own has frames for messages (docs/semantics.md, "Raw channel (RAW)"). It carries what a network
//! needs besides VIA: connection management on queue pair 1, ARP, IP. The NIC gives it the frames that are for
//! nobody else and that the [`Filter`] wants; when all [`RECEIVES`] buffers are full it drops, and counts
//! ([`RawChannel::dropped`]).
//!
//! Frames are without FCS, a VLAN tag of their own included; the MAC pads short ones to 60 bytes, and so they arrive. A
//! frame to our own address goes to the wire, and does not come back.
//!
//! The connector (`agent::connector`) is the channel's user, also for viad. Any of its threads may send and receive: a lock guards the
//! positions of both queues, and with them the slots' buffers.

mod filter;
mod opening;
mod slots;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use viaduct_spec::{
    descriptor::status,
    doorbell::token,
    register::{counter, registers},
};

use self::slots::{Slots, LONGEST_ARRIVAL};
pub use self::{
    filter::Filter,
    slots::{RECEIVES, SENDS},
};
use super::{vis::Direction, Agent, AgentError};
use crate::{
    device::Bar,
    kernel_agent::ViName,
    queues::work_queues::WorkQueues,
    wait::{turn, Turn, LONGEST_SLEEP},
};

/// Fewest bytes of a frame: its Ethernet header.
pub const SHORTEST_FRAME: usize = 14;
/// Most bytes of a frame that can be sent.
pub const LONGEST_FRAME: usize = 4200;
/// How often one looks, at most, whether what is posted is flushed.
const CLOSING_LOOKS: usize = 10_000;

/// The open channel. There is one of an agent; dropping it closes it.
pub struct RawChannel {
    agent: Arc<Agent>,
    vi: ViName,
    work_queues: WorkQueues,
    tag: u16,
    slots: Slots,
    closed: bool,
    /// Whoever has the lock may use the slots that the NIC is done with.
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

impl RawChannel {
    /// The agent that opened it.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Index of its VI.
    pub fn vi(&self) -> u16 {
        self.vi.index
    }

    /// Sets which frames it takes. When it returns, the NIC knows: every frame that comes from then on meets the new filter.
    ///
    /// # Errors
    /// The device's.
    pub fn set_filter(&self, filter: Filter) -> Result<(), AgentError> {
        let device = &self.agent().device;
        device.write32(Bar::Registers, registers::RAW_CHANNEL, filter.register(self.vi.index))?;
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
        let slot = slots::of_send(position);
        // Frames leave in order: when the last of these slots is free, all are.
        let last = position + room.min(SENDS - 1) as u64;
        if last >= SENDS as u64 && self.slots.completion(slots::of_send(last)).is_none() {
            return Err(AgentError::RawFull);
        }
        if position >= SENDS as u64 {
            // What was in the slot before has left.
            let status = self.slots.completion(slot).ok_or(AgentError::RawFull)?.0;
            if status & status::ERROR_MASK != 0 {
                return Err(AgentError::RawBroken(status));
            }
        }
        // SAFETY: the NIC is done with the slot, the queues are locked, and no frame that is sent is longer than one that arrives.
        unsafe { self.slots.put(slot, frame) };
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
        let slot = slots::of_receive(queues.taken);
        let Some((status, length)) = self.slots.completion(slot) else { return Ok(None) };
        let length = length as usize;
        if status & status::ERROR_MASK != 0 || length > LONGEST_ARRIVAL {
            return Err(AgentError::RawBroken(status));
        }
        // SAFETY: the NIC is done with the slot, the queues are locked, and the length is checked.
        let frame = unsafe { self.slots.frame(slot, length) };
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
        let vector = self.work_queues.vector(Direction::Receive);
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
                Ok(self.work_queues.arm(Direction::Receive, position as u16)?)
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
        self.agent().wake(self.work_queues.vector(Direction::Receive));
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
            agent.break_vi(self.vi)?;
            self.wait_flushed();
            agent.destroy_vi(self.vi)?;
            agent.deregister(self.slots.handle())?;
            agent.destroy_tag(self.tag)
        })();
        match &result {
            Ok(()) => agent.state()?.raw_open = false,
            Err(_) => self.slots.leak(),
        }
        result
    }

    /// Waits a while until all that is posted is complete, as it is when a VI has broken.
    fn wait_flushed(&self) {
        let queues = self.queues();
        let receive = slots::of_receive(queues.taken + RECEIVES as u64 - 1);
        let send = queues.sent.checked_sub(1).map(slots::of_send);
        let open = |slot: usize| self.slots.completion(slot).is_none();
        for _ in 0..CLOSING_LOOKS {
            if !open(receive) && !send.is_some_and(open) {
                return;
            }
            self.agent().pause();
        }
    }

    /// Posts the receive of ring position `position`.
    fn post_receive(&self, position: u64) -> Result<(), AgentError> {
        self.post(Direction::Receive, slots::of_receive(position), position, LONGEST_ARRIVAL)
    }

    /// Posts a slot at a ring position: one segment, its buffer, of `length` bytes.
    fn post(
        &self,
        direction: Direction,
        slot: usize,
        position: u64,
        length: usize,
    ) -> Result<(), AgentError> {
        let position = (position & token::POSITION.mask()) as u16;
        let token = self.slots.describe(slot, position, length);
        self.work_queues.ring(direction).store(position, token);
        Ok(self.work_queues.ring_doorbell(direction, token)?)
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
        f.debug_struct("RawChannel").field("vi", &self.vi.index).finish_non_exhaustive()
    }
}
