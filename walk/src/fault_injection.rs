//! Faults on the wire by (flow, opcode, PSN, n-th copy): every network that carries the same messages meets the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::{Fate, FaultInjector, Key};

/// How often each thing happens to a frame, of 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// It is lost.
    pub lose: u32,
    /// It comes twice.
    pub repeat: u32,
    /// Its ICRC is wrong.
    pub flip: u32,
    /// Its FCS is wrong.
    pub damage: u32,
    /// Later frames overtake it.
    pub delay: u32,
}

/// What has happened, by its name.
pub type Met = Arc<Mutex<BTreeMap<&'static str, u64>>>;

/// Faults by key, so many of 1000 frames each.
#[derive(Debug)]
pub struct KeyedFaults {
    seed: u64,
    rates: Rates,
    /// Copies of each frame so far.
    copies: BTreeMap<Key, u64>,
    met: Met,
}

impl KeyedFaults {
    /// From a seed.
    pub fn new(seed: u64, rates: Rates, met: Met) -> Self {
        Self { seed, rates, copies: BTreeMap::new(), met }
    }
}

impl FaultInjector for KeyedFaults {
    fn fate(&mut self, key: Key, _: &[u8]) -> Fate {
        let copy = self.copies.entry(key).and_modify(|copies| *copies += 1).or_insert(0);
        let rates = &self.rates;
        // Acknowledgements are coalesced as time has it, and say the same PSN again and again: what happens to them is
        // a race, and the programs in which anything may happen to them are judged so.
        let mut words = [0u8; 32];
        let parts = [
            self.seed,
            u64::from(key.source) << 32 | u64::from(key.queue_pair),
            u64::from(key.opcode) << 32 | u64::from(key.psn),
            *copy,
        ];
        for (bytes, part) in words.chunks_exact_mut(8).zip(parts) {
            bytes.copy_from_slice(&part.to_le_bytes());
        }
        let mut random = ChaCha8Rng::from_seed(words);
        let mut fate = Fate::GOOD;
        let mut happens = |rate: u32, name| {
            let does = random.random_range(0..1000) < rate;
            if does {
                *self.met.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(0) += 1;
            }
            does
        };
        if happens(rates.lose, "frame lost") {
            fate.copies = 0;
        } else if happens(rates.repeat, "frame repeated") {
            fate.copies = 2;
        }
        let flips = happens(rates.flip, "ICRC wrong");
        fate.damaged = happens(rates.damage, "FCS wrong");
        let late = happens(rates.delay, "frame overtaken");
        if flips {
            fate.flip = Some(random.random());
        }
        if late {
            fate.behind = random.random_range(1..4);
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each frame's fate is its own: other frames between change nothing, and every part of the key counts.
    #[test]
    fn a_frame_s_fate_is_its_key_s_and_its_copy_s() {
        let rates = Rates { lose: 200, repeat: 200, flip: 200, damage: 200, delay: 200 };
        let keyed = |seed| KeyedFaults::new(seed, rates, Met::default());
        let key = |n: u32| Key { source: 1, queue_pair: 2, opcode: 4, psn: n };
        let told = |faults: &mut KeyedFaults, key: Key| format!("{:?}", faults.fate(key, &[]));
        let fates = |seed, change: fn(Key) -> Key| -> Vec<String> {
            let mut faults = keyed(seed);
            (0..100).flat_map(|n| [key(n); 2]).map(|key| told(&mut faults, change(key))).collect()
        };
        let usual = fates(1, |key| key);
        let mut faults = keyed(1);
        let backwards = (0..100).rev().flat_map(|n| {
            told(&mut faults, Key { source: 9, ..key(n) });
            let [first, second] = [0, 1].map(|_| told(&mut faults, key(n)));
            [second, first]
        });
        let mut backwards: Vec<String> = backwards.collect();
        backwards.reverse();
        assert_eq!(usual, backwards, "other frames, in another order");
        let changes: [fn(Key) -> Key; 3] = [
            |key| Key { source: 3, ..key },
            |key| Key { queue_pair: 3, ..key },
            |key| Key { opcode: 5, ..key },
        ];
        for change in changes {
            assert_ne!(usual, fates(1, change));
        }
        assert_ne!(usual, fates(2, |key| key), "the seed");
        assert!(usual.chunks(2).any(|copies| copies[0] != copies[1]), "the copy");
        assert!(usual.windows(3).any(|three| three[0] != three[2]), "the PSN");
    }
}
