//! Connections: the rows of two virtual interfaces that name each other.

use viaduct_spec::handle::queue_pair;
use viaduct_spec::layout::Field;
use viaduct_spec::tables::{gather, receive, service, table, transmit, vi_state, vi_states, work_queue};
use viaduct_spec::wire::UDP_PORT;

use super::layout::{ARENA_REGION, PSN, RING_BYTES, RING_LOG2, SYSTEM_TAG, TAG};
use super::{row, Bench};

/// A virtual interface: which NIC, and its index.
pub type End = (usize, usize);

/// How two virtual interfaces are connected.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Service.
    pub service: u8,
    /// Code of the path MTU.
    pub mtu: u64,
    /// TIMEOUT.
    pub timeout: u64,
    /// RETRIES.
    pub retries: u64,
    /// RNR_RETRIES; RNR_STAY if not 0.
    pub rnr: u64,
    /// READ_DEPTH in both directions.
    pub depth: u64,
    /// RDMA is enabled at the targets.
    pub rdma: bool,
}

impl Level {
    /// Reliable Delivery that sends again.
    pub fn reliable() -> Self {
        let service = service::RELIABLE_DELIVERY;
        Self { service, mtu: 0, timeout: 200, retries: 7, rnr: 200, depth: 4, rdma: true }
    }

    /// Unreliable Delivery.
    pub fn unreliable() -> Self {
        Self { service: service::UNRELIABLE, ..Self::reliable() }
    }
}

impl Bench {
    /// The address of a NIC on Ethernet.
    pub(super) fn mac(nic: usize) -> u64 {
        0x0200_0000_0002 | (nic as u64) << 40
    }

    /// Its IP address.
    pub(super) fn ip(nic: usize) -> u64 {
        0x0A00_0001 + nic as u64
    }

    /// Writes a work queue's row, which empties it. `more` says what is not usual.
    pub fn queue(&mut self, (nic, vi): End, receive: usize, more: &[(Field, u64)]) {
        let at = 2 * vi + receive;
        let mut words = row(&[
            (work_queue::RING_OFFSET, at as u64 * RING_BYTES / 64),
            (work_queue::RING_REGION, ARENA_REGION.into()),
            (work_queue::RING_LOG2, RING_LOG2),
            (work_queue::OPEN, 1),
            (work_queue::SYSTEM_TAG, SYSTEM_TAG),
            (work_queue::TAG, TAG),
        ]);
        more.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::WORK_QUEUE, at as u64, words);
        self.positions[nic][vi][receive] = 0;
    }

    /// The headers of frames from one end to the other.
    pub fn template(from: End, to: End) -> [u8; 64] {
        let mut bytes = [0u8; 64];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &Self::mac(to.0).to_le_bytes()[..6]);
        put(6, &Self::mac(from.0).to_le_bytes()[..6]);
        put(12, &[8, 0, 0x45]);
        put(22, &[64, 17]);
        put(26, &(Self::ip(from.0) as u32).to_be_bytes());
        put(30, &(Self::ip(to.0) as u32).to_be_bytes());
        put(34, &0xC001u16.to_be_bytes());
        put(36, &UDP_PORT.to_be_bytes());
        put(44, &[0xFF, 0xFF]);
        put(46, &Self::queue_pair(to.1).to_be_bytes());
        let sum = (14..34).step_by(2).fold(0u32, |sum, at| {
            let sum = sum + u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            (sum & 0xFFFF) + (sum >> 16)
        });
        bytes[24..26].copy_from_slice(&(sum as u16).to_be_bytes());
        bytes
    }

    /// The queue pair number of a VI.
    pub fn queue_pair(vi: usize) -> u32 {
        row(&[(queue_pair::VI, vi as u64), (queue_pair::GENERATION, 3)])[0] as u32
    }

    /// Connects two virtual interfaces.
    pub fn connect(&mut self, ends: [End; 2], level: Level) {
        for [own, peer] in [ends, [ends[1], ends[0]]] {
            let (nic, vi) = own;
            for (n, bytes) in (0..).zip(Self::template(own, peer).chunks_exact(8)) {
                let word = u64::from_le_bytes(bytes.try_into().unwrap());
                self.commit(nic, table::TEMPLATE, 8 * vi as u64 + n, [word, 0, 0]);
            }
            let rdma = u64::from(level.rdma);
            let rows = [
                (
                    table::GATHER,
                    row(&[
                        (gather::TAG, TAG),
                        (gather::MTU, level.mtu),
                        (gather::RDMA_READ, 1),
                        (gather::MAX_TRANSFER, 0x1_0000),
                    ]),
                ),
                (
                    table::TRANSMIT,
                    row(&[
                        (transmit::PSN, PSN.into()),
                        (transmit::SERVICE, level.service.into()),
                        (transmit::LOOPBACK, (own.0 == peer.0).into()),
                        (transmit::READ_DEPTH, level.depth),
                        (transmit::TIMEOUT, level.timeout),
                        (transmit::RETRIES, level.retries),
                        (transmit::RNR_RETRIES, level.rnr),
                    ]),
                ),
                (
                    table::RECEIVE,
                    row(&[
                        (receive::PEER_IP, Self::ip(peer.0)),
                        (receive::PSN, PSN.into()),
                        (receive::SERVICE, level.service.into()),
                        (receive::MTU, level.mtu),
                        (receive::TAG, TAG),
                        (receive::GENERATION, 3),
                        (receive::RDMA_WRITE, rdma),
                        (receive::RDMA_READ, rdma),
                        (receive::RNR_STAY, (level.rnr != 0).into()),
                        (receive::RNR_TIMER, 1),
                        (receive::READ_DEPTH, level.depth),
                    ]),
                ),
                (table::VI_STATE, row(&[(vi_state::STATE, vi_states::CONNECTED.into())])),
            ];
            self.queue(own, 0, &[]);
            self.queue(own, 1, &[]);
            rows.into_iter().for_each(|(number, words)| self.commit(nic, number, vi as u64, words));
        }
        self.settle();
    }
}
