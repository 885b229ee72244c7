//! A sender's packets, piece by piece of its messages.

use rand::Rng;

use super::{POSTS, WRITES, WRITE_HANDLE};
use crate::world::World;

/// A packet of a sender: what it is within its message, and its payload.
#[derive(Clone)]
pub struct Piece {
    pub begins: bool,
    pub ends: bool,
    pub immediate: Option<u32>,
    pub payload: Vec<u8>,
    /// Of an RDMA write: where to, with which handle, how much in all.
    pub target: Option<(u64, u32, u32)>,
}

/// A sender's packets: messages cut at the MTU.
pub fn pieces(world: &mut World, vi: u64, mtu: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = WRITES + vi * 0x10_0000;
    for _ in 0..POSTS * 2 {
        let random = &mut world.random;
        let length = if random.random_ratio(1, 4) {
            random.random_range(0..mtu * 4)
        } else {
            random.random_range(0..80)
        };
        let message: Vec<u8> = (0..length).map(|_| random.random()).collect();
        let immediate = random.random_ratio(1, 4).then(|| random.random());
        let target = random.random_ratio(1, 2).then(|| {
            let handle = if random.random_ratio(1, 60) { WRITE_HANDLE ^ 0x1_0000 } else { WRITE_HANDLE };
            at += length as u64 + random.random_range(0..9);
            (at - length as u64, handle, length as u32)
        });
        let count = length.div_ceil(mtu).max(1);
        for n in 0..count {
            pieces.push(Piece {
                begins: n == 0,
                ends: n + 1 == count,
                immediate: immediate.filter(|_| n + 1 == count),
                payload: message[n * mtu..length.min((n + 1) * mtu)].to_vec(),
                target,
            });
        }
    }
    pieces
}

/// Its opcode on the wire.
pub fn opcode(piece: &Piece, reliable: bool) -> u8 {
    let place = match (piece.begins, piece.ends) {
        (true, true) => 4,
        (true, false) => 0,
        (false, false) => 1,
        (false, true) => 2,
    };
    let place = if piece.target.is_some() { [6, 7, 8, 8, 10][place as usize] } else { place };
    place + u8::from(piece.immediate.is_some()) + if reliable { 0 } else { 0x20 }
}
