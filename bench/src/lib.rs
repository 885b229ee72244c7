//! What the Verilated NIC takes in device time, and what the wire and the bus would take if its logic took no time.
//!
//! * [`pair`]: two hosts on a network, under [`conditions`]; [`loss`]: what its wire loses; [`edge`]: what crosses their NICs' edges,
//!   and when.
//! * [`latency`], [`stream`]: measurements; [`bound`]: what they are compared with; [`figure`]: what is printed.
//! * [`measurements`]: the table of the figures that have a name; [`sweep`]: many conditions; [`page`]: both in docs/benchmarks.md.
//! * [`program`]: the command line.

pub mod bound;
pub mod conditions;
pub mod edge;
pub mod figure;
pub mod goodput;
pub mod latency;
pub mod loss;
pub mod measurements;
pub mod page;
pub mod pair;
pub mod parallel;
pub mod program;
pub mod stream;
pub mod sweep;
pub mod way;

/// Bytes of a short message.
pub const SHORT: usize = 8;
