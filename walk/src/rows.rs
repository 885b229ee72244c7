//! Rows of the NIC's tables for the ends of a program's connections.

use viaduct_sim::memory::PAGE;
use viaduct_spec::handle::{memory_handle, queue_pair};
use viaduct_spec::layout::Field;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::tables::{completion_queue, gather, receive, region, table, transmit, work_queue};
use viaduct_spec::wire::UDP_PORT;

use crate::memory::{PAGES, SLICE, SLOTS};
use crate::operation::{End, Registration};
use crate::program::{CompletionQueue, Connection, CONNECTIONS, SHARED};

/// Row of the region that is the agent's arena.
pub const ARENA_REGION: u16 = 1;
const SYSTEM_TAG: u64 = 0xFFF0;
const FOREIGN_TAG: u64 = 0x300;
/// Bytes of a ring.
const RING_BYTES: u64 = 512;
/// Where the rings of completion queues are in the arena.
const CQ_RINGS: u64 = 0x4000;
/// log2 of the entries of completion queues with room for everything.
const CQ_LOG2: u64 = 8;
/// log2 of the entries of small ones.
const SMALL_LOG2: u64 = 2;
/// Bytes of an entry.
pub const ENTRY_BYTES: u64 = 16;
/// log2 of the pages of ends whose memory is not scattered: their whole slice.
const WHOLE_LOG2: u64 = SLICE.trailing_zeros() as u64;

/// Row words from fields.
pub fn row(fields: &[(Field, u64)]) -> [u64; 3] {
    let mut words = [0; 3];
    fields.iter().for_each(|(field, value)| field.put(&mut words, *value));
    words
}

/// A NIC's MAC address, in wire order.
pub fn mac(nic: usize) -> u64 {
    0x0200_0000_0002 | (nic as u64) << 40
}

/// A NIC's IPv4 address.
pub fn ip(nic: usize) -> u32 {
    0x0A00_0001 + nic as u32
}

fn tag(end: End) -> u64 {
    0x100 + end as u64
}

/// Region row of a registration.
pub fn region(end: End, slot: usize) -> u16 {
    2 + (end * SLOTS + slot) as u16
}

/// First row of a region's slice of the page table.
pub fn first_page(region: u16) -> u64 {
    PAGES * u64::from(region)
}

fn key(region: u16, count: u16) -> u64 {
    u64::from(region.wrapping_mul(0x3D09).wrapping_add(count.wrapping_mul(0x1F35)))
}

/// The handle of a registration, the n-th in its slot.
pub fn handle(end: End, slot: usize, count: u16) -> u32 {
    let region = region(end, slot);
    row(&[(memory_handle::INDEX, region.into()), (memory_handle::KEY, key(region, count))])[0] as u32
}

/// The handle of the arena, which no user may name.
pub fn arena_handle() -> u32 {
    row(&[(memory_handle::INDEX, ARENA_REGION.into()), (memory_handle::KEY, 0)])[0] as u32
}

/// Virtual address of an end's memory.
pub fn address(connection: &Connection, end: End) -> u64 {
    match connection.high {
        true => 0u64.wrapping_sub(SLICE.into()),
        false => 0x7000_0000_0000 + ((end as u64) << 20),
    }
}

/// The arena's row.
pub fn arena(address: u64, bytes: u64) -> [u64; 3] {
    row(&[
        (region::BASE, address),
        (region::LENGTH, bytes),
        (region::TAG, SYSTEM_TAG),
        (region::FIRST_PAGE, first_page(ARENA_REGION)),
        (region::PAGE_SHIFT, bytes.trailing_zeros().into()),
        (region::LIVE, 1),
        (region::SYSTEM, 1),
    ])
}

/// The pages of an end's slice that a registration needs.
pub fn pages(connection: &Connection, made: &Registration) -> std::ops::RangeInclusive<u64> {
    match connection.scattered {
        true => u64::from(made.at) / PAGE..=u64::from(made.at + made.length - 1) / PAGE,
        false => 0..=0,
    }
}

/// A registration's row.
pub fn registration(
    connection: &Connection,
    end: End,
    slot: usize,
    count: u16,
    made: &Registration,
) -> [u64; 3] {
    let number = region(end, slot);
    row(&[
        (region::BASE, address(connection, end) + u64::from(made.at)),
        (region::LENGTH, made.length.into()),
        (region::TAG, if made.foreign { FOREIGN_TAG } else { tag(end) }),
        (region::KEY, key(number, count)),
        (region::FIRST_PAGE, first_page(number)),
        (region::PAGE_SHIFT, if connection.scattered { PAGE.trailing_zeros().into() } else { WHOLE_LOG2 }),
        (region::LIVE, 1),
        (region::RDMA_WRITE, made.remote_write.into()),
        (region::RDMA_READ, made.remote_read.into()),
        (region::READ_ONLY, made.read_only.into()),
    ])
}

/// Where a queue's ring is in the arena.
pub fn ring(end: End, receive: usize) -> u64 {
    (2 * end + receive) as u64 * RING_BYTES
}

/// The error ring's row of the table of completion queues.
pub const ERROR_RING: usize = 0;

/// Completion queues of a NIC: the error ring, those that are shared, and a small one for each work queue.
pub const CQS: usize = 1 + SHARED + 4 * CONNECTIONS;

/// The completion queue of a work queue.
pub fn cq_of(connection: &Connection, end: End, receive: usize) -> Option<usize> {
    match connection.completion_queues[end % 2][receive] {
        CompletionQueue::None => None,
        CompletionQueue::Shared(number) => Some(1 + number),
        CompletionQueue::Small => Some(1 + SHARED + 2 * end + receive),
    }
}

