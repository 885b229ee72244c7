//! The monitor's own CRCs, bit by bit.

/// Divides by a reflected polynomial, ones first; the least significant bit of each byte first.
fn divide(bytes: &[u8], polynomial: u32, ones: u32) -> u32 {
    bytes.iter().fold(ones, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (polynomial * (crc & 1)))
    })
}

/// All six bytes of a DLLP leave this remainder.
pub fn dllp_is_good(bytes: &[u8; 6]) -> bool {
    divide(bytes, 0xD008, 0xFFFF) == 0x556F
}

/// What the end of a TLP says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lcrc {
    /// It is right.
    Good,
    /// It is complemented.
    Complemented,
    /// It is neither.
    Bad,
}

/// The LCRC of sequence number, TLP and LCRC.
pub fn lcrc(bytes: &[u8]) -> Lcrc {
    // The remainder of the ITU polynomial, as it is and with the CRC complemented.
    match divide(bytes, 0xEDB8_8320, u32::MAX) {
        0xDEBB_20E3 => Lcrc::Good,
        0 => Lcrc::Complemented,
        _ => Lcrc::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_crcs_are_good() {
        assert!(dllp_is_good(&[0x90, 0, 0x40, 1, 0x6F, 0x0F]));
        assert!(!dllp_is_good(&[0x90, 0, 0x40, 2, 0x6F, 0x0F]));
        let tlp = [0, 0, 4, 0, 0, 1, 0, 0, 0, 0x0F, 1, 0, 0, 0, 0x4F, 0xA6, 0x2A, 0xFF];
        assert_eq!(lcrc(&tlp), Lcrc::Good);
        let mut other = tlp;
        other[14..].iter_mut().for_each(|byte| *byte = !*byte);
        assert_eq!(lcrc(&other), Lcrc::Complemented);
        other[3] ^= 1;
        assert_eq!(lcrc(&other), Lcrc::Bad);
    }
}
