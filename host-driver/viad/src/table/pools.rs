//! A session has pools: memory that its library has made, of which viad has a view. viad never looks into it: it has the NIC reach it.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use viaduct_driver::{
    device::DmaAccess,
    kernel_agent::{AgentError, ErrorClass},
    memory::Mapping,
    pages::PAGE_BYTES,
};

use super::{regions::Of, Table};
use crate::accounts::{Quota, Share};

/// A pool.
pub(super) struct Pool {
    /// It is mapped for writing: so the client may write the memory, and nobody can seal it against that while it is a pool. Who looks at
    /// descriptors reads it, too.
    pub(super) view: Arc<Mapping>,
    /// Its memfd, if the device maps that and not the view.
    pub(super) file: Option<OwnedFd>,
    /// Itself, and its bytes.
    _shares: [Share; 2],
}

impl Table {
    /// Takes a pool of so many bytes, of which a descriptor has come: its number.
    ///
    /// # Errors
    /// It is no memfd of so many bytes that cannot become shorter; the user has as many bytes as it may.
    pub(super) fn share_pool(&mut self, bytes: u64, [share]: [Share; 1]) -> Result<u32, AgentError> {
        let refused = |reason: String| AgentError::Remote {
            class: ErrorClass::Parameter,
            text: format!("a pool of {bytes:#x} bytes: {reason}"),
        };
        let length = usize::try_from(bytes).ok().filter(|_| bytes > 0 && bytes % PAGE_BYTES == 0);
        let length = length.ok_or_else(|| refused("it has whole pages of 4096 bytes".into()))?;
        let file = self.sent.take().ok_or_else(|| refused("its descriptor is missing".into()))?;
        let shares = [share, self.share(Quota::Shared, bytes)?];
        let number = self.last_pool.checked_add(1).ok_or_else(|| refused("it is one too many".into()))?;
        let view = Mapping::of(file.as_fd(), length, DmaAccess::ReadWrite);
        let view =
            view.map_err(|error| refused(format!("it is no memfd that stays as long as that: {error}")))?;
        self.last_pool = number;
        let file = self.nic.agent.device().maps_memfds().then_some(file);
        self.pools.insert(number, Pool { view: Arc::new(view), file, _shares: shares });
        Ok(number)
    }

    /// Gives a pool back.
    ///
    /// # Errors
    /// A region is in it.
    pub(super) fn drop_pool(&mut self, pool: u32) -> Result<(), AgentError> {
        let regions = self.regions.values().filter(|region| region.of == Of::Pool(pool)).count();
        if regions > 0 {
            let text = format!("{regions} regions are registered in pool {pool}");
            return Err(AgentError::Remote { class: ErrorClass::State, text });
        }
        self.pools.remove(&pool);
        Ok(())
    }

    /// A pool.
    pub(super) fn pool(&self, pool: u32) -> Result<&Pool, AgentError> {
        self.pools.get(&pool).ok_or_else(|| AgentError::Remote {
            class: ErrorClass::Parameter,
            text: format!("there is no pool {pool} in this session"),
        })
    }
}
