//! A post as the bytes of its descriptor, flaw included.

use viaduct_spec::descriptor::{
    address_segment, control, control_segment, data_segment, CONTROL_SEGMENT_BYTES, SEGMENT_BYTES,
};

use crate::operation::{End, Flaw, Post, Request};
use crate::rows;

/// What handles and addresses are now.
pub struct Places<'a> {
    /// Handle of an end's registration.
    pub handle: &'a dyn Fn(End, usize) -> u32,
    /// Address of an end's memory.
    pub address: &'a dyn Fn(End) -> u64,
    /// Where a registration ends in the end's memory.
    pub end_of: &'a dyn Fn(End, usize) -> u32,
}

/// The bytes.
pub fn encode(post: &Post, places: &Places<'_>) -> Vec<u8> {
    let rdma = post.request != Request::Message;
    let segments = post.pieces.len() + usize::from(rdma);
    let mut words = vec![0u64; (CONTROL_SEGMENT_BYTES + SEGMENT_BYTES * segments) / 8];
    let mut operation = match post.request {
        Request::Message => control::OP_SENDRECV,
        Request::Write => control::OP_RDMAWRITE,
        Request::Read => control::OP_RDMAREAD,
    };
    if post.immediate.is_some() {
        operation |= control::IMMEDIATE;
    }
    if post.fence {
        operation |= control::QFENCE;
    }
    let (head, rest) = words.split_at_mut(CONTROL_SEGMENT_BYTES / 8);
    let mut rest = rest.chunks_exact_mut(SEGMENT_BYTES / 8);
    let mut sum = 0u32;
    let first = if rdma { rest.next() } else { None };
    if let Some(row) = first {
        let peer = post.end ^ 1;
        let (slot, at) = post.remote;
        let moved: u32 = post.pieces.iter().map(|piece| piece.length).sum();
        let at = match post.flaw {
            Flaw::RemoteBehind(by) => (places.end_of)(peer, slot).wrapping_add(by).wrapping_sub(moved),
            _ => at,
        };
        let key = if post.flaw == Flaw::RemoteKey { 1 << 20 } else { 0 };
        address_segment::ADDRESS.put(row, (places.address)(peer).wrapping_add(at.into()));
        address_segment::HANDLE.put(row, ((places.handle)(peer, slot) ^ key).into());
    }
    for (number, (piece, row)) in post.pieces.iter().zip(rest).enumerate() {
        let own = (places.handle)(post.end, piece.slot);
        let (mut at, mut length) = (piece.at, piece.length);
        let handle = match post.flaw {
            Flaw::Key(bad) if bad == number => own ^ 1 << 20,
            Flaw::Dead(bad) if bad == number => 0x0001_00F0,
            Flaw::Zero(bad) if bad == number => 0,
            Flaw::Arena(bad) if bad == number => rows::arena_handle(),
            Flaw::Behind(bad, by) if bad == number => {
                length = length.max(1);
                at = (places.end_of)(post.end, piece.slot).wrapping_add(by).wrapping_sub(length);
                own
            }
            _ => own,
        };
        data_segment::ADDRESS.put(row, (places.address)(post.end).wrapping_add(at.into()));
        data_segment::HANDLE.put(row, handle.into());
        data_segment::LENGTH.put(row, length.into());
        sum = sum.wrapping_add(length);
    }
    control_segment::SEG_COUNT.put(head, segments as u64);
    control_segment::CONTROL.put(head, operation.into());
    control_segment::IMMEDIATE.put(head, post.immediate.unwrap_or(0).into());
    control_segment::LENGTH.put(head, sum.into());
    match post.flaw {
        Flaw::Length(more) => control_segment::LENGTH.put(head, sum.wrapping_add(more).into()),
        Flaw::Status(status) => control_segment::STATUS.put(head, status.into()),
        Flaw::Reserved(word) => control_segment::RESERVED.put(head, word.into()),
        Flaw::Control(bits) => control_segment::CONTROL.put(head, (operation | bits).into()),
        Flaw::Count(count) => control_segment::SEG_COUNT.put(head, count.into()),
        _ => {}
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Bell, Piece};

    /// The double words of a descriptor of two pieces.
    fn encoded(request: Request) -> Vec<u32> {
        let piece = |slot, at, length| Piece { slot, at, length };
        let post = Post {
            end: 0,
            receive: false,
            request,
            place: 0,
            pieces: vec![piece(1, 0x10, 100), piece(2, 0x20, 11)],
            remote: (3, 0x30),
            immediate: None,
            fence: false,
            flaw: Flaw::None,
            bell: Bell::Token,
        };
        let places = Places {
            handle: &|end, slot| (0x100 * (end + 1) + slot) as u32,
            address: &|end| 0x1000 * (end as u64 + 1),
            end_of: &|_, _| 0,
        };
        let bytes = encode(&post, &places);
        let words = bytes.chunks_exact(4);
        words.map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))).collect()
    }

    #[test]
    fn every_piece_has_its_segment() {
        let message = encoded(Request::Message);
        assert_eq!((message[3] & 0xFFFF, message[6]), (2, 111));
        assert_eq!(message[8..], [0x1010, 0, 0x101, 100, 0x1020, 0, 0x102, 11]);
        let write = encoded(Request::Write);
        assert_eq!((write[3] & 0xFFFF, write[6]), (3, 111));
        assert_eq!(write[8..], [0x2030, 0, 0x203, 0, 0x1010, 0, 0x101, 100, 0x1020, 0, 0x102, 11]);
    }
}
