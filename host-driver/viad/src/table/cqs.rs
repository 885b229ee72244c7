//! A session has completion queues, with rings in memory of their own.

use std::{os::fd::OwnedFd, sync::Arc};

use viaduct_driver::{
    agent::AgentError,
    kernel_agent::{CqName, KernelAgent},
    memory::Mapping,
    queues::entries::Entries,
    viad::doorbell_page::Kind,
};

use super::{memory, Cq, Table};
use crate::{accounts::Quota, events::Subject, forwarder::Page};

impl Table {
    /// Creates a completion queue: name, vector, and the descriptors of its ring and doorbell page.
    pub fn create_cq(&mut self, entries: usize) -> Result<(CqName, u8, [OwnedFd; 2]), AgentError> {
        let shares = [self.share(Quota::Cq, 1)?, self.share(Quota::Row, 1)?, self.share(Quota::Page, 1)?];
        let (ring, ring_file) = ring(entries)?;
        let (name, vector) = self.nic.agent.new_cq(&ring)?;
        let at = self.nic.agent.limits().cq_page(name.index);
        let (page, file) = match memory(Page::create(Kind::Cq, at)) {
            Ok(made) => made,
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.nic.agent.destroy_cq(name);
                return Err(error);
            }
        };
        self.nic.events.own(Subject::Cq(name), &self.party.inbox);
        self.nic.forwarder.add(&page);
        self.cqs.insert(name, Cq { page, _shares: shares });
        self.record.has().cqs = self.cqs.len() as u32;
        Ok((name, vector, [ring_file, file]))
    }

    /// Gives a completion queue another ring: entries of the old one, and the new one's descriptor.
    pub fn resize_cq(&self, cq: CqName, entries: usize) -> Result<(u32, OwnedFd), AgentError> {
        let page = &self.cqs.get(&cq).ok_or(AgentError::UnknownCq(cq.index))?.page;
        let (ring, file) = ring(entries)?;
        // An index of the old ring is none of the new one's.
        self.nic.forwarder.settle(page)?;
        let written = self.nic.agent.replace_cq(cq, &ring)?;
        Ok((written, file))
    }

    /// Destroys a completion queue that no VI has.
    pub fn destroy_cq(&mut self, cq: CqName) -> Result<(), AgentError> {
        let kept = self.cqs.get(&cq).ok_or(AgentError::UnknownCq(cq.index))?;
        self.nic.agent.destroy_cq(cq)?;
        self.nic.events.disown(Subject::Cq(cq));
        self.nic.forwarder.remove(&kept.page);
        self.cqs.remove(&cq);
        self.record.has().cqs = self.cqs.len() as u32;
        Ok(())
    }
}

/// A ring for a completion queue, and its descriptor.
fn ring(entries: usize) -> Result<(Entries, OwnedFd), AgentError> {
    let bytes = Entries::bytes(entries).ok_or(AgentError::Entries(entries))?;
    let (mapping, file) = memory(Mapping::shared("viad-cq", bytes))?;
    let ring = Entries::over(Arc::new(mapping), entries).ok_or(AgentError::Entries(entries))?;
    Ok((ring, file))
}
