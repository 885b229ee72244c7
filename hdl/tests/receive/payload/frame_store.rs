//! The store, as the payload queue sees it: a ring of bytes that shows the payload it is asked for.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::WriteBeat;
use viaduct_hdl::receive::PayloadPlace;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Bytes of the ring.
const BYTES: usize = 2048 * 8;

/// See the module's description.
pub struct FrameStore {
    ring: Vec<u8>,
    /// What is on show: number of its first byte, and how many.
    shown: Option<(usize, usize)>,
}

impl FrameStore {
    pub fn new(random: &mut ChaCha8Rng) -> Self {
        Self { ring: (0..BYTES).map(|_| random.random()).collect(), shown: None }
    }

    /// A byte of the ring, by its number.
    pub fn byte(&self, number: usize) -> u8 {
        self.ring[number % BYTES]
    }

    /// The next beat of the payload that is asked for.
    fn beat(&self) -> Option<(usize, usize, usize)> {
        let (from, left) = self.shown.filter(|(_, left)| *left > 0)?;
        Some((from / 8 * 8, from % 8, left.min(8 - from % 8)))
    }

    /// Offers the next beat, if it wants to.
    pub fn offer(&self, bench: &mut Bench, wants: bool) {
        let beat = self.beat().filter(|_| wants);
        bench.set("payload_valid", beat.is_some().into());
        if let Some((word, start, count)) = beat {
            let data: [u8; 8] = std::array::from_fn(|lane| self.byte(word + lane));
            let fields =
                [("data", u64::from_le_bytes(data)), ("start", start as u64), ("count", count as u64)];
            Bundle::of::<WriteBeat>("payload").set(bench, &fields);
        }
    }

    /// What becomes of the beat in this cycle, and what is asked for.
    pub fn note(&mut self, bench: &Bench, offered: bool) {
        if let Some((word, start, count)) = self.beat().filter(|_| offered && bench.get("payload_ready") == 1)
        {
            let left = self.shown.unwrap().1 - count;
            self.shown = Some((word + start + count, left));
        }
        if bench.get("free_valid") == 1 {
            self.shown = None;
        }
        if bench.get("place_valid") == 1 {
            let get = |name| Bundle::of::<PayloadPlace>("place").get(bench, name) as usize;
            self.shown = Some((get("word") * 8 + get("lane"), get("length")));
        }
    }
}
