//! What came of a program.

use std::collections::BTreeMap;

use crate::operation::End;
use crate::trace::Trace;

/// A descriptor that was completed, as its consumer has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Whose.
    pub end: End,
    /// Of the receive queue.
    pub receive: bool,
    /// The operation that posted it.
    pub operation: usize,
    /// Length.
    pub length: u32,
    /// Status.
    pub status: u32,
}

/// An event, as its agent has taken it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Whose.
    pub end: End,
    /// Its code.
    pub code: u8,
    /// Of the receive queue.
    pub receive: bool,
    /// The VI went into Error.
    pub broke: bool,
}

/// See the module's description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Completions, of each queue in their order.
    pub completions: Vec<Completion>,
    /// Events, of each NIC in their order.
    pub events: Vec<Event>,
    /// What no program allows.
    pub faults: Vec<String>,
    /// Device time.
    pub cycles: u64,
    /// Faults on the wire.
    pub met: BTreeMap<&'static str, u64>,
    /// What each NIC was seen to do.
    pub traces: [Trace; 2],
}
