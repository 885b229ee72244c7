//! Event counters, 36 bits each.

use viaduct_spec::register::counter;

/// The counters.
#[derive(Debug, Clone)]
pub struct Counters(Vec<u64>);

impl Counters {
    const MASK: u64 = (1 << 36) - 1;

    /// All 0.
    pub fn new() -> Self {
        Self(vec![0; counter::CODES.codes.len()])
    }

    /// One more of this.
    pub fn count(&mut self, number: u64) {
        self.add(number, 1);
    }

    /// So many more of this.
    pub fn add(&mut self, number: u64, more: u64) {
        if let Some(value) = self.0.get_mut(number as usize) {
            *value = (*value + more) & Self::MASK;
        }
    }

    /// A counter's value; of one that does not exist, 0.
    pub fn get(&self, number: u64) -> u64 {
        self.0.get(number as usize).copied().unwrap_or(0)
    }
}
