//! Memory behind a checker: what may be accessed, and what it answers.

use rand::Rng;
use viaduct_hdl::bus::{self, client};
use viaduct_verilate::Bench;

use super::World;
use crate::bundle::Bundle;

/// A registered region, as far as the checker looks.
#[derive(Clone, Debug)]
pub struct Region {
    pub base: u64,
    pub length: u64,
    pub key: u64,
    pub tag: u64,
    /// Peers may write to it.
    pub writable: bool,
}

impl World {
    /// Is it, or a peer's whole span, in a region of the right tag? Where it begins.
    pub(super) fn check(&self, a: &Ask) -> Option<u64> {
        let region = self.regions.get(&a.region)?;
        let address = if a.by_offset { region.base / 64 * 64 + a.address } else { a.address };
        let fits = address >= region.base
            && address.checked_add(if a.remote == 0 { a.length } else { a.span })?
                <= region.base + region.length
            && (a.remote == 0 || a.span >= a.length)
            && (1..=4096).contains(&a.length);
        let right = match a.remote {
            0 => true,
            1 => region.writable && a.write,
            other => panic!("a right that is not asked for here: {other}"),
        };
        (fits && right && region.tag == a.tag && (a.by_offset || region.key == a.key)).then_some(address)
    }

    /// The checker's answers, each after a while.
    pub(super) fn answer(&mut self) {
        self.bench.set("verdict_valid", 0);
        self.bench.set("beat_valid", 0);
        if let Some((_, ok)) = self.verdicts.front().copied().filter(|(at, _)| *at <= self.now) {
            self.verdicts.pop_front();
            self.bench.set("verdict_valid", 1);
            let verdict = [("client", bus::client::SCATTER), ("ok", ok.into())];
            Bundle::of::<bus::WriteVerdict>("verdict").set(&mut self.bench, &verdict);
        } else if !self.calm && self.random.random_ratio(1, 4) {
            // Somebody else's.
            self.bench.set("verdict_valid", 1);
            let verdict = [("client", bus::client::COMPLETE), ("ok", 1)];
            Bundle::of::<bus::WriteVerdict>("verdict").set(&mut self.bench, &verdict);
        }
        let Some((at, left, refused, address, failed)) = self.reads.front().copied() else { return };
        if at > self.now || !self.chance(2) {
            return;
        }
        let mut data = [0; 8];
        for (n, byte) in data.iter_mut().enumerate() {
            *byte = self.memory.get(&(address + n as u64)).copied().unwrap_or(0);
        }
        let last = left <= 8 || refused;
        let fields = [
            ("client", client::SCATTER),
            ("data", u64::from_le_bytes(data)),
            ("count", if refused { 0 } else { 8 }),
            ("last", last.into()),
            ("refused", refused.into()),
            ("failed", failed.into()),
        ];
        self.bench.set("beat_valid", 1);
        Bundle::of::<bus::ReadBeat>("beat").set(&mut self.bench, &fields);
        if last {
            self.reads.pop_front();
        } else {
            self.reads[0] = (at, left - 8, refused, address + 8, failed);
        }
    }

    /// Bytes of memory; what was never written reads as 0xcc.
    pub fn bytes(&self, address: u64, length: u64) -> Vec<u8> {
        (address..address + length).map(|at| self.memory.get(&at).copied().unwrap_or(0xcc)).collect()
    }
}

/// An access, as it is asked for.
#[derive(Debug)]
pub(super) struct Ask {
    pub address: u64,
    pub span: u64,
    pub length: u64,
    pub region: u64,
    pub key: u64,
    pub tag: u64,
    pub by_offset: bool,
    pub system: bool,
    pub write: bool,
    pub clip: bool,
    pub remote: u64,
}

impl Ask {
    pub fn get(bench: &Bench) -> Self {
        let bundle = Bundle::of::<bus::Access>("access");
        let get = |name| bundle.get(bench, name);
        let flag = |name| get(name) == 1;
        Self {
            address: get("address"),
            span: get("span"),
            length: get("length"),
            region: get("region"),
            key: get("key"),
            tag: get("tag"),
            by_offset: flag("by_offset"),
            system: flag("system"),
            write: flag("write"),
            clip: flag("clip"),
            remote: get("remote"),
        }
    }
}
