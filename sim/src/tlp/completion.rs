//! Completions: the answers to reads.

use viaduct_spec::tlp::completion_status;

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// See `completion_status`.
    pub status: u8,
    /// Bytes left to complete, this packet's included: 1 to 4096.
    pub byte_count: usize,
    /// Low 7 bits of the first byte's address.
    pub lower_address: u8,
    /// Tag of the request.
    pub tag: u8,
    /// Who asked.
    pub requester: u16,
    /// Who answers.
    pub completer: u16,
    /// The data is damaged.
    pub poisoned: bool,
    /// The data; empty in a completion without.
    pub data: Vec<u32>,
}

impl Completion {
    /// Whether the request succeeded as far as this packet goes.
    pub fn is_success(&self) -> bool {
        self.status == completion_status::SUCCESS && !self.poisoned
    }
}
