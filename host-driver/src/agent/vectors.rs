//! The agent hears interrupt vectors, and lets others sleep until one is raised.

use std::{sync::Arc, time::Duration};

use viaduct_spec::tables::{moderation, table};

use super::{Agent, AgentError, Interrupts, TICK_NS};
use crate::{device_protocol::commands::Admin, wakeup::Wakeup};

impl Agent {
    /// How often an interrupt vector was raised, as far as one can tell; None where there are no interrupts to
    /// wait for, and one polls: [`Agent::pause`].
    pub fn generation(&self, vector: u8) -> Option<u64> {
        self.interrupts.as_ref()?.generation(vector)
    }

    /// How many interrupt vectors it hears; 0: one polls.
    pub fn vectors(&self) -> u8 {
        // At most VECTORS, which fits.
        self.interrupts.as_ref().map_or(0, Interrupts::count) as u8
    }

    /// Interrupt moderation: after an interrupt of `vector` the NIC sends no other for `holdoff`, in steps of
    /// 1.024 us rounded up; what is raised meanwhile is one interrupt then. Zero, as it is at first: none.
    ///
    /// # Errors
    /// No such vector; longer than 33 ms.
    #[tracing::instrument(level = "debug", skip_all, fields(vector = vector, holdoff = ?holdoff), ret, err(level = "debug"))]
    pub fn hold_off(&self, vector: u8, holdoff: Duration) -> Result<(), AgentError> {
        if vector >= self.vectors() {
            return Err(AgentError::UnknownVector(vector));
        }
        let ticks = holdoff.as_nanos().div_ceil(TICK_NS);
        let ticks = u64::try_from(ticks).ok().filter(|&ticks| ticks <= moderation::HOLDOFF.mask());
        let mut row = [0];
        moderation::HOLDOFF.put(&mut row, ticks.ok_or(AgentError::Holdoff(holdoff))?);
        let _one_commit = self.state()?;
        Ok(Admin::of(&*self.device).commit(table::MODERATION, vector.into(), &row)?)
    }

    /// Sleeps until `vector` is raised again after [`Agent::generation`] was `seen`, at most for `timeout`.
    /// Whether it was. Where there are no interrupts, it pauses.
    ///
    /// Who wants to miss nothing takes a [`crate::wait::turn`], with [`crate::queues::work_queues::WorkQueues::arm`].
    pub fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        match &self.interrupts {
            Some(interrupts) => interrupts.sleep(vector, seen, timeout),
            None => {
                self.pause();
                false
            }
        }
    }

    /// From now on `wakeup` is signalled whenever `vector` is raised, or its sleepers are woken ([`Agent::wake`]), for as long as it lives.
    ///
    /// # Errors
    /// No such vector: where there are no interrupts there is none.
    pub fn on_vector(&self, vector: u8, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        let is_added =
            self.interrupts.as_ref().is_some_and(|interrupts| interrupts.add_wakeup(vector, wakeup));
        is_added.then_some(()).ok_or(AgentError::UnknownVector(vector))
    }

    /// Wakes all who sleep on `vector`, as an interrupt would.
    pub fn wake(&self, vector: u8) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.wake(vector);
        }
    }

    /// From now on `listener` is called with the number of each vector that was raised, in the thread that hears interrupts.
    /// The first listener stays.
    pub fn listen(&self, listener: Box<dyn Fn(u8) + Send + Sync>) {
        if let Some(interrupts) = &self.interrupts {
            interrupts.listen(listener);
        }
    }
}
