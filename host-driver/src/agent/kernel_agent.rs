//! The agent, asked by a library in its own process.

use std::{
    net::Ipv4Addr,
    sync::{atomic::AtomicU32, Arc},
    time::Duration,
};

use rand::Rng;
use viaduct_spec::layout::Code;

use super::{
    connector::Connector,
    interrupts::{Interrupts, EVENT_VECTOR},
    vis::ViState,
    Agent, AgentError, Event, Limits, MemoryAttributes, NicKind,
};
use crate::{
    address::{ConnectionInfo, Mac},
    device::Polling,
    kernel_agent::{
        connection_agent::ConnectionAgent,
        control::{control_calls, methods_of},
        CqName, CreatedCq, CreatedVi, KernelAgent, ViAttributes, ViName,
    },
    queues::entries::Entries,
    wait::Vectors,
    wakeup::Wakeup,
};

// Every call is the inherent one of this name.
impl Vectors for Agent {
    fn generation(&self, vector: u8) -> Option<u64> {
        Agent::generation(self, vector)
    }

    fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        Agent::sleep(self, vector, seen, timeout)
    }

    fn wake(&self, vector: u8) {
        Agent::wake(self, vector);
    }
}

/// A row's method is the inherent one of this name.
macro_rules! forward {
    ($(#[$doc:meta])* fn $method:ident($($argument:ident: $type:ty),*) -> $result:ty as $($asked:tt)*) => {
        fn $method(&self, $($argument: $type),*) -> $result {
            Agent::$method(self, $($argument),*)
        }
    };
}

// Most of the calls are methods of the agent with the same name.
impl KernelAgent for Agent {
    control_calls! { methods_of KernelAgent forward }

    fn kind(&self) -> NicKind {
        Agent::kind(self)
    }

    fn limits(&self) -> Limits {
        Agent::limits(self)
    }

    fn mac(&self) -> Mac {
        Agent::mac(self)
    }

    fn ip(&self) -> Ipv4Addr {
        Agent::ip(self)
    }

    fn dma_bytes(&self) -> u64 {
        Agent::dma_bytes(self)
    }

    fn check_here(&self) -> Result<(), AgentError> {
        Ok(self.check_alarm()?)
    }

    fn end_words(&self) -> [Option<&AtomicU32>; 2] {
        [self.interrupts.as_ref().map(Interrupts::alarm_word), None]
    }

    fn pause(&self) {
        Agent::pause(self);
    }

    fn polling(&self) -> Polling {
        self.device.polling()
    }

    fn vectors(&self) -> u8 {
        Agent::vectors(self)
    }

    fn hold_off(&self, vector: u8, holdoff: Duration) -> Result<(), AgentError> {
        Agent::hold_off(self, vector, holdoff)
    }

    unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        // SAFETY: the caller's promise.
        unsafe { Agent::register(self, address, length, attributes) }
    }

    fn deregister(&self, handle: u32) -> Result<(), AgentError> {
        Agent::deregister(self, handle)
    }

    fn create_vi(&self, attributes: ViAttributes) -> Result<CreatedVi, AgentError> {
        Agent::create_vi(self, attributes)
    }

    fn create_cq(&self, entries: usize) -> Result<CreatedCq, AgentError> {
        Agent::create_cq(self, entries)
    }

    fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(Entries, u32), AgentError> {
        Agent::resize_cq(self, cq, entries)
    }

    fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError> {
        Agent::wait_events(self, timeout)
    }

    fn on_vector(&self, vector: u8, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        Agent::on_vector(self, vector, wakeup)
    }

    fn on_events(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        Agent::on_vector(self, EVENT_VECTOR, wakeup)
    }

    fn arm_events(&self) -> Result<(), AgentError> {
        Agent::arm_events(self)
    }

    fn connections(self: Arc<Self>) -> Result<Arc<dyn ConnectionAgent>, AgentError> {
        let seed = self.state()?.random.random();
        Ok(Arc::new(Connector::open(&self, true, seed)?))
    }

    fn hosts(&self) -> Result<Option<String>, AgentError> {
        // Configuration is the library's.
        Ok(None)
    }

    fn counters(&self) -> Result<Vec<(&'static Code, u64)>, AgentError> {
        Agent::counters(self)
    }
}
