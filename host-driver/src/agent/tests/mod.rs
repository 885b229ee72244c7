//! What the agent tells a function, in which order. What a NIC makes of it is tested on the RTL.

mod channel;
mod function;
mod leases;
mod rate;
mod regions;
mod rings;
mod states;
mod vis;

use viaduct_spec::{
    layout::Field,
    register::command_op,
    tables::{self, completion_queue, region, table, work_queue},
};

use super::{vis::Direction, *};
use crate::{
    address::{ConnectionInfo, Mtu, Service},
    cm::NotReady,
    consumer::{Cq, Vi},
    kernel_agent::{ErrorClass, ViAttributes},
    ledger::{Deed, Ledger},
};

fn options() -> Options {
    Options { seed: Some(7), ..Options::new(Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1)) }
}

fn open() -> (Arc<Ledger>, Arc<Agent>) {
    let ledger = Arc::new(Ledger::new());
    let agent = Agent::open(Arc::clone(&ledger) as _, options()).expect("a sound function");
    (ledger, agent)
}

fn create_vi(agent: &Arc<Agent>, attributes: ViAttributes) -> Result<Vi, AgentError> {
    Vi::create(Arc::clone(agent) as _, attributes)
}

fn create_cq(agent: &Arc<Agent>, entries: usize) -> Result<Cq, AgentError> {
    Cq::create(Arc::clone(agent) as _, entries)
}

fn attributes(tag: u16) -> MemoryAttributes {
    MemoryAttributes { tag, rdma_write: false, rdma_read: false }
}

fn vi_attributes(tag: u16) -> ViAttributes {
    ViAttributes {
        tag,
        service: Service::ReliableDelivery,
        mtu: Mtu::DEFAULT,
        max_transfer: 1 << 20,
        send_log2: 4,
        receive_log2: 10,
        rdma_write: false,
        rdma_read: false,
        not_ready: NotReady::Break,
        send_cq: None,
        receive_cq: None,
    }
}

/// Registers memory that outlives the test.
fn register(agent: &Agent, memory: &'static [u8], tag: u16) -> Result<u32, AgentError> {
    // SAFETY: static memory stays, and the ledger never touches it.
    unsafe { agent.register(memory.as_ptr() as usize, memory.len(), attributes(tag)) }
}

static MEMORY: [u8; 20_000] = [1; 20_000];
