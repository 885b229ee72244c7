//! The NIC's tables. The agent writes a row by staging it in up to three 64-bit words and then
//! committing it, so no reader ever sees half a row. Each row belongs to one hardware block.

use crate::{codes, layout};

codes! {
    /// Tables that a commit names.
    table: u8 {
        /// Protection: region table, row = region index.
        REGION = 1;
        /// Protection: page table, row = page index.
        PAGE = 2;
        /// Fetch: work queues, row = 2 x VI + (1 for the receive queue). Sets the queue to empty, position 0.
        WORK_QUEUE = 3;
        /// Transmit: header templates, row = 8 x VI + word.
        TEMPLATE = 4;
        /// Gather: row = VI.
        GATHER = 5;
        /// Transmit: row = VI. Sets the next PSN.
        TRANSMIT = 6;
        /// Receive: row = VI. Sets the expected PSN and forgets any message in progress.
        RECEIVE = 7;
        /// VI states: row = VI.
        VI_STATE = 8;
        /// Completion queues: row = queue.
        COMPLETION_QUEUE = 9;
        /// Interrupts: moderation, row = vector.
        MODERATION = 10;
    }
}

layout! {
    /// A registered memory region.
    region: 192 {
        /// Virtual address of its first byte.
        BASE: 0, 64;
        /// Length in bytes.
        LENGTH: 64, 48;
        /// Protection tag; never 0 for a live region.
        TAG: 112, 16;
        /// The key that a memory handle must repeat.
        KEY: 128, 16;
        /// First row of its slice of the page table.
        FIRST_PAGE: 144, 16;
        /// log2 of its page size: 12 to 43.
        PAGE_SHIFT: 160, 6;
        /// The entry is valid.
        LIVE: 166, 1;
        /// Remote peers may write to it.
        RDMA_WRITE: 167, 1;
        /// Remote peers may read it.
        RDMA_READ: 168, 1;
        /// An agent's arena (rings, completion queues): refused in user segments.
        SYSTEM: 169, 1;
        /// The NIC may not write to it: memory that its owner mapped read-only.
        READ_ONLY: 170, 1;
    }
}

layout! {
    /// A page table row.
    page: 64 {
        /// DMA address of the page ([`crate::profile::DMA_ADDRESS_BITS`]); its low page-shift bits are 0.
        ADDRESS: 0, 57;
    }
}

layout! {
    /// A work queue, as the fetch block keeps it.
    work_queue: 128 {
        /// Where the ring starts in its region, in units of 64 bytes from the region's base rounded down to 64.
        RING_OFFSET: 0, 34;
        /// Region (an agent's arena) that holds the ring.
        RING_REGION: 34, 16;
        /// log2 of the ring's slots: 3 to 13.
        RING_LOG2: 50, 4;
        /// The queue belongs to a VI that exists: doorbells to any other are ignored and counted.
        OPEN: 54, 1;
        /// Tag of the ring's region.
        SYSTEM_TAG: 64, 16;
        /// Tag of the VI: descriptors must lie in memory of this tag.
        TAG: 80, 16;
        /// Interrupt vector of the queue's completions: 0 to VECTORS - 1.
        VECTOR: 96, 8;
        /// Completion queue of the queue's completions.
        CQ: 104, 10;
        /// They go to CQ; otherwise to none.
        TO_CQ: 114, 1;
    }
}

layout! {
    /// A completion queue. A commit starts it empty at index 0, disarmed; of a queue that is live it is a
    /// resize: RESULT has the entries written to the old ring, modulo 2^18, the next goes to the new
    /// one, and if it was armed its interrupt comes.
    completion_queue: 128 {
        /// Where the ring starts in its region, in units of 64 bytes from the region's base rounded down to 64. Its entries are 0 when it is committed.
        RING_OFFSET: 0, 34;
        /// Region (an agent's arena) that holds the ring.
        RING_REGION: 34, 16;
        /// log2 of the ring's entries: 2 to 16.
        RING_LOG2: 50, 5;
        /// The queue exists.
        LIVE: 55, 1;
        /// It takes events instead of completions: the agent's error ring. One queue at most.
        EVENTS: 56, 1;
        /// Tag of the ring's region.
        SYSTEM_TAG: 64, 16;
        /// Interrupt vector: 0 to VECTORS - 1.
        VECTOR: 96, 8;
    }
}

layout! {
    /// Interrupt moderation of a vector. It counts from the vector's next interrupt on; after a reset there is none.
    moderation: 64 {
        /// Ticks of 1.024 us: until the time base has moved on by so many since an interrupt of the vector, it sends no other. What
        /// is raised meanwhile is one interrupt then. 0: none.
        HOLDOFF: 0, 15;
    }
}

layout! {
    /// What the gather block knows of a VI.
    gather: 64 {
        /// Tag of the VI: data segments must lie in memory of this tag.
        TAG: 0, 16;
        /// Path MTU: 256 << MTU bytes of payload, MTU 0 to 4.
        MTU: 16, 3;
        /// The raw channel: a message is one frame.
        RAW: 19, 1;
        /// RDMA reads may be sent: the VI is reliable. Otherwise one is a format error.
        RDMA_READ: 21, 1;
        /// MaxTransferSize in bytes: a longer message is a length error.
        MAX_TRANSFER: 32, 32;
    }
}

