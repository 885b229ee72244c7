//! What a session is told of the NIC, and of other sessions.

use std::{fs::File, os::unix::fs::FileExt};

use viaduct_driver::{
    kernel_agent::{AgentError, KernelAgent},
    viad::{
        protocol,
        report::{SessionReport, Totals, ViReport},
    },
};

use super::Table;

impl Table {
    /// Whether the device still answers.
    pub(super) fn check(&self) -> Result<(), AgentError> {
        self.nic.agent.check()
    }

    /// The device's time.
    pub(super) fn time(&self) -> Result<u32, AgentError> {
        self.nic.agent.time()
    }

    /// The counters, in the order of their registers.
    pub(super) fn counters(&self) -> Result<Vec<u64>, AgentError> {
        Ok(self.nic.agent.counters()?.into_iter().map(|(_, value)| value).collect())
    }

    /// A piece of the hosts file; None: there is none that can be read.
    pub(super) fn hosts(&self, from: u32) -> Result<Option<Vec<u8>>, AgentError> {
        let piece = || {
            let file = File::open(&self.nic.config.hosts).ok()?;
            let mut piece = vec![0; protocol::LONGEST / 2];
            let length = file.read_at(&mut piece, from.into()).ok()?;
            piece.truncate(length);
            Some(piece)
        };
        Ok(piece())
    }

    /// Sessions that its user may know of.
    pub(super) fn sessions(&self, from: u64) -> Result<Vec<SessionReport>, AgentError> {
        Ok(self.nic.records.sessions(self.peer.uid, from))
    }

    /// VIs of such a session.
    pub(super) fn vis(&self, session: u64, from: u16) -> Result<Vec<ViReport>, AgentError> {
        let record = self.record_of(session)?;
        let state = |vi| KernelAgent::vi_state(&*self.nic.agent, vi);
        let progress = |vi| self.nic.connections.progress(vi);
        Ok(record.vis(from, state, progress))
    }

    /// What all other sessions have together.
    pub(super) fn totals(&self) -> Result<Totals, AgentError> {
        Ok(self.nic.records.totals(self.session()))
    }
}
