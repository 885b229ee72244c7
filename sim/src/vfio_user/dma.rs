//! Commands to the client: DMA_READ and DMA_WRITE, and what it answers.
//!
//! Header ids are ours to choose: the client's commands have ids of their own. An id is not used
//! again before it is answered, even when nobody waits for the answer any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::channel::Message;
use super::message::{command, dma_command};
use super::nonsense::Nonsense;
use super::outbox::Outbox;
use crate::root_complex::{Client, DmaAnswer, DmaMessage, MessageId, Refused};

/// Most commands without an answer: what the root complex has given up and the client has never
/// answered is among them.
const MOST: usize = 1 << 12;

/// A command that has been sent.
#[derive(Debug)]
struct Sent {
    id: MessageId,
    command: u16,
    address: u64,
    count: usize,
}

#[derive(Debug, Default)]
struct Table {
    next: u16,
    sent: HashMap<u16, Sent>,
}

/// Commands that the client has not answered.
#[derive(Debug, Clone, Default)]
pub struct Unanswered {
    table: Arc<Mutex<Table>>,
}

impl Unanswered {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing is half done while the lock is held.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, sent: Sent) -> Option<u16> {
        let mut table = self.table();
        if table.sent.len() >= MOST {
            return None;
        }
        while table.sent.contains_key(&table.next) {
            table.next = table.next.wrapping_add(1);
        }
        let id = table.next;
        table.next = id.wrapping_add(1);
        table.sent.insert(id, sent);
        Some(id)
    }

    /// Which message a reply answers, and how.
    pub fn resolve(&self, reply: Message) -> Result<(MessageId, DmaAnswer), Nonsense> {
        let header = reply.header;
        if !header.is_reply() {
            return Err(Nonsense::Type);
        }
        let sent = self.table().sent.remove(&header.id).ok_or(Nonsense::Id(header.id))?;
        if header.command != sent.command {
            return Err(Nonsense::Command(header.command, sent.command));
        }
        if header.is_failure() {
            return Ok((sent.id, Err(Refused)));
        }
        let mut expected = sent.address.to_le_bytes().to_vec();
        expected.extend_from_slice(&(sent.count as u64).to_le_bytes());
        let body = reply.body;
        match sent.command {
            command::DMA_READ if body.len() == 16 + sent.count && body.starts_with(&expected) => {
                Ok((sent.id, Ok(body[16..].to_vec())))
            }
            // QEMU answers a write with a header alone.
            command::DMA_WRITE if body.is_empty() || body == expected => Ok((sent.id, Ok(Vec::new()))),
            _ => Err(Nonsense::Shape),
        }
    }
}

/// The way to one client.
#[derive(Debug)]
pub struct Port {
    outbox: Outbox,
    unanswered: Unanswered,
    largest: usize,
}

impl Port {
    /// For a client that takes `largest` bytes in a message.
    pub fn new(outbox: Outbox, unanswered: Unanswered, largest: usize) -> Self {
        Self { outbox, unanswered, largest }
    }
}

impl Client for Port {
    fn largest(&self) -> usize {
        self.largest
    }

    fn send(&mut self, id: MessageId, message: DmaMessage) -> bool {
        let (command, address, count, data) = match &message {
            DmaMessage::Read { address, count } => (command::DMA_READ, *address, *count, &[][..]),
            DmaMessage::Write { address, data } => (command::DMA_WRITE, *address, data.len(), &data[..]),
        };
        let Some(number) = self.unanswered.enter(Sent { id, command, address, count }) else {
            return false;
        };
        self.outbox.push(dma_command(number, command, address, count, data))
    }
}
