//! A session has regions: of the client's private memory, of its pools, or of memory that it maps by itself.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use viaduct_driver::{
    device::DmaAccess,
    kernel_agent::{AgentError, ErrorClass, MemoryAttributes},
    pages::{self, Cover},
};
use viaduct_spec::handle::memory_handle;

use super::Table;
use crate::{
    accounts::{Quota, Share},
    record::{self, Memory},
};

/// A region.
pub(super) struct Region {
    /// Whole pages.
    pub(super) bytes: u64,
    /// Whose memory it is.
    pub(super) of: Of,
    _shares: Vec<Share>,
}

/// Whose memory a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The client's, which viad reaches through descriptors of it.
    Private,
    /// A pool's.
    Pool(u32),
    /// The client's, which it maps by itself: the kernel charges it for the bytes.
    Lease,
}

/// A range of the client's addresses that is to be registered: its first byte, and bytes.
type Range = (u64, u64);

fn no_range((address, length): Range) -> AgentError {
    AgentError::Range { address, length }
}

fn refused(text: String) -> AgentError {
    AgentError::Remote { class: ErrorClass::Parameter, text }
}

impl Table {
    /// The client's memory, of which this address is: if it has handed it over.
    pub(super) fn memories(&self, address: u64) -> Result<&[OwnedFd; 2], AgentError> {
        if self.leased.is_some() {
            return Err(refused("a trusted session registers what it has mapped itself".into()));
        }
        self.memories.as_ref().ok_or_else(|| {
            refused(format!(
                "the memory at {address:#x} is not the library's, and this session (way=pools) has handed over no other: Nic::allocate and \
                 VipExtAllocateMem make memory that can be registered, and so does malloc(3) with libvipl_heap.so preloaded. With way=trusted, if viad trusts the user, any can; so it can without a way where the NIC is behind vfio-user"
            ))
        })
    }

    /// Registers private memory of the client's.
    pub(super) fn register(
        &mut self,
        address: u64,
        length: u64,
        attributes: MemoryAttributes,
        shares: [Share; 2],
    ) -> Result<u32, AgentError> {
        let range = (address, length);
        self.enter(range, Of::Private, Memory::Private, shares, |table, most| {
            let (start, bytes) = pages::whole_pages(address, length).ok_or_else(|| no_range(range))?;
            let end = start.checked_add(bytes).ok_or_else(|| no_range(range))?;
            // Writes through its descriptor would ignore that a page is read-only.
            let access = table.peer.access(start, end)?;
            let file = &table.memories(address)?[usize::from(access == DmaAccess::Read)];
            table.nic.agent.register_file(file.as_fd(), range, access, attributes, most)
        })
    }

    /// Registers memory in a pool, from this byte of it on.
    pub(super) fn register_shared(
        &mut self,
        pool: u32,
        offset: u64,
        address: u64,
        length: u64,
        attributes: MemoryAttributes,
        shares: [Share; 2],
    ) -> Result<u32, AgentError> {
        let view = Arc::clone(&self.pool(pool)?.view);
        let end = offset.checked_add(length).filter(|end| *end <= view.length() as u64);
        if end.is_none() || offset % pages::PAGE_BYTES != address % pages::PAGE_BYTES {
            return Err(refused(format!(
                "{length:#x} bytes at {address:#x} are not those at {offset:#x} of pool {pool}, which has {:#x}",
                view.length()
            )));
        }
        let memory = Memory::View(Arc::clone(&view), offset);
        let range = (address, length);
        self.enter(range, Of::Pool(pool), memory, shares, |table, most| {
            let file = table.pool(pool)?.file.as_ref().map(AsFd::as_fd);
            table.nic.agent.register_view(&view, file, offset, range, attributes, most)
        })
    }

    /// Registers memory that the client has mapped at a DMA address of its lease.
    pub(super) fn register_leased(
        &mut self,
        iova: u64,
        address: u64,
        length: u64,
        read_only: bool,
        attributes: MemoryAttributes,
        shares: [Share; 2],
    ) -> Result<u32, AgentError> {
        let range = (address, length);
        let access = if read_only { DmaAccess::Read } else { DmaAccess::ReadWrite };
        self.enter(range, Of::Lease, Memory::Unseen, shares, |table, most| {
            let lease = table.lease()?;
            table.nic.agent.register_leased(lease, iova, range, access, attributes, most)
        })
    }

    /// Charges the user for a region, beside itself and its row, whose `shares` it has, and has the agent make it by `make`, with so many page table
    /// rows at most.
    fn enter(
        &mut self,
        range: Range,
        of: Of,
        memory: Memory,
        shares: [Share; 2],
        make: impl FnOnce(&Self, u64) -> Result<u32, AgentError>,
    ) -> Result<u32, AgentError> {
        let (address, length) = range;
        let (start, bytes) = pages::whole_pages(address, length).ok_or_else(|| no_range(range))?;
        let mut shares = Vec::from(shares);
        if of != Of::Lease {
            shares.push(self.share(Quota::Bytes, bytes)?);
        }
        // Where DMA addresses are scarce it may cost more rows than these.
        let least = Cover::all(start, bytes).next().map_or(0, |cover| cover.count);
        drop(self.share(Quota::Page, least)?);
        let most = self.nic.accounts.rest(self.peer.uid, Quota::Page);
        let handle = make(&*self, most)?;
        let agent = &self.nic.agent;
        match agent.page_rows(handle).and_then(|pages| self.share(Quota::Page, pages)) {
            Ok(pages) => shares.push(pages),
            // Another session of the user's was quicker.
            Err(error) => {
                agent.deregister(handle)?;
                return Err(error);
            }
        }
        let mut has = self.record.has();
        has.regions.insert(row(handle), record::Region { address, length, memory });
        has.bytes += bytes;
        drop(has);
        self.regions.insert(handle, Region { bytes, of, _shares: shares });
        Ok(handle)
    }

    /// Ends a registration.
    pub(super) fn deregister(&mut self, handle: u32) -> Result<(), AgentError> {
        self.nic.agent.deregister(handle)?;
        if let Some(region) = self.regions.remove(&handle) {
            let mut has = self.record.has();
            has.regions.remove(&row(handle));
            has.bytes -= region.bytes;
        }
        Ok(())
    }

    /// Gives a region another tag and other rights.
    pub(super) fn set_memory_attributes(
        &self,
        handle: u32,
        attributes: MemoryAttributes,
    ) -> Result<(), AgentError> {
        self.nic.agent.set_memory_attributes(handle, attributes)
    }

    /// What a handle was registered with.
    pub(super) fn memory_attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        self.nic.agent.memory_attributes(handle)
    }
}

/// The row of a region.
fn row(handle: u32) -> u16 {
    memory_handle::INDEX.get(&[handle.into()]) as u16
}
