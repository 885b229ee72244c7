//! Requests of the engine: each must be the next piece.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_spec::tlp::{dw0, kind, request_dw1};

use super::answers::REQUESTER;
use super::command::Fate;
use super::host::Host;
use crate::beat::field;

impl Host {
    /// A request has been taken: it must be the next piece, and is answered one day.
    pub fn request(&mut self, packet: &[u32]) {
        let skipped =
            self.pieces.range(self.sent..).position(|p| !p.command.refused).expect("a request for nothing");
        self.sent += skipped;
        let tag = field(request_dw1::TAG, packet[1]);
        let long = field(dw0::KIND, packet[0]) == u64::from(kind::READ_4DW);
        assert!(long || field(dw0::KIND, packet[0]) == u64::from(kind::READ_3DW));
        assert_eq!(packet.len(), if long { 4 } else { 3 });
        let address = if long { u64::from(packet[2]) << 32 | u64::from(packet[3]) } else { packet[2].into() };
        assert_eq!(long, address >> 32 != 0, "short header exactly below 4 GiB");
        let words = field(dw0::LENGTH, packet[0]);
        assert_eq!(packet[0] & 0x00FF_FC00, 0, "no attribute, no class");
        assert_eq!(field(request_dw1::REQUESTER, packet[1]), REQUESTER);
        assert!(tag < 16 && !self.in_use[tag as usize] && !self.dead[tag as usize], "tag {tag}");
        let piece = &self.pieces[self.sent];
        let end = piece.address + piece.length;
        assert_eq!(address, piece.address & !3);
        assert_eq!(words, end.div_ceil(4) - address / 4);
        let enabled = |word: u64| {
            (0..4).filter(|b| (piece.address..end).contains(&(word * 4 + b))).fold(0, |m, b| m | 1u64 << b)
        };
        assert_eq!(field(request_dw1::FIRST_BE, packet[1]), enabled(address / 4));
        let last = if words == 1 { 0 } else { enabled(address / 4 + words - 1) };
        assert_eq!(field(request_dw1::LAST_BE, packet[1]), last);
        self.requests += 1;

        let (at, length) = (piece.address, piece.length);
        let roll = self.rng.random_range(0..self.poison.max(1));
        let fate = if self.missing > 0 && self.rng.random_range(0..40) == 0 {
            self.missing -= 1;
            Fate::Missing
        } else if self.poison > 0 && roll == 0 {
            *[Fate::Poisoned, Fate::Unsupported, Fate::Short].choose(&mut self.rng).unwrap()
        } else {
            Fate::Good
        };
        self.pieces[self.sent].fate = fate;
        self.sent += 1;
        self.in_use[tag as usize] = true;
        self.tags.push_back(tag);
        self.answer(tag, at, length, fate);
    }
}
