//! Memory by message: what the NIC asks of a client that keeps its memory to itself, from the
//! first message of a request to its last answer.
//!
//! A request is cut into messages of what the client takes. It is done when each of them has been
//! answered; one refusal, or none of an answer within [`PATIENCE`], refuses all of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::credit::Cost;
use super::options::ReadFault;
use crate::tlp::Request;

/// How long a client may take for an answer, in wall time.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Names a message until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(u64);

/// One access to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DmaMessage {
    /// The client's memory is read.
    Read {
        /// DMA address.
        address: u64,
        /// Bytes.
        count: usize,
    },
    /// The client's memory is written.
    Write {
        /// DMA address.
        address: u64,
        /// The bytes.
        data: Vec<u8>,
    },
}

/// The client refused a message: its IOMMU translates nothing there, or it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// What a client answers: the data of a read, nothing for a write.
pub type DmaAnswer = Result<Vec<u8>, Refused>;

/// Whoever carries messages to the client.
pub trait Client: Send + Debug {
    /// Most bytes of one message, not 0.
    fn largest(&self) -> usize;
    /// Sends a message, in order, and does not wait. `false`: it cannot be sent.
    fn send(&mut self, id: MessageId, message: DmaMessage) -> bool;
}

/// A request that is done.
#[derive(Debug)]
pub enum Done {
    /// A read, and the bytes that it asks for.
    Read {
        /// The read.
        request: Request,
        /// The fault that it meets.
        fault: Option<ReadFault>,
        /// The bytes.
        data: DmaAnswer,
    },
    /// A write.
    Write {
        /// Its credits; none if they have come back with a reset.
        cost: Option<Cost>,
        /// It reached no memory, or only in part.
        refused: bool,
    },
}

#[derive(Debug)]
enum Kind {
    Read { request: Request, fault: Option<ReadFault>, data: Vec<u8> },
    Write { cost: Option<Cost> },
}

#[derive(Debug)]
struct Asked {
    kind: Kind,
    /// Messages that are not answered.
    left: usize,
    refused: bool,
}

impl Asked {
    fn done(self) -> Done {
        match self.kind {
            Kind::Read { request, fault, data } => {
                Done::Read { request, fault, data: if self.refused { Err(Refused) } else { Ok(data) } }
            }
            Kind::Write { cost } => Done::Write { cost, refused: self.refused },
        }
    }
}

/// A message without an answer.
#[derive(Debug)]
struct Pending {
    request: u64,
    sent: Instant,
    /// Where its data goes in a read's.
    at: usize,
    count: usize,
}

/// Requests at the client.
#[derive(Debug, Default)]
pub struct Messages {
    client: Option<Box<dyn Client>>,
    next: u64,
    requests: HashMap<u64, Asked>,
    /// By age.
    pending: BTreeMap<MessageId, Pending>,
    writes: usize,
}

impl Messages {
    /// From now on this client is asked.
    pub fn attach(&mut self, client: Box<dyn Client>) {
        self.client = Some(client);
    }

    /// The client is gone: what it has not answered is refused.
    #[must_use]
    pub fn detach(&mut self) -> Vec<Done> {
        self.client = None;
        let ids: Vec<MessageId> = self.pending.keys().copied().collect();
        ids.into_iter().filter_map(|id| self.answer(id, Err(Refused))).collect()
    }

    /// A write that the client has not answered is under way.
    pub fn writing(&self) -> bool {
        self.writes != 0
    }

    /// Asks for `count` bytes. What is done at once was refused.
    pub fn read(
        &mut self,
        request: Request,
        fault: Option<ReadFault>,
        address: u64,
        count: usize,
    ) -> Option<Done> {
        let largest = self.client.as_ref().map_or(1, |client| client.largest().max(1));
        let messages = (0..count).step_by(largest).map(|at| {
            let message =
                DmaMessage::Read { address: address.wrapping_add(at as u64), count: largest.min(count - at) };
            (at, message)
        });
        self.ask(Kind::Read { request, fault, data: vec![0; count] }, messages.collect())
    }

