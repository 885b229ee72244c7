//! Receives that are posted: where their bytes go, and which of them are bad.

use rand::Rng;

use super::BUFFERS;
use crate::world::World;

const HANDLE: u64 = 0x4242_0003;

/// A receive: its segments, and the byte at which it is refused.
pub struct Post {
    pub segments: Vec<(u64, u64, u64)>,
    pub refused_at: Option<u64>,
}

impl Post {
    pub fn room(&self) -> u64 {
        self.segments.iter().map(|(_, _, length)| length).sum()
    }
}

/// So many receives of a VI, some of them small or bad.
pub fn posts(world: &mut World, vi: u64, count: usize) -> Vec<Post> {
    let mut at = BUFFERS + vi * 0x10_0000;
    (0..count)
        .map(|_| {
            let random = &mut world.random;
            let mut segments = Vec::new();
            let mut refused_at = None;
            let room = if random.random_ratio(1, 12) { 60 } else { 3000 };
            let mut total = 0;
            for n in 0..random.random_range(1..10) {
                let length = random.random_range(0..if n == 0 { room } else { room / 2 });
                let mut handle = HANDLE;
                if length > 0 && random.random_ratio(1, 80) {
                    handle = 0x9999_0003;
                    refused_at = refused_at.or(Some(total));
                }
                segments.push((at, handle, length));
                total += length;
                at += length + random.random_range(0..9);
            }
            Post { segments, refused_at }
        })
        .collect()
}
