//! Request packets, taken apart.

use viaduct_spec::wire::opcode;

use crate::model::frame::{be32, Packet};
use crate::model::place::Place;

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

    /// It takes a receive: a send's first packet, or a write's last with immediate data.
    pub fn takes_receive(&self) -> bool {
        match self {
            // WIRE-1: which packet takes a receive.
            Self::Send(part) => part.first,
            Self::Write(part, _) => part.immediate.is_some(),
            Self::Read { .. } => false,
        }
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
    pub fn fits(&self, mtu: usize) -> bool {
        self.part().is_none_or(|part| match (part.first, part.last) {
            (true, true) => part.data.len() <= mtu,
            (false, true) => (1..=mtu).contains(&part.data.len()),
            _ => part.data.len() == mtu,
        })
    }
}
