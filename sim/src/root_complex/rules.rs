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

    /// The rules for memory requests.
    pub fn request(&mut self, cycle: Cycle, request: &Request, config: &ConfigSpace, read: bool) {
        let (kind, bytes) = (if read { "read" } else { "write" }, request.length * 4);
        let Request { address, tag, requester, .. } = *request;
        let limit = 128 << if read { config.max_read() } else { config.max_payload() };
        self.check(cycle, bytes <= limit, || format!("a {kind} of {bytes} bytes; {limit} are allowed"));
        self.check(cycle, (address & 0xFFF) as usize + bytes <= 4096, || {
            format!("a {kind} of {bytes} bytes at {address:#x} crosses a 4 KiB boundary")
        });
        self.check(cycle, requester == NIC_ID, || format!("a {kind} of requester {requester:#06x}"));
        self.check(cycle, !read || config.extended_tag() || tag < 32, || {
            format!("tag {tag:#x} without extended tags")
        });
    }
}
