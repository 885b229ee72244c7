//! The network that a program runs on: how often each fault happens.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::fault_injection::Rates;

/// Half of the networks are good ones.
pub(super) fn rates(random: &mut ChaCha8Rng) -> Rates {
    if random.random() {
        return Rates::default();
    }
    let mut rate = |most: u32| [0, most / 5, most][random.random_range(0..3)];
    Rates { lose: rate(200), repeat: rate(150), flip: rate(100), damage: rate(100), delay: rate(150) }
}
