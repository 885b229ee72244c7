//! Programs made by hand.

use viaduct_walk::memory::DESCRIPTORS;
use viaduct_walk::operation::{Bell, End, Flaw, Operation, Piece, Post, Request};
use viaduct_walk::program::{CompletionQueue, Connection};

/// The n-th message from or to an end, all of it in one segment.
pub fn post(end: End, receive: bool, n: u32, segment: Piece, immediate: Option<u32>) -> Operation {
    Operation::Post(Post {
        end,
        receive,
        request: Request::Message,
        place: DESCRIPTORS + 128 * (2 * n + u32::from(receive)),
        pieces: vec![segment],
        remote: (0, 0),
        immediate,
        fence: false,
        flaw: Flaw::None,
        bell: Bell::Token,
    })
}

/// The n-th connection, between NICs 0 and 1; rights and PSNs are the pattern's.
pub fn connection(
    pattern: Connection,
    n: usize,
    service: u8,
    mtu: u64,
    completion_queues: [[CompletionQueue; 2]; 2],
) -> Connection {
    Connection {
        nics: [0, 1],
        vis: [3 + n, 9 + n],
        service,
        mtu,
        ring_log2: 5,
        max_transfer: 0x1_0000,
        retries: (10, 100),
        not_ready: 0,
        scattered: false,
        high: false,
        completion_queues,
        ..pattern
    }
}
