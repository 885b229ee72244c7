//! The ends of a message: acknowledgement, way out, completion, completion queues, on their exported Verilog.

mod ack;
mod again;
mod cq_random;
mod cq_world;
mod effects;
mod egress;
mod flush_read;
mod indices;
mod queues;
mod refusals;
mod requester;
mod rewinds;
mod ring;
mod ring_blocks;
mod sends;
mod timers;
mod waits;
mod writer;

#[path = "../common/bundle.rs"]
mod bundle;
