//! What a message of a stream takes of the bus and of the wire, at either end.

use std::ops::Add;

use viaduct_spec::wire::{EXTENSION_BYTES, RETH_BYTES};

use super::packet::{frame, COMPLETION_HEADER, DESCRIPTOR, GAP, REQUEST_HEADER, WORD};
use super::Physics;
use crate::way::Way;

/// What one message takes. One end gives the bytes, the other takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Cycles of the bus from the host that gives the bytes to its NIC.
    pub giver_down: usize,
    /// Those the other way there.
    pub giver_up: usize,
    /// Cycles of the bus from the host that takes the bytes to its NIC.
    pub taker_down: usize,
    /// Those the other way there.
    pub taker_up: usize,
    /// Bytes on the wire with the message, gaps included.
    pub wire_there: usize,
    /// Bytes on the wire against it.
    pub wire_back: usize,
}

/// Two directions at once, on the same two NICs.
impl Add for Load {
    type Output = Self;

    /// `other` is what a message in the other direction takes: its giver is this one's taker.
    fn add(self, other: Self) -> Self {
        Self {
            giver_down: self.giver_down + other.taker_down,
            giver_up: self.giver_up + other.taker_up,
            taker_down: self.taker_down + other.giver_down,
            taker_up: self.taker_up + other.giver_up,
            wire_there: self.wire_there + other.wire_back,
            wire_back: self.wire_back + other.wire_there,
        }
    }
}

impl Physics {
    /// What a message takes that is sent in packets of `mtu`.
    ///
    /// A message has a doorbell, a descriptor and a completion where it is posted; a send has them at the receiver too.
    /// The giver asks for the bytes in reads of the largest size, and gets them in packets of the largest size.
    /// An acknowledgement comes for each message; a read has none, but a request.
    pub fn load(&self, way: Way, message: usize, mtu: usize) -> Load {
        let packets = message.div_ceil(mtu);
        // A write's address stands in its first packet; a read's answer says in the first and the last how it goes.
        let extension = match way {
            Way::Send => 0,
            Way::Write => RETH_BYTES,
            Way::Read => packets.min(2) * EXTENSION_BYTES,
        };
        let back = if way == Way::Read { RETH_BYTES } else { EXTENSION_BYTES };
        let bus = self.bus;
        let posted = |does: bool| {
            let down = bus.write(WORD) + bus.answer(DESCRIPTOR);
            let up = bus.request() + bus.write(WORD);
            if does {
                (down, up)
            } else {
                Default::default()
            }
        };
        let (giver_down, giver_up) = posted(way != Way::Read);
        let (taker_down, taker_up) = posted(way != Way::Write);
        Load {
            giver_down: giver_down + self.packets(COMPLETION_HEADER, message),
            giver_up: giver_up + bus.request() * message.div_ceil(self.max_read),
            taker_down,
            taker_up: taker_up + self.packets(REQUEST_HEADER, message),
            wire_there: message.next_multiple_of(4) + packets * (frame(0, 0) + GAP) + extension,
            wire_back: frame(0, back) + GAP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::PHYSICS;
    use super::*;

    #[test]
    fn a_write_costs_its_taker_nothing_but_the_bytes() {
        let load = PHYSICS.load(Way::Write, 65536, 4096);
        let expected = Load {
            giver_down: 256 * 34 + 3 + 8,
            giver_up: 128 * 2 + 2 + 3,
            taker_down: 0,
            taker_up: 256 * 34,
            wire_there: 65536 + 16 * 82 + 16,
            wire_back: 86,
        };
        assert_eq!(load, expected);
    }

    #[test]
    fn a_send_has_descriptors_at_both_ends_and_a_read_at_the_taker() {
        let (send, write) = (PHYSICS.load(Way::Send, 65536, 4096), PHYSICS.load(Way::Write, 65536, 4096));
        assert_eq!((send.giver_down, send.giver_up), (write.giver_down, write.giver_up));
        assert_eq!((send.taker_down, send.taker_up), (11, 256 * 34 + 5));
        let read = PHYSICS.load(Way::Read, 65536, 4096);
        assert_eq!((read.giver_down, read.giver_up), (256 * 34, 128 * 2));
        assert_eq!((read.taker_down, read.taker_up), (11, 256 * 34 + 5));
        assert_eq!((read.wire_there, read.wire_back), (65536 + 16 * 82 + 8, 98));
    }

    #[test]
    fn two_directions_share_each_bus_and_each_wire() {
        let one = PHYSICS.load(Way::Write, 65536, 4096);
        let both = one + one;
        let down = 256 * 34 + 11;
        assert_eq!((both.giver_down, both.taker_down), (down, down));
        let up = 256 * 34 + 261;
        assert_eq!((both.giver_up, both.taker_up), (up, up));
        assert_eq!((both.wire_there, both.wire_back), (65536 + 16 * 82 + 16 + 86, 65536 + 16 * 82 + 16 + 86));
    }
}
