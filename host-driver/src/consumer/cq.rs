//! A completion queue, as its consumer has it.

use std::{fmt, sync::Arc};

use crate::{
    device::DeviceError,
    kernel_agent::{AgentError, CqName, CreatedCq, KernelAgent},
    queues::{
        consumer_ring::{ConsumerRing, Unusual},
        entries::Entry,
    },
};

/// A created completion queue: what its user needs to look without the agent, and the agent.
pub struct Cq {
    agent: Arc<dyn KernelAgent>,
    name: CqName,
    vector: u8,
    ring: ConsumerRing,
}

impl Cq {
    /// Creates one that has room for `entries` which are not taken: [`KernelAgent::create_cq`].
    ///
    /// # Errors
    /// The agent's.
    pub fn create(agent: Arc<dyn KernelAgent>, entries: usize) -> Result<Self, AgentError> {
        let CreatedCq { name, vector, ring } = agent.create_cq(entries)?;
        Ok(Self { agent, name, vector, ring })
    }

    /// Its index: the row of its table.
    pub fn index(&self) -> u16 {
        self.name.index
    }

    /// What its agent calls it.
    pub fn name(&self) -> CqName {
        self.name
    }

    /// The agent that made it.
    pub fn agent(&self) -> &Arc<dyn KernelAgent> {
        &self.agent
    }

    /// The interrupt vector of its entries.
    pub fn vector(&self) -> u8 {
        self.vector
    }

    /// Takes the oldest entry, if there is one: [`ConsumerRing::take`].
    ///
    /// # Errors
    /// The device's; another process made it.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Entry>, DeviceError> {
        self.ring.take()
    }

    /// Whether this is the process that it was made in, and no child of a fork.
    ///
    /// # Errors
    /// It is a child.
    #[inline]
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.ring.check_process()
    }

    /// [`ConsumerRing::try_take`].
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Entry>, Unusual> {
        self.ring.try_take()
    }

    /// Asks for one interrupt of its [`Cq::vector`]: when there is an entry that has not been taken, or at once if there is
    /// one. Whoever sleeps has read the vector's generation before: [`crate::wait::Vectors::sleep`].
    ///
    /// # Errors
    /// The device's.
    pub fn arm(&self) -> Result<(), DeviceError> {
        self.ring.arm()
    }

    /// Gives it a ring of another size. Entries that have not been taken stay, in order; whoever sleeps for one is woken.
    ///
    /// # Errors
    /// The agent's.
    pub fn resize(&mut self, entries: usize) -> Result<(), AgentError> {
        // From here to the end nobody takes entries, or stores an index of the old ring.
        let (new, written) = self.agent.resize_cq(self.name, entries)?;
        self.ring.replace(new, written);
        Ok(())
    }

    /// Destroys it. No work queue may have it.
    ///
    /// # Errors
    /// The agent's.
    pub fn destroy(&self) -> Result<(), AgentError> {
        self.agent.destroy_cq(self.name)
    }
}

impl fmt::Debug for Cq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cq").field("index", &self.index()).finish_non_exhaustive()
    }
}
