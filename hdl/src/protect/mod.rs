//! The protection checker: the only way from any block of the NIC to host memory.
//!
//! ```text
//!   fetch ──►┌────────────────────────────────────────────────────────────┐
//!  gather ──►│ AccessIntake ──► Range ──────► page RAM ──► two CommandOut │──► read   (DmaCommand)
//! scatter ──►│ turns,           distances,                                │──► write  (DmaCommand)
//! complete ─►│ SharedPort       limits                       Outstanding  │──► verdict
//!   flush ──►│ RegionTable                                                │──► draining
//!  commit ──►└────────────────────────────────────────────────────────────┘
//! ```
//! An access is granted if and only if
//! - its region is a row of the table other than 0, and the row is live;
//! - the row is the system's if and only if the access is;
//! - the keys are equal, or the access is by offset; the tags are equal;
//! - it does not write into a read-only region;
//! - the row gives each right of remote peers that the access names (RDMA_WRITE, RDMA_READ);
//! - from its first byte on, `length` bytes lie in the region, and of a remote peer's access `span` bytes, which may be more; with
//!   `clip`, at least one does, and `length` is shortened to those that do;
//! - the rows of the page table that it needs exist.
//!
//! No sum in these rules is ever cut to a width in which it could wrap.

mod access_intake;
mod checker;
mod command_cut;
mod command_out;
mod epoch_tally;
mod outstanding;
mod range;
mod region;
mod shared_port;

pub use access_intake::AccessIntake;
pub use checker::Protect;
pub use epoch_tally::EpochTally;
pub use outstanding::Outstanding;
pub use range::Range;
pub use region::{Region, RegionExtent, RegionTable};
pub use shared_port::SharedPort;
