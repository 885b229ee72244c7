//! What is on the path's ports: beats of frames, and what the parser says of a frame.

use viaduct_hdl::bus::{FrameBeat, FrameInfo};
use viaduct_hdl::receive::Fate;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Eight bytes of a frame, as `FrameBeat`.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    pub data: u64,
    pub count: u64,
    pub last: bool,
    pub bad: bool,
}

impl Beat {
    pub fn set(&self, bench: &mut Bench, port: &str) {
        let fields = [
            ("data", self.data),
            ("count", self.count),
            ("last", self.last.into()),
            ("bad", self.bad.into()),
        ];
        Bundle::of::<FrameBeat>(port).set(bench, &fields);
    }

    /// Sets the beat at the edge to the MAC, where each part is a port, and a mask says how many bytes there are.
    pub fn set_from_mac(&self, bench: &mut Bench, port: &str) {
        let parts = [
            ("data", self.data),
            ("keep", (1 << self.count) - 1),
            ("last", self.last.into()),
            ("bad", self.bad.into()),
        ];
        parts.into_iter().for_each(|(name, value)| bench.set(&format!("{port}_{name}"), value));
    }

    pub fn get(bench: &Bench, port: &str) -> Self {
        let bundle = Bundle::of::<FrameBeat>(port);
        let get = |name| bundle.get(bench, name);
        Self { data: get("data"), count: get("count"), last: get("last") == 1, bad: get("bad") == 1 }
    }
}

/// A frame as beats. Lanes behind its end hold rubbish.
pub fn beats(frame: &[u8], bad: bool) -> Vec<Beat> {
    let chunks = frame.len().div_ceil(8);
    (0..chunks)
        .map(|n| {
            let bytes = &frame[n * 8..frame.len().min(n * 8 + 8)];
            let mut data = [0xa5u8; 8];
            data[..bytes.len()].copy_from_slice(bytes);
            let last = n + 1 == chunks;
            Beat { data: u64::from_le_bytes(data), count: bytes.len() as u64, last, bad: bad && last }
        })
        .collect()
}

/// Says what becomes of the frame on show, or that nothing is decided.
pub fn decide(bench: &mut Bench, fate: Option<Fate>) {
    bench.set("show_decided", fate.is_some().into());
    bench.set("show_fate", fate.map_or(0, |fate| fate as u64));
}

/// What the parser says of a frame, as `FrameInfo`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Info {
    pub opcode: u64,
    pub queue_pair: u64,
    pub psn: u64,
    pub ack_request: bool,
    pub extension: u64,
    pub source_ip: u64,
    pub extended: bool,
    pub reth: bool,
    pub address: u64,
    pub rkey: u64,
    pub size: u64,
    pub length: u64,
    pub raw: bool,
    pub tagged: bool,
    pub start: u64,
    pub place: u64,
}

impl Info {
    pub fn set(&self, bench: &mut Bench, port: &str) {
        let fields = [
            ("opcode", self.opcode),
            ("queue_pair", self.queue_pair),
            ("psn", self.psn),
            ("ack_request", self.ack_request.into()),
            ("extension", self.extension),
            ("source_ip", self.source_ip),
            ("extended", self.extended.into()),
            ("reth", self.reth.into()),
            ("address", self.address),
            ("rkey", self.rkey),
            ("size", self.size),
            ("length", self.length),
            ("raw", self.raw.into()),
            ("has_tag", self.tagged.into()),
            ("start", self.start),
            ("place", self.place),
        ];
        Bundle::of::<FrameInfo>(port).set(bench, &fields);
    }

    pub fn get(bench: &Bench, port: &str) -> Self {
        let bundle = Bundle::of::<FrameInfo>(port);
        let get = |name| bundle.get(bench, name);
        Self {
            opcode: get("opcode"),
            queue_pair: get("queue_pair"),
            psn: get("psn"),
            ack_request: get("ack_request") == 1,
            extension: get("extension"),
            source_ip: get("source_ip"),
            extended: get("extended") == 1,
            reth: get("reth") == 1,
            address: get("address"),
            rkey: get("rkey"),
            size: get("size"),
            length: get("length"),
            raw: get("raw") == 1,
            tagged: get("has_tag") == 1,
            start: get("start"),
            place: get("place"),
        }
    }
}