/// Whose a completion queue is, if it is one work queue's.
fn owner(queue: usize) -> Option<End> {
    queue.checked_sub(1 + SHARED).map(|number| number / 2)
}

/// Interrupt vector of an end: that of its work queues, and of the completion queues that are theirs alone.
pub fn vector(end: End) -> u64 {
    end as u64
}

// Each end has its own.
const _: () = assert!(2 * CONNECTIONS <= VECTORS);

/// log2 of a completion queue's entries, in this or in its other ring.
pub fn cq_log2(queue: usize, other: bool) -> u64 {
    match queue {
        0..=SHARED => CQ_LOG2 + u64::from(other),
        _ => SMALL_LOG2,
    }
}

/// Where a completion queue's ring is in the arena. A queue that is resized changes to its other ring.
pub fn cq_ring(queue: usize, other: bool) -> u64 {
    let large = ENTRY_BYTES << CQ_LOG2;
    let at = match queue {
        0..=SHARED => (3 * queue as u64 + u64::from(other)) * large,
        _ => 3 * (1 + SHARED as u64) * large + (queue as u64) * (ENTRY_BYTES << SMALL_LOG2),
    };
    CQ_RINGS + at
}

/// A completion queue's row.
pub fn completion_queue(queue: usize, other: bool) -> [u64; 3] {
    row(&[
        (completion_queue::RING_OFFSET, cq_ring(queue, other) / 64),
        (completion_queue::RING_REGION, ARENA_REGION.into()),
        (completion_queue::RING_LOG2, cq_log2(queue, other)),
        (completion_queue::LIVE, 1),
        (completion_queue::EVENTS, (queue == ERROR_RING).into()),
        (completion_queue::SYSTEM_TAG, SYSTEM_TAG),
        (completion_queue::VECTOR, owner(queue).map_or(0, vector)),
    ])
}

/// A queue's row.
pub fn work_queue(connection: &Connection, end: End, receive: usize) -> [u64; 3] {
    let queue = cq_of(connection, end, receive);
    row(&[
        (work_queue::RING_OFFSET, ring(end, receive) / 64),
        (work_queue::RING_REGION, ARENA_REGION.into()),
        (work_queue::RING_LOG2, connection.ring_log2),
        (work_queue::OPEN, 1),
        (work_queue::SYSTEM_TAG, SYSTEM_TAG),
        (work_queue::TAG, tag(end)),
        (work_queue::CQ, queue.unwrap_or(0) as u64),
        (work_queue::TO_CQ, queue.is_some().into()),
        (work_queue::VECTOR, vector(end)),
    ])
}

fn queue_pair(connection: &Connection, end: End, generation: u64) -> u32 {
    let vi = connection.vis[end % 2] as u64;
    row(&[(queue_pair::VI, vi), (queue_pair::GENERATION, generation)])[0] as u32
}

/// The rows that make an end of a connection: table and words.
pub fn connection(connection: &Connection, end: End, generation: u64) -> [(u8, [u64; 3]); 3] {
    let side = end % 2;
    let service = u64::from(connection.service);
    let gather = row(&[
        (gather::TAG, tag(end)),
        (gather::MTU, connection.mtu),
        (gather::RDMA_READ, connection.is_reliable().into()),
        (gather::MAX_TRANSFER, connection.max_transfer),
    ]);
    let transmit = row(&[
        (transmit::PSN, connection.psns[side].into()),
        (transmit::SERVICE, service),
        (transmit::LOOPBACK, (connection.nics[0] == connection.nics[1]).into()),
        (transmit::READ_DEPTH, connection.depth),
        (transmit::TIMEOUT, connection.retries.1),
        (transmit::RETRIES, connection.retries.0),
        (transmit::RNR_RETRIES, connection.not_ready),
    ]);
    let receive = row(&[
        (receive::PEER_IP, ip(connection.nics[side ^ 1]).into()),
        (receive::PSN, connection.psns[side ^ 1].into()),
        (receive::SERVICE, service),
        (receive::MTU, connection.mtu),
        (receive::TAG, tag(end)),
        (receive::GENERATION, generation),
        (receive::RDMA_WRITE, connection.rights[0].into()),
        (receive::RDMA_READ, connection.rights[1].into()),
        (receive::RNR_STAY, (connection.not_ready != 0).into()),
        (receive::RNR_TIMER, 1),
        (receive::READ_DEPTH, connection.depth),
    ]);
    [(table::GATHER, gather), (table::TRANSMIT, transmit), (table::RECEIVE, receive)]
}

/// The words of an end's header template.
pub fn template(connection: &Connection, end: End, generation: u64) -> [u64; 8] {
    let [from, to] = [connection.nics[end % 2], connection.nics[(end % 2) ^ 1]];
    let mut bytes = [0u8; 64];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, &mac(to).to_le_bytes()[..6]);
    put(6, &mac(from).to_le_bytes()[..6]);
    put(12, &[8, 0, 0x45]);
    put(20, &[0x40, 0, 64, 17]);
    put(26, &ip(from).to_be_bytes());
    put(30, &ip(to).to_be_bytes());
    put(34, &0xC001u16.to_be_bytes());
    put(36, &UDP_PORT.to_be_bytes());
    put(44, &[0xFF, 0xFF]);
    put(46, &queue_pair(connection, end ^ 1, generation).to_be_bytes());
    let sum = (14..34).step_by(2).fold(0u32, |sum, at| {
        let sum = sum + u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        (sum & 0xFFFF) + (sum >> 16)
    });
    bytes[24..26].copy_from_slice(&(sum as u16).to_be_bytes());
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    words
}
