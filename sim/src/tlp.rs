//! Transaction layer packets as double words (`viaduct_spec::tlp` has the packing), and as values.

use viaduct_spec::layout::Field;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, completion_status, dw0, kind, request_dw1};

/// Most double words of payload.
pub const MAX_PAYLOAD_DW: usize = 1024;
/// Addresses from here on need a 4-DW header.
const FOUR_DW: u64 = 1 << 32;

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
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// See `completion_status`.
    pub status: u8,
    /// Bytes left to complete, this packet's included: 1 to 4096.
    pub byte_count: usize,
    /// Low 7 bits of the first byte's address.
    pub lower_address: u8,
    /// Tag of the request.
    pub tag: u8,
    /// Who asked.
    pub requester: u16,
    /// Who answers.
    pub completer: u16,
    /// The data is damaged.
    pub poisoned: bool,
    /// The data; empty in a completion without.
    pub data: Vec<u32>,
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tlp {
    /// Memory read.
    Read(Request),
    /// Memory write.
    Write(Request, Vec<u32>),
    /// Completion, with or without data.
    Completion(Completion),
}

/// Why double words are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer double words than the header needs.
    #[error("it is shorter than its header")]
    Short,
    /// Type and format that neither side takes.
    #[error("its type and format are {0:#04x}")]
    Kind(u8),
    /// LENGTH and the payload disagree.
    #[error("its length says {said} double words of payload and it has {found}")]
    Length {
        /// LENGTH.
        said: usize,
        /// What follows the header.
        found: usize,
    },
    /// A field that must be 0 is not.
    #[error("its {0} is not 0")]
    NotZero(&'static str),
    /// The header is not the one that the address asks for.
    #[error("address {0:#x} has the wrong header size")]
    AddressSize(u64),
    /// Byte enables that the specification forbids.
    #[error("its byte enables are {0:#x} and {1:#x}")]
    ByteEnables(u8, u8),
}

fn get(field: Field, dw: u32) -> u32 {
    field.get(&[dw.into()]) as u32
}

fn row(fields: &[(Field, u64)]) -> u32 {
    let mut row = [0];
    for (field, value) in fields {
        field.put(&mut row, value & field.mask());
    }
    row[0] as u32
}

impl Tlp {
    /// As double words, header first.
    pub fn encode(&self) -> Vec<u32> {
        match self {
            Self::Read(request) => request_header(request, kind::READ_3DW, kind::READ_4DW),
            Self::Write(request, data) => {
                let mut packet = request_header(request, kind::WRITE_3DW, kind::WRITE_4DW);
                packet.extend_from_slice(data);
                packet
            }
            Self::Completion(completion) => {
                let with_data = !completion.data.is_empty();
                let kind = if with_data { kind::COMPLETION_DATA } else { kind::COMPLETION };
                let mut packet = vec![
                    row(&[
                        (dw0::KIND, kind.into()),
                        (dw0::LENGTH, completion.data.len() as u64),
                        (dw0::POISONED, completion.poisoned.into()),
                    ]),
                    row(&[
                        (completion_dw1::COMPLETER, completion.completer.into()),
                        (completion_dw1::STATUS, completion.status.into()),
                        (completion_dw1::BYTE_COUNT, completion.byte_count as u64),
                    ]),
                    row(&[
                        (completion_dw2::REQUESTER, completion.requester.into()),
                        (completion_dw2::TAG, completion.tag.into()),
                        (completion_dw2::LOWER_ADDRESS, completion.lower_address.into()),
                    ]),
                ];
                packet.extend_from_slice(&completion.data);
                packet
            }
        }
    }

