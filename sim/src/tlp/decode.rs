//! Double words as packets.

use viaduct_spec::layout::Field;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, dw0, kind, request_dw1};

use super::{Completion, Request, Tlp, FOUR_DW};

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

impl Tlp {
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
                if !request.has_right_enables() {
                    return Err(Malformed::ByteEnables(request.first_be, request.last_be));
                }
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
}
