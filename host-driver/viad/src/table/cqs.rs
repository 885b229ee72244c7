//! A session has completion queues, with rings in memory of their own.

use std::{os::fd::OwnedFd, sync::Arc};

use viaduct_driver::{
    kernel_agent::{AgentError, CqName, KernelAgent},
    memory::Mapping,
    queues::entries::Entries,
    viad::{doorbell_page::Kind, protocol::Answer},
};

use super::{answer::Answered, memory, Cq, Table};
use crate::{
    accounts::{Quota, Share},
    events::Subject,
};

impl Table {
    pub(super) fn cq(&self, cq: CqName) -> Result<&Cq, AgentError> {
        self.cqs.get(&cq).ok_or(AgentError::UnknownCq(cq.index))
    }

    /// Creates a completion queue. Descriptors: its ring's, and its doorbell page's, if that is not the NIC's own.
    pub(super) fn create_cq(&mut self, entries: u32, shares: [Share; 3]) -> Answered {
        let entries = entries as usize;
        let ring_share = self.share(Quota::Shared, bytes(entries)? as u64)?;
        let (ring, ring_file) = ring(entries)?;
        let (name, vector) = self.nic.agent.new_cq(&ring)?;
        let at = self.nic.agent.limits().cq_page(name.index);
        let (page, file) = match self.new_page(Kind::Cq, at) {
            Ok(made) => made.unzip(),
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.nic.agent.destroy_cq(name);
                return Err(error);
            }
        };
        self.nic.events.own(Subject::Cq(name), &self.party.inbox);
        if let Some(page) = &page {
            self.nic.forwarder.add(page);
        }
        self.cqs.insert(name, Cq { page, _shares: shares, _ring: ring_share });
        self.record.has().cqs = self.cqs.len() as u32;
        Ok((Answer::Cq { name, vector }, [Some(ring_file), file].into_iter().flatten().collect()))
    }

    /// Gives a completion queue another ring. Descriptor: that ring's. For a moment it has both rings, and the second one's shares.
    pub(super) fn resize_cq(&mut self, cq: CqName, entries: u32, _rows: [Share; 2]) -> Answered {
        let entries = entries as usize;
        let page = self.cq(cq)?.page.clone();
        let ring_share = self.share(Quota::Shared, bytes(entries)? as u64)?;
        let (ring, file) = ring(entries)?;
        // An index of the old ring is none of the new one's.
        if let Some(page) = &page {
            self.nic.forwarder.settle(page)?;
        }
        let written = self.nic.agent.replace_cq(cq, &ring)?;
        if let Some(kept) = self.cqs.get_mut(&cq) {
            kept._ring = ring_share;
        }
        Ok((Answer::Resized { written }, vec![file]))
    }

    /// Destroys a completion queue that no VI has.
    pub(super) fn destroy_cq(&mut self, cq: CqName) -> Result<(), AgentError> {
        let kept = self.cq(cq)?;
        self.nic.agent.destroy_cq(cq)?;
        self.nic.events.disown(Subject::Cq(cq));
        if let Some(page) = &kept.page {
            self.nic.forwarder.remove(page);
        }
        self.cqs.remove(&cq);
        self.record.has().cqs = self.cqs.len() as u32;
        Ok(())
    }
}

/// Bytes of a ring.
fn bytes(entries: usize) -> Result<usize, AgentError> {
    Entries::bytes(entries).ok_or(AgentError::Entries(entries))
}

/// A ring for a completion queue, and its descriptor.
fn ring(entries: usize) -> Result<(Entries, OwnedFd), AgentError> {
    let (mapping, file) = memory(Mapping::shared("viad-cq", bytes(entries)?))?;
    let ring = Entries::over(Arc::new(mapping), entries).ok_or(AgentError::Entries(entries))?;
    Ok((ring, file))
}
