//! Bytes: of an MTU, of a room, of a piece.

use rand::Rng;
use viaduct_hdl::arithmetic::{PathMtu, Portion, SegmentPiece};
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

#[test]
fn every_code_of_a_path_mtu() {
    let mut bench = Bench::new("path_mtu", &verilog(PathMtu::default()));
    for code in 0..8 {
        bench.set("code", code);
        bench.eval();
        assert_eq!(bench.get("bytes"), 256 << code.min(4), "code {code}");
    }
}

/// Bytes and a room for them: small, near each other, near 4096, and any.
fn amounts(rng: &mut impl Rng, round: u64) -> (u64, u64) {
    let room = match round % 3 {
        0 => rng.random_range(0..8192),
        1 => rng.random_range(4094..4099),
        _ => rng.random_range(0..4),
    };
    let bytes = match round % 4 {
        0 => rng.random_range(0..1 << 32),
        1 => (room + rng.random_range(0..4u64)).saturating_sub(2),
        2 => rng.random_range(4094..4099),
        // Equal to the room in the low bits.
        _ => room + (rng.random_range(0..2u64) << rng.random_range(13..32)),
    };
    (bytes, room)
}

#[test]
fn a_portion_is_the_lesser() {
    let mut bench = Bench::new("portion", &verilog(Portion::default()));
    let mut rng = crate::random(&bench);
    for round in 0..6000 {
        let (bytes, room) = amounts(&mut rng, round);
        bench.set("bytes", bytes);
        bench.set("room", room);
        bench.eval();
        assert_eq!(bench.get("portion"), bytes.min(room));
        assert_eq!(bench.get("ends_bytes") == 1, bytes <= room, "{bytes} in {room}");
        assert_eq!(bench.get("ends_room") == 1, bytes >= room, "{bytes} in {room}");
    }
}

#[test]
fn a_piece_is_the_least_and_says_what_ends() {
    let mut bench = Bench::new("segment_piece", &verilog(SegmentPiece::default()));
    let mut rng = crate::random(&bench);
    for round in 0..6000 {
        let (segment, packet) = amounts(&mut rng, round);
        bench.set("segment", segment);
        bench.set("packet", packet);
        bench.eval();
        let piece = segment.min(packet).min(4096);
        assert_eq!(bench.get("piece"), piece);
        assert_eq!(bench.get("ends_segment") == 1, piece == segment, "{segment} and {packet}");
        assert_eq!(bench.get("ends_packet") == 1, piece == packet, "{segment} and {packet}");
    }
}
