//! Memory requests: which bytes they enable.

/// A memory request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Address of the first double word; low 2 bits 0.
    pub address: u64,
    /// Double words, 1 to 1024.
    pub length: usize,
    /// Byte enables of the first double word.
    pub first_be: u8,
    /// Byte enables of the last double word; 0 when there is only one.
    pub last_be: u8,
    /// Tag.
    pub tag: u8,
    /// Requester identifier.
    pub requester: u16,
}

impl Request {
    /// The request for `bytes` bytes from `address` on.
    pub fn new(address: u64, bytes: usize, tag: u8, requester: u16) -> Self {
        let (skip, end) = ((address & 3) as usize, (address & 3) as usize + bytes);
        let length = end.div_ceil(4).max(1);
        let first = 0xF << skip & 0xF;
        let last = 0xF >> (length * 4 - end).min(4);
        let (first_be, last_be) = if length == 1 { (first & last, 0) } else { (first, last) };
        Self { address: address & !3, length, first_be, last_be, tag, requester }
    }

    /// Bytes before the first enabled one, and bytes from it to the last enabled one. A request
    /// that enables nothing counts one byte.
    pub fn bytes(&self) -> (usize, usize) {
        let lead = |be: u8| (be & 0xF).trailing_zeros().min(3) as usize;
        let trail = |be: u8| (be << 4).leading_zeros().min(3) as usize;
        match (self.length, self.first_be & 0xF) {
            (1, 0) => (0, 1),
            (1, be) => (lead(be), 4 - lead(be) - trail(be)),
            (length, be) => (lead(be), length * 4 - lead(be) - trail(self.last_be)),
        }
    }

    /// Whether its byte enables are contiguous, or have a hole as only a request of one or two aligned double words may (PCI Express Base
    /// Specification 2.2.5).
    pub(super) fn has_right_enables(&self) -> bool {
        match self.length {
            1 => self.last_be == 0,
            2 if self.address & 4 == 0 => self.first_be != 0 && self.last_be != 0,
            // The first run reaches the end of its double word, the last starts at its beginning.
            _ => {
                matches!(self.first_be, 0b1000 | 0b1100 | 0b1110 | 0b1111)
                    && matches!(self.last_be, 0b0001 | 0b0011 | 0b0111 | 0b1111)
            }
        }
    }
}
