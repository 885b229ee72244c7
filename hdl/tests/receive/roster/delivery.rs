//! The delivery's side: of each frame taken, as much of the payload as is wanted; then its place comes back.

use rand::Rng;
use viaduct_hdl::bus::WriteBeat;

use super::{Frame, World};
use crate::bundle::Bundle;
use crate::store::{free, show_payload};

/// The delivery of a frame that is taken.
#[derive(Debug)]
pub struct Delivery {
    /// Its number.
    pub frame: usize,
    /// Bytes that are wanted.
    pub limit: usize,
    /// Its payload was asked for.
    started: bool,
    /// Its place is given back.
    pub frees: bool,
    got: Vec<u8>,
}

impl Delivery {
    /// So much is wanted of a frame.
    pub fn new(frame: usize, limit: usize) -> Self {
        Self { frame, limit, started: false, frees: false, got: Vec::new() }
    }
}

impl World {
    /// The delivery's side, for one cycle: the oldest frame taken has its turn.
    pub fn deliver(&mut self) {
        for port in ["free_valid", "place_valid", "payload_ready"] {
            self.bench.set(port, 0);
        }
        let Some(delivery) = self.deliveries.front_mut() else { return };
        let Frame { info, payload, .. } = &self.frames[delivery.frame];
        if !delivery.started && !delivery.frees {
            // Now and then without a look at its payload.
            delivery.frees = self.random.random_ratio(1, 12);
            if !delivery.frees && self.random.random_ratio(1, 3) {
                show_payload(&mut self.bench, info);
                delivery.started = true;
                return;
            }
        } else if delivery.got.len() >= delivery.limit && !delivery.frees {
            assert_eq!(delivery.got[..], payload[..delivery.got.len()]);
            if delivery.got.len() == payload.len() {
                assert_eq!(self.bench.get("payload_valid"), 0, "payload behind the payload");
            }
            delivery.frees = self.random.random_ratio(1, 8);
        } else if !delivery.frees && self.random.random_ratio(3, 4) {
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
        if delivery.frees {
            free(&mut self.bench, info.place);
        }
    }
}
