//! What a part of a VI is given beside its own state: time, choices, the VI's rows, and the way to memory.

use super::choices::{Choices, Mutant};
use super::memory::Memory;
use super::tables::{Rows, Tables};
use crate::clock::Cycle;

/// See the module's description.
pub struct Context<'a> {
    /// Now.
    pub now: Cycle,
    /// What the specification leaves open.
    pub choices: &'a Choices,
    /// All tables.
    pub tables: &'a Tables,
    /// The VI's rows of them.
    pub rows: Rows<'a>,
    /// The VI is Connected.
    pub connected: bool,
    /// Work queues are served, and memory may be reached.
    pub serves: bool,
    /// Host memory.
    pub memory: Memory<'a>,
}

impl Context<'_> {
    /// Whether this rule is broken on purpose.
    pub fn breaks(&self, rule: Mutant) -> bool {
        self.choices.mutant == Some(rule)
    }
}
