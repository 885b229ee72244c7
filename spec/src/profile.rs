//! Table sizes. There are two profiles: the board's, which fits an ECP5-45F, and the large one, for devices with some
//! hundred block RAMs more: the feature `large` of this crate, which those that build on it pass on.

/// `board` in the board's profile, `large` in the large one.
const fn choose(board: usize, large: usize) -> usize {
    if cfg!(feature = "large") {
        large
    } else {
        board
    }
}

/// log2 of the number of virtual interfaces.
pub const VI_LOG2: usize = choose(6, 10);
/// Virtual interfaces.
pub const VIS: usize = 1 << VI_LOG2;
/// log2 of the rows of the region table; row 0 is never used.
pub const REGION_LOG2: usize = choose(8, 12);
/// Rows of the region table.
pub const REGIONS: usize = 1 << REGION_LOG2;
/// log2 of the rows of the page table.
pub const PAGE_LOG2: usize = choose(11, 14);
/// Rows of the page table.
pub const PAGES: usize = 1 << PAGE_LOG2;
/// Bits of a DMA address of memory: what the five levels of an IOMMU's tables translate, and more than processors
/// have physical addresses.
pub const DMA_ADDRESS_BITS: u32 = 57;
/// log2 of the doorbell page stride in bytes.
pub const DOORBELL_SHIFT: usize = 12;
/// Size of BAR 2, the doorbell pages of VIs and completion queues, in bytes: a power of two.
pub const BAR2_BYTES: u64 = ((VIS + CQS) as u64).next_power_of_two() << DOORBELL_SHIFT;
/// log2 of the receive descriptors fetched ahead for each VI.
pub const RECEIVE_AHEAD_LOG2: usize = choose(3, 2);
/// Receive descriptors fetched ahead for each VI.
pub const RECEIVE_AHEAD: usize = 1 << RECEIVE_AHEAD_LOG2;
/// log2 of the messages that a VI may have unacknowledged.
pub const SEND_WINDOW_LOG2: usize = choose(5, 4);
/// Messages that a VI may have unacknowledged.
pub const SEND_WINDOW: usize = 1 << SEND_WINDOW_LOG2;
/// log2 of the reads of host memory in flight, each of up to [`READ_BYTES`].
pub const READ_TAGS_LOG2: usize = 4;
/// Reads of host memory in flight.
pub const READ_TAGS: usize = 1 << READ_TAGS_LOG2;
/// Most bytes that one read asks for.
pub const READ_BYTES: usize = 512;
/// log2 of the completion queues.
pub const CQ_LOG2: usize = 6;
/// Completion queues.
pub const CQS: usize = 1 << CQ_LOG2;
/// log2 of the RDMA reads that a VI may have outstanding, and of those of its peer's that it keeps.
pub const READ_DEPTH_LOG2: usize = 2;
/// RDMA reads that a VI may have outstanding, and those of its peer's that it keeps.
pub const READ_DEPTH: usize = 1 << READ_DEPTH_LOG2;
/// log2 of the MSI-X vectors.
pub const VECTOR_LOG2: usize = 3;
/// MSI-X vectors.
pub const VECTORS: usize = 1 << VECTOR_LOG2;
