//! What the wire does to RoCE frames, decided frame by frame: for tests in which two networks meet the same faults.

use std::fmt;

use viaduct_spec::layout::Field;
use viaduct_spec::wire::{bth, BTH_BYTES};

use super::faults::udp;
use super::mac::Frame;
use crate::clock::Cycle;

/// Cycles after which a frame that was held back goes on, whatever has passed it.
pub const PATIENCE: Cycle = 6000;

/// Which frame: the same in every network that carries the same messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Source IPv4 address.
    pub source: u32,
    /// Destination queue pair.
    pub queue_pair: u32,
    /// BTH opcode.
    pub opcode: u8,
    /// PSN.
    pub psn: u32,
}

impl Key {
    /// Of a RoCE frame; `None` for any other.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let at = udp(frame)?;
        let source = frame.get(at - 8..at - 4)?;
        let header = frame.get(at + 8..at + 8 + BTH_BYTES)?;
        // A 96-bit big-endian number, as two words.
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let words = [number(&header[4..]), number(&header[..4])];
        let get = |field: Field| field.get(&words) as u32;
        Some(Self {
            source: number(source) as u32,
            queue_pair: get(bth::QUEUE_PAIR),
            opcode: get(bth::OPCODE) as u8,
            psn: get(bth::PSN),
        })
    }
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// How often it comes.
    pub copies: usize,
    /// This bit of its ICRC is wrong, counted modulo 32; the FCS is made for it.
    pub flip: Option<u8>,
    /// Its FCS is wrong.
    pub damaged: bool,
    /// It comes behind so many later frames of its flow, or after [`PATIENCE`].
    pub behind: u32,
}

impl Fate {
    /// Nothing happens to it.
    pub const GOOD: Self = Self { copies: 1, flip: None, damaged: false, behind: 0 };
}

/// Decides, and may look on.
pub trait FaultInjector: Send + fmt::Debug {
    /// What becomes of a frame that has come into the switch.
    fn fate(&mut self, key: Key, frame: &[u8]) -> Fate;
}

/// A frame that others overtake.
#[derive(Debug)]
pub(super) struct Held {
    pub key: Key,
    pub behind: u32,
    pub until: Cycle,
    pub port: usize,
    pub frame: Frame,
}

impl Held {
    /// Another frame passes: whether this one goes on behind it.
    pub fn is_passed_by(&mut self, key: Key) -> bool {
        if (key.source, key.queue_pair) == (self.key.source, self.key.queue_pair) {
            self.behind -= 1;
        }
        self.behind == 0
    }
}