layout! {
    /// What the transmit block knows of a VI.
    transmit: 128 {
        /// PSN of the next request packet.
        PSN: 0, 24;
        /// Service: see service.
        SERVICE: 24, 2;
        /// The peer is on this NIC: frames turn round inside it.
        LOOPBACK: 26, 1;
        /// RDMA reads that may be outstanding: what the peer keeps of them, 0 to READ_DEPTH.
        READ_DEPTH: 28, 4;
        /// Ticks of 1.024 us without progress after which the oldest unacknowledged packet is sent again; 0: never.
        TIMEOUT: 32, 20;
        /// How often in a row, without progress, that is done before the VI breaks.
        RETRIES: 64, 8;
        /// How often in a row a message that found no receive is sent again before the VI breaks; 255: without end.
        RNR_RETRIES: 72, 8;
    }
}

/// RNR_RETRIES without end: each bit is set, as in InfiniBand's three bits of it (IBA 9.7.5.2.8).
pub const RNR_WITHOUT_END: u8 = 0xFF;

layout! {
    /// What the receive block knows of a VI.
    receive: 128 {
        /// IPv4 address of the peer; most significant byte of the number = first byte on the wire.
        PEER_IP: 0, 32;
        /// PSN expected next.
        PSN: 32, 24;
        /// Service: see service.
        SERVICE: 56, 2;
        /// Path MTU: 256 << MTU bytes of payload, MTU 0 to 4.
        MTU: 58, 3;
        /// Tag of the VI: descriptors and data segments must lie in memory of this tag.
        TAG: 64, 16;
        /// Generation that a queue pair number must carry.
        GENERATION: 80, 14;
        /// The peer may write to this VI's memory.
        RDMA_WRITE: 96, 1;
        /// The peer may read this VI's memory.
        RDMA_READ: 97, 1;
        /// A message that finds no receive gets a receiver-not-ready answer and the VI stays; otherwise it breaks.
        RNR_STAY: 98, 1;
        /// Timer code of that answer: InfiniBand's 5 bits.
        RNR_TIMER: 99, 5;
        /// RDMA reads of the peer's kept at a time, 1 to READ_DEPTH; one more is refused.
        READ_DEPTH: 104, 4;
    }
}

layout! {
    /// A VI's state.
    vi_state: 64 {
        /// See vi_states.
        STATE: 0, 2;
    }
}

codes! {
    /// States of a virtual interface, VIP_VI_STATE's numbers where the hardware knows them.
    vi_states: u8 {
        /// Receives may be posted and stay; sends are flushed; frames are dropped.
        IDLE = 0;
        /// Both queues are processed.
        CONNECTED = 1;
        /// Everything posted is flushed, in order.
        ERROR = 3;
    }
}

codes! {
    /// Transport service of a VI.
    service: u8 {
        /// Unreliable Delivery: unreliable connection on the wire.
        UNRELIABLE = 0;
        /// Reliable Delivery: reliable connection; acknowledged when the checks have passed and the writes are accepted at the edge.
        RELIABLE_DELIVERY = 1;
        /// Reliable Reception: reliable connection; acknowledged when the data is in memory.
        RELIABLE_RECEPTION = 2;
        /// The raw channel: a send is a whole frame without FCS, and so is what a receive gets.
        RAW = 3;
    }
}

layout! {
    /// A header template: the agent writes it, the transmit block patches lengths, IP checksum,
    /// opcode, pad count, PSN and, of a reliable service, the acknowledge request. Bytes 0 to 53 are an untagged frame's
    /// Ethernet, IPv4, UDP and base transport headers in wire order (byte n in bits 8n+7:8n).
    template: 512 {
        /// Bytes 0 to 7.
        HEADERS_0: 0, 64;
        /// Bytes 8 to 15.
        HEADERS_1: 64, 64;
        /// Bytes 16 to 23.
        HEADERS_2: 128, 64;
        /// Bytes 24 to 31: the IP checksum field (bytes 24, 25) holds the one's complement sum of the other IP header words but total length, big-endian, not inverted.
        HEADERS_3: 192, 64;
        /// Bytes 32 to 39.
        HEADERS_4: 256, 64;
        /// Bytes 40 to 47.
        HEADERS_5: 320, 64;
        /// Bytes 48 to 53: the rest of the BTH.
        HEADERS_6: 384, 48;
        /// The four bytes of an 802.1Q tag in wire order, inserted after the source MAC address; 0 = untagged.
        VLAN: 448, 32;
    }
}

layout! {
    /// A completion queue entry.
    cq_entry: 128 {
        /// Token of the completed descriptor, SHORT 0; in the error ring an event (see event).
        TOKEN: 0, 64;
        /// Index of the VI.
        VI: 64, 16;
        /// 1: receive queue, 0: send queue.
        RECEIVE: 80, 1;
        /// 1 in the first lap of the ring, 0 in the second, and so on: a new entry shows without an index.
        PHASE: 127, 1;
    }
}
