//! A virtual interface, as its consumer has it.

use std::{
    fmt,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc, Mutex, PoisonError,
    },
};

use viaduct_spec::doorbell::{arm, page};

use super::{
    doorbells::{Bell, Doorbells},
    ring::Ring,
    Direction, ViState,
};
use crate::{
    address::ConnectionInfo,
    agent::{vis::ViAttributes, AgentError},
    device::DeviceError,
    kernel_agent::{KernelAgent, ViName},
};

/// A created VI: what its user needs to post without the agent.
pub struct Vi {
    agent: Arc<dyn KernelAgent>,
    name: ViName,
    /// Its queue pair number and first PSN are new for each connection.
    info: Mutex<ConnectionInfo>,
    parts: Parts,
    /// Doorbells of the send and the receive queue that are memory, in `parts`.
    bells: [Option<Bell>; 2],
    /// Arm words so far.
    arms: AtomicU32,
}

/// A doorbell of a VI's that is memory.
#[derive(Debug, Clone, Copy)]
pub struct ViBell<'a>(&'a Bell);

impl ViBell<'_> {
    /// Rings. Whether somebody has heard it.
    #[inline]
    pub fn ring(self, token: u64) -> bool {
        // SAFETY: its page is among the parts of the VI, which is borrowed.
        unsafe { self.0.ring(token) }
    }
}

/// What an agent makes a VI of.
pub struct Parts {
    /// Send ring.
    pub send: Ring,
    /// Receive ring.
    pub receive: Ring,
    /// Interrupt vectors of the send and the receive queue.
    pub vectors: [u8; 2],
    /// Doorbell page.
    pub doorbells: Doorbells,
}

impl Vi {
    /// The consumer's end of the VI that `agent` has made.
    pub fn new(agent: Arc<dyn KernelAgent>, name: ViName, info: ConnectionInfo, parts: Parts) -> Self {
        let bells = [page::SEND, page::RECEIVE].map(|offset| parts.doorbells.bell(offset));
        Self { agent, name, info: Mutex::new(info), parts, bells, arms: AtomicU32::new(0) }
    }

    /// Its index: the row of its tables.
    pub fn index(&self) -> u16 {
        self.name.index
    }

    /// What its agent calls it.
    pub fn name(&self) -> ViName {
        self.name
    }

    /// What the other end needs to know for the next connection, or of this one: it changes when the
    /// VI is made idle.
    pub fn info(&self) -> ConnectionInfo {
        // A thread that panicked with the lock held has left nothing half changed.
        *self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent that made it.
    pub fn agent(&self) -> &Arc<dyn KernelAgent> {
        &self.agent
    }

    /// One of its rings.
    #[inline]
    pub fn ring(&self, direction: Direction) -> &Ring {
        match direction {
            Direction::Send => &self.parts.send,
            Direction::Receive => &self.parts.receive,
        }
    }

    /// A queue's doorbell, if it is memory: ringing it is a store, and waits for nothing. If nobody hears it, [`Vi::wake_poller`] is due.
    #[inline]
    pub fn bell(&self, direction: Direction) -> Option<ViBell<'_>> {
        Some(ViBell(self.bells[usize::from(direction == Direction::Receive)].as_ref()?))
    }

    /// Wakes whoever looks at the doorbells.
    ///
    /// # Errors
    /// Nobody does any more.
    #[cold]
    pub fn wake_poller(&self) -> Result<(), DeviceError> {
        self.parts.doorbells.wake()
    }

    /// Whether this is the process that it was made in, and no child of a fork.
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.parts.doorbells.check_process()
    }

    /// Rings the doorbell: one 8-byte store to the VI's page. The ring slot is written before.
    pub fn ring_doorbell(&self, direction: Direction, token: u64) -> Result<(), DeviceError> {
        match direction {
            Direction::Send => self.parts.doorbells.store(page::SEND, token),
            // A receive counts as posted from now on: a peer that hears of it must find it.
            Direction::Receive => self.parts.doorbells.store_taken(page::RECEIVE, token),
        }
    }

    /// Asks for one interrupt of a queue's [`Vi::vector`]: when the descriptor at `position` is complete, or at
    /// once if it is. Whoever sleeps has read the vector's generation before: [`crate::wait::Vectors::sleep`].
    pub fn arm(&self, direction: Direction, position: u16) -> Result<(), DeviceError> {
        let offset = match direction {
            Direction::Send => page::SEND_ARM,
            Direction::Receive => page::RECEIVE_ARM,
        };
        let mut word = [0];
        arm::POSITION.put(&mut word, u64::from(position) & arm::POSITION.mask());
        arm::SEQUENCE.put(&mut word, self.arms.fetch_add(1, Ordering::Relaxed).wrapping_add(1).into());
        self.parts.doorbells.store(offset, word[0])
    }

    /// The interrupt vector of a queue's completions.
    pub fn vector(&self, direction: Direction) -> u8 {
        self.parts.vectors[usize::from(direction == Direction::Receive)]
    }

    /// Connects to the VI that `peer` describes: [`KernelAgent::connect_vi`].
    ///
    /// When it returns, messages of the peer are received; but the peer can take ours only when it
    /// has done the same.
    pub fn connect(&self, peer: &ConnectionInfo) -> Result<(), AgentError> {
        self.agent.connect_vi(self.name, peer)
    }

    /// Breaks the VI: everything posted to either queue is completed, FLUSHED at the latest.
    pub fn break_off(&self) -> Result<(), AgentError> {
        self.agent.break_vi(self.name)
    }

    /// Makes a broken VI idle again, with both rings empty at position 0: [`KernelAgent::idle_vi`].
    pub fn make_idle(&self) -> Result<(), AgentError> {
        let info = self.agent.idle_vi(self.name)?;
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
        Ok(())
    }

    /// Gives an idle VI other attributes: [`KernelAgent::set_vi_attributes`].
    pub fn set_attributes(&self, attributes: ViAttributes, anew: bool) -> Result<(), AgentError> {
        let info = self.agent.set_vi_attributes(self.name, attributes, anew)?;
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
        Ok(())
    }

    /// The VI's state in the NIC.
    pub fn state(&self) -> Result<ViState, AgentError> {
        self.agent.vi_state(self.name)
    }

    /// Destroys the VI: doorbells and frames for it are ignored from now on. To be called when all
    /// that was posted is complete.
    pub fn destroy(&self) -> Result<(), AgentError> {
        self.agent.destroy_vi(self.name)
    }
}

impl fmt::Debug for Vi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vi").field("index", &self.index()).field("info", &self.info()).finish()
    }
}
