//! The ends of a message: acknowledgement, way out, completion, on their exported Verilog.

mod ack;
mod egress;
mod flush_read;
mod sends;
mod writer;

#[path = "../common/bundle.rs"]
mod bundle;
