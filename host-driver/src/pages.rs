//! How many page table rows a region costs, and which: with one DMA address for each virtual
//! address, a page may be as large as the region, and one row is enough for nearly every region.

use std::ops::RangeInclusive;

/// Page sizes of a region, as log2: the PAGE_SHIFT field of its row.
pub const SHIFTS: RangeInclusive<u32> = 12..=43;
/// The smallest page: what the device maps in.
pub const PAGE_BYTES: u64 = 1 << 12;

/// The pages that a region lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cover {
    /// log2 of the page size.
    pub shift: u32,
    /// Number of the first page: its address without the low `shift` bits.
    pub first: u64,
    /// Pages.
    pub count: u64,
}

impl Cover {
    /// The smallest pages of which one holds all of `address .. address + length`. When none of
    /// [`SHIFTS`] does, as few of the largest as hold it.
    ///
    /// None for a length of 0, and for a range that does not end by address 2^64 - 1.
    pub fn of(address: u64, length: u64) -> Option<Self> {
        let last = address.checked_add(length.checked_sub(1)?)?;
        // The highest bit in which first and last address differ is inside the page.
        let differ = 64 - (address ^ last).leading_zeros();
        let shift = differ.clamp(*SHIFTS.start(), *SHIFTS.end());
        let first = address >> shift;
        Some(Self { shift, first, count: (last >> shift) - first + 1 })
    }

    /// Addresses of the pages, lowest first: the rows of the region's slice of the page table.
    pub fn addresses(self) -> impl Iterator<Item = u64> {
        (self.first..self.first + self.count).map(move |page| page << self.shift)
    }
}

/// `address .. address + length`, widened to whole smallest pages: first byte and length.
/// None when the range is empty or does not end in the address space.
pub fn whole(address: u64, length: u64) -> Option<(u64, u64)> {
    let last = address.checked_add(length.checked_sub(1)?)?;
    let start = address & !(PAGE_BYTES - 1);
    let end = (last | (PAGE_BYTES - 1)).checked_add(1)?;
    Some((start, end - start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    #[test]
    fn ordinary_regions_cost_one_row() {
        assert_eq!(Cover::of(0x7f00_0000_1234, 1), Some(Cover { shift: 12, first: 0x7_f000_0001, count: 1 }));
        assert_eq!(Cover::of(0x1000, 0x1000), Some(Cover { shift: 12, first: 1, count: 1 }));
        // Straddles a 4 KiB boundary but no 8 KiB boundary.
        assert_eq!(Cover::of(0x2fff, 2), Some(Cover { shift: 13, first: 1, count: 1 }));
        // Straddles the middle of the address space: no page of 2^43 bytes or less holds both ends.
        let middle = 1 << 46;
        assert_eq!(Cover::of(middle - 1, 2), Some(Cover { shift: 43, first: 7, count: 2 }));
    }

    #[test]
    fn what_is_no_range_has_no_cover() {
        assert_eq!(Cover::of(0x1000, 0), None);
        assert_eq!(Cover::of(u64::MAX, 2), None);
        assert_eq!(whole(0x1000, 0), None);
        assert_eq!(whole(u64::MAX, 1), None);
    }

    #[test]
    fn every_byte_lies_in_its_page_and_smaller_pages_would_not_do() {
        let seed: u64 = rand::random();
        println!("seed {seed:#x}");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..20_000 {
            let address = rng.random::<u64>() >> rng.random_range(16..52);
            let length = (rng.random::<u64>() >> rng.random_range(16..64)).max(1);
            let last = address + length - 1;
            let cover = Cover::of(address, length).expect("a range");
            let context = format!("seed {seed:#x}: {length:#x} bytes at {address:#x}: {cover:?}");
            assert!(SHIFTS.contains(&cover.shift), "{context}");
            // The rule of the hardware: row n holds [P + n*S, P + (n+1)*S), P = BASE rounded down.
            let size = 1u64 << cover.shift;
            let base = address & !(size - 1);
            for byte in [address, last, address + length / 2] {
                let row = (byte - base) / size;
                assert!(row < cover.count, "{context}");
                assert_eq!(cover.addresses().nth(row as usize), Some(byte & !(size - 1)), "{context}");
            }
            assert!((last - base) / size + 1 == cover.count, "{context}");
            if cover.count > 1 {
                assert_eq!(cover.shift, *SHIFTS.end(), "{context}");
            } else if cover.shift > 12 {
                assert_ne!(address >> (cover.shift - 1), last >> (cover.shift - 1), "{context}");
            }
            let (start, bytes) = whole(address, length).expect("a range");
            assert!(start <= address && last < start + bytes, "{context}");
            assert!(address - start < PAGE_BYTES && start + bytes - 1 - last < PAGE_BYTES, "{context}");
            assert!(start % PAGE_BYTES == 0 && bytes % PAGE_BYTES == 0, "{context}");
        }
    }
}
