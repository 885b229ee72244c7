//! How many page table rows a region costs, and what they say.
//!
//! Page `n` of a region holds its virtual addresses `[P + n*S, P + (n+1)*S)`, with `P` its base rounded
//! down to the page size `S`; the row has the DMA address where that page starts. So a region needs
//! DMA addresses that are its virtual addresses modulo S, and then may choose S: with S at least its
//! length it costs one row, or two where it lies across a page boundary.
//!
//! Such a page may start before the region's own DMA addresses, or end behind them: among those of
//! others, or where nothing is mapped. Nothing comes of it. The hardware checks every access against
//! the base and length of the region, to the byte, before it looks at a page; so of a page only those
//! addresses are ever formed that belong to bytes of the region.

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
    /// Pages.
    pub count: u64,
}

impl Cover {
    /// The covers of `start .. start + length`, the best first: pages as large as the range, of which
    /// there are two at most, then ever smaller and more. Whole smallest pages, not none, that do not
    /// end behind the address space.
    pub fn all(start: u64, length: u64) -> impl Iterator<Item = Self> {
        let best = length.next_power_of_two().ilog2().clamp(*SHIFTS.start(), *SHIFTS.end());
        let last = start + (length - 1);
        (*SHIFTS.start()..=best)
            .rev()
            .map(move |shift| Self { shift, count: (last >> shift) - (start >> shift) + 1 })
    }

    /// The page size in bytes.
    pub fn size(self) -> u64 {
        1 << self.shift
    }

    /// The rows of the region's slice of the page table, when its first smallest page has DMA address
    /// `iova`, congruent to its virtual address modulo [`Cover::size`].
    pub fn rows(self, iova: u64) -> impl Iterator<Item = u64> {
        // Rounded down, as the virtual address is: never below 0, however low the address.
        let first = iova >> self.shift;
        (first..first + self.count).map(move |page| page << self.shift)
    }
}

/// `address .. address + length`, widened to whole smallest pages: first byte and length.
/// None when the range is empty or does not end in the address space.
pub fn whole_pages(address: u64, length: u64) -> Option<(u64, u64)> {
    let last = address.checked_add(length.checked_sub(1)?)?;
    let start = address & !(PAGE_BYTES - 1);
    let end = (last | (PAGE_BYTES - 1)).checked_add(1)?;
    Some((start, end - start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dma_space::DmaSpace;
    use rand::{Rng, SeedableRng};

    fn best(start: u64, length: u64) -> Cover {
        Cover::all(start, length).next().expect("there is always one")
    }

    #[test]
    fn ordinary_regions_cost_one_row_or_two() {
        assert_eq!(best(0x7f00_0000_1000, 0x1000), Cover { shift: 12, count: 1 });
        assert_eq!(best(0x4000, 0x3000), Cover { shift: 14, count: 1 });
        // Across a boundary of 8 KiB, and of everything.
        assert_eq!(best(0x1000, 0x2000), Cover { shift: 13, count: 2 });
        assert_eq!(best((1 << 46) - 0x1000, 0x2000), Cover { shift: 13, count: 2 });
        assert_eq!(best(0x10_0000, 1 << 44), Cover { shift: 43, count: 3 });
        let counts: Vec<u64> = Cover::all(0x1000, 0x4000).map(|cover| cover.count).collect();
        assert_eq!(counts, [2, 3, 4], "16, 8 and 4 KiB");
    }

    #[test]
    fn a_page_that_starts_below_the_first_dma_address_starts_at_0() {
        let cover = best(0x7f00_0000_1000, 0x3000);
        assert_eq!(cover, Cover { shift: 14, count: 1 });
        assert_eq!(cover.rows(0x1000).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_is_no_range_has_no_pages() {
        assert_eq!(whole_pages(0x1000, 0), None);
        assert_eq!(whole_pages(u64::MAX, 1), None);
        assert_eq!(whole_pages(u64::MAX, 2), None);
    }

    #[test]
    fn the_hardware_finds_every_byte_at_its_own_dma_address() {
        let seed: u64 = rand::random();
        println!("seed {seed:#x}");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..20_000 {
            let address = rng.random::<u64>() >> rng.random_range(17..52);
            let length = (rng.random::<u64>() >> rng.random_range(25..64)).max(1);
            let last = address + length - 1;
            let (start, bytes) = whole_pages(address, length).expect("a range");
            let context = format!("seed {seed:#x}: {length:#x} bytes at {address:#x}");
            assert!(start <= address && last < start + bytes, "{context}");
            assert!(address - start < PAGE_BYTES && start + bytes - 1 - last < PAGE_BYTES, "{context}");
            assert!(start % PAGE_BYTES == 0 && bytes % PAGE_BYTES == 0, "{context}");

            assert!(best(start, bytes).count <= 2, "{context}");
            // What an IOMMU of 39 bits or more leaves.
            let mut space =
                DmaSpace::new(&[0x1000..=0xfedf_ffff, 0xfef0_0000..=(1 << rng.random_range(39..=47)) - 1]);
            for cover in Cover::all(start, bytes) {
                let context = format!("{context}: {cover:?}");
                let Some(iova) = space.allocate(bytes, start, cover.size()) else { continue };
                let size = 1u64 << cover.shift;
                assert!(SHIFTS.contains(&cover.shift) && cover.size() == size, "{context}");
                let base = address & !(size - 1);
                assert_eq!(cover.count, (last - base) / size + 1, "{context}");
                for byte in [address, last, address + length / 2] {
                    let (row, within) = ((byte - base) / size, (byte - base) % size);
                    if row < 64 {
                        let row = cover.rows(iova).nth(row as usize).expect("a row");
                        assert_eq!(row % size, 0, "{context}");
                        assert_eq!(row + within, iova + (byte - start), "{context} at {iova:#x}");
                    }
                }
                space.release(iova, bytes);
            }
        }
    }
}
