//! The MSI-X table and pending bits. They stand at the endpoint's edge, as in a hard PCIe block:
//! accesses to them in BAR 0 never reach the NIC. The NIC sends no interrupts yet, so nothing reads
//! the vectors; the table is there because a driver finds it in the capability.

/// Vectors.
pub const VECTORS: usize = 8;
/// Byte offset of the table in BAR 0.
pub const TABLE_OFFSET: u64 = 0x8000;
/// Byte offset of the pending bits in BAR 0.
pub const PBA_OFFSET: u64 = 0xC000;
/// Bytes of a vector: address 8, data 4, control 4.
const VECTOR_BYTES: usize = 16;

/// The table.
#[derive(Debug, Clone)]
pub struct Msix {
    table: [u8; VECTORS * VECTOR_BYTES],
}

impl Default for Msix {
    fn default() -> Self {
        let mut table = [0; VECTORS * VECTOR_BYTES];
        // Vectors start masked.
        table.iter_mut().skip(12).step_by(VECTOR_BYTES).for_each(|control| *control = 1);
        Self { table }
    }
}

impl Msix {
    /// Whether the table or the pending bits are at this offset of BAR 0.
    pub fn covers(offset: u64) -> bool {
        offset >= TABLE_OFFSET
    }

    /// Reads; all that is neither table nor pending bit reads as 0.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        for (n, byte) in data.iter_mut().enumerate() {
            let at = (offset - TABLE_OFFSET) as usize + n;
            *byte = self.table.get(at).copied().unwrap_or(0);
        }
    }

    /// Writes; of a vector's control only the mask bit can be set.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (n, &byte) in data.iter().enumerate() {
            let at = (offset - TABLE_OFFSET) as usize + n;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_start_masked_and_keep_what_is_written() {
        let mut msix = Msix::default();
        let mut vector = [0; 16];
        msix.read(TABLE_OFFSET + 16 * 7, &mut vector);
        assert_eq!(vector, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        msix.write(TABLE_OFFSET + 16, &[0xFF; 16]);
        msix.read(TABLE_OFFSET + 16, &mut vector);
        assert_eq!(vector[..4], [0xFC, 0xFF, 0xFF, 0xFF]);
        assert_eq!(vector[12..], [1, 0, 0, 0]);
    }

    #[test]
    fn beyond_the_table_there_is_nothing() {
        let mut msix = Msix::default();
        msix.write(PBA_OFFSET, &[0xFF; 8]);
        let mut data = [1; 8];
        msix.read(PBA_OFFSET, &mut data);
        assert_eq!(data, [0; 8]);
    }
}
