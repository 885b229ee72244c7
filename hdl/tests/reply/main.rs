//! Answers to the RDMA reads of peers, on their exported Verilog.

mod behind;
mod packet_divider;
mod random;
mod requests;
mod slot_match;

#[path = "../common/bundle.rs"]
mod bundle;
