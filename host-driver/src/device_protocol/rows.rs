//! Rows of the NIC's tables, as the words that are staged (spec: `tables`).

use std::net::Ipv4Addr;

use viaduct_spec::{
    layout::Field,
    tables::{completion_queue, gather, receive, region, transmit, work_queue},
};

use crate::{
    address::{ConnectionInfo, Mtu, Service},
    not_ready::NotReady,
};

fn row<const N: usize>(fields: &[(Field, u64)]) -> [u64; N] {
    let mut row = [0; N];
    for (field, value) in fields {
        field.put(&mut row, *value);
    }
    row
}

/// A live row of the region table.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// Virtual address of the first byte.
    pub base: u64,
    /// Bytes, less than 2^48.
    pub length: u64,
    /// Protection tag.
    pub tag: u16,
    /// What handles must repeat.
    pub key: u16,
    /// First row of its pages.
    pub first_page: u16,
    /// log2 of its page size.
    pub page_shift: u32,
    /// Remote peers may write.
    pub rdma_write: bool,
    /// Remote peers may read.
    pub rdma_read: bool,
    /// An arena of the agent's.
    pub system: bool,
    /// The NIC may not write.
    pub read_only: bool,
}

impl Region {
    /// The row.
    pub fn words(&self) -> [u64; 3] {
        row(&[
            (region::BASE, self.base),
            (region::LENGTH, self.length),
            (region::TAG, self.tag.into()),
            (region::KEY, self.key.into()),
            (region::FIRST_PAGE, self.first_page.into()),
            (region::PAGE_SHIFT, self.page_shift.into()),
            (region::LIVE, 1),
            (region::RDMA_WRITE, self.rdma_write.into()),
            (region::RDMA_READ, self.rdma_read.into()),
            (region::SYSTEM, self.system.into()),
            (region::READ_ONLY, self.read_only.into()),
        ])
    }
}

/// An open work queue.
#[derive(Debug, Clone, Copy)]
pub struct WorkQueue {
    /// Where the ring starts, in units of 64 bytes from its region's base.
    pub ring_offset: u64,
    /// Region of the ring.
    pub ring_region: u16,
    /// log2 of the ring's slots.
    pub ring_log2: u32,
    /// Tag of the ring's region.
    pub system_tag: u16,
    /// Tag of the VI.
    pub tag: u16,
    /// Interrupt vector of its completions.
    pub vector: u8,
    /// Completion queue of its completions.
    pub cq: Option<u16>,
}

impl WorkQueue {
    /// The row.
    pub fn words(&self) -> [u64; 2] {
        row(&[
            (work_queue::RING_OFFSET, self.ring_offset),
            (work_queue::RING_REGION, self.ring_region.into()),
            (work_queue::RING_LOG2, self.ring_log2.into()),
            (work_queue::OPEN, 1),
            (work_queue::SYSTEM_TAG, self.system_tag.into()),
            (work_queue::TAG, self.tag.into()),
            (work_queue::VECTOR, self.vector.into()),
            (work_queue::CQ, self.cq.unwrap_or(0).into()),
            (work_queue::TO_CQ, self.cq.is_some().into()),
        ])
    }
}

/// A live completion queue, whose ring starts with its region.
#[derive(Debug, Clone, Copy)]
pub struct CompletionQueue {
    /// Region of the ring.
    pub ring_region: u16,
    /// log2 of the ring's entries.
    pub ring_log2: u32,
    /// It takes events.
    pub events: bool,
    /// Tag of the ring's region.
    pub system_tag: u16,
    /// Interrupt vector of its entries.
    pub vector: u8,
}

impl CompletionQueue {
    /// The row.
    pub fn words(&self) -> [u64; 2] {
        row(&[
            (completion_queue::RING_REGION, self.ring_region.into()),
            (completion_queue::RING_LOG2, self.ring_log2.into()),
            (completion_queue::LIVE, 1),
            (completion_queue::EVENTS, self.events.into()),
            (completion_queue::SYSTEM_TAG, self.system_tag.into()),
            (completion_queue::VECTOR, self.vector.into()),
        ])
    }
}

