//! The two checks of the data link layer (sections 3.4.1 and 3.5.2).

/// CRC-16 of a DLLP's four bytes; sent low byte first.
pub fn dllp_crc(bytes: [u8; 4]) -> u16 {
    // 100Bh, bits reversed, as the least significant bit is the first.
    const POLYNOMIAL: u16 = 0xD008;
    let mut crc = 0xFFFF;
    for byte in bytes {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
        }
    }
    !crc
}

/// LCRC of the sequence number's two bytes and the TLP's; sent low byte first.
pub fn lcrc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dllp_crcs_are_the_known_ones() {
        const KNOWN: [(u32, u16); 7] = [
            (0x0000_0000, 0xB362),
            (0x1000_0000, 0x5805),
            (0x0000_0FFF, 0x25A8),
            (0x4000_0000, 0x0E5D),
            (0x6000_0000, 0xD892),
            (0x9000_4001, 0x6F0F),
            (0x4008_03F0, 0x35BC),
        ];
        for (bytes, crc) in KNOWN {
            // As the two bytes are sent.
            assert_eq!(dllp_crc(bytes.to_be_bytes()).to_le_bytes(), crc.to_be_bytes(), "{bytes:08X}");
        }
    }

    #[test]
    fn the_lcrc_is_the_known_one() {
        let bytes = [0, 0, 4, 0, 0, 1, 0, 0, 0, 0x0F, 1, 0, 0, 0];
        // 4FA62AFF as the four bytes are sent.
        assert_eq!(lcrc(&bytes).to_le_bytes(), [0x4F, 0xA6, 0x2A, 0xFF]);
    }
}
