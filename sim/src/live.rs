//! A network that lives: one thread steps it, others ask it through a [`Handle`].
//!
//! While anything moves, device time runs as fast as the simulation can. While all NICs are idle
//! it follows the wall clock, and the thread sleeps until somebody asks or answers, or a NIC's
//! deadline comes.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::Instant;

use serde::Serialize;

use crate::clock::{duration, Anchor};
use crate::fabric::{FabricCounters, Faults, PortCounters};
use crate::memory::{MapError, Range};
use crate::network::{Activity, Network};
use crate::root_complex::{Access, BusCounters, Client, DmaAnswer, LoadId, MessageId};

/// Cycles between two looks at what is asked: few, because each look is a part of every load's
/// wall time.
const STEP: u64 = 16;
/// Requests that wait for the stepping thread; who asks more waits.
const QUEUE: usize = 256;

/// What can be asked of a live network.
enum Request {
    Load(usize, Access, Sender<u64>),
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
    /// The fabric.
    pub fabric: FabricCounters,
    /// Faults in force.
    pub faults: Faults,
}

/// What a network says of one NIC.
#[derive(Debug, Clone, Serialize)]
pub struct NicStatus {
    /// The bus.
    pub bus: BusCounters,
    /// The link.
    pub link: PortCounters,
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
    requests: SyncSender<Request>,
    nics: usize,
}

impl Handle {
    /// Number of NICs.
    pub fn nics(&self) -> usize {
        self.nics
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, Ended> {
        let (sender, receiver) = mpsc::channel();
        self.requests.send(request(sender)).map_err(|_| Ended)?;
        receiver.recv().map_err(|_| Ended)
    }

    /// A load.
    pub fn load(&self, nic: usize, access: Access) -> Result<u64, Ended> {
        self.ask(|answer| Request::Load(nic, access, answer))
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

/// The stepping side.
pub struct Live {
    network: Network,
    requests: Receiver<Request>,
    /// Loads under way.
    loads: Vec<(usize, LoadId, Sender<u64>)>,
    started: Instant,
    busy: std::time::Duration,
}

impl Live {
    /// Makes a network live; [`Live::run`] has to be called in a thread of its own.
    pub fn new(network: Network) -> (Self, Handle) {
        let (sender, requests) = mpsc::sync_channel(QUEUE);
        let handle = Handle { requests: sender, nics: network.len() };
        let live = Self {
            network,
            requests,
            loads: Vec::new(),
            started: Instant::now(),
            busy: std::time::Duration::ZERO,
        };
        (live, handle)
    }

    /// Steps the network until somebody stops it or no handle is left; gives it back.
    pub fn run(mut self) -> Network {
        while self.turn().is_some() {}
        self.network
    }

    /// One step, or one sleep; `None` at the end.
    fn turn(&mut self) -> Option<()> {
        match self.network.activity() {
            Activity::Busy => {
                let start = Instant::now();
                while !self.network.is_crowded() {
                    match self.requests.try_recv() {
                        Ok(request) => self.serve(request)?,
                        Err(mpsc::TryRecvError::Empty) => break,
                        Err(mpsc::TryRecvError::Disconnected) => return None,
                    }
                }
                if self.network.wall_deadline().is_some_and(|deadline| deadline <= start) {
                    self.network.look_at_wall(start);
                }
                self.network.step(STEP);
                self.answer_loads();
                self.busy += start.elapsed();
            }
            Activity::Idle(until) => {
                let anchor = Anchor::new(self.network.now());
                let wake = until.map(|cycle| anchor.until(cycle));
                let wall = self.network.wall_deadline();
                let wall = wall.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                let request = match [wake, wall].into_iter().flatten().min() {
                    Some(wait) => self.requests.recv_timeout(wait),
                    None => self.requests.recv().map_err(RecvTimeoutError::from),
                };
                self.network.skip_to(anchor.cycle());
                self.network.look_at_wall(Instant::now());
                match request {
                    Ok(request) => self.serve(request)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
                self.answer_loads();
            }
        }
        Some(())
    }

    fn answer_loads(&mut self) {
        let network = &mut self.network;
        self.loads.retain(|(nic, load, answer)| match network.answer(*nic, *load) {
            Some(value) => {
                // Who asked may be gone by now.
                let _ = answer.send(value);
                false
            }
            None => true,
        });
    }

    fn serve(&mut self, request: Request) -> Option<()> {
        let network = &mut self.network;
        // Who asked may be gone by now: then nobody wants the answer.
        match request {
            Request::Load(nic, access, answer) => {
                let load = network.load(nic, access);
                self.loads.push((nic, load, answer));
            }
            Request::Store(nic, access, value) => network.store(nic, access, value),
            Request::ConfigRead(nic, offset, length, answer) => {
                let mut data = vec![0; length];
                network.config_read(nic, offset, &mut data);
                let _ = answer.send(data);
            }
            Request::ConfigWrite(nic, offset, data, answer) => {
                network.config_write(nic, offset, &data);
                let _ = answer.send(());
            }
            Request::Map(nic, range, file, answer) => {
                let _ = answer.send(network.memory(nic).map(&range, file));
            }
            Request::Unmap(nic, iova, length, answer) => {
                let _ = answer.send(network.memory(nic).unmap(iova, length));
            }
            Request::UnmapAll(nic, answer) => {
                network.memory(nic).clear();
                let _ = answer.send(());
            }
            Request::Reset(nic, answer) => {
                network.reset(nic);
                // What it sent before must not reach memory that the client takes away.
                while network.is_resetting(nic) {
                    network.step(network.quantum());
                }
                let _ = answer.send(());
            }
            Request::SetVectors(nic, start, eventfds, answer) => {
                network.set_vectors(nic, start, eventfds);
                let _ = answer.send(());
            }
            Request::Raise(nic, vector, answer) => {
                network.raise(nic, vector);
                let _ = answer.send(());
            }
            Request::Attach(nic, client) => network.attach(nic, client),
            Request::Detach(nic) => network.detach(nic),
            Request::DmaAnswer(nic, id, answer) => network.dma_answer(nic, id, answer),
            Request::Status(answer) => {
                let _ = answer.send(self.status());
            }
            Request::Faults(faults, answer) => {
                network.fabric_mut().set_faults(faults);
                let _ = answer.send(());
            }
            Request::Stop => return None,
        }
        Some(())
    }

    fn status(&mut self) -> Status {
        let nics = (0..self.network.len()).map(|nic| self.nic_status(nic)).collect();
        Status {
            cycles: self.network.now(),
            simulated_ns: duration(self.network.now()).as_nanos() as u64,
            wall_ns: self.started.elapsed().as_nanos() as u64,
            busy_ns: self.busy.as_nanos() as u64,
            nics,
            fabric: self.network.fabric().counters(),
            faults: self.network.fabric().faults().clone(),
        }
    }

    fn nic_status(&mut self, nic: usize) -> NicStatus {
        let counters = self.network.nic_counters(nic).into_iter().collect();
        let (bus, link) = self.network.counters(nic);
        NicStatus {
            bus,
            link,
            mappings: self.network.memory(nic).len(),
            counters,
            violations: self.network.violations(nic).iter().map(|v| v.what.clone()).collect(),
        }
    }
}
