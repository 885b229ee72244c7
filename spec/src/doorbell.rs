//! Doorbell pages and the token that ring slots and doorbells share.

use crate::{codes, layout};

layout! {
    /// A ring slot and a doorbell are the same 64-bit word: it names one descriptor. A word of 0 is
    /// never valid, because region 0 does not exist.
    token: 64 {
        /// Where the descriptor lies, in units of 64 bytes from the region's base rounded down to 64.
        OFFSET: 0, 34;
        /// Index of the region that holds the descriptor; never 0.
        REGION: 34, 16;
        /// The descriptor's position: it counts every descriptor ever posted to this ring, modulo 2^14. Its low bits are the ring slot, its high bits tell a stale slot.
        POSITION: 50, 14;
    }
}

codes! {
    /// Byte offsets in a VI's doorbell page (BAR 2, page = VI index). A store of the whole 64-bit
    /// token rings and carries the token; a 4-byte store of its high double word rings alone; any
    /// other store is ignored and counted.
    page: u64 {
        /// Send queue doorbell.
        SEND = 0x00;
        /// Receive queue doorbell.
        RECEIVE = 0x08;
    }
}

/// A token for the descriptor at `offset` (units of 64 bytes) of `region`, at ring `position`.
pub fn encode(region: u16, offset: u64, position: u16) -> u64 {
    let mut word = [0];
    token::REGION.put(&mut word, region.into());
    token::OFFSET.put(&mut word, offset);
    token::POSITION.put(&mut word, u64::from(position) & token::POSITION.mask());
    word[0]
}
