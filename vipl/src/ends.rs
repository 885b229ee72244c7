//! Whether the agent has gone, as each look asks.

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use viaduct_driver::kernel_agent::KernelAgent;

/// Words that are 0 as long as the agent is there: `KernelAgent::end_words`.
#[derive(Debug)]
pub(crate) struct Ends([NonNull<AtomicU32>; 2]);

// SAFETY: the pointers are to atomics.
unsafe impl Send for Ends {}
// SAFETY: as above.
unsafe impl Sync for Ends {}

impl Ends {
    pub(crate) fn of(agent: &dyn KernelAgent) -> Self {
        static NEVER: AtomicU32 = AtomicU32::new(0);
        Self(agent.end_words().map(|word| word.unwrap_or(&NEVER).into()))
    }

    /// Whether one of them is not 0 any more: the agent has gone.
    ///
    /// # Safety
    /// The agent is still there.
    #[inline]
    pub(crate) unsafe fn have_come(&self) -> bool {
        // SAFETY: the words stay as long as the agent.
        let [one, other] = self.0.map(|word| unsafe { word.as_ref() }.load(Ordering::Relaxed));
        one | other != 0
    }
}
