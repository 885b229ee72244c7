//! Whoever asks a live network: what can be asked, and what it says of itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::mpsc::{self, Sender, SyncSender};

use serde::Serialize;
use viaduct_link::link::Counters;

use crate::fabric::{FabricCounters, Faults, PortCounters};
use crate::memory::{MapError, Range};
use crate::root_complex::{Access, BusCounters, Client, DmaAnswer, MessageId};
use crate::stream::{Peer, StreamStatus};

/// What is done with what a load gives. It must not wait: the stepping thread does it.
pub(super) type Answer = Box<dyn FnOnce(u64) + Send>;

/// What can be asked of a live network.
pub(super) enum Request {
    Load(usize, Access, Answer),
    Store(usize, Access, u64),
    ConfigRead(usize, usize, usize, Sender<Vec<u8>>),
    ConfigWrite(usize, usize, Vec<u8>, Sender<()>),
    Map(usize, Range, Option<File>, Sender<Result<(), MapError>>),
    Unmap(usize, u64, u64, Sender<Result<u64, MapError>>),
    UnmapAll(usize, Sender<()>),
    Reset(usize, Sender<()>),
    SetVectors(usize, usize, Vec<Option<File>>, Sender<()>),
    Raise(usize, usize, Sender<()>),
    Attach(usize, Box<dyn Client>),
    Detach(usize),
    DmaAnswer(usize, MessageId, DmaAnswer),
    Plug(usize, Peer),
    LookAtPort(usize),
    Status(Sender<Status>),
    Faults(Faults, Sender<()>),
    Stop,
}

/// The network has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulation has ended")]
pub struct Ended;

/// What a network says of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Cycles since power-up.
    pub cycles: u64,
    /// Simulated time in nanoseconds.
    pub simulated_ns: u64,
    /// Wall time since the start in nanoseconds.
    pub wall_ns: u64,
    /// Wall time of it in which something moved.
    pub busy_ns: u64,
    /// The NICs.
    pub nics: Vec<NicStatus>,
    /// The ports for peers outside.
    pub ports: Vec<StreamStatus>,
    /// The fabric.
    pub fabric: FabricCounters,
    /// Faults in force.
    pub faults: Faults,
}

/// What a NIC's root port has seen: packets, and those that were sent more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkStatus {
    /// To the NIC.
    pub to_nic: u64,
    /// From it.
    pub from_nic: u64,
    /// To it, once more.
    pub to_nic_again: u64,
    /// From it, once more: as they came in.
    pub from_nic_again: u64,
}

impl From<Counters> for LinkStatus {
    fn from(counters: Counters) -> Self {
        Self {
            to_nic: counters.sent,
            from_nic: counters.received,
            to_nic_again: counters.replayed,
            from_nic_again: counters.duplicates,
        }
    }
}

/// What a network says of one NIC.
#[derive(Debug, Clone, Serialize)]
pub struct NicStatus {
    /// The bus.
    pub bus: BusCounters,
    /// The link.
    pub link: PortCounters,
    /// Its PCI Express link, if it has one.
    pub pcie: Option<LinkStatus>,
    /// DMA mappings.
    pub mappings: usize,
    /// The NIC's own counters by name; none while it does not answer.
    pub counters: BTreeMap<&'static str, u64>,
    /// The first rules of the bus that it has broken.
    pub violations: Vec<String>,
}

/// Asks a live network. Calls wait for the answer.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(super) requests: SyncSender<Request>,
    pub(super) nics: usize,
    pub(super) ports: usize,
}

impl Handle {
    /// Number of NICs.
    pub fn nics(&self) -> usize {
        self.nics
    }

