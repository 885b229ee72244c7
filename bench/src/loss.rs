//! A wire that loses frames.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::{Fate, FaultInjector, Key};

/// How many frames are lost. Each is lost or not by itself, whichever way it goes and whatever it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Of 1000 frames.
    pub per_mille: u32,
    /// Decides which ones.
    pub seed: u64,
}

impl Loss {
    /// No frame is lost.
    pub const NONE: Self = Self { per_mille: 0, seed: 0 };

    /// What loses them; `None` if nothing is lost.
    pub fn injector(self) -> Option<Box<dyn FaultInjector>> {
        let random = ChaCha8Rng::seed_from_u64(self.seed);
        (self.per_mille != 0)
            .then(|| Box::new(Lossy { per_mille: self.per_mille, random }) as Box<dyn FaultInjector>)
    }
}

/// Loses frames, in the order in which they reach the switch.
#[derive(Debug)]
struct Lossy {
    per_mille: u32,
    random: ChaCha8Rng,
}

impl FaultInjector for Lossy {
    fn fate(&mut self, _: Key, _: &[u8]) -> Fate {
        let lost = self.random.random_range(0..1000) < self.per_mille;
        Fate { copies: usize::from(!lost), ..Fate::GOOD }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(loss: Loss) -> Vec<usize> {
        let mut injector = loss.injector().unwrap();
        let key = Key { source: 1, queue_pair: 2, opcode: 3, psn: 4 };
        (0..100_000).map(|_| injector.fate(key, &[]).copies).collect()
    }

    #[test]
    fn one_frame_of_a_hundred_is_lost_and_the_seed_says_which() {
        let [one, same, other] = [5, 5, 6].map(|seed| fates(Loss { per_mille: 10, seed }));
        assert_eq!(one, same);
        assert_ne!(one, other);
        let lost = one.iter().filter(|copies| **copies == 0).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert!(one.iter().all(|copies| *copies <= 1));
        assert!(Loss::NONE.injector().is_none());
    }
}