    /// From double words. Attributes and traffic class must be 0, as in all that the NIC sends.
    pub fn decode(packet: &[u32]) -> Result<Self, Malformed> {
        let &[first, second, third, ..] = packet else { return Err(Malformed::Short) };
        let kind = get(dw0::KIND, first) as u8;
        for field in [dw0::ATTR, dw0::TRAFFIC_CLASS, dw0::DIGEST] {
            if get(field, first) != 0 {
                return Err(Malformed::NotZero(field.name));
            }
        }
        let header = if kind & 0x20 != 0 { 4 } else { 3 };
        let data = packet.get(header..).ok_or(Malformed::Short)?;
        let length = match get(dw0::LENGTH, first) as usize {
            0 if kind != kind::COMPLETION => 1024,
            length => length,
        };
        let carried = if kind & 0x40 != 0 { length } else { 0 };
        if data.len() != carried {
            return Err(Malformed::Length { said: carried, found: data.len() });
        }
        match kind {
            kind::READ_3DW | kind::READ_4DW | kind::WRITE_3DW | kind::WRITE_4DW => {
                let address = match header {
                    3 => u64::from(third),
                    _ => u64::from(third) << 32 | u64::from(packet[3]),
                };
                if (address >= FOUR_DW) != (header == 4) {
                    return Err(Malformed::AddressSize(address));
                }
                if address & 3 != 0 {
                    return Err(Malformed::NotZero("address bits 1:0"));
                }
                if get(dw0::POISONED, first) != 0 {
                    return Err(Malformed::NotZero("POISONED"));
                }
                let request = Request {
                    address,
                    length,
                    first_be: get(request_dw1::FIRST_BE, second) as u8,
                    last_be: get(request_dw1::LAST_BE, second) as u8,
                    tag: get(request_dw1::TAG, second) as u8,
                    requester: get(request_dw1::REQUESTER, second) as u16,
                };
                check_enables(&request)?;
                Ok(if kind & 0x40 != 0 { Self::Write(request, data.to_vec()) } else { Self::Read(request) })
            }
            kind::COMPLETION | kind::COMPLETION_DATA => {
                let byte_count = match get(completion_dw1::BYTE_COUNT, second) as usize {
                    0 => 4096,
                    count => count,
                };
                Ok(Self::Completion(Completion {
                    status: get(completion_dw1::STATUS, second) as u8,
                    byte_count,
                    lower_address: get(completion_dw2::LOWER_ADDRESS, third) as u8,
                    tag: get(completion_dw2::TAG, third) as u8,
                    requester: get(completion_dw2::REQUESTER, third) as u16,
                    completer: get(completion_dw1::COMPLETER, second) as u16,
                    poisoned: get(dw0::POISONED, first) != 0,
                    data: data.to_vec(),
                }))
            }
            _ => Err(Malformed::Kind(kind)),
        }
    }

    /// An answer that carries no data and says why.
    pub fn refusal(request: &Request, status: u8, completer: u16) -> Self {
        let (lead, count) = request.bytes();
        Self::Completion(Completion {
            status,
            byte_count: count,
            lower_address: (request.address as usize + lead) as u8 & 0x7F,
            tag: request.tag,
            requester: request.requester,
            completer,
            poisoned: false,
            data: Vec::new(),
        })
    }
}

impl Completion {
    /// Whether the request succeeded as far as this packet goes.
    pub fn is_success(&self) -> bool {
        self.status == completion_status::SUCCESS && !self.poisoned
    }
}

fn request_header(request: &Request, three: u8, four: u8) -> Vec<u32> {
    let wide = request.address >= FOUR_DW;
    let kind = if wide { four } else { three };
    let mut packet = vec![
        row(&[(dw0::KIND, kind.into()), (dw0::LENGTH, request.length as u64)]),
        row(&[
            (request_dw1::REQUESTER, request.requester.into()),
            (request_dw1::TAG, request.tag.into()),
            (request_dw1::LAST_BE, request.last_be.into()),
            (request_dw1::FIRST_BE, request.first_be.into()),
        ]),
    ];
    if wide {
        packet.push((request.address >> 32) as u32);
    }
    packet.push(request.address as u32);
    packet
}

/// Byte enables: contiguous, and with a hole only in a request of one or two aligned double words
/// (PCI Express Base Specification 2.2.5).
fn check_enables(request: &Request) -> Result<(), Malformed> {
    let (first, last) = (request.first_be, request.last_be);
    let right = match request.length {
        1 => last == 0,
        2 if request.address & 4 == 0 => first != 0 && last != 0,
        // The first run reaches the end of its double word, the last starts at its beginning.
        _ => {
            matches!(first, 0b1000 | 0b1100 | 0b1110 | 0b1111)
                && matches!(last, 0b0001 | 0b0011 | 0b0111 | 0b1111)
        }
    };
    right.then_some(()).ok_or(Malformed::ByteEnables(first, last))
}

