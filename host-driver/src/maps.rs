//! The device's view of this process's memory. Every byte has one DMA address, its own virtual
//! address, however often it is registered: maps are shared and counted.
//!
//! A device cannot map one address twice, nor unmap half of a map. So what a registration needs and
//! is not mapped yet is mapped as pieces of its own, and a piece goes when its last user goes.

use std::collections::BTreeMap;

use crate::device::{DeviceError, DmaAccess, PciDevice};

/// Maps of one device, by first address. They never overlap.
#[derive(Debug, Default)]
pub struct Maps {
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Debug)]
struct Piece {
    length: u64,
    access: DmaAccess,
    users: usize,
}

/// Why memory could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// A page was read-only when another registration mapped it, and is writable now.
    #[error(
        "the memory at {0:#x} is mapped read-only by an earlier registration: deregister that one first"
    )]
    ReadOnly(u64),
    /// The device's answer.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Maps {
    /// Makes `start .. start + length` (whole pages) reachable, and counts a user of it.
    ///
    /// # Safety
    /// As [`PciDevice::map_dma`], until [`Maps::remove`] with the same range.
    pub unsafe fn add(
        &mut self,
        device: &dyn PciDevice,
        start: u64,
        length: u64,
        access: DmaAccess,
    ) -> Result<(), MapError> {
        let end = start + length;
        if access == DmaAccess::ReadWrite {
            if let Some(at) = self.inside(start, end).find(|at| self.pieces[at].access == DmaAccess::Read) {
                return Err(MapError::ReadOnly(at));
            }
        }
        let mut added: Vec<u64> = Vec::new();
        for (from, to) in self.gaps(start, end) {
            // SAFETY: the caller's promise covers all of the range. DMA address = virtual address.
            match unsafe { device.map_dma(from, from as usize, (to - from) as usize, access) } {
                Ok(()) => {
                    self.pieces.insert(from, Piece { length: to - from, access, users: 0 });
                    added.push(from);
                }
                Err(error) => {
                    for from in added {
                        if let Some(piece) = self.pieces.remove(&from) {
                            device.unmap_dma(from, piece.length as usize)?;
                        }
                    }
                    return Err(error.into());
                }
            }
        }
        let users: Vec<u64> = self.inside(start, end).collect();
        for at in users {
            if let Some(piece) = self.pieces.get_mut(&at) {
                piece.users += 1;
            }
        }
        Ok(())
    }

    /// Takes back what [`Maps::add`] gave with the same range: unmaps what nobody else uses.
    pub fn remove(&mut self, device: &dyn PciDevice, start: u64, length: u64) -> Result<(), DeviceError> {
        let users: Vec<u64> = self.inside(start, start + length).collect();
        let mut result = Ok(());
        for at in users {
            let Some(piece) = self.pieces.get_mut(&at) else { continue };
            piece.users -= 1;
            if piece.users == 0 {
                let length = piece.length as usize;
                self.pieces.remove(&at);
                // A device that is gone reaches nothing; the others are taken back all the same.
                result = result.and(device.unmap_dma(at, length));
            }
        }
        result
    }

    /// First addresses of the pieces that touch `start .. end`.
    fn inside(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + '_ {
        let before = self.pieces.range(..start).next_back();
        before
            .filter(move |(at, piece)| **at + piece.length > start)
            .into_iter()
            .chain(self.pieces.range(start..end))
            .map(|(at, _)| *at)
    }

    /// The parts of `start .. end` in no piece.
    fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = start;
        for from in self.inside(start, end) {
            if from > at {
                gaps.push((at, from));
            }
            at = from + self.pieces[&from].length;
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use rand::{Rng, SeedableRng};
    use DmaAccess::{Read, ReadWrite};

    const PAGE: u64 = 4096;

    fn add(maps: &mut Maps, ledger: &Ledger, from: u64, to: u64, access: DmaAccess) -> Result<(), MapError> {
        // SAFETY: the ledger writes addresses down and never follows them.
        unsafe { maps.add(ledger, from * PAGE, (to - from) * PAGE, access) }
    }

    fn remove(maps: &mut Maps, ledger: &Ledger, from: u64, to: u64) {
        maps.remove(ledger, from * PAGE, (to - from) * PAGE).expect("it is mapped");
    }

    fn mapped(ledger: &Ledger) -> Vec<(u64, u64)> {
        ledger.books().maps.iter().map(|(start, (length, _))| (start / PAGE, length / PAGE)).collect()
    }

    #[test]
    fn overlapping_registrations_share_maps() {
        let (mut maps, ledger) = (Maps::default(), Ledger::new());
        add(&mut maps, &ledger, 10, 20, ReadWrite).expect("room");
        add(&mut maps, &ledger, 10, 20, ReadWrite).expect("shared");
        add(&mut maps, &ledger, 15, 25, Read).expect("shared, and five more");
        add(&mut maps, &ledger, 5, 30, ReadWrite).expect_err("pages 20 to 24 are read-only");
        assert_eq!(mapped(&ledger), [(10, 10), (20, 5)]);
        remove(&mut maps, &ledger, 10, 20);
        remove(&mut maps, &ledger, 10, 20);
        assert_eq!(mapped(&ledger), [(10, 10), (20, 5)], "the third still uses both");
        remove(&mut maps, &ledger, 15, 25);
        assert_eq!(mapped(&ledger), []);
    }

    #[test]
    fn what_fails_half_way_leaves_nothing() {
        let (mut maps, ledger) = (Maps::default(), Ledger::new());
        add(&mut maps, &ledger, 12, 14, ReadWrite).expect("room");
        ledger.books().maps_left = 1;
        add(&mut maps, &ledger, 10, 20, ReadWrite).expect_err("the second gap finds no room");
        assert_eq!(mapped(&ledger), [(12, 2)]);
        remove(&mut maps, &ledger, 12, 14);
        assert_eq!(mapped(&ledger), []);
    }

    #[test]
    fn every_registered_page_is_mapped_and_the_last_user_unmaps() {
        let seed: u64 = rand::random();
        println!("seed {seed:#x}");
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let (mut maps, ledger) = (Maps::default(), Ledger::new());
        let mut live: Vec<(u64, u64)> = Vec::new();
        for step in 0..2000 {
            if live.len() < 12 && rng.random() {
                let from = rng.random_range(1..100);
                let to = from + rng.random_range(1..20);
                add(&mut maps, &ledger, from, to, ReadWrite).expect("the ledger refuses overlaps");
                live.push((from, to));
            } else if !live.is_empty() {
                let (from, to) = live.swap_remove(rng.random_range(0..live.len()));
                remove(&mut maps, &ledger, from, to);
            }
            for page in live.iter().flat_map(|(from, to)| *from..*to) {
                let found = mapped(&ledger).iter().any(|(start, n)| (*start..start + n).contains(&page));
                assert!(found, "seed {seed:#x}, step {step}: page {page} is not mapped");
            }
        }
        for (from, to) in live {
            remove(&mut maps, &ledger, from, to);
        }
        assert_eq!(mapped(&ledger), [], "seed {seed:#x}");
    }
}