/// The gather block's row of a VI. A reliable one may send RDMA reads; whether the peer answers them is the peer's affair.
pub fn gather(tag: u16, service: Service, mtu: Mtu, max_transfer: u32) -> [u64; 1] {
    row(&[
        (gather::TAG, tag.into()),
        (gather::MTU, mtu.code().into()),
        (gather::MAX_TRANSFER, max_transfer.into()),
        (gather::RDMA_READ, service.is_reliable().into()),
    ])
}

/// Ticks of 1.024 us without progress after which a reliable VI sends again: 4 ms. The longest that a peer keeps an
/// answer back in a network that works is a descriptor's fetch and a frame's way, some hundred microseconds.
pub const TIMEOUT: u32 = 4096;
/// How often in a row it does, before the VI breaks: a second in all.
pub const RETRIES: u8 = 250;
/// How often in a row it sends again to a peer that has no receive, before the VI breaks: VIA's way is at once.
pub const RNR_RETRIES: u8 = 0;

/// The longest time-out that the row has place for: 1.07 s.
const LONGEST_TIMEOUT: u32 = (1 << 20) - 1;
/// However long the time-out is, it ends so often in a row before the VI breaks: what InfiniBand's three bits say at most.
const FEWEST_RETRIES: u32 = 7;

/// The time-out, in ticks, for a peer that may take 4.096 us * 2^`exponent` to acknowledge, as IBA 12.7.34 counts; never less than [`TIMEOUT`].
pub fn timeout(exponent: u8) -> u32 {
    // Four ticks are 4.096 us.
    let ticks = 4_u64.checked_shl(exponent.into()).unwrap_or(u64::MAX);
    u32::try_from(ticks).unwrap_or(u32::MAX).clamp(TIMEOUT, LONGEST_TIMEOUT)
}

/// How often a time-out of so many ticks may end in a row: as often as in a second, as [`RETRIES`] of [`TIMEOUT`] do, but not less than seven times.
pub fn retries(timeout: u32) -> u8 {
    let second = u32::from(RETRIES) * TIMEOUT;
    (second / timeout.max(TIMEOUT)).max(FEWEST_RETRIES) as u8
}

/// The transmit block's row of a VI; `psn` in 24 bits.
/// `reads`: RDMA reads that may be outstanding.
pub fn transmit(psn: u32, service: Service, loopback: bool, reads: u32) -> [u64; 2] {
    row(&[
        (transmit::PSN, psn.into()),
        (transmit::SERVICE, service.code().into()),
        (transmit::LOOPBACK, loopback.into()),
        (transmit::TIMEOUT, TIMEOUT.into()),
        (transmit::RETRIES, RETRIES.into()),
        (transmit::RNR_RETRIES, RNR_RETRIES.into()),
        (transmit::READ_DEPTH, reads.into()),
    ])
}

/// The receive block's row of a VI.
#[derive(Debug, Clone, Copy)]
pub struct Receive {
    /// The peer; 0.0.0.0 while there is none.
    pub peer: Ipv4Addr,
    /// PSN expected next, 24 bits.
    pub psn: u32,
    /// Transport service.
    pub service: Service,
    /// Path MTU.
    pub mtu: Mtu,
    /// Tag of the VI.
    pub tag: u16,
    /// Generation of its queue pair number.
    pub generation: u16,
    /// What the peer may do by itself.
    pub rights: Rights,
    /// What becomes of a message that finds no receive posted. A row of Unreliable Delivery has no answers: it does not say.
    pub not_ready: NotReady,
}

/// What a peer may do with memory that its region opens to it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rights {
    /// RDMA writes.
    pub write: bool,
    /// RDMA reads.
    pub read: bool,
    /// Of which so many at a time.
    pub reads: u32,
}

impl Receive {
    /// Of the VI that `own` describes, with no peer.
    pub fn idle(own: &ConnectionInfo, tag: u16, rights: Rights) -> Self {
        let ConnectionInfo { service, mtu, .. } = *own;
        let (peer, psn) = (Ipv4Addr::UNSPECIFIED, 0);
        let generation = own.generation();
        Self { peer, psn, service, mtu, tag, generation, rights, not_ready: NotReady::Break }
    }

    /// The same, connected to `peer`.
    pub fn connected(own: &ConnectionInfo, peer: &ConnectionInfo, tag: u16, rights: Rights) -> Self {
        let mtu = own.mtu.min(peer.mtu);
        let psn = peer.first_psn.unwrap_or(own.starting_psn);
        Self { peer: peer.ip, psn, mtu, ..Self::idle(own, tag, rights) }
    }

