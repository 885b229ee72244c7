//! Transaction layer packets as double words (`viaduct_spec::tlp` has the packing), and as values.
//!
//! * [`Request`], [`Completion`]: what packets say.
//! * `encode`, `decode`: how they are written, and why double words are no packet ([`Malformed`]).

mod completion;
mod decode;
mod encode;
mod request;
#[cfg(test)]
mod tests;

pub use completion::Completion;
pub use decode::Malformed;
pub use request::Request;

/// Most double words of payload.
pub const MAX_PAYLOAD_DW: usize = 1024;
/// Addresses from here on need a 4-DW header.
const FOUR_DW: u64 = 1 << 32;

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tlp {
    /// Memory read.
    Read(Request),
    /// Memory write.
    Write(Request, Vec<u32>),
    /// Completion, with or without data.
    Completion(Completion),
}

impl Tlp {
    /// An answer that carries no data and says why.
    pub fn refusal(request: &Request, status: u8, completer: u16) -> Self {
        let (lead, count) = request.bytes();
        Self::Completion(Completion {
            status,
            byte_count: count,
            lower_address: (request.address as usize + lead) as u8 & 0x7F,
            tag: request.tag,
            requester: request.requester,
            completer,
            poisoned: false,
            data: Vec::new(),
        })
    }
}

/// One beat at the edge: data and keep.
pub fn beat(packet: &[u32], index: usize) -> (u64, u8) {
    let low = packet.get(2 * index).copied().unwrap_or(0);
    match packet.get(2 * index + 1) {
        Some(&high) => (u64::from(high) << 32 | u64::from(low), 0b11),
        None => (low.into(), 0b01),
    }
}
