//! The trace of a NIC: everything that has passed its edges, and every change of its host's memory, in order.

use std::sync::{Arc, Mutex, PoisonError};

use viaduct_sim::watch::{Seen, Watcher};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Something passed an edge.
    Seen(Seen),
    /// The host wrote to its own memory: DMA address and bytes.
    Host(u64, Vec<u8>),
}

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The cycle. The host's writes have that of what was seen before them.
    pub cycle: u64,
    /// What was seen in that cycle.
    pub what: What,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The host's memory before the first moment.
    pub memory: Vec<u8>,
    /// What happened, in order.
    pub moments: Vec<Moment>,
}

impl Trace {
    /// The first moment that is at least so many cycles behind another.
    pub fn after(&self, at: usize, cycles: u64) -> usize {
        let end = self.moments[at].cycle + cycles;
        self.moments.partition_point(|moment| moment.cycle < end).max(at)
    }
}

/// Writes a trace down.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<Moment>>>);

impl Recorder {
    fn push(&self, cycle: Option<u64>, what: What) {
        let mut moments = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = moments.last().map_or(0, |moment| moment.cycle);
        moments.push(Moment { cycle: cycle.unwrap_or(last), what });
    }

    /// The host writes to its memory.
    pub fn host(&self, address: u64, data: &[u8]) {
        self.push(None, What::Host(address, data.to_vec()));
    }

    /// Whom the simulator tells what it sees.
    pub fn watcher(&self) -> Watcher {
        let recorder = self.clone();
        Box::new(move |cycle, seen| recorder.push(Some(cycle), What::Seen(seen)))
    }

    /// What was written down.
    pub fn moments(&self) -> Vec<Moment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
