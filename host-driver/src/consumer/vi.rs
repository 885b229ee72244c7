//! A virtual interface, as its consumer has it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    address::ConnectionInfo,
    kernel_agent::{AgentError, CreatedVi, KernelAgent, ViAttributes, ViName},
    queues::{work_queues::WorkQueues, ViState},
};

/// A created VI: what its user needs to post without the agent, and the agent.
pub struct Vi {
    agent: Arc<dyn KernelAgent>,
    name: ViName,
    /// Its queue pair number and starting PSN are new for each connection.
    info: Mutex<ConnectionInfo>,
    queues: WorkQueues,
}

impl Vi {
    /// Creates one, idle: [`KernelAgent::create_vi`].
    ///
    /// # Errors
    /// The agent's.
    pub fn create(agent: Arc<dyn KernelAgent>, attributes: ViAttributes) -> Result<Self, AgentError> {
        let CreatedVi { name, info, queues } = agent.create_vi(attributes)?;
        Ok(Self { agent, name, info: Mutex::new(info), queues })
    }

    /// Its work queues.
    #[inline]
    pub fn queues(&self) -> &WorkQueues {
        &self.queues
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

    /// Connects to the VI that `peer` describes: [`KernelAgent::connect_vi`].
    ///
    /// When it returns, messages of the peer are received; but the peer can take ours only when it
    /// has done the same.
    ///
    /// # Errors
    /// The agent's.
    pub fn connect(&self, peer: &ConnectionInfo) -> Result<(), AgentError> {
        self.agent.connect_vi(self.name, *peer)
    }

    /// Breaks the VI: everything posted to either queue is completed, FLUSHED at the latest.
    ///
    /// # Errors
    /// The agent's.
    pub fn break_off(&self) -> Result<(), AgentError> {
        self.agent.break_vi(self.name)
    }

    /// Makes a broken VI idle again, with both rings empty at position 0: [`KernelAgent::idle_vi`].
    ///
    /// # Errors
    /// The agent's.
    pub fn make_idle(&self) -> Result<(), AgentError> {
        let info = self.agent.idle_vi(self.name)?;
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
        Ok(())
    }

    /// Gives an idle VI other attributes: [`KernelAgent::set_vi_attributes`].
    ///
    /// # Errors
    /// The agent's.
    pub fn set_attributes(&self, attributes: ViAttributes, anew: bool) -> Result<(), AgentError> {
        let info = self.agent.set_vi_attributes(self.name, attributes, anew)?;
        *self.info.lock().unwrap_or_else(PoisonError::into_inner) = info;
        Ok(())
    }

    /// The VI's state in the NIC.
    ///
    /// # Errors
    /// The agent's.
    pub fn state(&self) -> Result<ViState, AgentError> {
        self.agent.vi_state(self.name)
    }

    /// Destroys the VI: doorbells and frames for it are ignored from now on. To be called when all
    /// that was posted is complete.
    ///
    /// # Errors
    /// The agent's.
    pub fn destroy(&self) -> Result<(), AgentError> {
        self.agent.destroy_vi(self.name)
    }
}

impl fmt::Debug for Vi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vi").field("index", &self.index()).field("info", &self.info()).finish()
    }
}
