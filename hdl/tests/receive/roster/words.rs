//! The words' side: frames come in, and are kept or taken back.

use std::collections::VecDeque;

use rand::Rng;

use super::{Frame, Pace, State, World, PLACES, WORDS};
use crate::shown::Info;
use crate::store::payload;

/// Words that may come after `store_ready` went low.
const LATE: usize = 6;

/// A frame on its way into it.
pub struct Incoming {
    info: Info,
    words: VecDeque<u64>,
    payload: Vec<u8>,
    written: u64,
    keep: bool,
}

impl World {
    /// A frame with every field of its own.
    fn frame(&mut self, largest: usize, keep: bool) -> Incoming {
        let length = self.random.random_range(0..=largest);
        let raw = length >= 58 && self.random.random_ratio(1, 4);
        let mut info = Info {
            opcode: self.random.random_range(0..1 << 8),
            queue_pair: self.random.random_range(0..1 << 24),
            psn: self.random.random_range(0..1 << 24),
            ack_request: self.random.random(),
            extension: self.random.random_range(0..1 << 32),
            source_ip: self.random.random_range(0..1 << 32),
            address: self.random.random(),
            rkey: self.random.random_range(0..1 << 32),
            size: self.random.random_range(0..1 << 32),
            length: length as u64,
            tagged: self.random.random(),
            raw,
            ..Info::default()
        };
        (info.extended, info.reth) = (!raw && self.random.random(), !raw && self.random.random());
        let from = payload(&info);
        let mut bytes = vec![0; (from + length + 4).div_ceil(8) * 8];
        self.random.fill(&mut bytes[..]);
        let words = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        Incoming { info, words, payload: bytes[from..from + length].to_vec(), written: 0, keep }
    }

    /// The words' side, for one cycle. What is decided in it counts behind it.
    pub fn write(&mut self, pace: Pace) -> Option<Incoming> {
        for port in ["store_valid", "keep", "drop"] {
            self.bench.set(port, 0);
        }
        let ready = self.bench.get("store_ready") == 1;
        self.late = if ready { 0 } else { self.late + 1 };
        let ends = self.incoming.as_ref().is_some_and(|frame| frame.words.is_empty());
        // A frame that does not get its words in is dropped.
        let stuck = self.late > 10 * LATE && self.incoming.is_some();
        let mut decided = None;
        if (ends && self.random.random_ratio(1, 2)) || stuck {
            let mut frame = self.incoming.take().unwrap();
            frame.keep &= !stuck;
            self.bench.set(if frame.keep { "keep" } else { "drop" }, 1);
            let mut info = frame.info.clone();
            (info.start, info.place) = (self.random.random_range(0..2048), self.random.random_range(0..16));
            info.set(&mut self.bench, "keep_info");
            decided = Some(frame);
        }
        if self.incoming.is_none() && pace.writer > 0 && self.random.random_ratio(1, pace.writer) {
            let keep = self.random.random_ratio(5, 6);
            self.incoming = Some(self.frame(pace.largest, keep));
        }
        if let Some(frame) = self.incoming.as_mut().filter(|_| ready || self.late <= LATE) {
            if let Some(word) = frame.words.pop_front() {
                self.bench.set("store_valid", 1);
                self.bench.set("store", word);
                frame.written += 1;
            }
        }
        decided
    }

    /// A frame is whole, or its words are taken back.
    pub fn keep(&mut self, mut frame: Incoming) {
        if frame.keep {
            frame.info.start = self.tail % WORDS;
            self.tail += frame.written;
            frame.info.place = self.frames.len() as u64 % PLACES;
            self.frames.push(Frame {
                info: frame.info,
                words: frame.written,
                payload: frame.payload,
                state: State::Waits,
            });
        }
    }
}
