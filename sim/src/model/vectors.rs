//! Interrupt vectors: the MSI-X table and its pending bits. A raised vector is pending; enabled and
//! not masked, it leaves as a memory write of one double word; then the vector rests, if it is moderated.

use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::{MSIX_PENDING, MSIX_TABLE};
use viaduct_spec::tables::moderation;

use super::tables::Row;
use crate::clock::{Cycle, TICK_LOG2};

/// Bytes of a vector in the table: address 8, data 4, control 4.
const VECTOR_BYTES: usize = 16;

/// Table and pending bits.
#[derive(Debug, Clone)]
pub struct Vectors {
    table: [u8; VECTORS * VECTOR_BYTES],
    pending: u64,
    /// Until when each rests.
    rests: [Cycle; VECTORS],
}

impl Vectors {
    /// All masked, as PCI says.
    pub fn new() -> Self {
        let mut table = [0; VECTORS * VECTOR_BYTES];
        table.iter_mut().skip(12).step_by(VECTOR_BYTES).for_each(|control| *control = 1);
        Self { table, pending: 0, rests: [0; VECTORS] }
    }

    /// The agent's reset: nothing is pending, nobody rests.
    pub fn restart(&mut self) {
        (self.pending, self.rests) = (0, [0; VECTORS]);
    }

    /// When the first rest ends after which something is to be sent.
    pub fn deadline(&self, now: Cycle) -> Option<Cycle> {
        let waiting = self.rests.iter().enumerate().filter(|(vector, _)| self.pending >> vector & 1 == 1);
        waiting.map(|(_, until)| *until).filter(|until| *until > now).min()
    }

    /// Whether they are at this offset of BAR 0.
    pub fn covers(offset: u64) -> bool {
        offset >= MSIX_TABLE
    }

    /// What a load reads; 0 where nothing is.
    pub fn read(&self, offset: u64, length: usize) -> u64 {
        let mut data = [0; 8];
        for (n, byte) in data.iter_mut().take(length).enumerate() {
            let at = offset + n as u64;
            *byte = match at.checked_sub(MSIX_PENDING) {
                Some(at) => self.pending.to_le_bytes().get(at as usize).copied().unwrap_or(0),
                None => self.table.get((at - MSIX_TABLE) as usize).copied().unwrap_or(0),
            };
        }
        u64::from_le_bytes(data)
    }

    /// A store of 4 or 8 bytes. Of a control word only the mask bit can be set.
    pub fn write(&mut self, offset: u64, length: usize, value: u64) {
        for (n, byte) in value.to_le_bytes().into_iter().take(length).enumerate() {
            let at = (offset - MSIX_TABLE) as usize + n;
            let mask = match at % VECTOR_BYTES {
                0 => 0xFC,
                12 => 0x01,
                13..=15 => 0,
                _ => 0xFF,
            };
            if let Some(place) = self.table.get_mut(at) {
                *place = byte & mask;
            }
        }
    }

    /// Raises a vector. One that does not exist is none.
    pub fn raise(&mut self, vector: u64) {
        if vector < VECTORS as u64 {
            self.pending |= 1 << vector;
        }
    }

    /// Address and data of what is pending, not masked, and does not rest: sent, and at rest if its row of `moderation` says so.
    pub fn send(&mut self, now: Cycle, rows: &[Row]) -> Vec<(u64, u32)> {
        let mut messages = Vec::new();
        for vector in 0..VECTORS {
            if self.pending >> vector & 1 == 0 || self.rests[vector] > now {
                continue;
            }
            if let Some(message) = self.message(vector) {
                self.pending &= !(1 << vector);
                let ticks = rows.get(vector).map_or(0, |row| row.get(moderation::HOLDOFF));
                if ticks > 0 {
                    self.rests[vector] = ((now >> TICK_LOG2) + ticks) << TICK_LOG2;
                }
                messages.push(message);
            }
        }
        messages
    }

    /// Address and data of a vector, unless it is masked.
    fn message(&self, vector: usize) -> Option<(u64, u32)> {
        let entry = self.table.get(vector * VECTOR_BYTES..)?.first_chunk::<VECTOR_BYTES>()?;
        let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        let address = u64::from(word(4)) << 32 | u64::from(word(0));
        (word(12) & 1 == 0).then_some((address, word(8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_start_masked_and_keep_what_is_written() {
        let mut vectors = Vectors::new();
        assert_eq!(vectors.message(3), None);
        let at = MSIX_TABLE + 3 * VECTOR_BYTES as u64;
        vectors.write(at, 8, 0x1_FEE0_1003);
        vectors.write(at + 8, 8, 0xFFFF_FFFE_0000_0021);
        assert_eq!(vectors.message(3), Some((0x1_FEE0_1000, 0x21)));
        assert_eq!(vectors.read(at + 8, 8), 0x21, "reserved bits stay 0");
        assert_eq!(vectors.message(4), None);
        vectors.write(MSIX_PENDING, 8, 5);
        assert_eq!(vectors.read(MSIX_PENDING, 8), 0, "read only");
    }
}
