//! What each user has, and may have: all of its sessions together.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use viaduct_driver::kernel_agent::{self, AgentError, ErrorClass};

use crate::config::Limits;

/// What is counted of a user, and limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Sessions.
    Session,
    /// Virtual interfaces.
    Vi,
    /// Completion queues.
    Cq,
    /// Regions.
    Region,
    /// Protection tags.
    Tag,
    /// Bytes in regions.
    Bytes,
    /// Rows of the NIC's region table: a region's, an arena's, the ring's of a completion queue.
    Row,
    /// Rows of the NIC's page table.
    Page,
    /// Listeners, and requests that are not decided on.
    Listener,
    /// Bytes that viad has in common with the user.
    Shared,
    /// Pools.
    Pool,
}

const QUOTAS: usize = 11;
const NAMES: [&str; QUOTAS] = [
    "sessions",
    "virtual interfaces",
    "completion queues",
    "regions",
    "protection tags",
    "bytes in regions",
    "rows of the region table",
    "rows of the page table",
    "listeners and undecided requests",
    "bytes in arenas, rings and pools",
    "pools",
];

/// All users' accounts.
#[derive(Debug)]
pub struct Accounts {
    limits: [u64; QUOTAS],
    users: Mutex<HashMap<u32, [u64; QUOTAS]>>,
}

impl Accounts {
    /// Nobody has anything.
    pub fn new(limits: &Limits, nic: &kernel_agent::Limits) -> Arc<Self> {
        let Limits { sessions, vis, cqs, regions, rows, pages, tags, bytes, listeners, .. } = *limits;
        let Limits { shared, pools, .. } = *limits;
        // What is asked for as regions is to be had, beside a user's arenas and rings; else nobody has more than a third.
        let own = cqs.unwrap_or(nic.cqs.into()).saturating_add(sessions);
        let asked = regions.map_or(0, |regions| regions.saturating_add(own));
        let rows = rows.unwrap_or(u64::from(nic.regions / 3).max(1).max(asked));
        // Most regions have one or two.
        let pages = pages.unwrap_or(u64::from(nic.pages / 3).max(1).max(asked.saturating_mul(2)));
        let [bytes, shared] = [bytes, shared].map(|bytes| bytes.unwrap_or_else(half_of_memory));
        let half = |limit: Option<u64>, all: u64| limit.unwrap_or((all / 2).max(1));
        let (vis, cqs) = (half(vis, nic.vis.into()), half(cqs, nic.cqs.into()));
        let regions = half(regions, nic.regions.into());
        Arc::new(Self {
            limits: [sessions, vis, cqs, regions, tags, bytes, rows, pages, listeners, shared, pools],
            users: Mutex::default(),
        })
    }

    /// What one user may have.
    pub fn limit(&self, quota: Quota) -> u64 {
        self.limits[quota as usize]
    }

    /// Gives `amount` to a user until the result is dropped.
    ///
    /// # Errors
    /// It would be more than the limit.
    pub fn take(self: &Arc<Self>, uid: u32, quota: Quota, amount: u64) -> Result<Share, AgentError> {
        let mut users = self.users();
        let has = &mut users.entry(uid).or_default()[quota as usize];
        let limit = self.limits[quota as usize];
        match has.checked_add(amount).filter(|&sum| sum <= limit) {
            Some(sum) => *has = sum,
            None => {
                let (name, has) = (NAMES[quota as usize], *has);
                if users.get(&uid).is_some_and(|all| all.iter().all(|&n| n == 0)) {
                    users.remove(&uid);
                }
                let text = format!(
                    "user {uid} has {has} {name} and asks for {amount} more: viad's limit is {limit}"
                );
                return Err(AgentError::Remote { class: ErrorClass::Resource, text });
            }
        }
        Ok(Share { accounts: Arc::clone(self), uid, quota, amount })
    }

    /// What a user has.
    pub fn has(&self, uid: u32, quota: Quota) -> u64 {
        self.users().get(&uid).map_or(0, |all| all[quota as usize])
    }

    /// What a user may still take.
    pub fn rest(&self, uid: u32, quota: Quota) -> u64 {
        self.limit(quota).saturating_sub(self.has(uid, quota))
    }

    fn users(&self) -> MutexGuard<'_, HashMap<u32, [u64; QUOTAS]>> {
        // Each change is one addition.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Half of the machine's memory, in bytes.
fn half_of_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    // A machine that does not say has at least a gigabyte.
    kilobytes.and_then(|number| number.parse::<u64>().ok()).map_or(1 << 29, |number| (number << 10) / 2)
}

/// What a user has been given; dropping it gives it back.
#[derive(Debug)]
pub struct Share {
    accounts: Arc<Accounts>,
    uid: u32,
    quota: Quota,
    amount: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut users = self.accounts.users();
        if let Some(all) = users.get_mut(&self.uid) {
            all[self.quota as usize] -= self.amount;
            if all.iter().all(|&n| n == 0) {
                users.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_what_its_sessions_have_together_and_nobody_else() {
        let nic = kernel_agent::Limits {
            vis: 64,
            cqs: 5,
            regions: 90,
            pages: 30,
            doorbell_shift: 12,
            receive_ahead: 1,
            read_depth: 1,
        };
        let accounts = Accounts::new(&Limits { vis: Some(3), bytes: Some(100), ..Limits::default() }, &nic);
        let limits = [Quota::Vi, Quota::Cq, Quota::Region, Quota::Row, Quota::Page];
        assert_eq!(limits.map(|quota| accounts.limit(quota)), [3, 2, 45, 30, 10]);
        // Regions that are asked for are to be had, each session's arena and all rings beside.
        let more = Limits { regions: Some(80), cqs: Some(2), sessions: 3, ..Limits::default() };
        let more = Accounts::new(&more, &nic);
        assert_eq!([Quota::Row, Quota::Page].map(|quota| more.limit(quota)), [85, 170]);
        let memory = more.limit(Quota::Bytes);
        assert!((1 << 26..1 << 50).contains(&memory), "half of this machine's: {memory}");
        let one = accounts.take(7, Quota::Vi, 2).expect("within");
        let error = accounts.take(7, Quota::Vi, 2).expect_err("too many").to_string();
        assert!(error.contains("user 7 has 2 virtual interfaces") && error.contains("limit is 3"), "{error}");
        let _other = accounts.take(8, Quota::Vi, 3).expect("another user");
        let two = accounts.take(7, Quota::Vi, 1).expect("within");
        drop(one);
        assert_eq!((accounts.has(7, Quota::Vi), accounts.has(8, Quota::Vi)), (1, 3));
        drop(two);
        assert!(
            accounts.take(7, Quota::Bytes, u64::MAX).is_err() && accounts.take(9, Quota::Bytes, 101).is_err()
        );
        assert_eq!(accounts.users().len(), 1, "who has nothing is forgotten");
    }
}
