//! The transaction layer's rules for what a NIC sends (PCI Express Base Specification, chapter 2).

use crate::clock::Cycle;
use crate::tlp::Request;

/// Violations that are kept; the rest are only counted.
const KEPT: usize = 32;

/// A rule that the NIC has broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub cycle: Cycle,
    /// Which, and by what.
    pub what: String,
}

/// What system software has set, as far as the rules for requests depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Max_Payload_Size, encoded 128 << n.
    pub max_payload: u8,
    /// Max_Read_Request_Size, encoded 128 << n.
    pub max_read: u8,
    /// Tags of 8 bits.
    pub extended_tag: bool,
}

/// What may still come that was cut before its size was set anew.
#[derive(Debug, Clone, Copy, Default)]
struct Earlier {
    /// The size.
    size: usize,
    /// How many bytes of it.
    bytes: usize,
    /// Until then any number of bytes.
    until: Cycle,
}

/// What has been broken so far.
#[derive(Debug, Default)]
pub struct Rules {
    broken: Vec<Violation>,
    count: u64,
    now: Cycle,
    /// Cycles that a packet takes at most from the NIC's edge to where the rules are checked.
    latency: u64,
    /// Writes and reads that were cut before.
    earlier: [Earlier; 2],
}

impl Rules {
    /// Where packets come at most so many cycles after they have left the NIC.
    pub fn behind(latency: u64) -> Self {
        Self { latency, ..Self::default() }
    }

    /// It is this cycle.
    pub fn tick(&mut self, now: Cycle) {
        self.now = now;
    }

    /// Takes the first violations away.
    pub fn take(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.broken)
    }

    /// The first violations.
    pub fn broken(&self) -> &[Violation] {
        &self.broken
    }

    /// All violations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Notes a violation unless the rule `holds`.
    pub fn check(&mut self, cycle: Cycle, holds: bool, what: impl FnOnce() -> String) {
        if holds {
            return;
        }
        self.count += 1;
        if self.broken.len() < KEPT {
            let what = what();
            tracing::error!(cycle, "the NIC breaks a rule of the bus: {what}");
            self.broken.push(Violation { cycle, what });
        }
    }

    /// Sizes are others now. What the NIC has cut by then may still come: a command, which is 4096 bytes at most, and what is ahead of it;
    /// behind a link, all that is on its way.
    pub fn resized(&mut self, before: &Sizes, now: &Sizes) {
        let until = if self.latency == 0 { 0 } else { self.now + self.latency };
        let sizes = [(before.max_payload, now.max_payload), (before.max_read, now.max_read)];
        for (earlier, (was, is)) in self.earlier.iter_mut().zip(sizes) {
            if was != is {
                let size = (128 << was).max(earlier.size);
                *earlier = Earlier { size, bytes: 4096 + 2 * size.min(512), until };
            }
        }
    }

    /// The rules for memory requests of a function of this number.
    pub fn request(&mut self, cycle: Cycle, request: &Request, sizes: &Sizes, function: u16, read: bool) {
        let (kind, bytes) = (if read { "read" } else { "write" }, request.length * 4);
        let Request { address, tag, requester, .. } = *request;
        let limit = 128 << if read { sizes.max_read } else { sizes.max_payload };
        let earlier = &mut self.earlier[usize::from(read)];
        let in_time = bytes <= earlier.bytes || cycle <= earlier.until;
        let was_cut = bytes > limit && bytes <= earlier.size && in_time;
        if was_cut {
            earlier.bytes = earlier.bytes.saturating_sub(bytes);
        }
        self.check(cycle, bytes <= limit || was_cut, || {
            format!("a {kind} of {bytes} bytes; {limit} are allowed")
        });
        self.check(cycle, (address & 0xFFF) as usize + bytes <= 4096, || {
            format!("a {kind} of {bytes} bytes at {address:#x} crosses a 4 KiB boundary")
        });
        self.check(cycle, requester == function, || format!("a {kind} of requester {requester:#06x}"));
        self.check(cycle, !read || sizes.extended_tag || tag < 32, || {
            format!("tag {tag:#x} without extended tags")
        });
    }
}
