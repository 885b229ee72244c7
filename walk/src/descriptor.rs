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
    if let (true, Some(row)) = (rdma, rest.next()) {
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
