//! The bounds of a stream of messages.

use super::packet::{frame, DESCRIPTOR, GAP, WORD};
use super::{Bound, Load, Physics};
use crate::way::Way;

impl Physics {
    /// Bytes of payload a cycle of a stream of messages, each of which is read from one host's memory, sent in packets
    /// of `mtu` and written to the other's.
    pub fn goodput(&self, way: Way, message: usize, mtu: usize) -> Bound {
        let load = self.load(way, message, mtu);
        self.least(message, mtu, &load)
    }

    /// The same of each of two such streams at once, one in each direction between the same two NICs: each host's bus carries
    /// the bytes that it gives and those that it takes, and the requests, descriptors and completions of both; each wire the
    /// frames of one stream and the acknowledgements of the other.
    pub fn goodput_of_each(&self, way: Way, message: usize, mtu: usize) -> Bound {
        let load = self.load(way, message, mtu);
        self.least(message, mtu, &(load + load))
    }

    /// Bytes a cycle if a message takes this.
    fn least(&self, message: usize, mtu: usize, load: &Load) -> Bound {
        let whole = message as f64;
        let wire = |bytes: usize| whole * self.rate as f64 / bytes as f64;
        // Nothing may go this way at all.
        let bus = |cycles, against| whole / self.bus.least(cycles, against).max(1.0);
        let named = [
            ("wire", wire(load.wire_there)),
            ("wire back", wire(load.wire_back)),
            ("bus up where the bytes go", bus(load.taker_up, load.taker_down)),
            ("bus down there", bus(load.taker_down, load.taker_up)),
            ("bus down where they come from", bus(load.giver_down, load.giver_up)),
            ("bus up there", bus(load.giver_up, load.giver_down)),
        ];
        let value = named.iter().fold(f64::INFINITY, |least, (_, value)| least.min(*value));
        // What is far from deciding is not worth a word.
        let near = named.iter().filter(|(_, here)| *here < 2.0 * value);
        let parts: Vec<String> = near.map(|(name, value)| format!("{name} {value:.3}")).collect();
        Bound { value, parts: format!("least of {}; MTU {mtu}", parts.join(", ")) }
    }

    /// Cycles a message of a stream of short sends, each with a doorbell of its own that carries the
    /// token, so that no ring is read.
    pub fn send_rate(&self, payload: usize) -> Bound {
        let [doorbell, descriptor, gathered] =
            [self.bus.write(WORD), self.bus.answer(DESCRIPTOR), self.bus.answer(payload)];
        let asked = self.bus.request() * 2;
        let down = self.bus.least(doorbell + descriptor + gathered, asked + self.bus.write(WORD));
        let wire = (frame(payload, 0) + GAP) as f64 / self.rate as f64;
        let parts = format!(
            "greatest of bus down at the sender {down} (doorbell {doorbell}, descriptor {descriptor}, payload \
             {gathered}) and wire {wire:.2}"
        );
        Bound { value: down.max(wire), parts }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{near, PHYSICS};
    use super::super::Bus;
    use super::*;

    #[test]
    fn goodput_is_bound_by_the_bus_at_the_sender() {
        let bound = PHYSICS.goodput(Way::Send, 65536, 4096);
        // 256 completions of 34 beats, the descriptor and the doorbell.
        near(bound.value, 65536.0 / (256.0 * 34.0 + 11.0));
        assert!(bound.value / 8.0 < 0.9412, "94.1 % of the bus is payload at 256 bytes");
        near(PHYSICS.goodput(Way::Write, 65536, 4096).value, bound.value);
        let large = Physics { max_payload: 4096, ..PHYSICS }.goodput(Way::Send, 65536, 4096);
        near(large.value, 8.0 * 4096.0 / 4178.0);
        let short = PHYSICS.goodput(Way::Send, 65536, 256);
        near(short.value, 8.0 * 256.0 / 338.0);
        assert!(PHYSICS.goodput(Way::Write, 65536, 256).value < short.value, "extension headers cost wire");
    }

    #[test]
    fn the_goodput_of_a_lane_is_bound_by_its_symbols() {
        let lane = Physics { bus: Bus::Lane, ..PHYSICS };
        // 256 completions of 138 cycles, the descriptor and the doorbell; Acks of 129 requests and a completion, and SKP sets.
        let down = 256.0 * 138.0 + 34.0 + 14.0 + (129.0 * 10.0 + 14.0) * 4.0 / 208.0;
        near(lane.goodput(Way::Send, 65536, 4096).value, 65536.0 / (down * 769.0 / 767.0));
    }

    #[test]
    fn the_goodput_of_a_read_is_bound_by_the_bus_at_the_reader() {
        // 256 writes of 34 beats, the descriptor's request and the completion.
        near(PHYSICS.goodput(Way::Read, 65536, 4096).value, 65536.0 / (256.0 * 34.0 + 5.0));
    }

    #[test]
    fn both_directions_are_bound_by_the_bus_up() {
        // 256 writes of 34 beats for the bytes that come, 128 requests of 2 for those that go, a descriptor's request and a completion.
        let up = 256.0 * 34.0 + 128.0 * 2.0 + 5.0;
        let bound = PHYSICS.goodput_of_each(Way::Write, 65536, 4096);
        near(bound.value, 65536.0 / up);
        assert!(bound.parts.contains("bus up there 7.310"), "{}", bound.parts);
        // A send is completed at its receiver too.
        near(PHYSICS.goodput_of_each(Way::Send, 65536, 4096).value, 65536.0 / (up + 5.0));
        let slow = Physics { rate: 1, ..PHYSICS }.goodput_of_each(Way::Write, 65536, 4096);
        near(slow.value, 65536.0 / (65536.0 + 16.0 * 82.0 + 16.0 + 86.0));
    }

    #[test]
    fn the_goodput_of_short_messages_is_bound_by_what_each_message_has() {
        near(PHYSICS.goodput(Way::Send, 8, 4096).value, 8.0 / PHYSICS.send_rate(8).value);
        // The request of a read takes 98 bytes of the wire.
        near(PHYSICS.goodput(Way::Read, 8, 4096).value, 8.0 / (98.0 / 8.0));
    }

    #[test]
    fn the_rate_is_bound_by_the_bus_at_the_sender() {
        assert_eq!(PHYSICS.send_rate(8).value, 14.0);
        let slow = Physics { rate: 1, ..PHYSICS };
        assert_eq!(slow.send_rate(8).value, 90.0, "by the wire");
    }
}
