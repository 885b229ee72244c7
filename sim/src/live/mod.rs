//! A network that lives: one thread steps it, others ask it through a [`Handle`].
//!
//! While anything moves, device time runs as fast as the simulation can. While all NICs are idle
//! it follows the wall clock, and the thread sleeps until somebody asks or answers, a frame comes from outside, or a
//! NIC's deadline comes. With [`Live::holding`] device time stands still for a while when a NIC has told its host of something.

mod handle;
mod hold;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::clock::{duration, Anchor};
use crate::network::{Activity, Network};
use crate::root_complex::LoadId;
use crate::stream::StreamPort;
use handle::{Answer, Request};
pub use handle::{Ended, Handle, LinkStatus, NicStatus, Status};
use hold::Hold;

/// Cycles between two looks at what is asked: few, because each look is a part of every load's
/// wall time.
const STEP: u64 = 16;
/// The same where what hosts do takes no time: each look comes so late at most.
const HELD_STEP: u64 = 4;
/// Requests that wait for the stepping thread; who asks more waits.
const QUEUE: usize = 256;

/// The stepping side.
pub struct Live {
    network: Network,
    requests: Receiver<Request>,
    /// Loads under way.
    loads: Vec<(usize, LoadId, Answer)>,
    started: Instant,
    busy: Duration,
    hold: Option<Hold>,
}

impl Live {
    /// Makes a network live; [`Live::run`] has to be called in a thread of its own.
    pub fn new(network: Network) -> (Self, Handle) {
        let (sender, requests) = mpsc::sync_channel(QUEUE);
        let handle = Handle { requests: sender, nics: network.len(), ports: network.ports().len() };
        let live = Self {
            network,
            requests,
            loads: Vec::new(),
            started: Instant::now(),
            busy: Duration::ZERO,
            hold: None,
        };
        (live, handle)
    }

    /// The same, but when a NIC has told its host of something, device time stands still until the hosts have done nothing for so long: what they do
    /// about it takes none.
    pub fn holding(self, quiet: Duration) -> Self {
        Self { hold: (!quiet.is_zero()).then(|| Hold::new(quiet)), ..self }
    }

    /// Steps the network until somebody stops it or no handle is left; gives it back.
    pub fn run(mut self) -> Network {
        while self.turn().is_some() {}
        self.network
    }

    /// One step, or one sleep; `None` at the end.
    fn turn(&mut self) -> Option<()> {
        if let Some(wait) = self.held() {
            return match self.requests.recv_timeout(wait) {
                Ok(request) => self.serve(request),
                Err(RecvTimeoutError::Timeout) => Some(()),
                Err(RecvTimeoutError::Disconnected) => None,
            };
        }
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
                match &mut self.hold {
                    None => self.network.step(STEP),
                    Some(hold) => {
                        // Hosts see soon what a NIC tells them.
                        self.network.step(HELD_STEP);
                        hold.look(self.network.told(), Instant::now());
                    }
                }
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

    /// How long device time still stands, if it does. A host that waits for a load's answer needs it to pass.
    fn held(&self) -> Option<Duration> {
        let may_stand = self.loads.is_empty() && !self.network.is_crowded();
        self.hold.as_ref().filter(|_| may_stand)?.left(Instant::now())
    }

    /// Answers loads; those of one NIC in their order, though some take longer.
    fn answer_loads(&mut self) {
        for (nic, load, answer) in std::mem::take(&mut self.loads) {
            let is_behind = self.loads.iter().any(|(other, ..)| *other == nic);
            match if is_behind { None } else { self.network.answer(nic, load) } {
                Some(value) => answer(value),
                None => self.loads.push((nic, load, answer)),
            }
        }
    }

    fn serve(&mut self, request: Request) -> Option<()> {
        let network = &mut self.network;
        // Who asked may be gone by now: then nobody wants the answer.
        match request {
            Request::Load(nic, access, answer) => {
                let load = network.load(nic, access);
                self.loads.push((nic, load, answer));
            }
            Request::Store(nic, access, value) => {
                network.store(nic, access, value);
                self.hold.iter_mut().for_each(|hold| hold.extend(Instant::now()));
            }
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
            Request::Plug(port, peer) => {
                if let Some(port) = network.port_mut(port) {
                    port.plug(peer);
                }
            }
            Request::LookAtPort(port) => {
                if let Some(port) = network.port_mut(port) {
                    port.look();
                }
            }
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
            ports: self.network.ports().iter().map(StreamPort::status).collect(),
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
            pcie: self.network.link_counters(nic).map(LinkStatus::from),
            mappings: self.network.memory(nic).len(),
            counters,
            violations: self.network.violations(nic).iter().map(|v| v.what.clone()).collect(),
        }
    }
}
