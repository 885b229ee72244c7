//! What the NIC owes its peers: the answers to their RDMA reads.

mod requests;

pub use requests::Requests;