    /// The row.
    pub fn words(&self) -> [u64; 2] {
        let (stay, timer) = match self.not_ready {
            NotReady::Stay { timer, .. } if self.service.is_reliable() => (1, timer),
            _ => (0, 0),
        };
        row(&[
            (receive::PEER_IP, u32::from(self.peer).into()),
            (receive::PSN, self.psn.into()),
            (receive::SERVICE, self.service.code().into()),
            (receive::MTU, self.mtu.code().into()),
            (receive::TAG, self.tag.into()),
            (receive::GENERATION, self.generation.into()),
            (receive::RDMA_WRITE, self.rights.write.into()),
            (receive::RDMA_READ, self.rights.read.into()),
            (receive::READ_DEPTH, self.rights.reads.into()),
            (receive::RNR_STAY, stay),
            (receive::RNR_TIMER, timer.into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_row_as_the_reference_lays_it_out() {
        let words = Region {
            base: 0x7f12_3456_789a,
            length: 0x0001_0000_0001,
            tag: 0xbeef,
            key: 0x1234,
            first_page: 0x0102,
            page_shift: 33,
            rdma_write: true,
            rdma_read: false,
            system: false,
            read_only: true,
        }
        .words();
        assert_eq!(words[0], 0x7f12_3456_789a);
        assert_eq!(words[1], 0xbeef_0001_0000_0001);
        let flags = 1 << 6 | 1 << 7 | 1 << 10;
        assert_eq!(words[2], 0x1234 | 0x0102 << 16 | (33 | flags) << 32);
    }

    #[test]
    fn a_work_queue_row_as_the_reference_lays_it_out() {
        let queue = WorkQueue {
            ring_offset: 0x80,
            ring_region: 1,
            ring_log2: 10,
            system_tag: 7,
            tag: 9,
            vector: 5,
            cq: None,
        };
        let words = queue.words();
        assert_eq!(words[0], 0x80 | 1 << 34 | 10 << 50 | 1 << 54);
        assert_eq!(words[1], 7 | 9 << 16 | 5 << 32);
        let words = WorkQueue { cq: Some(3), ..queue }.words();
        assert_eq!(words[1], 7 | 9 << 16 | 5 << 32 | 3 << 40 | 1 << 50);
    }

    #[test]
    fn a_completion_queue_row_as_the_reference_lays_it_out() {
        let queue = CompletionQueue { ring_region: 9, ring_log2: 16, events: true, system_tag: 7, vector: 5 };
        assert_eq!(queue.words(), [9 << 34 | 16 << 50 | 1 << 55 | 1 << 56, 7 | 5 << 32]);
    }

    #[test]
    fn per_vi_rows_as_the_reference_lays_them_out() {
        let mtu = Mtu::DEFAULT;
        assert_eq!(gather(9, Service::UnreliableDelivery, mtu, 1 << 30), [9 | 2 << 16 | 1 << 62]);
        assert_eq!(gather(9, Service::ReliableDelivery, mtu, 1 << 30), [9 | 2 << 16 | 1 << 21 | 1 << 62]);
        assert_eq!(
            transmit(0xff_ffff, Service::ReliableDelivery, true, 4),
            [0xff_ffff | 1 << 24 | 1 << 26 | 4 << 28 | 4096 << 32, 250]
        );
        let row = Receive {
            peer: Ipv4Addr::new(10, 1, 2, 3),
            psn: 0xab_cdef,
            service: Service::UnreliableDelivery,
            mtu,
            tag: 9,
            generation: 0x3fff,
            rights: Rights { write: true, read: true, reads: 4 },
            not_ready: NotReady::Stay { timer: 31, retries: 3 },
        };
        assert_eq!(
            row.words(),
            [0x0a01_0203 | 0xab_cdef << 32 | 2 << 58, 9 | 0x3fff << 16 | 3 << 32 | 4 << 40]
        );
        let stays = Receive { service: Service::ReliableDelivery, ..row }.words();
        assert_eq!(stays[1], 9 | 0x3fff << 16 | 3 << 32 | 1 << 34 | 31 << 35 | 4 << 40);
    }
}
