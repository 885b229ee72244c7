//! Arenas: memory that holds the rings of VIs, and that the NIC may read. The agent has one for the VIs of its own process; viad makes one for
//! each of its clients, which is then the agent's and the client's in common.

use std::sync::Arc;

use rand::Rng;
use viaduct_spec::handle::memory_handle;

use crate::{
    agent::{regions::Request, Agent},
    kernel_agent::AgentError,
    memory::Mapping,
};

/// Memory for the rings of VIs, registered under the system tag.
#[derive(Debug)]
pub struct Arena {
    memory: Arc<Mapping>,
    handle: u32,
}

impl Arena {
    /// An arena that is registered already, under this handle.
    pub(in crate::agent) fn registered(memory: Arc<Mapping>, handle: u32) -> Arc<Self> {
        Arc::new(Self { memory, handle })
    }

    /// Its memory.
    pub fn memory(&self) -> &Arc<Mapping> {
        &self.memory
    }

    /// Its row of the region table.
    pub(in crate::agent) fn region(&self) -> u16 {
        memory_handle::INDEX.get(&[self.handle.into()]) as u16
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
        Ok(Arena::registered(memory, handle))
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
}
