//! A TLP as double words, as far as the data link layer has to know it (section 2.2 and 2.6.1).
//!
//! Header double words are numbers as the specification draws them, byte 0 in bits 31:24. Payload
//! double words are little-endian. A digest counts as payload.

/// A TLP: header, payload, digest.
pub type Tlp = Vec<u32>;

/// Fewest double words of a TLP.
pub const MIN_DW: usize = 3;
/// Most double words of a TLP: a header of 4, 1024 of payload, a digest.
pub const MAX_DW: usize = 4 + 1024 + 1;

/// The three types of credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Memory writes and messages.
    Posted,
    /// Reads, I/O and configuration requests.
    NonPosted,
    /// Completions.
    Completion,
}

impl Class {
    /// In the order in which they are initialised.
    pub const ALL: [Self; 3] = [Self::Posted, Self::NonPosted, Self::Completion];

    /// The class of a TLP, by its first double word.
    pub const fn of(first: u32) -> Self {
        let (kind, with_data) = (first >> 24 & 0x1F, first >> 30 & 1 == 1);
        match kind {
            0 if with_data => Self::Posted,
            0x10..=0x17 => Self::Posted,
            0x0A | 0x0B => Self::Completion,
            _ => Self::NonPosted,
        }
    }

    /// 0, 1 or 2.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Double words of a header.
pub const fn header_dw(first: u32) -> usize {
    3 + (first >> 29 & 1) as usize
}

/// Double words of payload.
pub const fn payload_dw(first: u32) -> usize {
    match (first >> 30 & 1, first & 0x3FF) {
        (0, _) => 0,
        (_, 0) => 1024,
        (_, length) => length as usize,
    }
}

/// All double words, as the first one says.
pub const fn total_dw(first: u32) -> usize {
    header_dw(first) + payload_dw(first) + (first >> 15 & 1) as usize
}

/// Data credits, each 16 bytes.
pub const fn data_credits(first: u32) -> u16 {
    payload_dw(first).div_ceil(4) as u16
}

/// The bytes of a TLP, in the order in which they are sent.
pub fn to_bytes(tlp: &[u32]) -> Vec<u8> {
    let header = tlp.first().map_or(0, |first| header_dw(*first));
    let bytes = |(index, dw): (usize, &u32)| if index < header { dw.to_be_bytes() } else { dw.to_le_bytes() };
    tlp.iter().enumerate().flat_map(bytes).collect()
}

/// The double words of a TLP's bytes; `None` if their number is not what the header says.
pub fn from_bytes(bytes: &[u8]) -> Option<Tlp> {
    let first = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
    if bytes.len() != 4 * total_dw(first) {
        return None;
    }
    let (header, payload) = bytes.split_at(4 * header_dw(first));
    let words = |bytes: &[u8]| -> Vec<[u8; 4]> {
        bytes.chunks_exact(4).map(|dw| [dw[0], dw[1], dw[2], dw[3]]).collect()
    };
    let header = words(header).into_iter().map(u32::from_be_bytes);
    Some(header.chain(words(payload).into_iter().map(u32::from_le_bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_double_words_are_the_same_tlp() {
        let write = vec![0x6000_0002, 0x0100_00FF, 1, 0x8000_0000, 0x0403_0201, 0x0807_0605];
        let bytes = to_bytes(&write);
        assert_eq!(bytes[..4], [0x60, 0, 0, 2]);
        assert_eq!(bytes[16..], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(from_bytes(&bytes), Some(write));
        assert_eq!(from_bytes(&bytes[..20]), None, "too short");
        assert_eq!(from_bytes(&[]), None);
    }

    #[test]
    fn classes_and_credits_follow_the_first_double_word() {
        assert_eq!(Class::of(0x4000_0001), Class::Posted);
        assert_eq!(Class::of(0x7400_0001), Class::Posted, "a message with data");
        assert_eq!(Class::of(0x0000_0001), Class::NonPosted);
        assert_eq!(Class::of(0x4400_0001), Class::NonPosted, "a configuration write");
        assert_eq!(Class::of(0x4A00_0001), Class::Completion);
        assert_eq!(data_credits(0x4000_0000), 256);
        assert_eq!(data_credits(0x4000_0005), 2);
        assert_eq!(data_credits(0x0000_0005), 0);
        assert_eq!(total_dw(0x6000_8001), 6);
    }
}
