//! Bytes of a frame on the wire, and the parts of a packet on the bus.

use viaduct_spec::wire::{HEADER_BYTES, ICRC_BYTES};

/// Preamble and start delimiter of a frame.
pub const PREAMBLE: usize = 8;
/// Frame check sequence.
pub const FCS: usize = 4;
/// Shortest gap between frames.
pub const GAP: usize = 12;
/// What the NIC reads of a descriptor of one segment: its token says SHORT.
pub const DESCRIPTOR: usize = 48;
/// Length and Status, and a doorbell's token.
pub const WORD: usize = 8;
/// Double words of a completion's header.
pub const COMPLETION_HEADER: usize = 3;
/// Double words of the header of a request below 4 GiB, where the hosts' memory and registers lie.
pub const REQUEST_HEADER: usize = 3;

/// Bytes of a RoCE frame from its preamble to its FCS; `extension`: extension headers.
pub fn frame(payload: usize, extension: usize) -> usize {
    PREAMBLE + HEADER_BYTES + extension + payload.next_multiple_of(4) + ICRC_BYTES + FCS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_their_overhead() {
        assert_eq!(frame(8, 0), 78);
        assert_eq!(frame(8, 0) + GAP, 90);
        assert_eq!(frame(0, 4) + GAP, 86, "an acknowledgement");
        assert_eq!(frame(5, 0), frame(8, 0), "payload is padded");
        for (mtu, share) in [(256, 0.757), (1024, 0.926), (4096, 0.980)] {
            let of = mtu as f64 / (frame(mtu, 0) + GAP) as f64;
            assert_eq!((of * 1000.0).round() / 1000.0, share);
        }
    }
}
