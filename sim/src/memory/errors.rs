//! Why a range is not mapped, and why an access does not take place.

use std::io;

use super::MAX_MAPPINGS;

/// Why a range was not mapped or unmapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// Address, length or offset are not multiples of a page, or wrap round.
    #[error("DMA range {iova:#x}+{length:#x} is empty, unaligned or wraps round")]
    Shape {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// A part of it is mapped already.
    #[error("DMA range {iova:#x}+{length:#x} overlaps one that is mapped")]
    Overlap {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// The range to unmap would cut a mapping in two.
    #[error("DMA range {iova:#x}+{length:#x} covers only a part of a mapping")]
    Cuts {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// Writes to these addresses are interrupts: no memory can be there.
    #[error("DMA range {iova:#x}+{length:#x} overlaps the addresses of interrupts")]
    Interrupts {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        length: u64,
    },
    /// The file cannot be used.
    #[error("the file behind DMA range {iova:#x}: {reason}")]
    File {
        /// First DMA address.
        iova: u64,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// Too many mappings.
    #[error("more than {MAX_MAPPINGS} DMA mappings")]
    TooMany,
}

/// Why a device's access did not take place.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No mapping there, or one that ends too early.
    #[error("DMA address {0:#x} is not mapped")]
    Unmapped(u64),
    /// The mapping does not allow it.
    #[error("DMA address {0:#x} is not mapped for this")]
    Forbidden(u64),
    /// The client's file refused: its memory is gone.
    #[error("DMA address {iova:#x}: {source}")]
    File {
        /// The DMA address.
        iova: u64,
        /// What the system said.
        source: io::Error,
    },
}
