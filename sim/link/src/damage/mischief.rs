//! What a port may do within the specification, and seldom does.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How a port misbehaves. The default is not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mischief {
    /// Per thousand of its Acks that it does not send.
    pub lost_acks: u32,
    /// Per thousand of its UpdateFC that it does not send.
    pub lost_updates: u32,
    /// A Nak without a reason about every so many symbol times; 0 is never.
    pub nak_storm: u64,
    /// REPLAY_TIMER ends at any time before its limit.
    pub early_replay: bool,
    /// Longest time for which it keeps credits back, in symbol times.
    pub withheld: u64,
    /// Per thousand of its TLPs before which it sends a nullified one.
    pub nullified: u32,
    /// Most idle symbols between its packets: an odd number puts STP and SDP into the other byte.
    pub gaps: u32,
    /// It cuts the packet under way when it leaves L0.
    pub cuts: bool,
}

impl Mischief {
    /// All of it, as hard as a link can bear and go on.
    pub const ALL: Self = Self {
        lost_acks: 200,
        lost_updates: 200,
        nak_storm: 4000,
        early_replay: true,
        withheld: 3000,
        nullified: 50,
        gaps: 5,
        cuts: true,
    };
}

/// A port's mischief and what decides it.
#[derive(Debug, Clone)]
pub struct Trouble {
    settings: Mischief,
    random: ChaCha8Rng,
}

impl Trouble {
    /// From a seed.
    pub fn new(settings: Mischief, seed: u64) -> Self {
        Self { settings, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// What it is set to.
    pub fn settings(&self) -> &Mischief {
        &self.settings
    }

    /// Sets it anew.
    pub fn set(&mut self, settings: Mischief) {
        self.settings = settings;
    }

    fn permille(&mut self, chance: u32) -> bool {
        chance != 0 && self.random.random_range(0..1000) < chance
    }

    /// This Ack is not sent.
    pub fn loses_ack(&mut self) -> bool {
        self.permille(self.settings.lost_acks)
    }

    /// This UpdateFC is not sent.
    pub fn loses_update(&mut self) -> bool {
        self.permille(self.settings.lost_updates)
    }

    /// A nullified TLP goes first.
    pub fn nullifies(&mut self) -> bool {
        self.permille(self.settings.nullified)
    }

    /// A Nak without a reason, in two symbol times.
    pub fn naks(&mut self) -> bool {
        let every = self.settings.nak_storm;
        every != 0 && self.random.random_range(0..every) < 2
    }

    /// For how long credits are kept back.
    pub fn withholds(&mut self) -> u64 {
        self.up_to(self.settings.withheld)
    }

    /// Idle symbols before a packet.
    pub fn gap(&mut self) -> u32 {
        self.up_to(u64::from(self.settings.gaps)) as u32
    }

    /// When a timer with this limit ends.
    pub fn replay(&mut self, limit: u64) -> u64 {
        if self.settings.early_replay {
            self.random.random_range(limit / 8..=limit)
        } else {
            limit
        }
    }

    /// Any number of a range, with its end.
    pub fn within(&mut self, (low, high): (u32, u32)) -> u32 {
        if low < high {
            self.random.random_range(low..=high)
        } else {
            low
        }
    }

    fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 {
            0
        } else {
            self.random.random_range(0..=most)
        }
    }
}
