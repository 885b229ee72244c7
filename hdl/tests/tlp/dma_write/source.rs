//! Data of a client: its bytes in beats of any size.

use std::collections::VecDeque;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::WriteBeat;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// One client's data: a beat on show, and how the stream goes on.
#[derive(Default)]
pub struct Source {
    pub stream: VecDeque<u8>,
    pub beat: Option<([u8; 8], u64, u64)>,
}

impl Source {
    /// Offers a beat of the next bytes, now or later; whole words if `calm`.
    pub fn offer(&mut self, bench: &mut Bench, rng: &mut ChaCha8Rng, rate: f64, calm: bool, name: &str) {
        if self.beat.is_none() && !self.stream.is_empty() && rng.random_bool(rate) {
            let start = if calm { 0 } else { rng.random_range(0..8) };
            let most = (8 - start).min(self.stream.len() as u64);
            let count = if calm { most } else { rng.random_range(1..=most) };
            let mut data: [u8; 8] = rng.random();
            for lane in start..start + count {
                data[lane as usize] = self.stream.pop_front().unwrap();
            }
            self.beat = Some((data, start, count));
        }
        bench.set(&format!("{name}_valid"), self.beat.is_some().into());
        if let Some((data, start, count)) = self.beat {
            let fields = [("data", u64::from_le_bytes(data)), ("start", start), ("count", count)];
            Bundle::of::<WriteBeat>(name).set(bench, &fields);
        }
    }

    pub fn taken(&mut self, bench: &Bench, name: &str) {
        if bench.get(&format!("{name}_ready")) == 1 {
            self.beat = None;
        }
    }
}
