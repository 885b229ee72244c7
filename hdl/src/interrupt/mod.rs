//! Interrupts: which consumers wait for which queue, and the MSI-X vectors.
//!
//! | block | what for |
//! |---|---|
//! | [`Notify`] | what each queue has completed, and whether its consumer sleeps |
//! | [`Vectors`] | which interrupts are pending, and which may leave |
//! | [`InterruptMessage`] | the memory write of one interrupt |
//! | [`Holdoff`] | which vectors rest after an interrupt |
//! | [`VectorTable`] | the MSI-X table in BAR 0 |

mod holdoff;
mod message;
mod notify;
mod table;
mod vectors;

pub use holdoff::Holdoff;
pub use message::InterruptMessage;
pub use notify::{Notify, NotifyJob, NotifyRow};
pub use table::{VectorAddress, VectorTable, PLACE_BITS as VECTOR_PLACE_BITS, ROW_LOG2 as VECTOR_ROW_LOG2};
pub use vectors::Vectors;
