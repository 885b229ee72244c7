//! The ends of a message: acknowledgement, way out, completion, on their exported Verilog.

mod ack;
mod again;
mod egress;
mod flush_read;
mod refusals;
mod requester;
mod sends;
mod writer;

#[path = "../common/bundle.rs"]
mod bundle;
