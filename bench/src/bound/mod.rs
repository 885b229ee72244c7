//! Physical bounds: what the wire and the bus take when the NIC's own logic takes no time.
//!
//! Everything is in cycles of the NIC's clock and in bytes. [`Bus`] says what the bus carries in a cycle and direction.
//!
//! * `packet`: what a frame takes and a packet is made of; `latency`: one message alone; [`Load`]: what each message of a stream
//!   takes of every resource, from which goodput and rate follow.

mod bus;
mod latency;
mod load;
mod packet;
mod stream;

pub use bus::Bus;
pub use latency::SendSteps;
pub use load::Load;

use packet::frame;

/// A bound, and how it is made of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// In the figure's unit.
    pub value: f64,
    /// For people.
    pub parts: String,
}

/// What bounds depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Physics {
    /// Where the bus is looked at.
    pub bus: Bus,
    /// Cycles from a read to its first completion.
    pub round_trip: u64,
    /// Bytes of payload in a packet of the bus; reads are answered in pieces of this size too.
    pub max_payload: usize,
    /// Bytes that a read may ask for.
    pub max_read: usize,
    /// Bytes a cycle on the wire.
    pub rate: u64,
}

impl Physics {
    /// Cycles that carry `bytes`, from a boundary on, in packets of the largest size.
    fn packets(&self, header: usize, bytes: usize) -> usize {
        let last = bytes % self.max_payload;
        let whole = self.bus.packet(header, self.max_payload) * (bytes / self.max_payload);
        if last == 0 {
            whole
        } else {
            whole + self.bus.packet(header, last)
        }
    }

    /// Cycles of a frame on the wire, from its preamble to its FCS.
    pub fn frame_cycles(&self, payload: usize) -> u64 {
        self.wire_cycles(frame(payload, 0))
    }

    /// Cycles of so many bytes on the wire.
    fn wire_cycles(&self, bytes: usize) -> u64 {
        (bytes as u64).div_ceil(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::packet::COMPLETION_HEADER;
    use super::*;

    /// Those of all figures.
    pub const PHYSICS: Physics =
        Physics { bus: Bus::Edge, round_trip: 62, max_payload: 256, max_read: 512, rate: 8 };

    /// They are equal but for rounding.
    pub fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 0.0006, "{a} and {b}");
    }

    #[test]
    fn bytes_go_in_packets_of_the_largest_size() {
        assert_eq!(PHYSICS.packets(COMPLETION_HEADER, 600), 34 + 34 + 13);
    }
}
