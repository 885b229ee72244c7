//! The crossing between the endpoint's clock and the core's, at ratios of the clocks that have every phase.

mod credits;
mod packets;
mod world;
