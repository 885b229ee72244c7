//! A work queue and its descriptors, as their process and the agent see them.

use std::collections::VecDeque;

pub const WRAP: u64 = 1 << 14;
/// Most descriptors that a process has out in one queue.
pub const BACKLOG: u64 = 64;

/// A queue: VI, and whether it is the receive queue.
pub type Name = (u64, bool);

/// How the read of a descriptor ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// So many bytes are there, 1 to 64.
    Bytes(usize),
    Refused,
    /// The bus failed after so many words.
    Failed(usize),
}

#[derive(Clone, Debug)]
pub struct Descriptor {
    pub queue: Name,
    pub region: u64,
    pub offset: u64,
    /// 48 bytes of it are read, not 64.
    pub short: bool,
    pub position: u64,
    pub ending: Ending,
    pub words: [u64; 8],
    /// Its place in the ring has no token of it.
    pub wrong: bool,
}

impl Descriptor {
    /// Bytes that are read.
    pub fn bytes(&self) -> usize {
        if self.short {
            48
        } else {
            64
        }
    }

    /// What must come out: the words, how many of them are there, and whether it is lost.
    pub fn outcome(&self) -> ([u64; 8], u64, bool) {
        let whole = match self.ending {
            Ending::Bytes(bytes) => bytes / 8,
            Ending::Refused => 0,
            Ending::Failed(words) => words.min(self.bytes() / 8 - 1),
        };
        let whole = whole.min(self.bytes() / 8);
        let mut words = self.words;
        words[whole..].fill(0);
        (words, whole as u64, !matches!(self.ending, Ending::Bytes(32..)))
    }
}

/// A work queue as its process and the agent see it.
#[derive(Default)]
pub struct Queue {
    pub name: Name,
    pub ring_log2: u64,
    pub ring_offset: u64,
    pub ring_region: u64,
    pub tag: u64,
    pub system_tag: u64,
    pub open: bool,
    pub slots: Vec<u64>,
    pub posted: u64,
    /// Posted, not yet rung for.
    pub unrung: Option<u64>,
    /// Descriptors that must still come out.
    pub due: VecDeque<Descriptor>,
    /// How many of those have been asked for.
    pub asked: usize,
    /// Of how many the token has been read, or was in the doorbell.
    pub read: usize,
    /// Came out, not done yet.
    pub held: u64,
    /// Position of the oldest that is not done: what the block under test is told.
    pub done: u64,
    /// It is overrun: nothing is posted any more.
    pub wrong: bool,
    /// The fault of an overrun may come at any moment.
    pub overrun: bool,
    /// It has come, or may have: what the ring holds comes out, up to the first wrong slot.
    pub over: bool,
    /// Such a one was asked for: it is the end, unless the overrun was not seen yet.
    pub ended: bool,
    /// What the last doorbell said: posted, token.
    pub row: (u64, Option<u64>),
}

impl Queue {
    /// The descriptor that is to be asked for next.
    pub fn next(&self) -> Option<&Descriptor> {
        self.due.get(self.asked)
    }

    /// Position of the one of this number among those that are due.
    pub fn position(&self, number: usize) -> u64 {
        (self.done + self.held + number as u64) % WRAP
    }

    /// All that has to come out has, and is done.
    pub fn quiet(&self) -> bool {
        let out = if self.over { self.ended } else { self.due.is_empty() };
        out && self.asked == 0 && self.held == 0 && !self.overrun
    }
}
