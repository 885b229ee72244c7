//! A session of a trusted client has the function itself, and a lease of its DMA addresses.

use rustix::net::{shutdown, Shutdown};
use viaduct_driver::{
    agent::Lease,
    device::sharing::{Handover, OpenSpace},
    kernel_agent::{AgentError, ErrorClass},
    viad::protocol::{Answer, Function},
};

use super::{answer::Answered, regions::Of, Table};
use crate::trust::Maps;

/// What a trusted client has.
pub(super) struct Leased {
    /// None: the client has ended it, or viad has taken it back.
    lease: Option<Lease>,
    maps: Maps,
}

fn state(text: &str) -> AgentError {
    AgentError::Remote { class: ErrorClass::State, text: text.into() }
}

impl Table {
    /// Hands the function over: what the client learns of it. Descriptors: its file's, and its container's or iommufd's.
    ///
    /// # Errors
    /// The session has something already; no maps or DMA addresses are left.
    pub(super) fn function(&mut self) -> Answered {
        if self.leased.is_some() || !(self.vis.is_empty() && self.cqs.is_empty() && self.regions.is_empty()) {
            return Err(state("a session asks for the function once, and before it makes anything"));
        }
        let maps = self.nic.trust.take()?;
        let Handover { address, device, space } = self.nic.agent.sharing()?.hand_over()?;
        let (space, ioas) = match space {
            OpenSpace::Container(container) => (container, None),
            OpenSpace::Iommufd { iommufd, ioas } => (iommufd, Some(ioas)),
        };
        let lease = self.nic.agent.lease(self.nic.trust.addresses())?;
        tracing::info!(
            pid = self.peer.pid.as_raw_nonzero(),
            uid = self.peer.uid,
            first = %format_args!("{:#x}", lease.first()),
            "a trusted client has the function"
        );
        let function = Function {
            address,
            ioas,
            nic: self.nic.agent.limits(),
            first: lease.first(),
            bytes: lease.bytes(),
            maps: maps.count(),
        };
        self.leased = Some(Leased { lease: Some(lease), maps });
        self.record.has().trusted = true;
        Ok((Answer::Function(function), vec![device, space]))
    }

    /// The lease of the session.
    pub(super) fn lease(&self) -> Result<&Lease, AgentError> {
        let lease = self.leased.as_ref().and_then(|leased| leased.lease.as_ref());
        lease.ok_or_else(|| state("this session has no lease, or has ended it"))
    }

    /// The client has unmapped everything, and maps nothing more.
    ///
    /// # Errors
    /// Regions are registered in the lease.
    pub(super) fn end_lease(&mut self) -> Result<(), AgentError> {
        self.nic.agent.end_lease(self.lease()?, 0)?;
        if let Some(leased) = &mut self.leased {
            leased.lease = None;
        }
        Ok(())
    }

    /// Bytes that the client has mapped at least: those that are registered.
    pub(super) fn leased_bytes(&self) -> u64 {
        self.regions.values().filter(|region| region.of == Of::Lease).map(|region| region.bytes).sum()
    }

    /// The session is over, and its regions are deregistered, of which `mapped` bytes were the client's own: what it has left mapped is unmapped
    /// when its process has ended, which may map something as long as it lives. If viad ends before, the lease stays: the kernel undoes the
    /// maps with the container.
    pub(super) fn take_lease_back(&mut self, mapped: u64) -> Result<(), AgentError> {
        let Some(leased) = &mut self.leased else { return Ok(()) };
        let Some(lease) = leased.lease.take() else { return Ok(()) };
        // A client that lives hears that the session is over, and lets go of the function.
        let _ = shutdown(&*self.socket, Shutdown::Both);
        let pid = self.peer.pid.as_raw_nonzero();
        tracing::debug!(pid, "its lease ends with its process");
        if !self.peer.wait_end(&self.nic.stop) {
            return Ok(());
        }
        let ended = self.nic.agent.end_lease(&lease, mapped);
        if ended.is_err() {
            // Its addresses are nobody's any more, and neither are its maps, which may be there still.
            if let Some(Leased { maps, .. }) = self.leased.take() {
                maps.keep();
            }
        }
        ended
    }
}
