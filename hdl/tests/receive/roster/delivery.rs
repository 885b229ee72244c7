//! The delivery's side: the payload of the frame taken, as much of it as is wanted.

use rand::Rng;
use viaduct_hdl::bus::WriteBeat;

use super::{Frame, World};
use crate::bundle::Bundle;

/// The delivery of the frame taken.
#[derive(Debug)]
pub struct Delivery {
    /// Its number.
    pub frame: usize,
    pub started: bool,
    pub got: Vec<u8>,
    /// Bytes that are wanted.
    pub limit: usize,
}

impl World {
    /// The delivery's side, for one cycle: whether the frame is done with it.
    pub fn deliver(&mut self) -> bool {
        for port in ["held_release", "held_payload_start", "payload_ready"] {
            self.bench.set(port, 0);
        }
        let Some(delivery) = &mut self.delivery else { return false };
        let Frame { info, payload, .. } = &self.frames[delivery.frame];
        if !delivery.started {
            info.set(&mut self.bench, "held_frame");
            if self.random.random_ratio(1, 12) {
                // Without a look at its payload.
                self.bench.set("held_release", 1);
                return true;
            }
            if self.random.random_ratio(1, 3) {
                self.bench.set("held_payload_start", 1);
                delivery.started = true;
            }
            return false;
        }
        if delivery.got.len() >= delivery.limit {
            assert_eq!(delivery.got[..], payload[..delivery.got.len()]);
            if delivery.got.len() == payload.len() {
                assert_eq!(self.bench.get("payload_valid"), 0, "payload behind the payload");
            }
            let done = self.random.random_ratio(1, 8);
            self.bench.set("held_release", done.into());
            return done;
        }
        if self.random.random_ratio(3, 4) {
            self.bench.set("payload_ready", 1);
            if self.bench.get("payload_valid") == 1 {
                let beat = Bundle::of::<WriteBeat>("payload");
                let get = |name| beat.get(&self.bench, name) as usize;
                let (start, count) = (get("start"), get("count"));
                assert!(count >= 1 && start + count <= 8, "{count} bytes from {start} on");
                let data = beat.get(&self.bench, "data").to_le_bytes();
                delivery.got.extend(&data[start..start + count]);
            }
        }
        false
    }
}
