//! What a packet takes of a direction of the bus.

use super::packet::{COMPLETION_HEADER, REQUEST_HEADER};

/// Symbols of a TLP on a lane beside its header and data: STP, sequence number, LCRC and END (PCI Express 1.1, 3.5 and 4.2.2).
const FRAMING: usize = 1 + 2 + 4 + 1;
/// Cycles of an Ack on a lane: eight symbols.
const ACK: f64 = 4.0;
/// The latest that an Ack comes behind a TLP, in cycles, if MaxPayload is 256: 416 symbols (PCI Express 1.1, table 3-5).
const ACK_LATEST: f64 = 208.0;
/// Cycles of a SKP set on a lane, and those from one to the next at the most: 4 symbols, and 1538 (PCI Express 1.1, 4.2.7).
const SKP: (f64, f64) = (2.0, 769.0);

/// Where the bus is looked at, which says what it carries in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bus {
    /// The core's TLP edge: a beat of two double words.
    #[default]
    Edge,
    /// A lane of 2.5 GT/s: two symbols. Its Acks and SKP sets count too.
    Lane,
}

impl Bus {
    /// Cycles of a packet with this header, in double words, and this payload, in bytes.
    pub fn packet(self, header: usize, payload: usize) -> usize {
        let words = header + payload.div_ceil(4);
        match self {
            Self::Edge => words.div_ceil(2),
            Self::Lane => (FRAMING + 4 * words) / 2,
        }
    }

    /// Cycles of a read's answer.
    pub fn answer(self, bytes: usize) -> usize {
        self.packet(COMPLETION_HEADER, bytes)
    }

    /// Cycles of a write.
    pub fn write(self, bytes: usize) -> usize {
        self.packet(REQUEST_HEADER, bytes)
    }

    /// Cycles of a read's request.
    pub fn request(self) -> usize {
        self.packet(REQUEST_HEADER, 0)
    }

    /// Cycles that so many of a stream become with the least that the bus itself needs beside them. `against`: cycles of what goes
    /// the other way meanwhile, which has to be acknowledged here.
    pub fn least(self, cycles: usize, against: usize) -> f64 {
        let cycles = cycles as f64;
        match self {
            Self::Edge => cycles,
            Self::Lane => {
                // One Ack stands for all that has come in the time that it may wait.
                let acks = ACK * against as f64 / ACK_LATEST;
                (cycles + acks) / (1.0 - SKP.0 / SKP.1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_take_whole_beats_at_the_edge() {
        assert_eq!([8, 48, 64, 128, 256, 512].map(|n| Bus::Edge.answer(n)), [3, 8, 10, 18, 34, 66]);
        assert_eq!([8, 256].map(|n| Bus::Edge.write(n)), [3, 34]);
        assert_eq!(Bus::Edge.request(), 2);
    }

    #[test]
    fn packets_take_two_symbols_a_cycle_of_a_lane() {
        // 8 symbols of framing, 12 of the header, 256 of data.
        assert_eq!(Bus::Lane.write(256), 138);
        assert_eq!(Bus::Lane.answer(8), 14);
        assert_eq!(Bus::Lane.request(), 10);
    }

    #[test]
    fn a_lane_carries_acks_of_what_goes_the_other_way_and_skp_sets() {
        let stream = Bus::Lane.write(256) * 100;
        let alone = Bus::Lane.least(stream, 0);
        assert!((alone - 13_800.0 * 769.0 / 767.0).abs() < 1e-6, "{alone}");
        let both = Bus::Lane.least(stream, stream);
        assert!((both - 13_800.0 * 212.0 / 208.0 * 769.0 / 767.0).abs() < 1e-6, "{both}");
        assert_eq!(Bus::Edge.least(Bus::Edge.write(256), stream), 34.0);
    }
}
