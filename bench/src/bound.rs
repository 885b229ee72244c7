//! Physical bounds: what the wire and the bus take when the NIC's own logic takes no time.
//!
//! Everything is in cycles of the NIC's clock and in bytes. The bus carries a beat of two double words
//! in a cycle and direction.

use viaduct_spec::wire::{EXTENSION_BYTES, HEADER_BYTES, ICRC_BYTES, RETH_BYTES};

use crate::way::Way;

/// Preamble and start delimiter of a frame.
const PREAMBLE: usize = 8;
/// Frame check sequence.
const FCS: usize = 4;
/// Shortest gap between frames.
const GAP: usize = 12;
/// A descriptor of one segment.
const DESCRIPTOR: usize = 48;
/// Length and Status, and a doorbell's token.
const WORD: usize = 8;
/// Double words of a completion's header.
const COMPLETION_HEADER: usize = 3;
/// Double words of the header of a request above 4 GiB.
const REQUEST_HEADER: usize = 4;

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
    /// Cycles from a read to its first completion.
    pub round_trip: u64,
    /// Bytes of payload in a packet of the bus; reads are answered in pieces of this size too.
    pub max_payload: usize,
    /// Bytes a cycle on the wire.
    pub rate: u64,
}

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

/// Beats of a packet with this header, in double words, and this payload, in bytes.
fn beats(header: usize, payload: usize) -> usize {
    (header + payload.div_ceil(4)).div_ceil(2)
}

/// Beats of a read's answer.
fn answer(bytes: usize) -> usize {
    beats(COMPLETION_HEADER, bytes)
}

/// Beats of a write.
fn write(bytes: usize) -> usize {
    beats(REQUEST_HEADER, bytes)
}

/// Bytes of a RoCE frame from its preamble to its FCS; `extension`: extension headers.
fn frame(payload: usize, extension: usize) -> usize {
    PREAMBLE + HEADER_BYTES + extension + payload.next_multiple_of(4) + ICRC_BYTES + FCS
}

impl Physics {
    /// Beats that carry `bytes`, from a boundary on, in packets of the largest size.
    fn packets(&self, header: usize, bytes: usize) -> usize {
        let last = bytes % self.max_payload;
        bytes / self.max_payload * beats(header, self.max_payload)
            + if last == 0 { 0 } else { beats(header, last) }
    }

    /// Cycles of a frame on the wire, from its preamble to its FCS.
    pub fn frame_cycles(&self, payload: usize) -> u64 {
        (frame(payload, 0) as u64).div_ceil(self.rate)
    }

    /// What each step of a short send takes.
    pub fn send_steps(&self, payload: usize) -> SendSteps {
        let read = |bytes| self.round_trip + (beats(REQUEST_HEADER, 0) + answer(bytes)) as u64;
        SendSteps {
            doorbell: write(WORD) as u64,
            descriptor: read(DESCRIPTOR),
            payload: read(payload),
            frame: self.frame_cycles(payload),
            completion: write(WORD) as u64,
        }
    }

    /// Cycles from the first beat of a doorbell's store at the sender to the last beat of the write
    /// that completes the receive: the descriptor is read, then the payload, then the frame goes. The write
    /// of the payload is not counted: it may go while the frame's check sequences come in.
    pub fn send_latency(&self, payload: usize) -> Bound {
        let SendSteps { doorbell, completion, frame, .. } = self.send_steps(payload);
        let (descriptor, gathered) = (answer(DESCRIPTOR), answer(payload));
        let request = beats(REQUEST_HEADER, 0);
        let beats = doorbell + completion + (request + descriptor + request + gathered) as u64;
        let value = self.send_steps(payload).sum();
        let parts = format!(
            "2 reads x {} + frame {frame} + beats {beats} (doorbell {doorbell}, request {request}, \
             descriptor {descriptor}, request {request}, payload {gathered}, completion {completion})",
            self.round_trip
        );
        Bound { value: value as f64, parts }
    }

