//! What the calls of VIPL's data path cost in instructions, through the C interface, as callgrind counts them.
//!
//! ```text
//!   calls.c ── libvipl.so, as it is shipped ──┐ doorbell page: memory         ┌── stand_in: completes what is posted,
//!   (under callgrind)                         ├──────────────────────────────>│   before it answers a message
//!                                             └─ or through viad, which polls ─┘
//! ```
//!
//! The calls are counted, and everything that they call; what the machine does meanwhile counts for nothing, so the same library has
//! the same figures everywhere.

pub mod atomics;
pub mod callgrind;
pub mod measure;
pub mod rows;
pub mod stand_in;
pub mod tables;
