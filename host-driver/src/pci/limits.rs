//! How much memory a program may lock: memory that a device reaches through VFIO counts.

use std::fs;

use rustix::process::{getrlimit, Resource};
use serde::Serialize;

use super::Machine;

/// Bit of the capability sets: no limit on locked memory.
const CAP_IPC_LOCK: u32 = 14;

/// RLIMIT_MEMLOCK of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memlock {
    /// Most bytes; None: no limit, by the limit itself or by the capability CAP_IPC_LOCK.
    pub limit: Option<u64>,
    /// Bytes that are locked now.
    pub locked: u64,
}

impl Memlock {
    pub(super) fn read(machine: &Machine) -> Self {
        let status = fs::read_to_string(machine.proc.join("self/status")).unwrap_or_default();
        let limit = getrlimit(Resource::Memlock).current;
        Self::of(limit, &status)
    }

    /// From the limit and the text of `/proc/self/status`.
    fn of(limit: Option<u64>, status: &str) -> Self {
        let line = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let capabilities =
            line("CapEff:").and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
        let locked = line("VmLck:").and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            limit: limit.filter(|_| capabilities >> CAP_IPC_LOCK & 1 == 0),
            locked: locked.unwrap_or(0) * 1024,
        }
    }

    /// Whether `bytes` more may be locked.
    pub fn allows(&self, bytes: u64) -> bool {
        self.limit.is_none_or(|limit| self.locked.saturating_add(bytes) <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_counts_what_is_locked_and_not_for_the_privileged() {
        let status = "Name:\tx\nVmLck:\t     8 kB\nCapEff:\t0000000000000000\n";
        let memlock = Memlock::of(Some(65536), status);
        assert_eq!(memlock, Memlock { limit: Some(65536), locked: 8192 });
        assert!(memlock.allows(65536 - 8192) && !memlock.allows(65536 - 8191) && !memlock.allows(u64::MAX));
        assert_eq!(Memlock::of(None, status).limit, None);
        assert_eq!(Memlock::of(Some(65536), "CapEff:\t0000000000004000\n").limit, None);
        assert_eq!(Memlock::of(Some(65536), "CapEff:\t000001ffffffbfff\n").limit, Some(65536));
        assert_eq!(Memlock::of(Some(1), ""), Memlock { limit: Some(1), locked: 0 });
    }
}