    /// Writes runs of bytes. What is done at once was refused, or had nothing to write.
    pub fn write(&mut self, cost: Cost, runs: &[(u64, &[u8])]) -> Option<Done> {
        let largest = self.client.as_ref().map_or(1, |client| client.largest().max(1));
        let cut = runs.iter().flat_map(|&(address, data)| {
            data.chunks(largest).enumerate().map(move |(n, piece)| {
                let address = address.wrapping_add((n * largest) as u64);
                (0, DmaMessage::Write { address, data: piece.to_vec() })
            })
        });
        self.ask(Kind::Write { cost: Some(cost) }, cut.collect())
    }

    fn ask(&mut self, kind: Kind, messages: Vec<(usize, DmaMessage)>) -> Option<Done> {
        let mut asked = Asked { kind, left: 0, refused: false };
        self.next += 1;
        let (request, sent) = (self.next, Instant::now());
        for (at, message) in messages {
            self.next += 1;
            let id = MessageId(self.next);
            let count = match &message {
                DmaMessage::Read { count, .. } => *count,
                DmaMessage::Write { .. } => 0,
            };
            if !self.client.as_mut().is_some_and(|client| client.send(id, message)) {
                asked.refused = true;
                break;
            }
            asked.left += 1;
            self.pending.insert(id, Pending { request, sent, at, count });
        }
        if asked.left == 0 {
            return Some(asked.done());
        }
        self.writes += usize::from(matches!(asked.kind, Kind::Write { .. }));
        self.requests.insert(request, asked);
        None
    }

    /// An answer has come. One that nobody waits for any more is ignored.
    pub fn answer(&mut self, id: MessageId, answer: DmaAnswer) -> Option<Done> {
        let Pending { request, at, count, .. } = self.pending.remove(&id)?;
        let asked = self.requests.get_mut(&request)?;
        match (&mut asked.kind, answer) {
            (Kind::Write { .. }, Ok(_)) => {}
            (Kind::Read { data, .. }, Ok(found)) if found.len() == count => {
                data[at..at + count].copy_from_slice(&found);
            }
            _ => asked.refused = true,
        }
        asked.left -= 1;
        if asked.left != 0 {
            return None;
        }
        let asked = self.requests.remove(&request)?;
        self.writes -= usize::from(matches!(asked.kind, Kind::Write { .. }));
        Some(asked.done())
    }

    /// When the oldest message has waited too long.
    pub fn deadline(&self) -> Option<Instant> {
        self.pending.first_key_value().map(|(_, pending)| pending.sent + PATIENCE)
    }

    /// Refuses what has waited too long: the number of messages, and what is done by that.
    #[must_use]
    pub fn expire(&mut self, now: Instant) -> (u64, Vec<Done>) {
        let (mut count, mut done) = (0, Vec::new());
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            let Some((&id, _)) = self.pending.first_key_value() else { break };
            count += 1;
            done.extend(self.answer(id, Err(Refused)));
        }
        (count, done)
    }

    /// Nobody wants the reads any more: they are forgotten, and given back in order. The writes have left the NIC and take place; what
    /// comes later stays behind them.
    pub fn drop_reads(&mut self) -> Vec<Request> {
        let mut dropped = BTreeMap::new();
        let requests = &mut self.requests;
        requests.retain(|number, asked| match asked.kind {
            Kind::Read { request, .. } => {
                dropped.insert(*number, request);
                false
            }
            Kind::Write { .. } => true,
        });
        self.pending.retain(|_, pending| requests.contains_key(&pending.request));
        dropped.into_values().collect()
    }

    /// The link has been down: no credits of before come back.
    pub fn forget_credits(&mut self) {
        for asked in self.requests.values_mut() {
            if let Kind::Write { cost } = &mut asked.kind {
                *cost = None;
            }
        }
    }
}
