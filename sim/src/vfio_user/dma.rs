//! Commands to the client: DMA_READ and DMA_WRITE, and what it answers.
//!
//! Header ids are ours to choose: the client's commands have ids of their own. An id is not used
//! again before it is answered, even when nobody waits for the answer any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use viaduct_driver::vfio_user::message::{Command, Header};

use super::channel::Message;
use super::nonsense::Nonsense;
use super::outbox::Outbox;
use crate::root_complex::{Client, DmaAnswer, DmaMessage, MessageId, Refused};

/// Most commands without an answer: what the root complex has given up and the client has never
/// answered is among them.
const MOST_UNANSWERED: usize = 1 << 12;

/// A command that has been sent.
#[derive(Debug)]
struct Sent {
    id: MessageId,
    command: Command,
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
        if table.sent.len() >= MOST_UNANSWERED {
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
        if header.command != sent.command as u16 {
            return Err(Nonsense::Command(header.command, sent.command));
        }
        if header.is_failure() {
            return Ok((sent.id, Err(Refused)));
        }
        let mut expected = sent.address.to_le_bytes().to_vec();
        expected.extend_from_slice(&(sent.count as u64).to_le_bytes());
        let body = reply.body;
        match sent.command {
            Command::DmaRead if body.len() == 16 + sent.count && body.starts_with(&expected) => {
                Ok((sent.id, Ok(body[16..].to_vec())))
            }
            // QEMU answers a write with a header alone.
            Command::DmaWrite if body.is_empty() || body == expected => Ok((sent.id, Ok(Vec::new()))),
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
            DmaMessage::Read { address, count } => (Command::DmaRead, *address, *count, &[][..]),
            DmaMessage::Write { address, data } => (Command::DmaWrite, *address, data.len(), &data[..]),
        };
        let Some(number) = self.unanswered.enter(Sent { id, command, address, count }) else {
            return false;
        };
        self.outbox.push(dma_command(number, command, address, count, data))
    }
}

/// The message: where, how many bytes, and those that are written.
fn dma_command(id: u16, command: Command, address: u64, count: usize, data: &[u8]) -> Vec<u8> {
    let mut body = address.to_le_bytes().to_vec();
    body.extend_from_slice(&(count as u64).to_le_bytes());
    body.extend_from_slice(data);
    Header::command(id, command, false).message(&body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dma_command_is_laid_out_as_the_protocol_says() {
        let bytes = dma_command(0x0203, Command::DmaWrite, 0x1_0000_0004, 2, &[7, 8]);
        let header = [3, 2, 12, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[..16], header);
        assert_eq!(bytes[16..], [4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
    }
}
