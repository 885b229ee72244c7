//! The ends of a message: acknowledgement, way out, completion, completion queues, on their exported Verilog.

mod ack;
mod cq_random;
mod cq_world;
mod egress;
mod indices;
mod queues;
mod flush_read;
mod sends;
mod writer;

#[path = "../common/bundle.rs"]
mod bundle;
