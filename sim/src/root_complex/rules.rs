//! The transaction layer's rules for what a NIC sends (PCI Express Base Specification, chapter 2).

use super::config_space::ConfigSpace;
use super::NIC_ID;
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

/// What has been broken so far.
#[derive(Debug, Default)]
pub struct Rules {
    broken: Vec<Violation>,
    count: u64,
    /// Writes and reads that were cut before their size was set anew may still come: the size, and how many bytes of them.
    before: [(usize, usize); 2],
}

impl Rules {
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

    /// Max_Payload_Size and Max_Read_Request_Size, encoded 128 << n, are others now. What the NIC has cut by then may still come: a command,
    /// which is 4096 bytes at most, and what is ahead of it.
    pub fn resized(&mut self, before: (u8, u8), now: (u8, u8)) {
        for (slot, was, is) in [(0, before.0, now.0), (1, before.1, now.1)] {
            if was != is {
                let largest = (128 << was).max(self.before[slot].0);
                self.before[slot] = (largest, 4096 + 2 * largest.min(512));
            }
        }
    }

    /// The rules for memory requests.
    pub fn request(&mut self, cycle: Cycle, request: &Request, config: &ConfigSpace, read: bool) {
        let (kind, bytes) = (if read { "read" } else { "write" }, request.length * 4);
        let Request { address, tag, requester, .. } = *request;
        let limit = 128 << if read { config.max_read() } else { config.max_payload() };
        let (old, left) = &mut self.before[usize::from(read)];
        let was_cut = bytes > limit && bytes <= *old && bytes <= *left;
        if was_cut {
            *left -= bytes;
        }
        self.check(cycle, bytes <= limit || was_cut, || {
            format!("a {kind} of {bytes} bytes; {limit} are allowed")
        });
        self.check(cycle, (address & 0xFFF) as usize + bytes <= 4096, || {
            format!("a {kind} of {bytes} bytes at {address:#x} crosses a 4 KiB boundary")
        });
        self.check(cycle, requester == NIC_ID, || format!("a {kind} of requester {requester:#06x}"));
        self.check(cycle, !read || config.extended_tag() || tag < 32, || {
            format!("tag {tag:#x} without extended tags")
        });
    }
}
