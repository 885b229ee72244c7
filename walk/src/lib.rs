//! Differential random walks: random programs on random networks and root complexes, gone through by pairs of NICs, the
//! RTL and mixed ones, and held against the functional model.
//!
//! ```text
//!   corpus --> seed --> generator --> program --> machine --> traces --> judge --> tally
//!                                        ^    (RTL, mixed)              |  follow: one schedule of the model
//!                                        +---------- shrink <-----------+--> evidence
//! ```
//!
//! * [`corpus`], seeds; [`generator`], [`program`], [`operation`], [`conditions`], [`fault_injection`]: programs.
//! * [`machine`], [`memory`], [`rows`], [`descriptor`], [`consumer`]: hosts that go through them.
//! * [`trace`], [`outcome`]: what came of it. [`follow`], [`judge`]: whether the model does the same.
//! * [`shrink`], [`evidence`], [`tally`], [`soak`]: many of them.

pub mod conditions;
pub mod consumer;
pub mod corpus;
pub mod descriptor;
pub mod evidence;
pub mod fault_injection;
pub mod follow;
pub mod generator;
pub mod judge;
pub mod machine;
pub mod memory;
pub mod operation;
pub mod outcome;
pub mod program;
pub mod rows;
pub mod shrink;
pub mod soak;
pub mod tally;
pub mod trace;
