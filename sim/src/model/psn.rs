//! Packet sequence numbers: 24 bits that wrap; a distance below 2^23 is ahead.

/// Half of all numbers.
pub const HALF: u32 = 1 << 23;
/// How far behind the expected number a packet of an unreliable VI is a duplicate; what lies further behind is new.
pub const DUPLICATES: u32 = 1 << 16;

/// Packets that the answer to an RDMA read has at most.
pub const LONGEST_READ: u32 = 1 << 20;
const MASK: u32 = (1 << 24) - 1;

/// `psn` and so many more.
pub fn add(psn: u32, more: u32) -> u32 {
    psn.wrapping_add(more) & MASK
}

/// How far `psn` is ahead of `from`, modulo 2^24.
pub fn ahead(psn: u32, from: u32) -> u32 {
    psn.wrapping_sub(from) & MASK
}

/// Whether `psn` lies behind `from`, by `DUPLICATES` at most.
pub fn just_behind(psn: u32, from: u32) -> bool {
    (1..=DUPLICATES).contains(&ahead(from, psn))
}

/// The later of two that are less than 2^23 apart.
pub fn later(a: u32, b: u32) -> u32 {
    if ahead(a, b) < HALF {
        a
    } else {
        b
    }
}

/// Packets of a message of `length` bytes: one at least.
pub fn packets(length: u64, mtu: usize) -> u64 {
    length.div_ceil(mtu as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        assert_eq!(add(MASK, 2), 1);
        assert_eq!(ahead(1, MASK), 2);
        assert_eq!(later(1, MASK), 1);
        assert_eq!(later(MASK, 1), 1);
        assert_eq!([just_behind(5, 5), just_behind(4, 5), just_behind(6, 5)], [false, true, false]);
        assert_eq!([just_behind(5, 5 + DUPLICATES), just_behind(5, 6 + DUPLICATES)], [true, false]);
        assert_eq!([packets(0, 256), packets(256, 256), packets(257, 256)], [1, 1, 2]);
    }
}
