//! Tests of the model alone, named after the rules of docs/semantics.md.

mod bench;
mod cq;
mod driven;
mod linux;
mod noise;
mod reliable;
mod traffic;
mod unreliable;
mod work_queues;
