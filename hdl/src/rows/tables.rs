//! The layouts of `viaduct_spec::tables`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A registered memory region.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RegionRow {
    /// Virtual address of its first byte.
    pub base: Bits<64>,
    /// Length in bytes.
    pub length: Bits<48>,
    /// Protection tag; never 0 for a live region.
    pub tag: Bits<16>,
    /// The key that a memory handle must repeat.
    pub key: Bits<16>,
    /// First row of its slice of the page table.
    pub first_page: Bits<16>,
    /// log2 of its page size: 12 to 43.
    pub page_shift: Bits<6>,
    /// The entry is valid.
    pub live: bool,
    /// Remote peers may write to it.
    pub rdma_write: bool,
    /// Remote peers may read it.
    pub rdma_read: bool,
    /// An agent's arena (rings, completion queues): refused in user segments.
    pub system: bool,
    /// The NIC may not write to it: memory that its owner mapped read-only.
    pub read_only: bool,
    /// Reserved, 0.
    pub reserved_171: Bits<21>,
}

/// A page table row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PageRow {
    /// DMA address of the page ([`crate::profile::DMA_ADDRESS_BITS`]); its low page-shift bits are 0.
    pub address: Bits<57>,
    /// Reserved, 0.
    pub reserved_57: Bits<7>,
}

/// A work queue, as the fetch block keeps it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WorkQueueRow {
    /// Where the ring starts in its region, in units of 64 bytes from the region's base rounded down to 64.
    pub ring_offset: Bits<34>,
    /// Region (an agent's arena) that holds the ring.
    pub ring_region: Bits<16>,
    /// log2 of the ring's slots: 3 to 13.
    pub ring_log2: Bits<4>,
    /// The queue belongs to a VI that exists: doorbells to any other are ignored and counted.
    pub open: bool,
    /// Reserved, 0.
    pub reserved_55: Bits<9>,
    /// Tag of the ring's region.
    pub system_tag: Bits<16>,
    /// Tag of the VI: descriptors must lie in memory of this tag.
    pub tag: Bits<16>,
    /// Interrupt vector of the queue's completions: 0 to VECTORS - 1.
    pub vector: Bits<8>,
    /// Completion queue of the queue's completions.
    pub cq: Bits<10>,
    /// They go to CQ; otherwise to none.
    pub to_cq: bool,
    /// Reserved, 0.
    pub reserved_115: Bits<13>,
}

/// A completion queue. A commit starts it empty at index 0, disarmed; of a queue that is live it is a resize: RESULT has the entries written to the old ring, modulo 2^18, the next goes to the new one, and if it was armed its interrupt comes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CompletionQueueRow {
    /// Where the ring starts in its region, in units of 64 bytes from the region's base rounded down to 64. Its entries are 0 when it is committed.
    pub ring_offset: Bits<34>,
    /// Region (an agent's arena) that holds the ring.
    pub ring_region: Bits<16>,
    /// log2 of the ring's entries: 2 to 16.
    pub ring_log2: Bits<5>,
    /// The queue exists.
    pub live: bool,
    /// It takes events instead of completions: the agent's error ring. One queue at most.
    pub events: bool,
    /// Reserved, 0.
    pub reserved_57: Bits<7>,
    /// Tag of the ring's region.
    pub system_tag: Bits<16>,
    /// Reserved, 0.
    pub reserved_80: Bits<16>,
    /// Interrupt vector: 0 to VECTORS - 1.
    pub vector: Bits<8>,
    /// Reserved, 0.
    pub reserved_104: Bits<24>,
}

/// Interrupt moderation of a vector. It counts from the vector's next interrupt on; after a reset there is none.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ModerationRow {
    /// Ticks of 1.024 us: until the time base has moved on by so many since an interrupt of the vector, it sends no other. What is raised meanwhile is one interrupt then. 0: none.
    pub holdoff: Bits<15>,
    /// Reserved, 0.
    pub reserved_15: Bits<49>,
}

/// What the gather block knows of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct GatherRow {
    /// Tag of the VI: data segments must lie in memory of this tag.
    pub tag: Bits<16>,
    /// Path MTU: 256 << MTU bytes of payload, MTU 0 to 4.
    pub mtu: Bits<3>,
    /// The raw channel: a message is one frame.
    pub raw: bool,
    /// Reserved, 0.
    pub reserved_20: bool,
    /// RDMA reads may be sent: the VI is reliable. Otherwise one is a format error.
    pub rdma_read: bool,
    /// Reserved, 0.
    pub reserved_22: Bits<10>,
    /// MaxTransferSize in bytes: a longer message is a length error.
    pub max_transfer: Bits<32>,
}

/// What the transmit block knows of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TransmitRow {
    /// PSN of the next request packet.
    pub psn: Bits<24>,
    /// Service: see service.
    pub service: Bits<2>,
    /// The peer is on this NIC: frames turn round inside it.
    pub loopback: bool,
    /// Reserved, 0.
    pub reserved_27: bool,
    /// RDMA reads that may be outstanding: what the peer keeps of them, 0 to READ_DEPTH.
    pub read_depth: Bits<4>,
    /// Ticks of 1.024 us without progress after which the oldest unacknowledged packet is sent again; 0: never.
    pub timeout: Bits<20>,
    /// Reserved, 0.
    pub reserved_52: Bits<12>,
    /// How often in a row, without progress, that is done before the VI breaks.
    pub retries: Bits<8>,
    /// How often in a row a message that found no receive is sent again before the VI breaks; 255: without end.
    pub rnr_retries: Bits<8>,
    /// Reserved, 0.
    pub reserved_80: Bits<48>,
}

/// What the receive block knows of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReceiveRow {
    /// IPv4 address of the peer; most significant byte of the number = first byte on the wire.
    pub peer_ip: Bits<32>,
    /// PSN expected next.
    pub psn: Bits<24>,
    /// Service: see service.
    pub service: Bits<2>,
    /// Path MTU: 256 << MTU bytes of payload, MTU 0 to 4.
    pub mtu: Bits<3>,
    /// Reserved, 0.
    pub reserved_61: Bits<3>,
    /// Tag of the VI: descriptors and data segments must lie in memory of this tag.
    pub tag: Bits<16>,
    /// Generation that a queue pair number must carry.
    pub generation: Bits<14>,
    /// Reserved, 0.
    pub reserved_94: Bits<2>,
    /// The peer may write to this VI's memory.
    pub rdma_write: bool,
    /// The peer may read this VI's memory.
    pub rdma_read: bool,
    /// A message that finds no receive gets a receiver-not-ready answer and the VI stays; otherwise it breaks.
    pub rnr_stay: bool,
    /// Timer code of that answer: InfiniBand's 5 bits.
    pub rnr_timer: Bits<5>,
    /// RDMA reads of the peer's kept at a time, 1 to READ_DEPTH; one more is refused.
    pub read_depth: Bits<4>,
    /// Reserved, 0.
    pub reserved_108: Bits<20>,
}

/// A VI's state.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ViStateRow {
    /// See vi_states.
    pub state: Bits<2>,
    /// Reserved, 0.
    pub reserved_2: Bits<62>,
}

/// A completion queue entry.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqEntryRow {
    /// Token of the completed descriptor, SHORT 0; in the error ring an event (see event).
    pub token: Bits<64>,
    /// Index of the VI.
    pub vi: Bits<16>,
    /// 1: receive queue, 0: send queue.
    pub receive: bool,
    /// Reserved, 0.
    pub reserved_81: Bits<46>,
    /// 1 in the first lap of the ring, 0 in the second, and so on: a new entry shows without an index.
    pub phase: bool,
}
