//! Doorbell pages: the token that ring slots and doorbells share, and the arm word.

use crate::{codes, layout};

layout! {
    /// A ring slot and a doorbell are the same 64-bit word: it names one descriptor. A word of 0 is
    /// never valid, because region 0 does not exist.
    token: 64 {
        /// Where the descriptor lies, in units of 64 bytes from the region's base rounded down to 64.
        OFFSET: 0, 34;
        /// Index of the region that holds the descriptor; never 0.
        REGION: 34, 15;
        /// 1: the descriptor has one segment or none, and the NIC reads only its first 48 bytes. If it says more segments, it is malformed.
        SHORT: 49, 1;
        /// The descriptor's position: it counts every descriptor ever posted to this ring, modulo 2^14. Its low bits are the ring slot, its high bits tell a stale slot.
        POSITION: 50, 14;
    }
}

codes! {
    /// Byte offsets in a VI's doorbell page (BAR 2, page = VI index). A store of the whole 64-bit
    /// token rings and carries the token; a 4-byte store of its high double word rings alone; a store of
    /// a whole arm word arms; any other store is ignored and counted.
    page: u64 {
        /// Send queue doorbell: a token.
        SEND = 0x00;
        /// Receive queue doorbell: a token.
        RECEIVE = 0x08;
        /// Asks for one interrupt of the send queue: see arm.
        SEND_ARM = 0x10;
        /// Asks for one interrupt of the receive queue: see arm.
        RECEIVE_ARM = 0x18;
    }
}

codes! {
    /// Byte offsets in a completion queue's doorbell page (BAR 2, page = VIS + queue index). Stores of
    /// whole 64-bit words only; any other is ignored and counted.
    cq_page: u64 {
        /// How many entries the consumer has taken: see cq_index.
        INDEX = 0x00;
        /// Asks for one interrupt of the queue: see cq_index. If more entries have been written than its
        /// INDEX says, the interrupt comes at once.
        ARM = 0x08;
    }
}

layout! {
    /// A word of a completion queue's page.
    cq_index: 64 {
        /// Entries taken since the queue was created or resized, modulo 2^18.
        INDEX: 0, 18;
        /// Changes with every store, so that a poller of doorbell pages sees each.
        SEQUENCE: 32, 32;
    }
}

layout! {
    /// An arm word: asks for one interrupt when a descriptor is complete that the consumer has not
    /// seen. If one is already, the interrupt comes at once.
    arm: 64 {
        /// Position of the oldest descriptor that the consumer has not seen complete.
        POSITION: 0, 14;
        /// Changes with every store, so that a poller of doorbell pages sees each.
        SEQUENCE: 32, 32;
    }
}

/// A token for the descriptor at `offset` (units of 64 bytes) of `region` (15 bits), at ring `position`. The NIC reads 64 bytes of the descriptor; see
/// [`short`].
///
/// # Panics
/// When `region` or `offset` needs more bits than a token has for it.
#[inline]
pub const fn encode(region: u16, offset: u64, position: u16) -> u64 {
    assert!(
        region as u64 <= token::REGION.mask() && offset <= token::OFFSET.mask(),
        "a token has no room for it"
    );
    let position = token::POSITION.of(position as u64 & token::POSITION.mask());
    token::REGION.of(region as u64) | token::OFFSET.of(offset) | position
}

/// The same token, of a descriptor with one segment or none: the NIC reads 48 bytes of it.
#[inline]
pub const fn short(word: u64) -> u64 {
    word | token::SHORT.of(1)
}

// A region's index has 16 bits elsewhere.
const _: () = assert!(crate::profile::REGIONS <= 1 << 15, "a token names every region");
