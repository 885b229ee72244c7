//! Packets as double words.

use viaduct_spec::layout::Field;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, dw0, kind, request_dw1};

use super::{Request, Tlp, FOUR_DW};

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
