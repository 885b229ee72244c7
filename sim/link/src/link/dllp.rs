//! DLLPs: what is in their four bytes (section 3.4).

use super::crc::dllp_crc;
use crate::tlp::Class;

/// Bytes of a DLLP, its CRC included.
pub const DLLP_BYTES: usize = 6;
/// Sequence numbers count modulo this.
pub const SEQUENCES: u16 = 4096;

/// Which flow control DLLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// InitFC1.
    Init1,
    /// InitFC2.
    Init2,
    /// UpdateFC.
    Update,
}

/// Power management DLLPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// PM_Enter_L1, from the upstream port.
    EnterL1,
    /// PM_Enter_L23, from the upstream port.
    EnterL23,
    /// PM_Active_State_Request_L1: ASPM, which nobody offers here.
    ActiveStateRequestL1,
    /// PM_Request_Ack, from the downstream port.
    RequestAck,
}

/// A DLLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dllp {
    /// All TLPs up to this sequence number have come.
    Ack(u16),
    /// They have, and what followed was bad.
    Nak(u16),
    /// Credits of virtual channel 0.
    Credit {
        /// Which DLLP.
        flow: Flow,
        /// Whose credits.
        class: Class,
        /// Header credits, 8 bits.
        header: u16,
        /// Data credits, 12 bits.
        data: u16,
    },
    /// Power management.
    Power(Power),
    /// Data Link Feature, of revision 4.0 and later: ignored.
    Feature,
    /// Vendor specific: ignored.
    Vendor([u8; 3]),
}

impl Dllp {
    /// The first four bytes.
    fn content(self) -> [u8; 4] {
        let sequence = |kind, number: u16| {
            let [high, low] = number.to_be_bytes();
            [kind, 0, high & 0xF, low]
        };
        match self {
            Self::Ack(number) => sequence(0x00, number),
            Self::Nak(number) => sequence(0x10, number),
            Self::Credit { flow, class, header, data } => {
                let flow = match flow {
                    Flow::Init1 => 0x40,
                    Flow::Init2 => 0xC0,
                    Flow::Update => 0x80,
                };
                let kind = flow | (class.index() as u8) << 4;
                let [high, low] = data.to_be_bytes();
                [kind, (header >> 2) as u8 & 0x3F, (header << 6) as u8 | high & 0xF, low]
            }
            Self::Power(power) => {
                let kind = match power {
                    Power::EnterL1 => 0x20,
                    Power::EnterL23 => 0x21,
                    Power::ActiveStateRequestL1 => 0x23,
                    Power::RequestAck => 0x24,
                };
                [kind, 0, 0, 0]
            }
            // It offers Scaled Flow Control, and has seen no offer.
            Self::Feature => [0x02, 0, 0, 1],
            Self::Vendor([a, b, c]) => [0x30, a, b, c],
        }
    }

    /// The six bytes as they are sent.
    pub fn encode(self) -> [u8; DLLP_BYTES] {
        let [a, b, c, d] = self.content();
        let [low, high] = dllp_crc([a, b, c, d]).to_le_bytes();
        [a, b, c, d, low, high]
    }

    /// Reads six bytes. Reserved bits are ignored.
    pub fn decode(bytes: [u8; DLLP_BYTES]) -> Result<Self, BadDllp> {
        let [kind, a, b, c, low, high] = bytes;
        if dllp_crc([kind, a, b, c]) != u16::from_le_bytes([low, high]) {
            return Err(BadDllp::Crc);
        }
        let sequence = u16::from_be_bytes([b & 0xF, c]);
        let flow = match kind & 0xCF {
            0x40 => Some(Flow::Init1),
            0xC0 => Some(Flow::Init2),
            0x80 => Some(Flow::Update),
            _ => None,
        };
        let class = Class::ALL.get(usize::from(kind >> 4 & 3));
        Ok(match (kind, flow, class) {
            (_, Some(flow), Some(&class)) => {
                let header = u16::from(a & 0x3F) << 2 | u16::from(b >> 6);
                Self::Credit { flow, class, header, data: sequence }
            }
            (0x00, ..) => Self::Ack(sequence),
            (0x10, ..) => Self::Nak(sequence),
            (0x20, ..) => Self::Power(Power::EnterL1),
            (0x21, ..) => Self::Power(Power::EnterL23),
            (0x23, ..) => Self::Power(Power::ActiveStateRequestL1),
            (0x24, ..) => Self::Power(Power::RequestAck),
            (0x02, ..) => Self::Feature,
            (0x30, ..) => Self::Vendor([a, b, c]),
            _ => return Err(BadDllp::Unknown(kind)),
        })
    }
}

/// Why a DLLP is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadDllp {
    /// The CRC is wrong.
    #[error("its CRC is wrong")]
    Crc,
    /// Its type is reserved, or that of another virtual channel.
    #[error("its type {0:#04x} is unknown")]
    Unknown(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_bytes_come_out() {
        let credit = |flow, class, header, data| Dllp::Credit { flow, class, header, data };
        assert_eq!(Dllp::Ack(0xFFF).encode(), [0, 0, 0x0F, 0xFF, 0x25, 0xA8]);
        assert_eq!(Dllp::Nak(0).encode(), [0x10, 0, 0, 0, 0x58, 0x05]);
        let update = credit(Flow::Update, Class::NonPosted, 1, 1);
        assert_eq!(update.encode(), [0x90, 0, 0x40, 1, 0x6F, 0x0F]);
        let init = credit(Flow::Init1, Class::Posted, 32, 0x3F0);
        assert_eq!(init.encode(), [0x40, 8, 3, 0xF0, 0x35, 0xBC]);
    }

    #[test]
    fn every_dllp_comes_back() {
        let mut all = vec![Dllp::Ack(0x123), Dllp::Nak(0xABC), Dllp::Feature, Dllp::Vendor([1, 2, 3])];
        for power in [Power::EnterL1, Power::EnterL23, Power::ActiveStateRequestL1, Power::RequestAck] {
            all.push(Dllp::Power(power));
        }
        for flow in [Flow::Init1, Flow::Init2, Flow::Update] {
            for class in Class::ALL {
                all.push(Dllp::Credit { flow, class, header: 0xA5, data: 0x5A3 });
            }
        }
        for dllp in all {
            let mut bytes = dllp.encode();
            assert_eq!(Dllp::decode(bytes), Ok(dllp));
            bytes[2] ^= 0x10;
            assert_eq!(Dllp::decode(bytes), Err(BadDllp::Crc));
        }
    }

    #[test]
    fn unknown_types_are_refused() {
        for kind in [0x41, 0x70, 0xB0, 0xF0, 0x22, 0x31] {
            let [low, high] = dllp_crc([kind, 0, 0, 0]).to_le_bytes();
            assert_eq!(Dllp::decode([kind, 0, 0, 0, low, high]), Err(BadDllp::Unknown(kind)));
        }
    }
}
