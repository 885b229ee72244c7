//! What the Verilated NIC takes in device time, and what the wire and the bus would take if its logic took no time.
//!
//! * [`pair`]: two hosts on a network; [`edge`]: what crosses their NICs' edges, and when.
//! * [`latency`], [`stream`]: measurements; [`bound`]: what they are compared with; [`figure`]: what is printed.

pub mod bound;
pub mod edge;
pub mod figure;
pub mod latency;
pub mod pair;
pub mod stream;
pub mod way;

/// Bytes of a short message.
pub const SHORT: usize = 8;
