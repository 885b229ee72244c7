//! Frames that are lost at random.

use serde::{Deserialize, Serialize};

/// Loses some of all RoCE frames. Each is lost or not by its number and the seed alone, so that the same frames are lost again in another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loss {
    /// Frames of a million.
    pub per_million: u32,
    /// Decides which ones.
    pub seed: u64,
}

impl Loss {
    /// Whether it loses the frame of this number.
    pub fn loses(self, number: u64) -> bool {
        u128::from(mixed(self.seed, number)) * 1_000_000 < u128::from(self.per_million) << 64
    }
}

/// A number that looks random: SplitMix64's of this place (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
fn mixed(seed: u64, place: u64) -> u64 {
    let mut word = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss, first: u64) -> Vec<bool> {
        (first..first + (1 << 17)).map(|number| loss.loses(number)).collect()
    }

    #[test]
    fn as_many_are_lost_as_are_asked_for_early_and_late() {
        for per_million in [0, 1000, 10_000, 500_000, 1_000_000] {
            for first in [1, 1 << 20, 1 << 40] {
                let found = lost(Loss { per_million, seed: 7 }, first);
                let count = found.iter().filter(|lost| **lost).count() as f64;
                let wanted = f64::from(per_million) / 1e6 * found.len() as f64;
                // Five standard deviations.
                let most = 5.0 * (wanted * (1.0 - f64::from(per_million) / 1e6)).sqrt();
                assert!((count - wanted).abs() <= most, "{per_million} from {first}: {count}");
            }
        }
    }

    #[test]
    fn more_than_all_are_all() {
        let loss = Loss { per_million: u32::MAX, seed: u64::MAX };
        assert!(lost(loss, u64::MAX - (1 << 17)).into_iter().all(|lost| lost));
    }

    #[test]
    fn the_seed_says_which() {
        let [one, same, other] = [1, 1, 2].map(|seed| lost(Loss { per_million: 10_000, seed }, 1));
        assert!(one == same && one != other);
    }

    #[test]
    fn a_number_is_splitmix64_s() {
        // Its first three from the seed 1234567, as published with its reference implementation.
        let first = [1, 2, 3].map(|place| mixed(1_234_567, place));
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }
}
