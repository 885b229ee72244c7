//! What a NIC is seen to do at its edges: who is given it as it happens can say afterwards what the NIC was told, and what it made of it.
//!
//! ```text
//!   RTL:    pins, cycle by cycle --> Pins --+
//!   model:  its host, its port -------------+--> Watch: (cycle, Seen)
//! ```
//!
//! A packet or frame is seen in the cycle of its last beat. What is half over an edge when a reset comes is never seen.

mod pins;

use std::fmt;

use viaduct_driver::device::Bar;

use crate::clock::Cycle;
pub use pins::Pins;

/// Something that has passed an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A store of the host's has come.
    Store {
        /// To this BAR.
        bar: Bar,
        /// Byte offset in it.
        offset: u64,
        /// Bytes.
        length: usize,
        /// What is stored.
        value: u64,
    },
    /// A load of the host's is answered.
    Load {
        /// Of this BAR.
        bar: Bar,
        /// Byte offset in it.
        offset: u64,
        /// Bytes.
        length: usize,
        /// The answer.
        value: u64,
    },
    /// Bus Master is, or is no longer, enabled.
    Master(bool),
    /// Interrupts may, or may no longer, be sent.
    Msix(bool),
    /// A function reset has begun.
    FunctionReset,
    /// A frame has come.
    FrameIn {
        /// The frame, without FCS.
        data: Vec<u8>,
        /// Its FCS was wrong.
        damaged: bool,
    },
    /// A frame has left.
    FrameOut {
        /// The frame, without FCS.
        data: Vec<u8>,
        /// The cycle of its first beat.
        began: Cycle,
    },
    /// A frame has turned round inside the NIC: it has left one VI, and come to another or to the same.
    Loopback {
        /// The frame.
        data: Vec<u8>,
        /// The cycle of its first beat.
        began: Cycle,
    },
    /// Bytes of host memory have come back to the NIC.
    Read {
        /// DMA address.
        address: u64,
        /// The bytes.
        data: Vec<u8>,
    },
    /// Host memory is written.
    Write {
        /// DMA address.
        address: u64,
        /// The bytes.
        data: Vec<u8>,
    },
}

/// Who is told.
pub type Watcher = Box<dyn FnMut(Cycle, Seen) + Send>;

/// Tells a watcher, if there is one, at a time that is set.
#[derive(Default)]
pub struct Watch {
    /// Now.
    pub now: Cycle,
    watcher: Option<Watcher>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Watch {
    /// This one is told from now on.
    pub fn set(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    /// Somebody wants to know.
    pub fn is_on(&self) -> bool {
        self.watcher.is_some()
    }

    /// Tells it.
    pub fn tell(&mut self, seen: impl FnOnce() -> Seen) {
        if let Some(watcher) = &mut self.watcher {
            watcher(self.now, seen());
        }
    }
}
