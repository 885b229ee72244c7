//! From one clock to another, whatever their phases and periods.
//!
//! | block | what crosses |
//! |---|---|
//! | [`Synchronizer`] | one bit that stays long enough to be seen |
//! | [`Crossing`] | bits of which one changes at a time: the flip-flops of the others |
//! | [`Handover`] | a word that changes rarely |
//! | [`AsyncFifo`] | a stream |

mod async_fifo;
mod crossing;
mod handover;
mod synchronizer;

pub use async_fifo::AsyncFifo;
pub use crossing::Crossing;
pub use handover::Handover;
pub use synchronizer::Synchronizer;
