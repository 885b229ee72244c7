//! A session has VIs: none of another's is touched.

use std::sync::Arc;

use super::{answer::Answered, Table, Vi};
use crate::{accounts::Share, events::Subject, record};
use viaduct_driver::{
    address::ConnectionInfo,
    agent::vis::{Change, NewVi},
    kernel_agent::{AgentError, KernelAgent, ViAttributes, ViName},
    queues::ViState,
    viad::{doorbell_page::Kind, protocol::Answer},
};

impl Table {
    pub(super) fn vi(&self, vi: ViName) -> Result<&Vi, AgentError> {
        self.vis.get(&vi).ok_or(AgentError::UnknownVi(vi.index))
    }

    /// Creates a VI. Descriptor: its doorbell page's, if that is not the NIC's own.
    pub(super) fn create_vi(&mut self, attributes: ViAttributes, [share]: [Share; 1]) -> Answered {
        let count = self.places.len();
        let free = self.places.iter().position(|taken| !taken);
        let place = free.ok_or(AgentError::Full(count, "client's virtual interface"))?;
        let new = self.nic.agent.new_vi(&self.arena, Some(place), attributes)?;
        let NewVi { name, info, send, receive, vectors } = new;
        let at = self.nic.agent.limits().vi_page(name.index);
        let (page, file) = match self.new_page(Kind::Vi, at) {
            Ok(made) => made.unzip(),
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.nic.agent.destroy_vi(name);
                return Err(error);
            }
        };
        self.places[place] = true;
        self.nic.events.own(Subject::Vi(name), &self.party.inbox);
        if let Some(page) = &page {
            self.nic.forwarder.add(page);
        }
        let rings = [send.offset() as u32, receive.offset() as u32];
        let record = record::Vi { attributes, page: page.clone(), rings: [send, receive] };
        self.record.has().vis.insert(name, record);
        self.vis.insert(name, Vi { page, place, _share: share });
        Ok((Answer::Vi { name, info, rings, vectors }, file.into_iter().collect()))
    }

    /// Gives an idle VI other attributes; with `anew` both of its rings start anew.
    pub(super) fn set_vi_attributes(
        &self,
        vi: ViName,
        attributes: ViAttributes,
        anew: bool,
    ) -> Result<ConnectionInfo, AgentError> {
        let page = &self.vi(vi)?.page;
        if let (true, Some(page)) = (anew && self.nic.agent.vi_state(vi)? == ViState::Idle, page) {
            self.nic.forwarder.renew(page, false)?;
        }
        let info = self.nic.agent.set_vi_attributes(vi, attributes, anew)?;
        if let Some(vi) = self.record.has().vis.get_mut(&vi) {
            vi.attributes = attributes;
        }
        Ok(info)
    }

    /// Connects a VI.
    pub(super) fn connect_vi(&self, vi: ViName, peer: ConnectionInfo) -> Result<(), AgentError> {
        self.prepare(vi)?;
        self.nic.agent.connect_vi(vi, peer)
    }

    /// Breaks a VI.
    pub(super) fn break_vi(&self, vi: ViName) -> Result<(), AgentError> {
        // What was posted is flushed too.
        if let Some(page) = &self.vi(vi)?.page {
            self.nic.forwarder.settle(page)?;
        }
        self.nic.agent.break_vi(vi)
    }

    /// Makes a broken VI idle.
    pub(super) fn idle_vi(&self, vi: ViName) -> Result<ConnectionInfo, AgentError> {
        let page = &self.vi(vi)?.page;
        self.nic.agent.check_vi(vi, Change::MakeIdle)?;
        // Nobody is connected with it any more, whoever has not said so.
        self.nic.connections.leave_vi(&self.party, vi)?;
        if let Some(page) = page {
            self.nic.forwarder.renew(page, false)?;
        }
        self.nic.agent.idle_vi(vi)
    }

    /// A VI's state.
    pub(super) fn vi_state(&self, vi: ViName) -> Result<ViState, AgentError> {
        self.nic.agent.vi_state(vi)
    }

    /// Destroys a VI, whatever is posted on it.
    pub(super) fn destroy_vi(&mut self, vi: ViName) -> Result<(), AgentError> {
        self.retire(&[vi])
    }

    /// Destroys VIs, whatever is posted on them: the NIC forgets it. All of them, whatever the first error is.
    pub(super) fn retire(&mut self, vis: &[ViName]) -> Result<(), AgentError> {
        let nic = Arc::clone(&self.nic);
        let mut result = Ok(());
        for &name in vis {
            let Some(vi) = self.vis.get(&name) else { continue };
            result = result.and(nic.connections.leave_vi(&self.party, name));
            // A thread of the client's that posts hears that it has.
            if let Some(page) = &vi.page {
                result = result.and(nic.forwarder.settle(page).map_err(AgentError::from));
                nic.forwarder.remove(page);
            }
            let destroyed = nic.agent.destroy_vi(name);
            if destroyed.is_ok() {
                nic.events.disown(Subject::Vi(name));
                self.record.has().vis.remove(&name);
                if let Some(vi) = self.vis.remove(&name) {
                    self.places[vi.place] = false;
                }
            }
            result = result.and(destroyed);
        }
        result
    }

    /// A VI is to be connected: its send queue starts anew then, and what was posted to it while idle is to be flushed first.
    pub(super) fn prepare(&self, vi: ViName) -> Result<(), AgentError> {
        let page = &self.vi(vi)?.page;
        if let (ViState::Idle, Some(page)) = (self.nic.agent.vi_state(vi)?, page) {
            self.nic.forwarder.renew(page, true)?;
        }
        Ok(())
    }
}
