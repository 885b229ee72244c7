//! Loads and stores both ways, at random.

use rand::Rng;
use viaduct_link::tlp::Tlp;

use super::core::enables;
use super::world::{World, BAR0, BAR2};

/// How many of each are still to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Stores and loads of the host's, to the core's BARs.
    pub stores: u32,
    pub loads: u32,
    /// Stores and loads of the core's, to the host's memory.
    pub writes: u32,
    pub reads: u32,
}

impl Traffic {
    /// About so many packets each way.
    pub fn of(count: u32) -> Self {
        Self { stores: count * 2 / 3, loads: count / 6, writes: count / 2, reads: count / 3 }
    }

    /// Packets of the core's that it begins, and those that answer.
    pub fn upwards(&self) -> u64 {
        u64::from(self.loads + self.writes + self.reads)
    }

    /// As much as there can be.
    pub const ENDLESS: Self = Self { stores: u32::MAX, loads: u32::MAX, writes: u32::MAX, reads: u32::MAX };
}

impl World {
    /// A BAR, an address in it, and how many double words; none crosses 4 KiB.
    fn place(&mut self, most: u32) -> (u64, u64, u32) {
        let length = self.random.random_range(1..=most);
        let (bar, base, size) = if self.random.random() { (0, BAR0, 0x1_0000) } else { (2, BAR2, 0x8_0000) };
        let page = base + 4096 * self.random.random_range(0..size / 4096);
        (bar, page + 4 * self.random.random_range(0..=u64::from(1024 - length)), length)
    }

    /// Begins what may begin in this cycle.
    pub(super) fn begin_traffic(&mut self) {
        let port = self.port.is_active() && self.port.backlog() < 24;
        if port && self.traffic.stores > 0 && self.random.random_ratio(1, 8) {
            self.traffic.stores -= 1;
            let (bar, address, length) = self.place(self.most);
            let data: Vec<u32> = (0..length).map(|_| self.random.random()).collect();
            let tlp = memory(0x4000_0000, address, 0, length, data);
            self.send(tlp, Some(bar));
        }
        if port && self.traffic.loads > 0 && self.random.random_ratio(1, 16) {
            let free = (0..0x20).find(|tag| !self.host.reads.contains_key(tag));
            if let Some(tag) = free {
                self.traffic.loads -= 1;
                let (bar, address, length) = self.place(self.most);
                self.host.reads.insert(tag, length);
                let tlp = memory(0, address, tag, length, vec![]);
                self.send(tlp, Some(bar));
            }
        }
        if !self.core.may_ask(&self.dut) || self.core.backlog() > 40 {
            return;
        }
        let page = 0x12_0000_0000 + 4096 * self.random.random_range(0..0x1000_u64);
        if self.traffic.writes > 0 && self.random.random_ratio(1, 8) {
            self.traffic.writes -= 1;
            let length = self.random.random_range(1..=self.core.most(&self.dut));
            let address = page + 4 * self.random.random_range(0..=u64::from(1024 - length));
            let data: Vec<u32> = (0..length).map(|_| self.random.random()).collect();
            self.core.store(address, data);
        }
        if self.traffic.reads > 0 && self.random.random_ratio(1, 8) {
            let length = self.random.random_range(1..=128);
            let address = page + 4 * self.random.random_range(0..=u64::from(1024_u32 - length));
            self.traffic.reads -= u32::from(self.core.load(&self.dut, address, length as usize));
        }
    }
}

/// A memory request of the host's.
pub fn memory(kind: u32, address: u64, tag: u8, length: u32, data: Vec<u32>) -> Tlp {
    let long = address >> 32 != 0;
    let second = 0x0001_0000 | u32::from(tag) << 8 | enables(length as usize);
    let mut tlp = vec![kind | u32::from(long) << 29 | length, second];
    if long {
        tlp.push((address >> 32) as u32);
    }
    tlp.push(address as u32);
    tlp.extend(data);
    tlp
}
