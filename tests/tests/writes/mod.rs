//! RDMA writes that come in, on the whole NIC: frames made by hand, and those that Linux sent, addressed to our VI and
//! our memory. And the other answers of a responder: receiver not ready, the last word again, Reliable Reception.

mod answers;
mod linux;
mod reception;
mod target;

use viaduct_driver::address::Service;
use viaduct_spec::descriptor::status;

const UNRELIABLE: Service = Service::UnreliableDelivery;
const RELIABLE: Service = Service::ReliableDelivery;
const WRITTEN: u32 = status::DONE | status::OP_REMOTE_RDMA_WRITE;
const IMMEDIATE: u32 = 0x1122_3344;
/// Where in the host's memory the peer may write, and how much.
const AT: usize = 0x8000;
const BYTES: usize = 0x4000;

/// Bytes that differ with their salt.
fn fill(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|n| (n as u8).wrapping_mul(29) ^ salt ^ (n >> 8) as u8).collect()
}
