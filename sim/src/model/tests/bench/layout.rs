//! Where the bench puts things: each host's memory, its rows and rings, and the numbers of a connection.

use viaduct_spec::profile::CQS;

/// Where each host's memory is: user data first, then the arena.
pub const DATA: u64 = 0x10_0000;
/// Bytes of user data.
pub(super) const DATA_BYTES: u64 = 0x10_0000;
/// Where the arena is.
pub(super) const ARENA: u64 = DATA + DATA_BYTES;
pub(super) const ARENA_BYTES: u64 = 0x10_0000;
/// Where descriptors are put.
pub(super) const DESCRIPTORS: u64 = DATA + 0xC_0000;
/// Region rows.
pub const DATA_REGION: u16 = 1;
pub(super) const ARENA_REGION: u16 = 2;
/// Tags of users and agent.
pub const TAG: u64 = 7;
pub(super) const SYSTEM_TAG: u64 = 9;
/// Key of the data region.
pub(super) const KEY: u64 = 0x5A5A;
pub const RING_LOG2: u64 = 6;
pub(super) const RING_BYTES: u64 = 8 << RING_LOG2;
/// Where completion queues' rings are in the arena.
pub(super) const CQ_RINGS: u64 = 0x8_0000;
pub(super) const CQ_RING_BYTES: u64 = 0x1000;
/// The completion queue that takes events: no test has more than it has room for.
pub const ERROR_RING: u64 = CQS as u64 - 1;
pub(super) const ERROR_RING_LOG2: u64 = 8;
/// First PSN of every connection: it wraps soon.
pub const PSN: u32 = 0xFF_FFF8;