/// One beat at the edge: data and keep.
pub fn beat(packet: &[u32], index: usize) -> (u64, u8) {
    let low = packet.get(2 * index).copied().unwrap_or(0);
    match packet.get(2 * index + 1) {
        Some(&high) => (u64::from(high) << 32 | u64::from(low), 0b11),
        None => (low.into(), 0b01),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_enable_exactly_their_bytes() {
        for address in 0x1000..0x1010u64 {
            for bytes in 1..40 {
                let request = Request::new(address, bytes, 7, 0x100);
                let (lead, count) = request.bytes();
                assert_eq!(request.address + lead as u64, address);
                assert_eq!(count, bytes, "{address:#x}+{bytes}");
                assert_eq!(check_enables(&request), Ok(()), "{address:#x}+{bytes}");
                assert_eq!(Tlp::decode(&Tlp::Read(request).encode()), Ok(Tlp::Read(request)));
            }
        }
    }

    #[test]
    fn headers_are_as_the_specification_draws_them() {
        let read = Request::new(0x1234_5678, 512, 0xAB, 0x0100);
        assert_eq!(Tlp::Read(read).encode(), [0x0000_0080, 0x0100_ABFF, 0x1234_5678]);
        let write = Tlp::Write(Request::new(0x9_0000_0004, 4, 0, 0x0100), vec![0xDDCC_BBAA]);
        assert_eq!(write.encode(), [0x6000_0001, 0x0100_000F, 9, 4, 0xDDCC_BBAA]);
        let whole = Request::new(0, 4096, 0, 0);
        assert_eq!(Tlp::Read(whole).encode()[0], 0, "1024 double words are 0 in LENGTH");
        assert_eq!(Tlp::decode(&Tlp::Read(whole).encode()), Ok(Tlp::Read(whole)));
    }

    #[test]
    fn completions_survive_the_wire() {
        let completion = Completion {
            status: 0,
            byte_count: 4096,
            lower_address: 0x44,
            tag: 0x55,
            requester: 0x100,
            completer: 8,
            poisoned: true,
            data: vec![1, 2, 3],
        };
        let packet = Tlp::Completion(completion.clone()).encode();
        assert_eq!(packet, [0x4A00_4003, 0x0008_0000, 0x0100_5544, 1, 2, 3]);
        assert_eq!(Tlp::decode(&packet), Ok(Tlp::Completion(completion)));
    }

    #[test]
    fn what_breaks_the_specification_is_malformed() {
        let good = Tlp::Write(Request::new(0x1000, 8, 0, 0), vec![1, 2]).encode();
        assert!(Tlp::decode(&good).is_ok());
        let with = |at: usize, bits: u32| {
            let mut packet = good.clone();
            packet[at] ^= bits;
            Tlp::decode(&packet)
        };
        assert_eq!(with(0, 1), Err(Malformed::Length { said: 3, found: 2 }));
        assert_eq!(with(0, 1 << 12), Err(Malformed::NotZero("ATTR")));
        assert_eq!(with(0, 1 << 20), Err(Malformed::NotZero("TRAFFIC_CLASS")));
        assert_eq!(with(0, 1 << 25), Err(Malformed::Kind(0x42)));
        assert_eq!(with(1, 0xF0), Err(Malformed::ByteEnables(0xF, 0)));
        assert_eq!(with(2, 1), Err(Malformed::NotZero("address bits 1:0")));
        assert_eq!(Tlp::decode(&good[..2]), Err(Malformed::Short));
        let small = [0x2000_0001, 0x0000_000F, 0, 0x1000];
        assert_eq!(Tlp::decode(&small), Err(Malformed::AddressSize(0x1000)));
        let holes = [0x0000_0003, 0x0000_0FF3, 0x1000];
        assert_eq!(Tlp::decode(&holes), Err(Malformed::ByteEnables(3, 0xF)));
    }

    #[test]
    fn beats_carry_two_double_words() {
        let packet = [1, 2, 3];
        assert_eq!(beat(&packet, 0), (0x2_0000_0001, 0b11));
        assert_eq!(beat(&packet, 1), (3, 0b01));
    }
}
