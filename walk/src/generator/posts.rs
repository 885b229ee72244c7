//! Descriptors that are posted: sends, RDMA requests and receives.

use rand::Rng;

use super::Generator;
use crate::memory::SOURCE_BYTES;
use crate::operation::{Bell, End, Flaw, Piece, Post, Request};

impl Generator {
    /// A message or an RDMA request of an end.
    pub(super) fn post(&mut self, end: End) -> Option<Post> {
        let connection = end / 2;
        let reliable = self.connections[connection].is_reliable();
        let rights = self.connections[connection].rights;
        let request = match self.random.random_range(0..4) {
            0 if rights[0] || !self.flawless => Request::Write,
            1 if if self.flawless { rights[1] } else { reliable || self.chance(8) } => Request::Read,
            _ => Request::Message,
        };
        let length = self.length(connection);
        let cuts = self.cut(length);
        let place = self.place(end, cuts.len() + usize::from(request != Request::Message))?;
        let mut pieces = Vec::new();
        for length in cuts {
            let at = match request {
                Request::Read => self.room(end, length)?,
                _ => self.random.random_range(0..=SOURCE_BYTES - length),
            };
            pieces.push(Piece { slot: self.slot(end, at, length), at, length });
        }
        let remote = match request {
            Request::Message => (0, 0),
            Request::Write => {
                let at = self.room(end ^ 1, length)?;
                (self.remote_slot(end ^ 1, at, length), at)
            }
            Request::Read => {
                let at = self.random.random_range(0..=SOURCE_BYTES - length);
                (self.remote_slot(end ^ 1, at, length), at)
            }
        };
        let immediate = self.chance(4) && request != Request::Read;
        let fence = self.chance(8);
        Some(Post {
            end,
            receive: false,
            request,
            place,
            pieces,
            remote,
            immediate: immediate.then(|| self.random.random()),
            fence,
            flaw: Flaw::None,
            bell: self.bell(),
        })
    }

    /// A receive for a message of so many bytes: room for it and more, now and then too little.
    pub(super) fn receive(&mut self, end: End, length: u32) -> Option<Post> {
        let length = match self.random.random_range(0..50) {
            0 if !self.flawless => length.saturating_sub(self.random.random_range(0..100)),
            1..=10 => length,
            _ => length + self.random.random_range(0..100),
        };
        let cuts = self.cut(length);
        let place = self.place(end, cuts.len())?;
        let mut pieces = Vec::new();
        for length in cuts {
            let at = self.room(end, length)?;
            pieces.push(Piece { slot: self.slot(end, at, length), at, length });
        }
        Some(Post {
            end,
            receive: true,
            request: Request::Message,
            place,
            pieces,
            remote: (0, 0),
            immediate: None,
            fence: false,
            flaw: Flaw::None,
            bell: self.bell(),
        })
    }

    /// How the doorbell is rung for a descriptor.
    fn bell(&mut self) -> Bell {
        match self.random.random_range(0..8) {
            0 => Bell::High,
            1 => Bell::Silent,
            _ => Bell::Token,
        }
    }
}
