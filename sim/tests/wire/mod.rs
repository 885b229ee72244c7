//! The other end of a card's cable: bytes on an RGMII on one side, the simulated network's frame beats on the other. Nothing of it is
//! the MAC's: preamble, FCS and gap are made and checked here, from the standard.

use std::collections::VecDeque;

use viaduct_sim::nic::{NicIn, NicOut};

/// Ethernet's type of MAC control frames, which go no further than a cable's end.
const CONTROL: [u8; 2] = [0x88, 0x08];
/// Preamble and delimiter.
const START: [u8; 8] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5];
/// Byte times between two frames.
const GAP: usize = 12;

/// See the module's description.
#[derive(Default)]
pub struct Peer {
    /// Bytes to the card; none: no frame.
    line: VecDeque<Option<u8>>,
    now: Option<u8>,
    /// A frame that comes from the network.
    arriving: Vec<u8>,
    /// Half a byte from the card, and the bytes before it.
    low: (u8, bool),
    leaving: Vec<u8>,
    /// Beats to the network.
    beats: VecDeque<(u64, u8, bool)>,
    /// Byte times for which the card wants no frame.
    hold: u32,
}

impl Peer {
    /// Nothing is on the line in either direction.
    pub fn is_quiet(&self) -> bool {
        self.line.is_empty() && self.leaving.is_empty() && self.arriving.is_empty() && self.beats.is_empty()
    }

    /// Data and control of the next half of a byte.
    pub fn give_card(&mut self, rising: bool) -> (u8, bool) {
        if rising {
            self.hold = self.hold.saturating_sub(1);
            let between = self.now.is_none();
            self.now = match between && self.hold > 0 {
                true => None,
                false => self.line.pop_front().flatten(),
            };
        }
        // Between frames: a link of 1 Gbit/s, full duplex.
        let byte = self.now.unwrap_or(0xdd);
        (if rising { byte & 15 } else { byte >> 4 }, self.now.is_some())
    }

    /// Half a byte of the card's.
    pub fn take_card(&mut self, rising: bool, data: u8, control: bool) {
        if rising {
            self.low = (data, control);
            return;
        }
        assert_eq!(self.low.1, control, "the card marks an error");
        if control {
            self.leaving.push(self.low.0 | data << 4);
        } else if !self.leaving.is_empty() {
            let bytes = std::mem::take(&mut self.leaving);
            self.sent(&bytes);
        }
    }

    fn sent(&mut self, bytes: &[u8]) {
        let (start, rest) = bytes.split_at(START.len());
        assert_eq!(start, START, "the preamble");
        let (frame, fcs) = rest.split_at(rest.len() - 4);
        assert_eq!(crc32fast::hash(frame).to_le_bytes(), fcs, "the FCS");
        if frame[12..14] == CONTROL {
            assert_eq!(frame[14..16], [0, 1], "PAUSE");
            self.hold = 64 * u32::from(u16::from_be_bytes([frame[16], frame[17]]));
            return;
        }
        for (n, bytes) in frame.chunks(8).enumerate() {
            let mut data = [0; 8];
            data[..bytes.len()].copy_from_slice(bytes);
            let last = 8 * n + bytes.len() == frame.len();
            self.beats.push_back((u64::from_le_bytes(data), 0xff >> (8 - bytes.len()), last));
        }
    }

    /// A beat of the network's.
    pub fn take_network(&mut self, input: &NicIn) {
        if !input.eth_rx_valid {
            return;
        }
        let count = input.eth_rx_keep.count_ones() as usize;
        self.arriving.extend(&input.eth_rx_data.to_le_bytes()[..count]);
        if input.eth_rx_last {
            let frame = std::mem::take(&mut self.arriving);
            let mut fcs = crc32fast::hash(&frame);
            if input.eth_rx_bad {
                fcs = !fcs;
            }
            let bytes = START.iter().chain(&frame).copied().chain(fcs.to_le_bytes());
            self.line.extend(bytes.map(Some).chain([None; GAP]));
        }
    }

    /// What the network sees in place of the NIC's own frame edge.
    pub fn give_network(&mut self, input: &NicIn, output: &mut NicOut) {
        output.eth_rx_pause = self.hold > 0;
        output.eth_tx_valid = !self.beats.is_empty();
        if let Some((data, keep, last)) = self.beats.front().copied() {
            (output.eth_tx_data, output.eth_tx_keep, output.eth_tx_last) = (data, keep, last);
            if input.eth_tx_ready {
                self.beats.pop_front();
            }
        }
    }
}
