//! How long a message is, and the segments that it is cut into.

use rand::Rng;

use super::Generator;

/// Most frames of a message.
const FRAMES: u32 = 8;

impl Generator {
    /// How long a message is: short ones, and those about the path MTU.
    pub(super) fn length(&mut self, connection: usize) -> u32 {
        let mtu = 256 << self.connections[connection].mtu;
        let most = self.connections[connection].max_transfer as u32;
        let most = if self.flawless { most } else { u32::MAX };
        let length = match self.random.random_range(0..10) {
            0 => 0,
            1..=3 => self.random.random_range(1..64),
            4..=5 => self.random.random_range(64..300),
            6..=7 => (mtu * self.random.random_range(1..3) + self.random.random_range(0..3) - 1).min(4000),
            8 => self.random.random_range(300..1500),
            _ => self.random.random_range(1500..2600),
        };
        length.min(most).min(FRAMES * mtu)
    }

    /// Cuts a length into segments, some of them empty.
    pub(super) fn cut(&mut self, length: u32) -> Vec<u32> {
        let count = match self.random.random_range(0..20) {
            0 => self.random.random_range(10..40),
            1..=10 => 1,
            _ => self.random.random_range(1..6),
        };
        if length == 0 && self.random.random() {
            return Vec::new();
        }
        let mut left = length;
        let mut cuts = Vec::new();
        for index in 0..count {
            let take = if index + 1 == count { left } else { self.random.random_range(0..=left) };
            cuts.push(take);
            left -= take;
        }
        cuts
    }
}
