//! The DMA addresses that a device can translate, and which of them are free.
//!
//! Each registration has addresses of its own, so what ends reaches nothing, whatever else is
//! registered. The search goes on where the last one ended (next fit): an address is used again as
//! late as possible, and a device that still believes in an old one meets a fault, not a stranger's
//! memory. Same calls, same addresses.

use std::{collections::BTreeMap, ops::RangeInclusive};

use viaduct_spec::profile::DMA_ADDRESS_BITS;

use crate::pages::PAGE_BYTES;

/// The highest address that the NIC's page table holds.
const TOP: u64 = (1 << DMA_ADDRESS_BITS) - 1;

/// DMA addresses in whole pages of [`PAGE_BYTES`].
#[derive(Debug)]
pub struct DmaSpace {
    /// Free ranges, last address by first. They neither overlap nor touch.
    free: BTreeMap<u64, u64>,
    /// Where the next search starts.
    next: u64,
    bytes: u64,
}

impl DmaSpace {
    /// All of `ranges` up to what the NIC's page table holds ([`DMA_ADDRESS_BITS`]), less what is no whole page.
    /// The page at address 0 is never used: 0 is what an empty row of the page table says.
    pub fn new(ranges: &[RangeInclusive<u64>]) -> Self {
        let mut space = Self { free: BTreeMap::new(), next: 0, bytes: 0 };
        for range in ranges {
            let Some(first) = range.start().max(&1).checked_next_multiple_of(PAGE_BYTES) else { continue };
            // The last byte of the last whole page.
            let end = TOP.min(*range.end());
            let last = match end & (PAGE_BYTES - 1) {
                part if part == PAGE_BYTES - 1 => end,
                part => (end - part).saturating_sub(1),
            };
            if first < last && !space.free.iter().any(|(from, to)| first <= *to && *from <= last) {
                space.bytes = space.bytes.saturating_add(last - first + 1);
                space.insert(first, last);
            }
        }
        space
    }

    /// How many bytes it has, free or not.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes `length` bytes, whole pages and not 0, at an address that is `address` modulo
    /// `modulus`, a power of two of at least [`PAGE_BYTES`]. None if there are none.
    pub fn allocate(&mut self, length: u64, address: u64, modulus: u64) -> Option<u64> {
        debug_assert!(length > 0 && length % PAGE_BYTES == 0 && modulus.is_power_of_two());
        let place = |first: u64, last: u64| {
            // How far the next congruent address is.
            let skip = address.wrapping_sub(first) & (modulus - 1);
            let at = first.checked_add(skip)?;
            (at.checked_add(length - 1)? <= last).then_some(at)
        };
        // From where the last search ended to the top, then from the bottom. What holds `next` is looked
        // at twice: behind it, and last of all whole.
        let here = self.free.range(..self.next).next_back().map(|(_, last)| (self.next, *last));
        let here = here.filter(|(first, last)| first <= last);
        let above = self.free.range(self.next..).map(|(first, last)| (*first, *last));
        let below = self.free.range(..self.next).map(|(first, last)| (*first, *last));
        let at = here.into_iter().chain(above).chain(below).find_map(|(first, last)| place(first, last))?;

        let (&first, &last) = self.free.range(..=at).next_back()?;
        let end = at + (length - 1);
        self.free.remove(&first);
        if first < at {
            self.free.insert(first, at - 1);
        }
        if end < last {
            self.free.insert(end + 1, last);
        }
        self.next = end.wrapping_add(1);
        Some(at)
    }

    /// Gives back what [`DmaSpace::allocate`] gave.
    pub fn release(&mut self, at: u64, length: u64) {
        self.insert(at, at + (length - 1));
    }

