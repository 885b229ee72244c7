//! DMA addresses that are leased: other processes, who have the function beside this one, map memory of their own there.
//!
//! The rows stay the agent's: [`Agent::register_leased`] writes them, [`Agent::deregister`] clears them and drains. What the owner of a lease
//! has mapped it unmaps by itself behind that; what it leaves when it dies, [`Agent::end_lease`] unmaps, and gives the addresses back only if the
//! system says that nothing is left.

use super::{Agent, AgentError, MemoryAttributes};
use crate::device::{sharing::Sharing, DeviceError, DmaAccess};

/// A range of DMA addresses that somebody else maps memory at.
#[derive(Debug, PartialEq, Eq)]
pub struct Lease {
    first: u64,
    bytes: u64,
}

impl Lease {
    /// Its first address.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// How many there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all of `bytes` addresses from `iova` on are of it.
    fn has(&self, iova: u64, bytes: u64) -> bool {
        iova.checked_sub(self.first)
            .and_then(|offset| offset.checked_add(bytes))
            .is_some_and(|end| end <= self.bytes)
    }
}

impl Agent {
    /// How other processes may have the NIC's function.
    ///
    /// # Errors
    /// They may not.
    pub fn sharing(&self) -> Result<&dyn Sharing, AgentError> {
        self.device.sharing().ok_or_else(|| {
            let request = "to have the function in another process, too".into();
            let reason = "only one behind the kernel's VFIO can be handed over".into();
            DeviceError::Refused { request, reason }.into()
        })
    }

    /// Leases `bytes` DMA addresses, whole pages, to somebody who has the function, too.
    ///
    /// # Errors
    /// There are not so many free ones in a row.
    #[tracing::instrument(level = "debug", skip_all, fields(bytes = bytes), ret, err(level = "debug"))]
    pub fn lease(&self, bytes: u64) -> Result<Lease, AgentError> {
        self.sharing()?;
        let mut state = self.state()?;
        let first = state.regions.lease(bytes)?;
        state.leases += 1;
        Ok(Lease { first, bytes })
    }

    /// Registers memory that the owner of a lease has mapped: `length` bytes from `address` on of its own, whose first page is at the DMA
    /// address `iova`, and which it may use as `access` says. As [`Agent::register`], but that nothing of this process is reached, and that it takes `most_pages` rows
    /// of the NIC's page table at most.
    ///
    /// # Errors
    /// Addresses that are not of the lease; as [`Agent::register`].
    pub fn register_leased(
        &self,
        lease: &Lease,
        iova: u64,
        (address, length): (u64, u64),
        access: DmaAccess,
        attributes: MemoryAttributes,
        most_pages: u64,
    ) -> Result<u32, AgentError> {
        let (_, bytes) = super::regions::whole_pages(address, length)?;
        if iova % crate::pages::PAGE_BYTES != 0 || !lease.has(iova, bytes) {
            let Lease { first, bytes: leased } = *lease;
            return Err(AgentError::OutsideLease { iova, bytes, first, leased });
        }
        self.register_as((address, length), access, attributes, most_pages, Some(iova), |_| Ok(()))
    }

    /// Ends a lease, when all its regions are deregistered and its owner maps nothing more: whatever is still mapped there, `least` bytes at
    /// least, is unmapped, and the addresses may be used again.
    ///
    /// # Errors
    /// Regions are registered there; the system refuses, or says that it unmapped less than `least`: then the addresses are not used again.
    #[tracing::instrument(level = "debug", skip_all, fields(lease = ?lease, least = least), ret, err(level = "debug"))]
    pub fn end_lease(&self, lease: &Lease, least: u64) -> Result<(), AgentError> {
        let Lease { first, bytes } = *lease;
        let regions = self.state()?.regions.leased(first, bytes);
        if regions > 0 {
            return Err(AgentError::LeaseInUse(regions));
        }
        // Others are served meanwhile.
        let unmapped = self.sharing()?.take_back(first, bytes)?;
        if unmapped < least {
            return Err(AgentError::LeaseKept { unmapped, least });
        }
        let mut state = self.state()?;
        state.regions.end_lease(first, bytes);
        state.leases -= 1;
        Ok(())
    }
}
