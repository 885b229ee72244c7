//! What the packets of sends and RDMA writes do at the target, at either service.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::receive;
use viaduct_spec::wire::{opcode, syndrome};

use super::completion::Ending;
use super::device::Device;
use super::frame::{be32, Packet};
use super::protection::{Access, Place, Right};
use super::queues::Receive;
use super::tables::ViState;

/// A message under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    /// A send.
    Send {
        /// Its receive.
        receive: Receive,
        /// Bytes delivered.
        done: u32,
        /// The error bit with which it ends; 0: none.
        ending: u32,
    },
    /// An RDMA write.
    Write {
        /// Where it begins.
        place: Place,
        /// Bytes in all.
        length: u64,
        /// Bytes delivered.
        done: u64,
        /// The receive that its immediate data takes.
        receive: Option<Receive>,
    },
    /// The rest of it is dropped (Unreliable Delivery).
    Dropped,
}

/// Where a packet stands in its message, and what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// It is the first, or the only one.
    pub first: bool,
    /// It is the last, or the only one.
    pub last: bool,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// Payload.
    pub data: &'a [u8],
}

/// A request packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Of a send.
    Send(Part<'a>),
    /// Of an RDMA write; the first has a place and length.
    Write(Part<'a>, Option<(Place, u64)>),
    /// An RDMA read.
    Read {
        /// Where it begins.
        place: Place,
        /// Bytes.
        length: u64,
    },
}

fn reth(body: &[u8]) -> (Place, u64) {
    let address = u64::from(be32(body, 0)) << 32 | u64::from(be32(body, 4));
    (Place::Address { address, handle: be32(body, 8) }, be32(body, 12).into())
}

impl<'a> Request<'a> {
    /// What a packet asks for; `None` if its opcode is no request's.
    pub fn of(packet: &'a Packet) -> Option<Self> {
        // The unreliable ones stand in the same order.
        let code = packet.opcode & !opcode::UC_SEND_FIRST;
        let write = (opcode::RC_WRITE_FIRST..=opcode::RC_WRITE_ONLY_IMMEDIATE).contains(&code);
        let place = match code - if write { opcode::RC_WRITE_FIRST } else { 0 } {
            opcode::RC_SEND_FIRST => (true, false, false),
            opcode::RC_SEND_MIDDLE => (false, false, false),
            opcode::RC_SEND_LAST => (false, true, false),
            opcode::RC_SEND_LAST_IMMEDIATE => (false, true, true),
            opcode::RC_SEND_ONLY => (true, true, false),
            opcode::RC_SEND_ONLY_IMMEDIATE => (true, true, true),
            opcode::RC_READ_REQUEST => {
                let (place, length) = reth(&packet.body);
                return Some(Self::Read { place, length });
            }
            _ => return None,
        };
        let (first, last, immediate) = place;
        let mut body = &packet.body[..];
        let mut take = |length: usize| {
            let (head, rest) = body.split_at(length.min(body.len()));
            body = rest;
            head
        };
        let target = (write && first).then(|| reth(take(16)));
        let immediate = immediate.then(|| be32(take(4), 0));
        let part = Part { first, last, immediate, data: body };
        Some(if write { Self::Write(part, target) } else { Self::Send(part) })
    }

    fn part(&self) -> Option<&Part<'a>> {
        match self {
            Self::Send(part) | Self::Write(part, _) => Some(part),
            Self::Read { .. } => None,
        }
    }

    /// It begins a message.
    pub fn is_first(&self) -> bool {
        self.part().is_none_or(|part| part.first)
    }

    /// It ends a message.
    pub fn is_last(&self) -> bool {
        self.part().is_none_or(|part| part.last)
    }

    /// Its immediate data.
    pub fn immediate(&self) -> Option<u32> {
        self.part().and_then(|part| part.immediate)
    }

    /// Its payload is as long as its place in the message demands.
    fn fits(&self, mtu: usize) -> bool {
        self.part().is_none_or(|part| match (part.first, part.last) {
            (true, true) => part.data.len() <= mtu,
            (false, true) => (1..=mtu).contains(&part.data.len()),
            _ => part.data.len() == mtu,
        })
    }
}

/// Why a packet was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No receive is posted.
    NotReady,
    /// What a reliable VI breaks of. `ending`: the error bit of the receive that was taken.
    Break {
        /// Syndrome of the NAK.
        syndrome: u8,
        /// Event.
        event: u8,
        /// Error bit of the receive.
        ending: Option<u32>,
    },
    /// The VI has broken already.
    Broken,
}

impl Refusal {
    /// A refusal that has no event of its own.
    pub fn lost(syndrome: u8) -> Self {
        Self::Break { syndrome, event: event_code::CONN_LOST, ending: None }
    }

    /// A receive that ends with this error.
    fn receive(syndrome: u8, bits: u32) -> Self {
        Self::Break { syndrome, event: event_code::CONN_LOST, ending: Some(bits) }
    }

    fn write(syndrome: u8) -> Self {
        Self::Break { syndrome, event: event_code::RDMAW_PROT, ending: None }
    }
}