    /// Makes `first ..= last` free, one with its neighbours.
    fn insert(&mut self, mut first: u64, mut last: u64) {
        if let Some((&before, &end)) = self.free.range(..first).next_back() {
            if end + 1 == first {
                first = before;
            }
        }
        if let Some(end) = last.checked_add(1).and_then(|after| self.free.remove(&after)) {
            last = end;
        }
        self.free.insert(first, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    const PAGE: u64 = PAGE_BYTES;

    fn free(space: &DmaSpace) -> Vec<(u64, u64)> {
        space.free.iter().map(|(first, last)| (*first, *last)).collect()
    }

    #[test]
    fn only_whole_pages_count_and_never_page_0() {
        let space = DmaSpace::new(&[0..=0x2fff, 0x4001..=0x6ffe, TOP - 0x1fff..=u64::MAX]);
        assert_eq!(free(&space), [(0x1000, 0x2fff), (0x5000, 0x5fff), (TOP - 0x1fff, TOP)]);
        assert_eq!(space.bytes(), 5 * PAGE);
        // Ranges that make no sense are left out.
        #[allow(clippy::reversed_empty_ranges)]
        let space = DmaSpace::new(&[0..=0, 5..=3, 0x1000..=0x1ffe, 0x8000..=0x8fff, 0x8000..=0x9fff]);
        assert_eq!(free(&space), [(0x8000, 0x8fff)]);
        assert_eq!(DmaSpace::new(&[]).allocate(PAGE, 0, PAGE), None);
        // Nor is what the NIC cannot hold.
        assert_eq!(DmaSpace::new(&[TOP + 1..=u64::MAX]).bytes(), 0);
    }

    #[test]
    fn an_address_comes_back_as_late_as_possible() {
        let mut space = DmaSpace::new(&[0x1000..=0x4fff]);
        let mut take = |give_back: Option<u64>| {
            if let Some(at) = give_back {
                space.release(at, PAGE);
            }
            space.allocate(PAGE, 0, PAGE)
        };
        let first = take(None);
        assert_eq!(first, Some(0x1000));
        let others: Vec<_> = (0..3).map(|n| take(first.filter(|_| n == 0))).collect();
        assert_eq!(others, [Some(0x2000), Some(0x3000), Some(0x4000)]);
        assert_eq!(take(None), Some(0x1000));
        assert_eq!(take(None), None);
    }

    #[test]
    fn the_top_of_the_address_space_is_used_and_given_back() {
        let top = TOP - (2 * PAGE - 1);
        let mut space = DmaSpace::new(&[top..=u64::MAX]);
        assert_eq!(space.allocate(2 * PAGE, top, 2 * PAGE), Some(top));
        assert_eq!(space.allocate(PAGE, 0, PAGE), None);
        space.release(top + PAGE, PAGE);
        space.release(top, PAGE);
        assert_eq!(free(&space), [(top, TOP)]);
        assert_eq!(space.allocate(4 * PAGE, 0, PAGE), None);
    }

    #[test]
    fn what_lives_never_overlaps_is_congruent_and_all_comes_back() {
        let seed: u64 = rand::random();
        println!("seed {seed:#x}");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let ranges = [0x1000..=0xfffff, 0x20_0000..=0x2f_ffff];
        let (mut space, mut twin) = (DmaSpace::new(&ranges), DmaSpace::new(&ranges));
        let whole = free(&space);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut failed = 0;
        for step in 0..20_000 {
            let context = format!("seed {seed:#x}, step {step}");
            if rng.random_range(0..100) < 52 {
                let length = PAGE * rng.random_range(1..=32);
                let modulus = PAGE << rng.random_range(0..6);
                let address = rng.random::<u64>() & !(PAGE - 1);
                let got = space.allocate(length, address, modulus);
                assert_eq!(got, twin.allocate(length, address, modulus), "{context}: not deterministic");
                let Some(at) = got else {
                    // It only says no where nothing fits.
                    let fits = free(&space).iter().any(|(first, last)| {
                        (*first..=*last)
                            .step_by(PAGE as usize)
                            .any(|at| at % modulus == address % modulus && at + length - 1 <= *last)
                    });
                    assert!(!fits, "{context}: {length:#x} bytes would fit");
                    failed += 1;
                    continue;
                };
                assert_eq!(at % modulus, address % modulus, "{context}");
                let end = at + length - 1;
                assert!(ranges.iter().any(|range| range.contains(&at) && range.contains(&end)), "{context}");
                assert!(live.iter().all(|(a, l)| end < *a || a + l - 1 < at), "{context}: {at:#x} lives");
                live.push((at, length));
            } else if !live.is_empty() {
                let (at, length) = live.swap_remove(rng.random_range(0..live.len()));
                space.release(at, length);
                twin.release(at, length);
            }
        }
        assert!(failed > 0, "seed {seed:#x}: it was never full");
        for (at, length) in live {
            space.release(at, length);
        }
        assert_eq!(free(&space), whole, "seed {seed:#x}");
    }
}
