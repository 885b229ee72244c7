//! The model: the receiving half of a VI, as the documents describe it.

use std::collections::BTreeMap;

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::wire::syndrome;

use super::piece::Piece;
use super::post::Post;
use super::WRITE_HANDLE;
use crate::world::Event;

const DONE: u64 = (status::DONE | status::OP_RECEIVE) as u64;
const WRITTEN: u64 = (status::DONE | status::OP_REMOTE_RDMA_WRITE) as u64;

/// A message in progress: its bytes until now, and where they go if it is an RDMA write.
#[derive(Default)]
pub struct Open {
    pub bytes: Vec<u8>,
    pub target: Option<(u64, u32, u32)>,
}

/// The receiving half of a VI, as the documents describe it.
pub struct Model {
    pub vi: u64,
    pub reliable: bool,
    /// The peer may write.
    pub writable: bool,
    /// Receiver-not-ready answers with this timer code do not break it.
    pub stays: Option<u64>,
    pub first_psn: u64,
    /// Packets accepted, or passed over: the expected PSN less the first.
    pub expected: u64,
    pub msn: u64,
    pub consumed: usize,
    pub open: Option<Open>,
    pub refused: bool,
    pub broken: bool,
    /// Requests that came after that.
    pub repeats: usize,
    pub posts: Vec<Post>,
    pub events: Vec<Event>,
    /// What must be in memory: address and byte.
    pub memory: BTreeMap<u64, u8>,
    pub counts: BTreeMap<&'static str, usize>,
}

impl Model {
    pub fn psn(&self, n: u64) -> u64 {
        (self.first_psn + n) & 0xff_ffff
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    fn complete(&mut self, length: u64, errors: u32, immediate: Option<u32>) {
        self.finish(length, DONE | u64::from(errors), immediate);
    }

    fn finish(&mut self, length: u64, mut status: u64, immediate: Option<u32>) {
        if immediate.is_some() {
            status |= u64::from(status::IMMEDIATE);
        }
        let (vi, position) = (self.vi, self.consumed as u64);
        let immediate = immediate.map(u64::from);
        self.events.push(Event::Complete { vi, position, length, status, immediate });
        self.consumed += 1;
        self.open = None;
    }

    fn acknowledge(&mut self, n: u64, syndrome: u8) {
        let (vi, psn, msn) = (self.vi, self.psn(n), self.msn);
        self.events.push(Event::Acknowledge { vi, psn, msn, syndrome: syndrome.into() });
    }

    fn event(&mut self, code: u8, breaks: bool) {
        self.events.push(Event::Fault { vi: self.vi, code: code.into(), breaks });
    }

    /// An RDMA write may not be.
    fn deny(&mut self, n: u64, piece: &Piece, before: usize, nak: u8) {
        let told = piece.immediate.is_some() && self.consumed < self.posts.len();
        if told {
            self.finish(before as u64, WRITTEN | u64::from(status::RDMA_PROT_ERROR), None);
        }
        if self.reliable {
            return self.break_with(nak, if told { event_code::CONN_LOST } else { event_code::RDMAW_PROT });
        }
        if !told {
            self.event(event_code::RDMAW_PROT, false);
        }
        self.expected = n + 1;
    }

    /// The connection ends; everything posted is flushed.
    fn break_with(&mut self, nak: u8, code: u8) {
        self.acknowledge(self.expected, nak);
        self.event(code, true);
        self.broken = true;
        self.open = None;
        while self.consumed < self.posts.len() {
            self.complete(0, status::DESC_FLUSHED_ERROR, None);
        }
    }

    /// Packet `n` arrives.
    pub fn take(&mut self, n: u64, piece: &Piece, ask: bool) {
        if self.broken {
            self.repeats += 1;
            return self.count("count_no_vi");
        }
        if n < self.expected {
            if self.reliable {
                self.acknowledge(self.expected - 1, syndrome::ACK);
                return self.count("count_duplicate");
            }
            return self.count("count_psn");
        }
        if self.reliable {
            if n > self.expected {
                self.count("count_psn");
                if !self.refused {
                    self.refused = true;
                    self.acknowledge(self.expected, syndrome::NAK_SEQUENCE);
                }
                return;
            }
        } else {
            if n != self.expected || piece.begins {
                match self.open.take() {
                    Some(Open { target: Some(_), .. }) => self.event(event_code::RDMAW_ABORT, false),
                    Some(open) => self.complete(open.bytes.len() as u64, status::PARTIAL_ERROR, None),
                    None => (),
                }
            }
            if !piece.begins && self.open.is_none() {
                // One that comes early takes no PSN: what it has overtaken may begin its message.
                if n == self.expected {
                    self.expected = n + 1;
                }
                return self.count("count_partial");
            }
        }
        if piece.begins && piece.target.is_some() && !self.writable {
            return self.deny(n, piece, 0, syndrome::NAK_INVALID);
        }
        let needs = if piece.target.is_some() { piece.immediate.is_some() } else { piece.begins };
        if needs && self.consumed == self.posts.len() {
            if let Some(timer) = self.stays {
                self.refused = true;
                return self.acknowledge(self.expected, syndrome::RNR_NAK | timer as u8);
            }
            self.count("count_no_receive");
            self.open = None;
            if self.reliable {
                return self.break_with(syndrome::RNR_NAK, event_code::RECVQ_EMPTY);
            }
            self.event(event_code::RECVQ_EMPTY, false);
            self.expected = n + 1;
            return;
        }
        let before = self.open.take().unwrap_or_default().bytes;
        let mut after = before.clone();
        after.extend(&piece.payload);
        if let Some((address, handle, _)) = piece.target {
            if !piece.payload.is_empty() && handle != WRITE_HANDLE {
                return self.deny(n, piece, before.len(), syndrome::NAK_ACCESS);
            }
            for (place, byte) in (address..).zip(&after).skip(before.len()) {
                self.memory.insert(place, *byte);
            }
        } else if let Some((error, nak)) = self.scatter(&before, &after) {
            self.complete(before.len() as u64, error, None);
            if self.reliable {
                return self.break_with(nak, event_code::CONN_LOST);
            }
            self.expected = n + 1;
            return;
        }
        self.expected = n + 1;
        self.refused = false;
        if piece.ends {
            self.msn += 1;
            self.count("count_message");
            if piece.target.is_none() {
                self.complete(after.len() as u64, 0, piece.immediate);
            } else if piece.immediate.is_some() {
                self.finish(after.len() as u64, WRITTEN, piece.immediate);
            }
        } else {
            self.open = Some(Open { bytes: after, target: piece.target });
        }
        if self.reliable && ask {
            self.acknowledge(n, syndrome::ACK);
        }
    }

    /// Puts a send's new bytes where the receive wants them, as far as they may go there. What is wrong, and the NAK.
    fn scatter(&mut self, before: &[u8], after: &[u8]) -> Option<(u32, u8)> {
        let post = &self.posts[self.consumed];
        let allowed = post.refused_at.unwrap_or(u64::MAX).min(post.room());
        let places = post.segments.iter().flat_map(|(address, _, length)| *address..address + length);
        for (place, byte) in places.zip(after).take(allowed as usize).skip(before.len()) {
            self.memory.insert(place, *byte);
        }
        let refused = post.refused_at.is_some_and(|at| at < post.room());
        (after.len() as u64 > allowed).then_some(if refused {
            (status::PROTECTION_ERROR, syndrome::NAK_OPERATIONAL)
        } else {
            (status::LENGTH_ERROR, syndrome::NAK_INVALID)
        })
    }
}
