//! A program: connections between two NICs, and what their hosts do.

use std::fmt;

use viaduct_spec::tables::service;

use crate::conditions::Conditions;
use crate::operation::Operation;

/// Most connections of a program.
pub const CONNECTIONS: usize = 4;

/// Which completion queue a work queue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionQueue {
    /// None.
    None,
    /// One of the NIC's that any work queue may have; it has room for all of them.
    Shared(usize),
    /// One of its own, with room for four entries that nobody takes before everything rests: it may run over.
    Small,
}

/// Completion queues of a NIC that work queues share.
pub const SHARED: usize = 2;

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// NIC of each end; the same for both: frames turn round inside it.
    pub nics: [usize; 2],
    /// VI of each end.
    pub vis: [usize; 2],
    /// Service.
    pub service: u8,
    /// Code of the path MTU.
    pub mtu: u64,
    /// log2 of the rings' slots.
    pub ring_log2: u64,
    /// First PSN of each direction.
    pub psns: [u32; 2],
    /// RETRIES of both ends, with a time-out of so many ticks.
    pub retries: (u64, u64),
    /// A message that finds no receive waits, so many times.
    pub not_ready: u64,
    /// READ_DEPTH of both ends.
    pub depth: u64,
    /// MAX_TRANSFER.
    pub max_transfer: u64,
    /// The peer may write, and read.
    pub rights: [bool; 2],
    /// Pages are scattered over the host's memory.
    pub scattered: bool,
    /// Its ends' memory lies at the end of the address space.
    pub high: bool,
    /// The completion queues of each end's send and receive queue.
    pub completion_queues: [[CompletionQueue; 2]; 2],
}

impl Connection {
    /// Whether what is lost is sent again, or at least acknowledged.
    pub fn is_reliable(&self) -> bool {
        self.service != service::UNRELIABLE
    }
}

/// A program.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The seed that it was made from.
    pub seed: u64,
    /// Networks and root complexes.
    pub conditions: Conditions,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Steps.
    pub operations: Vec<Operation>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        writeln!(f, "{:?}", self.conditions)?;
        for (number, connection) in self.connections.iter().enumerate() {
            writeln!(f, "connection {number}: {connection:?}")?;
        }
        for (number, operation) in self.operations.iter().enumerate() {
            writeln!(f, "{number:3}: {operation:?}")?;
        }
        Ok(())
    }
}