    /// Bytes of payload a cycle of a stream of messages, each of which is read from one host's memory, sent in packets
    /// of `mtu` and written to the other's.
    pub fn goodput(&self, way: Way, message: usize, mtu: usize) -> Bound {
        let whole = message as f64;
        let packets = message.div_ceil(mtu);
        // A write's address stands in its first packet; a read's answer says in the first and the last how it goes.
        let extension = match way {
            Way::Send => 0,
            Way::Write => RETH_BYTES,
            Way::Read => packets.min(2) * EXTENSION_BYTES,
        };
        let wire_bytes = (message + packets * (frame(0, 0) + GAP) + extension) as f64;
        let wire = whole * self.rate as f64 / wire_bytes;
        // Who takes the bytes reads a descriptor for it and completes it, but for a write.
        let up = match way {
            Way::Write => 0,
            Way::Send | Way::Read => beats(REQUEST_HEADER, 0) + write(WORD),
        };
        // Who gives them hears a doorbell and gets a descriptor, but for a read.
        let down = match way {
            Way::Read => 0,
            Way::Send | Way::Write => answer(DESCRIPTOR) + write(WORD),
        };
        let up = whole / (self.packets(REQUEST_HEADER, message) + up) as f64;
        let down = whole / (self.packets(COMPLETION_HEADER, message) + down) as f64;
        let parts = format!(
            "least of wire {wire:.3}, bus up where the bytes go {up:.3}, bus down where they come from {down:.3}; MTU {mtu}"
        );
        Bound { value: wire.min(up).min(down), parts }
    }

    /// Cycles a message of a stream of short sends, each with a doorbell of its own that carries the
    /// token, so that no ring is read.
    pub fn send_rate(&self, payload: usize) -> Bound {
        let (doorbell, descriptor, gathered) = (write(WORD), answer(DESCRIPTOR), answer(payload));
        let down = (doorbell + descriptor + gathered) as f64;
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
    use super::*;

    const PHYSICS: Physics = Physics { round_trip: 62, max_payload: 256, rate: 8 };

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 0.0006, "{a} and {b}");
    }

    #[test]
    fn packets_take_whole_beats() {
        let beats = [8, 48, 64, 128, 256, 512].map(answer);
        assert_eq!(beats, [3, 8, 10, 18, 34, 66]);
        assert_eq!([8, 256].map(write), [3, 34]);
        assert_eq!(beats.map(|_| super::beats(REQUEST_HEADER, 0)), [2; 6]);
        assert_eq!(PHYSICS.packets(COMPLETION_HEADER, 600), 34 + 34 + 13);
    }

    #[test]
    fn frames_have_their_overhead() {
        assert_eq!(frame(8, 0), 78);
        assert_eq!(frame(8, 0) + GAP, 90);
        assert_eq!(frame(0, 4) + GAP, 86, "an acknowledgement");
        assert_eq!(frame(5, 0), frame(8, 0), "payload is padded");
        for (mtu, share) in [(256, 0.757), (1024, 0.926), (4096, 0.980)] {
            near((mtu as f64 / (frame(mtu, 0) + GAP) as f64 * 1000.0).round() / 1000.0, share);
        }
    }

    #[test]
    fn the_latency_is_two_reads_a_frame_and_the_beats() {
        let slow = Physics { rate: 1, ..PHYSICS };
        assert_eq!(slow.send_latency(8).value, 202.0 + 21.0);
        assert_eq!(PHYSICS.send_latency(8).value, 134.0 + 21.0);
        let steps = SendSteps { doorbell: 3, descriptor: 72, payload: 67, frame: 78, completion: 3 };
        assert_eq!(slow.send_steps(8), steps);
    }

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
    fn the_goodput_of_a_read_is_bound_by_the_bus_at_the_reader() {
        // 256 writes of 34 beats, the descriptor's request and the completion.
        near(PHYSICS.goodput(Way::Read, 65536, 4096).value, 65536.0 / (256.0 * 34.0 + 5.0));
    }

    #[test]
    fn the_rate_is_bound_by_the_bus_at_the_sender() {
        assert_eq!(PHYSICS.send_rate(8).value, 14.0);
        let slow = Physics { rate: 1, ..PHYSICS };
        assert_eq!(slow.send_rate(8).value, 90.0, "by the wire");
    }
}
