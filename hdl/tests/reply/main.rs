//! Answers to the RDMA reads of peers, on their exported Verilog.

mod random;
mod requests;

#[path = "../common/bundle.rs"]
mod bundle;