impl Device {
    /// Delivers the payload of the next packet of a message; gives the message as it is then, which is the responder's
    /// no more. When a packet is refused its message stays the responder's.
    pub fn take_payload(&mut self, vi: usize, request: &Request<'_>, mtu: usize) -> Result<Inbound, Refusal> {
        let under_way = self.vis[vi].responder.inbound.as_ref();
        let follows = match (request, under_way) {
            (_, None) => request.is_first(),
            (Request::Send(_), Some(Inbound::Send { .. })) => !request.is_first(),
            (Request::Write(..), Some(Inbound::Write { .. })) => !request.is_first(),
            _ => false,
        };
        if !follows || !request.fits(mtu) {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        match request {
            Request::Send(part) => self.take_send(vi, part),
            Request::Write(part, target) => self.take_write(vi, part, *target),
            Request::Read { .. } => Err(Refusal::lost(syndrome::NAK_INVALID)),
        }
    }

    /// A receive that is well formed. One that is not is the message under way when this fails; its status names this
    /// operation.
    fn good_receive(&mut self, vi: usize, operation: u32) -> Result<Receive, Refusal> {
        let receive = self.take_receive(vi).ok_or_else(|| match self.vis[vi].state {
            ViState::Connected => Refusal::NotReady,
            // The one that was waited for lies nowhere.
            _ => Refusal::Broken,
        })?;
        let error = receive.descriptor.check_receive();
        if error != 0 {
            self.vis[vi].responder.inbound = Some(Inbound::Send { receive, done: 0, ending: 0 });
            return Err(Refusal::receive(syndrome::NAK_OPERATIONAL, error | operation));
        }
        Ok(receive)
    }

    fn take_send(&mut self, vi: usize, part: &Part<'_>) -> Result<Inbound, Refusal> {
        let (receive, done) = match self.vis[vi].responder.inbound.take() {
            Some(Inbound::Send { receive, done, .. }) => (receive, done),
            _ => (self.good_receive(vi, status::OP_RECEIVE)?, 0),
        };
        let tag = self.tables.receive[vi].get(receive::TAG) as u16;
        let delivered = self.scatter(&receive.descriptor, tag, done.into(), part.data);
        let more = if delivered.is_ok() { part.data.len() as u32 } else { 0 };
        let inbound = Inbound::Send { receive, done: done.saturating_add(more), ending: 0 };
        self.counters.add(counter::BYTES_RECEIVED, more.into());
        match delivered {
            Ok(()) => Ok(inbound),
            Err(bits) => {
                self.vis[vi].responder.inbound = Some(inbound);
                let syndrome = match bits {
                    status::LENGTH_ERROR => syndrome::NAK_INVALID,
                    _ => syndrome::NAK_OPERATIONAL,
                };
                Err(Refusal::receive(syndrome, bits))
            }
        }
    }

    fn take_write(
        &mut self,
        vi: usize,
        part: &Part<'_>,
        target: Option<(Place, u64)>,
    ) -> Result<Inbound, Refusal> {
        let row = self.tables.receive[vi];
        let tag = row.get(receive::TAG) as u16;
        let (place, length, done) = match (target, &self.vis[vi].responder.inbound) {
            (Some((place, length)), _) => (place, length, 0),
            (None, Some(Inbound::Write { place, length, done, .. })) => (*place, *length, *done),
            (None, _) => return Err(Refusal::lost(syndrome::NAK_INVALID)),
        };
        let (left, count) = (length.saturating_sub(done), part.data.len() as u64);
        if if part.last { count != left } else { count >= left } {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        if !row.is(receive::RDMA_WRITE) {
            let receive = part.immediate.and_then(|_| self.take_receive(vi));
            return Err(self.refuse_write(vi, receive, syndrome::NAK_INVALID));
        }
        let access = Access { place: place.plus(done), span: left, tag, right: Right::RemoteWrite };
        let receive = match part.immediate {
            Some(_) => Some(self.good_receive(vi, status::OP_REMOTE_RDMA_WRITE)?),
            None => None,
        };
        // The span is all that is to come, the first packet's the whole range.
        if count != 0 && self.write(access, part.data).is_err() {
            return Err(self.refuse_write(vi, receive, syndrome::NAK_ACCESS));
        }
        self.counters.add(counter::BYTES_RECEIVED, count);
        self.vis[vi].responder.inbound = None;
        Ok(Inbound::Write { place, length, done: done + count, receive })
    }

    /// An RDMA write is refused: told by an event, or by the receive of the immediate data that the packet carries.
    fn refuse_write(&mut self, vi: usize, receive: Option<Receive>, code: u8) -> Refusal {
        match receive {
            Some(receive) => {
                self.vis[vi].responder.inbound = Some(Inbound::Send { receive, done: 0, ending: 0 });
                Refusal::receive(code, status::RDMA_PROT_ERROR | status::OP_REMOTE_RDMA_WRITE)
            }
            None => Refusal::write(code),
        }
    }

    /// A whole message has come. Whether its receive, if it has one, says so.
    pub fn deliver(&mut self, vi: usize, inbound: Inbound, immediate: Option<u32>) -> bool {
        self.counters.count(counter::MESSAGES_RECEIVED);
        match inbound {
            Inbound::Send { receive, done, .. } => {
                let ending = Ending { status: status::OP_RECEIVE, length: done, immediate };
                self.complete(vi, true, &receive.posted, ending)
            }
            Inbound::Write { receive: Some(receive), length, .. } => {
                let status = status::OP_REMOTE_RDMA_WRITE;
                self.complete(vi, true, &receive.posted, Ending { status, length: length as u32, immediate })
            }
            Inbound::Write { receive: None, .. } | Inbound::Dropped => true,
        }
    }
}