    /// Number of ports for peers outside.
    pub fn ports(&self) -> usize {
        self.ports
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, Ended> {
        let (sender, receiver) = mpsc::channel();
        self.requests.send(request(sender)).map_err(|_| Ended)?;
        receiver.recv().map_err(|_| Ended)
    }

    /// A load.
    pub fn load(&self, nic: usize, access: Access) -> Result<u64, Ended> {
        let (sender, receiver) = mpsc::channel();
        self.load_then(nic, access, move |value| {
            // Who asked may be gone by then: nobody wants the answer.
            let _ = sender.send(value);
        })?;
        receiver.recv().map_err(|_| Ended)
    }

    /// A load that nobody waits for: the stepping thread does `then` with what it gives, which must not wait. When the simulation ends before,
    /// `then` is dropped.
    pub fn load_then(
        &self,
        nic: usize,
        access: Access,
        then: impl FnOnce(u64) + Send + 'static,
    ) -> Result<(), Ended> {
        self.requests.send(Request::Load(nic, access, Box::new(then))).map_err(|_| Ended)
    }

    /// A store: posted, but in order with everything that is asked later.
    pub fn store(&self, nic: usize, access: Access, value: u64) -> Result<(), Ended> {
        self.requests.send(Request::Store(nic, access, value)).map_err(|_| Ended)
    }

    /// Reads configuration space.
    pub fn config_read(&self, nic: usize, offset: usize, length: usize) -> Result<Vec<u8>, Ended> {
        self.ask(|answer| Request::ConfigRead(nic, offset, length, answer))
    }

    /// Writes configuration space.
    pub fn config_write(&self, nic: usize, offset: usize, data: Vec<u8>) -> Result<(), Ended> {
        self.ask(|answer| Request::ConfigWrite(nic, offset, data, answer))
    }

    /// Lets a NIC reach memory.
    pub fn map(&self, nic: usize, range: Range, file: Option<File>) -> Result<Result<(), MapError>, Ended> {
        self.ask(|answer| Request::Map(nic, range, file, answer))
    }

    /// Takes memory back; when it returns, nothing reaches it any more. Gives back the bytes.
    pub fn unmap(&self, nic: usize, iova: u64, length: u64) -> Result<Result<u64, MapError>, Ended> {
        self.ask(|answer| Request::Unmap(nic, iova, length, answer))
    }

    /// Takes all memory back.
    pub fn unmap_all(&self, nic: usize) -> Result<(), Ended> {
        self.ask(|answer| Request::UnmapAll(nic, answer))
    }

    /// Resets a function.
    pub fn reset(&self, nic: usize) -> Result<(), Ended> {
        self.ask(|answer| Request::Reset(nic, answer))
    }

    /// Gives a NIC's vectors from `start` on an eventfd each, or takes it away.
    pub fn set_vectors(&self, nic: usize, start: usize, eventfds: Vec<Option<File>>) -> Result<(), Ended> {
        self.ask(|answer| Request::SetVectors(nic, start, eventfds, answer))
    }

    /// Raises a vector without the NIC.
    pub fn raise(&self, nic: usize, vector: usize) -> Result<(), Ended> {
        self.ask(|answer| Request::Raise(nic, vector, answer))
    }

    /// A client that answers DMA messages has come.
    pub fn attach(&self, nic: usize, client: Box<dyn Client>) -> Result<(), Ended> {
        self.requests.send(Request::Attach(nic, client)).map_err(|_| Ended)
    }

    /// It has gone: what it has not answered is refused.
    pub fn detach(&self, nic: usize) -> Result<(), Ended> {
        self.requests.send(Request::Detach(nic)).map_err(|_| Ended)
    }

    /// It has answered a message.
    pub fn dma_answer(&self, nic: usize, id: MessageId, answer: DmaAnswer) -> Result<(), Ended> {
        self.requests.send(Request::DmaAnswer(nic, id, answer)).map_err(|_| Ended)
    }

    /// A peer is connected to a port. A port that there is not takes none.
    pub fn plug(&self, port: usize, peer: Peer) -> Result<(), Ended> {
        self.requests.send(Request::Plug(port, peer)).map_err(|_| Ended)
    }

    /// The peer of a port has sent a frame, or is gone.
    pub fn look_at_port(&self, port: usize) -> Result<(), Ended> {
        self.requests.send(Request::LookAtPort(port)).map_err(|_| Ended)
    }

    /// What the network says of itself.
    pub fn status(&self) -> Result<Status, Ended> {
        self.ask(Request::Status)
    }

    /// New faults.
    pub fn set_faults(&self, faults: Faults) -> Result<(), Ended> {
        self.ask(|answer| Request::Faults(faults, answer))
    }

    /// Ends the simulation.
    pub fn stop(&self) {
        // If it has ended already there is nobody to tell.
        let _ = self.requests.send(Request::Stop);
    }
}
