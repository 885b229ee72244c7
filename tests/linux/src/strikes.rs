//! What the wire does to frames of both ends, and what of it was hit: requests and answers of reliable connections are counted apart, by who sent them.
//!
//! Some of these are few in a conversation (four acknowledgements of ours beside four hundred packets), so chance alone would leave them out: of each
//! [`Kind`] one of the first is hit for sure, and all frames by chance.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{ensure, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::{Fate, FaultInjector, Key};
use viaduct_spec::wire::opcode::{RC_ACKNOWLEDGE, RC_READ_RESPONSE_FIRST, RC_SEND_FIRST};

use crate::stage::GUEST_IP;

/// What happens to a frame that is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not come.
    Lost,
    /// It comes twice.
    Twice,
    /// It comes behind one or two later ones, or after a while.
    Overtaken,
    /// A bit of its ICRC is wrong.
    WrongIcrc,
}

impl Fault {
    fn fate(self, random: &mut ChaCha8Rng) -> Fate {
        match self {
            Self::Lost => Fate { copies: 0, ..Fate::GOOD },
            Self::Twice => Fate { copies: 2, ..Fate::GOOD },
            Self::Overtaken => Fate { behind: random.random_range(1..=2), ..Fate::GOOD },
            Self::WrongIcrc => Fate { flip: Some(random.random_range(0..32)), ..Fate::GOOD },
        }
    }
}

/// Frames of reliable connections, by who sends them and what they are; each has its own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    RequestOfLinux,
    AnswerOfLinux,
    RequestOfOurs,
    AnswerOfOurs,
}

/// How many there are.
const KINDS: usize = 4;
/// Opcodes of requests, and of what answers them: read responses and acknowledgements.
const REQUESTS: std::ops::Range<u8> = RC_SEND_FIRST..RC_READ_RESPONSE_FIRST;
const ANSWERS: std::ops::RangeInclusive<u8> = RC_READ_RESPONSE_FIRST..=RC_ACKNOWLEDGE;
/// One of so many first frames of a kind is hit for sure.
const FIRST: u64 = 4;

impl Kind {
    /// None: a frame of the connection managers', or of another service.
    fn of(key: Key) -> Option<Self> {
        let is_linux = key.source == u32::from(GUEST_IP);
        match (is_linux, key.opcode) {
            (true, opcode) if REQUESTS.contains(&opcode) => Some(Self::RequestOfLinux),
            (true, opcode) if ANSWERS.contains(&opcode) => Some(Self::AnswerOfLinux),
            (false, opcode) if REQUESTS.contains(&opcode) => Some(Self::RequestOfOurs),
            (false, opcode) if ANSWERS.contains(&opcode) => Some(Self::AnswerOfOurs),
            _ => None,
        }
    }
}

/// What was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    of_kind: [u64; KINDS],
    /// Frames of the connection managers'.
    others: u64,
}

impl Hits {
    /// Each kind of frame was hit.
    ///
    /// # Errors
    /// One was not.
    pub fn of_each_kind(&self) -> Result<()> {
        ensure!(self.of_kind.iter().all(|&hits| hits > 0), "a kind of frame was not hit: {self}");
        Ok(())
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [asked, answered, asked_by_us, answered_by_us] = self.of_kind;
        write!(f, "hit of Linux' {asked} requests and {answered} answers, ")?;
        write!(f, "of ours {asked_by_us} and {answered_by_us}, of connections {}", self.others)
    }
}

/// What is to happen, and what has.
#[derive(Debug)]
struct Plan {
    fault: Fault,
    /// Of 1000 frames so many are hit.
    share: u32,
    random: ChaCha8Rng,
    /// Frames of each kind that are still to come before the one that is hit for sure.
    left: [u64; KINDS],
    hits: Hits,
}

/// The wire's faults: clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Strikes(Arc<Mutex<Option<Plan>>>);

impl Strikes {
    /// From now on frames are hit, of 1000 about `share`. The seed is printed.
    pub fn begin(&self, fault: Fault, seed: u64, share: u32) {
        println!("faults of seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let left = std::array::from_fn(|_| random.random_range(0..FIRST));
        let plan = Plan { fault, share, random, left, hits: Hits::default() };
        *self.plan() = Some(plan);
    }

    /// Nothing goes wrong from now on. What was hit.
    pub fn end(&self) -> Hits {
        self.plan().take().map_or_else(Hits::default, |plan| plan.hits)
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Option<Plan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FaultInjector for Strikes {
    fn fate(&mut self, key: Key, _frame: &[u8]) -> Fate {
        let mut plan = self.plan();
        let Some(plan) = plan.as_mut() else { return Fate::GOOD };
        let mut is_hit = plan.random.random_ratio(plan.share, 1000);
        let kind = Kind::of(key).map(|kind| kind as usize);
        if let Some(kind) = kind {
            is_hit |= plan.left[kind] == 0;
            // The one that is hit for sure is hit once.
            plan.left[kind] = plan.left[kind].checked_sub(1).unwrap_or(u64::MAX);
        }
        if !is_hit {
            return Fate::GOOD;
        }
        match kind {
            Some(kind) => plan.hits.of_kind[kind] += 1,
            None => plan.hits.others += 1,
        }
        plan.fault.fate(&mut plan.random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::OWN_IP;
    use viaduct_spec::wire::opcode::RC_SEND_ONLY;

    #[test]
    fn one_of_the_first_of_each_kind_is_hit() {
        for seed in 0..100 {
            let mut strikes = Strikes::default();
            strikes.begin(Fault::Lost, seed, 0);
            for frame in 0..10 * FIRST as u32 {
                for (source, opcode) in [
                    (GUEST_IP, RC_SEND_ONLY),
                    (GUEST_IP, RC_ACKNOWLEDGE),
                    (OWN_IP, RC_SEND_ONLY),
                    (OWN_IP, RC_ACKNOWLEDGE),
                    (OWN_IP, 0x64),
                ] {
                    let key = Key { source: source.into(), queue_pair: 17, opcode, psn: frame };
                    let fate = strikes.fate(key, &[]);
                    assert!(fate == Fate::GOOD || frame < FIRST as u32, "seed {seed}, frame {frame}");
                }
            }
            assert_eq!(strikes.end(), Hits { of_kind: [1; KINDS], others: 0 }, "seed {seed}");
            assert_eq!(strikes.end(), Hits::default());
        }
    }

    #[test]
    fn a_kind_that_is_not_hit_is_named() {
        let hits = Hits { of_kind: [1, 2, 0, 3], others: 4 };
        let error = hits.of_each_kind().unwrap_err().to_string();
        assert!(error.contains("1 requests and 2 answers, of ours 0 and 3, of connections 4"), "{error}");
    }
}
