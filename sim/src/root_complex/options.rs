//! A root complex's settings.

use std::collections::BTreeMap;

use super::conditions::Conditions;

/// How the NIC's accesses reach memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dma {
    /// Through the files of the maps; a map without one by message.
    #[default]
    Files,
    /// All by message: the client translates or refuses.
    Messages,
}

/// What goes wrong with a read of the NIC's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    /// Its first completion is poisoned.
    Poisoned,
    /// No completion comes.
    Missing,
    /// It is aborted.
    Aborted,
    /// It is unsupported.
    Unsupported,
    /// All but its first completion are missing.
    Cut,
    /// It is answered this many cycles late.
    Late(u64),
}

/// A root complex's settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// How it behaves.
    pub conditions: Conditions,
    /// How memory is reached.
    pub dma: Dma,
    /// Cycles until a load that is not answered reads as all ones.
    pub load_timeout: u64,
    /// Cycles that a packet takes at most from the NIC's edge to here, and a setting from here to there: 0 where this is the edge. Rules
    /// that count the edge's own cycles are checked there.
    pub latency: u64,
    /// Faults, by the number of the read, counted from 0.
    pub faults: BTreeMap<u64, ReadFault>,
    /// Seed of everything that is random here.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            conditions: Conditions::default(),
            dma: Dma::default(),
            load_timeout: 200_000,
            latency: 0,
            faults: BTreeMap::new(),
            seed: 1,
        }
    }
}
