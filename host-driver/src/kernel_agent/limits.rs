//! What a NIC is, and how large.

/// What carries out the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NicKind {
    /// The RTL: on a chip, or Verilated.
    Rtl,
    /// The functional model.
    Model,
}

/// What the NIC's registers say of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Limits {
    /// Virtual interfaces.
    pub vis: u16,
    /// Completion queues; the first is the agent's.
    pub cqs: u16,
    /// Rows of the region table; row 0 is never used, and two are the agent's.
    pub regions: u32,
    /// Rows of the page table.
    pub pages: u32,
    /// log2 of the doorbell page stride.
    pub doorbell_shift: u32,
    /// Receive descriptors that the NIC fetches ahead for a VI.
    pub receive_ahead: u32,
    /// RDMA reads of a VI in each direction at a time.
    pub read_depth: u32,
}

impl Limits {
    /// Where a VI's doorbell page is in the doorbell BAR.
    pub fn vi_page(&self, vi: u16) -> u64 {
        u64::from(vi) << self.doorbell_shift
    }

    /// Where a completion queue's doorbell page is: behind those of all VIs.
    pub fn cq_page(&self, cq: u16) -> u64 {
        (u64::from(self.vis) + u64::from(cq)) << self.doorbell_shift
    }
}
