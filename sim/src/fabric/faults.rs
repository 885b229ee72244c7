//! Faults on the wire, by the number of the RoCE frame: counted from 1 over the whole fabric, in
//! the order in which the frames reach the switch.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use viaduct_spec::wire::{ETHERNET_BYTES, ICRC_BYTES, IPV4_BYTES, UDP_BYTES, UDP_PORT};

use super::loss::Loss;
use super::mac::Frame;

/// Which frames something happens to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// One bit of their ICRC is wrong; the FCS is made for it.
    pub flip_icrc: BTreeSet<u64>,
    /// They are lost.
    pub drop: BTreeSet<u64>,
    /// These are lost, too.
    pub loss: Loss,
    /// They come twice.
    pub duplicate: BTreeSet<u64>,
    /// Their FCS is wrong.
    pub damage: BTreeSet<u64>,
    /// They stay [`DELAY`] cycles in the switch: frames sent after them overtake them.
    pub delay: BTreeSet<u64>,
}

/// Cycles that a delayed frame comes late.
pub const DELAY: u64 = 3000;

impl Faults {
    /// What becomes of the RoCE frame of this number: the frame, and how often it comes.
    pub fn apply(&self, number: u64, frame: &mut Frame) -> usize {
        if self.flip_icrc.contains(&number) {
            flip_icrc(&mut frame.data, number as usize);
        }
        frame.damaged |= self.damage.contains(&number);
        if self.drop.contains(&number) || self.loss.loses(number) {
            0
        } else if self.duplicate.contains(&number) {
            2
        } else {
            1
        }
    }
}

/// Flips one bit of a RoCE frame's ICRC, counted modulo its length.
pub(super) fn flip_icrc(frame: &mut [u8], bit: usize) {
    if let Some(at) = icrc(frame) {
        let bit = bit % (8 * ICRC_BYTES);
        frame[at + bit / 8] ^= 1 << (bit % 8);
    }
}

fn be16(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]))
}

/// Where a RoCE frame's UDP header is. `None` for any other frame.
pub(super) fn udp(frame: &[u8]) -> Option<usize> {
    let tagged = be16(frame, 12)? == 0x8100;
    let ip = ETHERNET_BYTES + if tagged { 4 } else { 0 };
    let udp = ip + IPV4_BYTES;
    if be16(frame, ip - 2)? != 0x0800 || *frame.get(ip)? != 0x45 || *frame.get(ip + 9)? != 17 {
        return None;
    }
    (be16(frame, udp + 2)? == UDP_PORT).then_some(udp)
}

/// Where a RoCE frame's ICRC is: at the end of what the UDP length says, whatever pads the frame.
/// `None` for any other frame.
pub fn icrc(frame: &[u8]) -> Option<usize> {
    let udp = udp(frame)?;
    let length = usize::from(be16(frame, udp + 4)?);
    let at = (udp + length).checked_sub(ICRC_BYTES).filter(|&at| at >= udp + UDP_BYTES)?;
    (at + ICRC_BYTES <= frame.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A RoCE frame with `payload` bytes behind the UDP header, and padding.
    fn roce(payload: usize, padding: usize, tagged: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend_from_slice(&[0x81, 0, 0, 5]);
        }
        frame.extend_from_slice(&[0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17]);
        frame.extend_from_slice(&[0; 10]);
        frame.extend_from_slice(&[0xC0, 0, 0x12, 0xB7, 0, 8 + payload as u8, 0, 0]);
        frame.extend(std::iter::repeat_n(0xEE, payload));
        frame.extend(std::iter::repeat_n(0, padding));
        frame
    }

    #[test]
    fn the_icrc_is_found_by_the_udp_length() {
        assert_eq!(icrc(&roce(16, 0, false)), Some(42 + 12));
        assert_eq!(icrc(&roce(16, 9, true)), Some(46 + 12));
        let mut other = roce(16, 0, false);
        other[37] = 0xB8;
        assert_eq!(icrc(&other), None, "another port");
        assert_eq!(icrc(&roce(16, 0, false)[..50]), None, "cut");
        assert_eq!(icrc(&[]), None);
    }

    #[test]
    fn exactly_one_bit_flips() {
        let faults = Faults {
            flip_icrc: [3].into(),
            drop: [4].into(),
            duplicate: [5].into(),
            damage: [6].into(),
            ..Faults::default()
        };
        let clean = Frame { data: roce(16, 4, false), damaged: false };
        for number in 1..8 {
            let mut frame = clean.clone();
            let copies = faults.apply(number, &mut frame);
            let bits: u32 = frame.data.iter().zip(&clean.data).map(|(a, b)| (a ^ b).count_ones()).sum();
            let at = frame.data.iter().zip(&clean.data).position(|(a, b)| a != b);
            assert_eq!(bits, u32::from(number == 3));
            assert!(at.is_none_or(|at| (54..58).contains(&at)));
            assert_eq!(copies, [1, 1, 1, 0, 2, 1, 1][number as usize - 1]);
            assert_eq!(frame.damaged, number == 6);
        }
    }
}
