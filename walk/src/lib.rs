//! Differential random walks: random programs on random networks and root complexes, gone through by pairs of NICs, the
//! RTL and mixed ones, and held against the functional model.
//!
//! ```text
//!   seed --> generator --> program --> machine --> outcome --+--> judge --> tally
//!                             ^        (RTL, mixed, model)   |      |
//!                             +-------------- shrink <-------+------+--> evidence
//! ```
//!
//! * [`ability`]: what programs may use.
//! * [`generator`], [`program`], [`operation`], [`conditions`], [`weather`]: programs.
//! * [`machine`], [`memory`], [`rows`], [`descriptor`], [`consumer`]: hosts that go through them.
//! * [`outcome`], [`judge`]: what came of it, and whether the model allows it.
//! * [`shrink`], [`evidence`], [`tally`], [`soak`]: many of them.

pub mod ability;
pub mod conditions;
pub mod consumer;
pub mod descriptor;
pub mod evidence;
pub mod generator;
pub mod judge;
pub mod machine;
pub mod memory;
pub mod open;
pub mod operation;
pub mod outcome;
pub mod program;
pub mod rows;
pub mod shrink;
pub mod soak;
pub mod tally;
pub mod weather;
