//! The NIC that a viad owns.

use std::{
    fmt::Display,
    os::fd::OwnedFd,
    sync::{atomic::AtomicUsize, Arc},
};

use viaduct_driver::{agent::Agent, kernel_agent::Limits, viad::notice::Notice, wakeup::is_readable};

use crate::{
    accounts::{Accounts, Quota},
    config::Config,
    connections::Connections,
    events::Events,
    forwarder::Forwarder,
    inbox::Watchers,
    record::Records,
    throttle::Throttles,
    trust::Trust,
};

/// The NIC, and what all sessions have in common.
pub struct Nic {
    /// What is in force.
    pub config: Config,
    /// The agent.
    pub agent: Arc<Agent>,
    /// What each user has.
    pub accounts: Arc<Accounts>,
    /// Passes doorbells on.
    pub forwarder: Forwarder,
    /// Hands events out.
    pub events: Events,
    /// Whom it trusts with the function itself.
    pub trust: Arc<Trust>,
    /// How many requests each user may make.
    pub throttles: Throttles,
    /// What others may be told of sessions.
    pub records: Records,
    /// Makes connections.
    pub connections: Connections,
    /// What clients see without asking.
    pub notice: Arc<Notice>,
    /// Who is told when something is raised in it.
    pub watchers: Arc<Watchers>,
    /// Its descriptor.
    pub notice_file: OwnedFd,
    /// Readable when viad ends.
    pub stop: OwnedFd,
    /// Sessions that live.
    pub sessions: AtomicUsize,
}

impl Nic {
    /// What one client may have.
    pub fn client_limits(&self) -> Limits {
        let limits = self.agent.limits();
        let most = |quota, own: u64| self.accounts.limit(quota).min(own);
        // The raw channel has one.
        let vis = most(Quota::Vi, u64::from(limits.vis) - 1).min(self.config.client.vis.into());
        Limits {
            vis: vis as u16,
            // One is the agent's; the library leaves it out.
            cqs: (most(Quota::Cq, u64::from(limits.cqs) - 1) + 1) as u16,
            // Row 0 and two of the agent's, in the same way; beside the raw channel's and the session's own arena.
            regions: (most(Quota::Region, u64::from(limits.regions).saturating_sub(5))
                .min(self.accounts.limit(Quota::Row).saturating_sub(1))
                + 3) as u32,
            pages: most(Quota::Page, limits.pages.into()) as u32,
            ..limits
        }
    }

    /// Ends viad because of an error. What the system has said of the function is the reason, and not how a thread has noticed it.
    pub fn fail(&self, error: &dyn Display) {
        let said = self.agent.check_alarm_now().err();
        self.end(&said.map_or_else(|| error.to_string(), |said| said.to_string()));
    }

    /// Ends viad. The first reason is logged.
    pub fn end(&self, reason: &str) {
        if !is_readable(&self.stop) {
            tracing::info!(reason, "viad ends");
        }
        // A counter takes some more.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
    }
}
