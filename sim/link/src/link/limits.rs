//! Times of the data link layer, in symbol times of 4 ns (tables 3-4 and 3-5, section 2.6.1.2).

/// An Ack is due so long after a TLP at the latest, for an x1 link:
/// (Max_Payload_Size + 28) * AckFactor + 19.
pub const fn ack_limit(max_payload: u32) -> u32 {
    let sum = max_payload + 28;
    // AckFactor is 1.4 up to 256 bytes, otherwise 1.0.
    if max_payload <= 256 {
        sum * 14 / 10 + 19
    } else {
        sum + 19
    }
}

/// REPLAY_TIMER runs at least so long, and at most twice as long.
pub const fn replay_limit(max_payload: u32) -> u32 {
    3 * ack_limit(max_payload)
}

/// Credits of a type that is not infinite are updated at least so often: 30 us.
pub const UPDATE_INTERVAL: u64 = 7500;
/// Most TLPs that may be unacknowledged (Base 6.3, equation 3-1).
pub const MAX_UNACKNOWLEDGED: u16 = 2047;
/// A number that lies so far behind the expected one at most is a duplicate's (Base 6.3, section 3.6.3.1).
pub const DUPLICATES: u16 = 2048;
/// Replays without progress before the link is retrained.
pub const REPLAYS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_come_out() {
        assert_eq!([128, 256, 512].map(ack_limit), [237, 416, 559]);
        assert_eq!([128, 256, 512].map(replay_limit), [711, 1248, 1677]);
    }
}
