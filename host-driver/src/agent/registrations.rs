//! The agent registers memory, and takes it back.

use std::{os::fd::BorrowedFd, sync::Arc};

use rand::Rng;

use super::{
    regions::{self, Draft, Request},
    Agent, AgentError, MemoryAttributes,
};
use crate::{
    device::{DeviceError, DmaAccess},
    memory::{self, Mapping},
    pages::PAGE_BYTES,
};

impl Agent {
    /// Registers `length` bytes of this process's memory from `address` on, of any alignment.
    /// Memory that this process may only read becomes memory that the NIC may only read. The handle
    /// is never 0.
    ///
    /// # Safety
    /// The memory stays mapped until [`Agent::deregister`] has returned without an error, and no
    /// reference exists that its being changed (if it is writable) by the NIC would break.
    pub unsafe fn register(
        &self,
        address: usize,
        length: usize,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        let (address, length) = (address as u64, length as u64);
        let (start, bytes) = regions::whole_pages(address, length)?;
        let access = memory::access(start, start + bytes)?;
        // SAFETY: the caller's promise.
        self.register_as((address, length), access, attributes, u64::MAX, None, |draft| unsafe {
            draft.map(&*self.device)
        })
    }

    /// Registers memory of another process, of which this one has a view: `length` bytes from `address` on there lie at `offset` of `view`. As
    /// [`Agent::register`], but that it takes `most_pages` rows of the NIC's page table at most. The view stays until the region is deregistered, whoever drops it.
    /// With `file`, the memfd that the view is of, the device maps that, and the view only shows that it may be written: see
    /// [`map_memfd`](crate::device::PciDevice::map_memfd).
    ///
    /// # Errors
    /// Pages that are not in the view; an address and an offset that are not the same place of a page; as [`Agent::register`].
    pub fn register_view(
        &self,
        view: &Arc<Mapping>,
        file: Option<BorrowedFd<'_>>,
        offset: u64,
        (address, length): (u64, u64),
        attributes: MemoryAttributes,
        most_pages: u64,
    ) -> Result<u32, AgentError> {
        let (start, bytes) = regions::whole_pages(address, length)?;
        let first = offset.checked_sub(address - start).filter(|first| first % PAGE_BYTES == 0);
        let inside = |first: &u64| first.checked_add(bytes).is_some_and(|end| end <= view.length() as u64);
        let first = first.filter(inside).ok_or(AgentError::Range { address, length })?;
        let from = view.start().as_ptr() as usize + first as usize;
        let mut mapped = false;
        // SAFETY: the pages are the view's, into which no reference is made; it stays until the region is deregistered (`views`), or for
        // ever.
        let map_view = |draft: &Draft| unsafe { draft.map_view(&*self.device, from) };
        let map = |draft: &Draft| {
            let done = match file {
                Some(file) => draft.map_memfd(&*self.device, file, first),
                None => map_view(draft),
            };
            done.inspect(|()| mapped = true)
        };
        let registered =
            self.register_as((address, length), DmaAccess::ReadWrite, attributes, most_pages, None, map);
        match &registered {
            Ok(handle) => drop(self.state()?.views.insert(*handle, Arc::clone(view))),
            // The device failed in the middle: nobody knows what it reaches.
            Err(_) if mapped => std::mem::forget(Arc::clone(view)),
            Err(_) => {}
        }
        registered
    }

    /// Registers memory of another process, which is `file` (its `/proc/self/mem`), and in which it may do as `access` says. As
    /// [`Agent::register`], but that nothing of this process is reached, and that it takes `most_pages` rows of the NIC's page table at most.
    pub fn register_file(
        &self,
        file: BorrowedFd<'_>,
        (address, length): (u64, u64),
        access: DmaAccess,
        attributes: MemoryAttributes,
        most_pages: u64,
    ) -> Result<u32, AgentError> {
        self.register_as((address, length), access, attributes, most_pages, None, |draft| {
            draft.map_file(&*self.device, file)
        })
    }

    /// How many rows of the NIC's page table a registered region has.
    pub fn page_rows(&self, handle: u32) -> Result<u64, AgentError> {
        self.state()?.regions.pages(handle)
    }

    /// Registers memory that `map` maps, or that its owner has mapped at a `leased` DMA address. That may take its time, all pages being read in and kept: others are served meanwhile.
    #[tracing::instrument(level = "debug", skip_all, fields(address = address, length = length, access = ?access, attributes = ?attributes), ret, err(level = "debug"))]
    pub(super) fn register_as(
        &self,
        (address, length): (u64, u64),
        access: DmaAccess,
        attributes: MemoryAttributes,
        most_pages: u64,
        leased: Option<u64>,
        map: impl FnOnce(&Draft) -> Result<(), DeviceError>,
    ) -> Result<u32, AgentError> {
        self.check_alarm()?;
        self.check_not_system(attributes.tag)?;
        let draft = {
            let mut guard = self.state()?;
            let state = &mut *guard;
            let key = state.random.random();
            let request = Request { address, length, attributes, system: false, key, leased };
            state.regions.reserve(&mut state.tags, request, access, most_pages)?
        };
        let mapped = map(&draft);
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.regions.enter(&*self.device, &mut state.tags, draft, mapped)
    }

    /// Ends a registration. When it returns without an error, nothing reaches the memory through the
    /// handle any more. After an error the NIC may still do so: the memory must stay.
    #[tracing::instrument(level = "debug", skip_all, fields(handle = handle), ret, err(level = "debug"))]
    pub fn deregister(&self, handle: u32) -> Result<(), AgentError> {
        let end = {
            let mut state = self.state()?;
            if state.regions.is_system(handle) {
                return Err(AgentError::UnknownHandle(handle));
            }
            state.regions.end(&*self.device, handle)?
        };
        // Others are served meanwhile.
        let unmapped = end.unmap(&*self.device);
        let mut guard = self.state()?;
        let state = &mut *guard;
        state.regions.forget(&mut state.tags, end, unmapped)?;
        state.views.remove(&handle);
        Ok(())
    }

    /// Gives a registered region another tag and other rights; its handle stays. When it returns without an error, nobody
    /// reaches the memory by what it was registered for before.
    ///
    /// # Errors
    /// No such handle or tag; a right to write read-only memory.
    #[tracing::instrument(level = "debug", skip_all, fields(handle = handle, attributes = ?attributes), ret, err(level = "debug"))]
    pub fn set_memory_attributes(&self, handle: u32, attributes: MemoryAttributes) -> Result<(), AgentError> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        if state.regions.is_system(handle) {
            return Err(AgentError::UnknownHandle(handle));
        }
        self.check_not_system(attributes.tag)?;
        state.regions.set_attributes(&*self.device, &mut state.tags, handle, attributes)
    }

    /// What a handle was registered with.
    pub fn memory_attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        self.state()?.regions.attributes(handle)
    }
}
