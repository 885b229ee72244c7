//! How a data link layer is set up, and what it counts.

use super::credit::Advertised;
use super::limits::{ack_limit, replay_limit, MAX_UNACKNOWLEDGED, UPDATE_INTERVAL};
use crate::generation::Generation;
use crate::ltssm::Role;

/// The options. Times are in symbol times of 4 ns.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// Which side it is.
    pub role: Role,
    /// What it says of itself.
    pub generation: Generation,
    /// Max_Payload_Size in bytes.
    pub max_payload: u32,
    /// Most TLPs that it leaves unacknowledged; 2047 at most.
    pub window: u16,
    /// Its credits: posted, non-posted, completions. Infinite ones for completions are a must for an
    /// endpoint, and allowed for a root complex (section 2.6.1.1).
    pub advertised: [Advertised; 3],
    /// Shortest and longest time from a TLP to its Ack.
    pub ack_delay: (u32, u32),
    /// REPLAY_TIMER.
    pub replay: u32,
    /// Time from freed credits to UpdateFC.
    pub update_delay: u32,
    /// Time between two UpdateFC.
    pub update_interval: u32,
    /// Sets of InitFC2 that are sent after the other side's InitFC2 has come.
    pub init_sets: u32,
}

impl LinkOptions {
    /// For a side and a Max_Payload_Size, with times in the middle of what is allowed.
    pub fn new(role: Role, max_payload: u32) -> Self {
        Self {
            role,
            generation: Generation::First,
            max_payload,
            window: MAX_UNACKNOWLEDGED,
            advertised: [Advertised::finite(32, 256), Advertised::finite(8, 8), Advertised::INFINITE],
            ack_delay: (0, ack_limit(max_payload) / 2),
            replay: replay_limit(max_payload) * 3 / 2,
            update_delay: ack_limit(max_payload),
            update_interval: UPDATE_INTERVAL as u32,
            init_sets: 8,
        }
    }

    /// The side is of another generation, with the REPLAY_TIMER of that one.
    pub fn set_generation(&mut self, generation: Generation) {
        self.generation = generation;
        if let Some((shortest, longest)) = generation.replay_limits() {
            self.replay = (shortest + longest) / 2;
        }
    }
}

/// What a data link layer has seen and done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// TLPs taken.
    pub received: u64,
    /// New TLPs sent.
    pub sent: u64,
    /// TLPs sent again.
    pub replayed: u64,
    /// REPLAY_TIMER ended.
    pub timeouts: u64,
    /// The link was retrained for replays without progress.
    pub retrains: u64,
    /// The link came back from Recovery with its packets.
    pub recoveries: u64,
    /// Damaged TLPs.
    pub bad_tlps: u64,
    /// TLPs with a number that leaves a gap.
    pub missing: u64,
    /// TLPs that had come before.
    pub duplicates: u64,
    /// Nullified TLPs.
    pub nullified: u64,
    /// Damaged or unknown DLLPs.
    pub bad_dllps: u64,
    /// Naks received.
    pub naks: u64,
    /// Acks or Naks for TLPs that were not sent: a protocol error.
    pub impossible: u64,
    /// TLPs for which no credits were granted: a flow control error.
    pub overflows: u64,
    /// TLPs with a good LCRC whose length is not what their header says.
    pub malformed: u64,
}

/// Why a TLP is not taken for sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It has not the length that its header says.
    #[error("its length is not what its header says")]
    Length,
    /// It has more payload than Max_Payload_Size.
    #[error("its payload exceeds Max_Payload_Size")]
    Payload,
    /// The link is down.
    #[error("the link is down")]
    Down,
}
