//! The bound of one message with no other under way.

use viaduct_spec::wire::{HEADER_BYTES, ICRC_BYTES};

use super::packet::{frame, COMPLETION_HEADER, DESCRIPTOR, FCS, GAP, PREAMBLE, REQUEST_HEADER, WORD};
use super::{Bound, Physics};

/// What the bus and the NIC handle in one step.
const STEP: usize = 8;

/// Cycles that the steps of a short send take, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendSteps {
    /// The doorbell's store comes in.
    pub doorbell: u64,
    /// The descriptor is asked for, and comes.
    pub descriptor: u64,
    /// So the payload.
    pub payload: u64,
    /// The frame goes over the wire.
    pub frame: u64,
    /// The status goes out.
    pub completion: u64,
}

impl SendSteps {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.doorbell + self.descriptor + self.payload + self.frame + self.completion
    }
}

impl Physics {
    /// What each step of a short send takes.
    pub fn send_steps(&self, payload: usize) -> SendSteps {
        let read = |bytes| self.round_trip + (self.bus.request() + self.bus.answer(bytes)) as u64;
        SendSteps {
            doorbell: self.bus.write(WORD) as u64,
            descriptor: read(DESCRIPTOR),
            payload: read(payload),
            frame: self.frame_cycles(payload),
            completion: self.bus.write(WORD) as u64,
        }
    }

    /// Cycles from the first beat of a doorbell's store at the sender to the last beat of the write
    /// that completes the receive: the descriptor is read, then the payload, then the frame goes. The write
    /// of the payload is not counted: it may go while the frame's check sequences come in.
    pub fn send_latency(&self, payload: usize) -> Bound {
        let SendSteps { doorbell, completion, frame, .. } = self.send_steps(payload);
        let [descriptor, gathered, request] =
            [self.bus.answer(DESCRIPTOR), self.bus.answer(payload), self.bus.request()];
        let packets = doorbell + completion + (request + descriptor + request + gathered) as u64;
        let value = self.send_steps(payload).sum();
        let parts = format!(
            "2 reads x {} + frame {frame} + packets {packets} (doorbell {doorbell}, request {request}, \
             descriptor {descriptor}, request {request}, payload {gathered}, completion {completion})",
            self.round_trip
        );
        Bound { value: value as f64, parts }
    }

    /// The same of a message of any size, sent in packets of `mtu`. Bus and wire work at the same time: each waits for the
    /// first bytes only, and the slowest of them decides. Of a message of at most 8 bytes it is [`Physics::send_latency`].
    pub fn message_latency(&self, message: usize, mtu: usize) -> Bound {
        let SendSteps { doorbell, descriptor, completion, .. } = self.send_steps(message);
        let first = message.min(STEP);
        let asked = self.round_trip + self.bus.request() as u64;
        let answered = self.bus.answer(first) as u64;
        // The last bytes still cross the wire when they are there.
        let down = self.packets(COMPLETION_HEADER, message) as u64
            + self.wire_cycles(first.next_multiple_of(4) + ICRC_BYTES + FCS);
        let packets = message.div_ceil(mtu);
        let bytes = message.next_multiple_of(4) + packets * (frame(0, 0) + GAP) - GAP;
        let wire = answered + self.wire_cycles(bytes);
        // All writes but the last, which may go while the check sequences come in.
        let last = self.bus.write((message - 1) % self.max_payload + 1);
        let up = answered
            + self.wire_cycles(PREAMBLE + HEADER_BYTES + first)
            + (self.packets(REQUEST_HEADER, message) - last) as u64;
        let slowest = down.max(wire).max(up);
        let value = doorbell + descriptor + asked + slowest + completion;
        let parts = format!(
            "doorbell {doorbell} + descriptor {descriptor} + request and round trip {asked} + the greatest of bus down \
             {down}, wire {wire} and bus up {up} + completion {completion}; MTU {mtu}"
        );
        Bound { value: value as f64, parts }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::PHYSICS;
    use super::super::Bus;
    use super::*;

    #[test]
    fn the_latency_is_two_reads_a_frame_and_the_beats() {
        let slow = Physics { rate: 1, ..PHYSICS };
        assert_eq!(slow.send_latency(8).value, 202.0 + 21.0);
        assert_eq!(PHYSICS.send_latency(8).value, 134.0 + 21.0);
        // Doorbell and completion 14 cycles each, requests 10, the descriptor 34, the payload 14.
        let lane = Physics { bus: Bus::Lane, ..slow };
        assert_eq!(lane.send_latency(8).value, 202.0 + 2.0 * 14.0 + 2.0 * 10.0 + 34.0 + 14.0);
        let steps = SendSteps { doorbell: 3, descriptor: 72, payload: 67, frame: 78, completion: 3 };
        assert_eq!(slow.send_steps(8), steps);
    }

    #[test]
    fn of_a_short_message_both_bounds_are_the_same() {
        for rate in 1..=8 {
            let physics = Physics { rate, ..PHYSICS };
            for bytes in 1..=8 {
                let [any, short] = [physics.message_latency(bytes, 4096), physics.send_latency(bytes)];
                assert_eq!(any.value, short.value, "{bytes} bytes at rate {rate}");
            }
        }
    }

    #[test]
    fn a_long_message_takes_what_the_slowest_resource_takes() {
        let before = (3 + 72 + 64 + 3) as f64;
        let slow = Physics { rate: 1, ..PHYSICS };
        // 16 frames of 82 bytes beside their payload, and the first three beats.
        let wire = (3 + 65536 + 16 * 82 - 12) as f64;
        assert_eq!(slow.message_latency(65536, 4096).value, before + wire);
        // 256 completions of 34 beats, and the last 16 bytes of the frame.
        assert_eq!(PHYSICS.message_latency(65536, 4096).value, before + (256 * 34 + 2) as f64);
    }
}
