//! RDMA reads between two NICs: both sides are the whole NIC.

mod gone;
mod lost;
mod readers;
mod refused;
mod repeated;
mod under_way;

use viaduct_driver::address::Service;
use viaduct_spec::descriptor::status;

const RELIABLE: Service = Service::ReliableDelivery;
const READ: u32 = status::DONE | status::OP_RDMA_READ;
const WROTE: u32 = status::DONE | status::OP_RDMA_WRITE;
const SENT: u32 = status::DONE | status::OP_SEND;
/// Where in a host's memory the peer may read, and how much.
const AT: usize = 0x8000;
const BYTES: usize = 0x8000;
/// Where answers go.
const TO: usize = 0x2003;
/// Ticks without progress after which a request is sent again: few, so that a test of losses is short.
const TIMEOUT: u64 = 64;
