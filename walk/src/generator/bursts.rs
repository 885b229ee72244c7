//! A burst: messages of an end, and the receives of its peer for them.

use rand::Rng;

use super::{Generator, BURST};
use crate::operation::{Bell, End, Post, Request};

impl Generator {
    /// Messages from an end, and the receives of the other for them.
    pub(super) fn burst(&mut self, end: End, sends: &mut Vec<Post>, receives: &mut Vec<Post>) {
        let peer = end ^ 1;
        let mut early = 0;
        for _ in 0..self.random.random_range(1..=self.most) {
            let Some(mut post) = self.post(end) else { return };
            let sum: u32 = post.pieces.iter().map(|piece| piece.length).sum();
            let consumes = match post.request {
                Request::Message => true,
                Request::Write => post.immediate.is_some(),
                Request::Read => false,
            };
            // Now and then a receive is missing, or too many are there.
            if consumes && (self.flawless || !self.chance(80)) {
                if let Some(mut receive) = self.receive(peer, sum) {
                    self.flaw(&mut receive);
                    receives.push(receive);
                    early += 1;
                }
            }
            if !self.flawless && self.chance(60) && early < BURST {
                if let Some(receive) = self.receive(peer, 100) {
                    receives.push(receive);
                    early += 1;
                }
            }
            self.flaw(&mut post);
            sends.push(post);
        }
        // The last of a burst says what the silent ones did not.
        for posts in [sends, receives] {
            if let Some(last) = posts.last_mut().filter(|last| last.bell == Bell::Silent) {
                last.bell = Bell::High;
            }
        }
    }
}
