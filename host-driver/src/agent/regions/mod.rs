//! Registered memory: rows of the region and page tables, and the handles that name them.
//!
//! A registration and its end have three steps each. The one in the middle may take its time, as it pins memory or lets go of it, and needs nothing
//! of the tables. So `agent/registrations.rs` holds the agent's lock for the first and the last one only:
//!
//! | | first: what is free of the tables is taken, or the NIC's row is cleared | then, without the lock | last |
//! |---|---|---|---|
//! | a registration | [`Regions::reserve`] | [`Draft::map`], [`Draft::map_view`], [`Draft::map_memfd`], [`Draft::map_file`] | [`Regions::enter`] |
//! | its end | [`Regions::end`] | [`End::unmap`] | [`Regions::forget`] |
//!
//! So the NIC never has a row whose memory is not mapped. For the agent's own rings [`Regions::register`] and [`Regions::deregister`] do all three.

mod draft;
mod place;
mod request;

use std::collections::VecDeque;

use viaduct_spec::{handle::memory_handle, tables::table};

pub use self::draft::{Draft, End};
use self::place::{Place, Places};
pub use self::request::{whole_pages, Request};
use super::{tags::Tags, AgentError};
use crate::{
    device::{DeviceError, DmaAccess, PciDevice},
    device_protocol::{commands::Admin, rows},
    dma_space::DmaSpace,
    kernel_agent::MemoryAttributes,
    memory,
};

/// The region and page tables, as the agent keeps them.
#[derive(Debug)]
pub struct Regions {
    /// Rows of the region table; row 0 stays empty.
    rows: Vec<Option<Entry>>,
    /// Free rows, the longest free first: a stale handle meets its row's next owner as late as
    /// possible.
    free: VecDeque<u16>,
    places: Places,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    row: rows::Region,
    place: Place,
    /// Its memory is being unmapped: nobody finds it.
    ends: bool,
}

impl Regions {
    /// Empty tables of a NIC, and all DMA addresses of its function free.
    pub fn new(rows: u16, pages: u32, space: DmaSpace) -> Self {
        Self { rows: vec![None; rows.into()], free: (1..rows).collect(), places: Places::new(pages, space) }
    }

    /// Registers memory of this process, of any alignment and length: all steps at once, for the agent's own.
    ///
    /// # Safety
    /// As [`PciDevice::map_dma`], for the pages that the range touches, until
    /// [`Regions::deregister`] has returned without an error.
    pub unsafe fn register(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        request: Request,
    ) -> Result<u32, AgentError> {
        let (start, bytes) = request.pages()?;
        let draft = self.reserve(tags, request, memory::access(start, start + bytes)?, u64::MAX)?;
        // SAFETY: the caller's promise.
        let mapped = unsafe { draft.map(device) };
        self.enter(device, tags, draft, mapped)
    }

    /// The first step of a registration of memory in which its process may do as `access` says: row, page table rows and DMA addresses
    /// are taken, `most` page table rows at most, and the NIC knows nothing. Then the memory is mapped, which may take its time and needs none of this; then
    /// [`Regions::enter`].
    pub fn reserve(
        &mut self,
        tags: &mut Tags,
        request: Request,
        access: DmaAccess,
        most: u64,
    ) -> Result<Draft, AgentError> {
        let Request { address, length, attributes, system, key, leased } = request;
        tags.check(attributes.tag)?;
        let (start, bytes) = request.pages()?;
        if attributes.rdma_write && access == DmaAccess::Read {
            return Err(AgentError::RightToWrite(address));
        }
        let index = *self.free.front().ok_or(AgentError::Full(self.rows.len() - 1, "region"))?;
        let place = match leased {
            None => self.places.take(start, bytes, most)?,
            Some(iova) => self.places.take_at(iova, start, bytes, most)?,
        };
        tags.take(attributes.tag)?;
        self.free.pop_front();
        let row = rows::Region {
            base: address,
            length,
            tag: attributes.tag,
            key,
            first_page: place.first_page as u16,
            page_shift: place.cover.shift,
            rdma_write: attributes.rdma_write,
            rdma_read: attributes.rdma_read,
            system,
            read_only: access == DmaAccess::Read,
        };
        Ok(Draft { index, row, place, start, access })
    }

    /// The last step: the NIC gets the rows, if the memory was `mapped`; else all is given back.
    pub fn enter(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        draft: Draft,
        mapped: Result<(), DeviceError>,
    ) -> Result<u32, AgentError> {
        let Draft { index, row, place, .. } = draft;
        if let Err(error) = mapped {
            self.release(tags, row.tag, place);
            self.free.push_front(index);
            return Err(error.into());
        }
        let admin = Admin::of(device);
        let written = place
            .cover
            .rows(place.iova)
            .zip(place.first_page as u32..)
            .try_for_each(|(address, page)| admin.commit(table::PAGE, page, &[address]))
            .and_then(|()| admin.commit(table::REGION, index.into(), &row.words()));
        if let Err(error) = written {
            // Either the device is gone, or the row was never made live. What cannot be unmapped is nobody's any more.
            place.unmap(device)?;
            self.release(tags, row.tag, place);
            self.free.push_front(index);
            return Err(error.into());
        }
        self.rows[usize::from(index)] = Some(Entry { row, place, ends: false });
        Ok(handle(index, row.key))
    }

    /// Ends a registration: all steps at once. When it returns without an error, nothing reaches the memory through
    /// this handle any more; after an error the NIC may still do so, and the memory must stay.
    pub fn deregister(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        handle: u32,
    ) -> Result<(), AgentError> {
        let end = self.end(device, handle)?;
        let unmapped = end.unmap(device);
        self.forget(tags, end, unmapped)
    }

    /// The first step of the end of a registration: the NIC has the row no more, and nothing that it granted before is under way. Then
    /// the memory is unmapped, which may take its time; then [`Regions::forget`]. Nobody finds the region meanwhile.
    pub fn end(&mut self, device: &dyn PciDevice, handle: u32) -> Result<End, AgentError> {
        let (index, Entry { place, .. }) = self.find(handle)?;
        let admin = Admin::of(device);
        admin.commit(table::REGION, index.into(), &[0; 3])?;
        admin.drain()?;
        if let Some(entry) = &mut self.rows[usize::from(index)] {
            entry.ends = true;
        }
        Ok(End { index, place })
    }

    /// The last step: its rows and addresses are free, if the memory was `unmapped`; else it is registered as before, but for the row,
    /// and its end can be tried again.
    pub fn forget(
        &mut self,
        tags: &mut Tags,
        end: End,
        unmapped: Result<(), DeviceError>,
    ) -> Result<(), AgentError> {
        let slot = &mut self.rows[usize::from(end.index)];
        if let Err(error) = unmapped {
            if let Some(entry) = slot {
                entry.ends = false;
            }
            return Err(error.into());
        }
        if let Some(Entry { row, place, .. }) = slot.take() {
            self.free.push_back(end.index);
            self.release(tags, row.tag, place);
        }
        Ok(())
    }

    /// Gives a region another tag and other rights. When it returns without an error, nothing reaches the memory by the former
    /// ones any more.
    pub fn set_attributes(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        handle: u32,
        attributes: MemoryAttributes,
    ) -> Result<(), AgentError> {
        let (index, Entry { row: old, place, ends }) = self.find(handle)?;
        if attributes.rdma_write && old.read_only {
            return Err(AgentError::RightToWrite(old.base));
        }
        tags.take(attributes.tag)?;
        let MemoryAttributes { tag, rdma_write, rdma_read } = attributes;
        let row = rows::Region { tag, rdma_write, rdma_read, ..old };
        let admin = Admin::of(device);
        // Of a device that fails here nobody knows which row it has: both tags stay.
        admin.commit(table::REGION, index.into(), &row.words())?;
        self.rows[usize::from(index)] = Some(Entry { row, place, ends });
        admin.drain()?;
        tags.give_back(old.tag);
        Ok(())
    }

    /// Takes all memory back from a function that is reset, whose tables mean nothing any more. After
    /// an error it may still reach some of it.
    pub fn unmap_all(&mut self, device: &dyn PciDevice) -> Result<(), DeviceError> {
        let places: Vec<Place> = self.rows.iter_mut().filter_map(Option::take).map(|e| e.place).collect();
        let mut result = Ok(());
        for place in places {
            // The others are taken back all the same.
            result = result.and(place.unmap(device));
        }
        result
    }

    /// DMA addresses, free or not.
    pub fn dma_bytes(&self) -> u64 {
        self.places.dma_bytes()
    }

    /// Takes DMA addresses for somebody else to map memory at, aligned to their number: the first.
    pub fn lease(&mut self, bytes: u64) -> Result<u64, AgentError> {
        self.places.lease(bytes)
    }

    /// How many regions lie in a lease.
    pub fn leased(&self, first: u64, bytes: u64) -> usize {
        let is_there = |place: &Place| place.leased && (first..first + bytes).contains(&place.iova);
        self.rows.iter().flatten().filter(|entry| is_there(&entry.place)).count()
    }

    /// Gives the addresses of a lease back, in which nothing is mapped any more.
    pub fn end_lease(&mut self, first: u64, bytes: u64) {
        self.places.end_lease(first, bytes);
    }

    /// What a handle was registered with.
    pub fn attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        let row = self.find(handle)?.1.row;
        Ok(MemoryAttributes { tag: row.tag, rdma_write: row.rdma_write, rdma_read: row.rdma_read })
    }

    /// How many rows of the page table a region has.
    pub fn pages(&self, handle: u32) -> Result<u64, AgentError> {
        Ok(self.find(handle)?.1.place.cover.count)
    }

    /// Whether a handle names a region of the agent's own.
    pub fn is_system(&self, handle: u32) -> bool {
        self.find(handle).is_ok_and(|(_, entry)| entry.row.system)
    }

    fn find(&self, handle: u32) -> Result<(u16, Entry), AgentError> {
        let number = [u64::from(handle)];
        let index = memory_handle::INDEX.get(&number) as u16;
        let key = memory_handle::KEY.get(&number) as u16;
        self.rows
            .get(usize::from(index))
            .copied()
            .flatten()
            .filter(|entry| entry.row.key == key && !entry.ends)
            .map(|entry| (index, entry))
            .ok_or(AgentError::UnknownHandle(handle))
    }

    /// What a region had that is not mapped any more is free, but for its row.
    fn release(&mut self, tags: &mut Tags, tag: u16, place: Place) {
        tags.give_back(tag);
        self.places.give_back(place);
    }
}

/// The handle of the region in a row.
fn handle(index: u16, key: u16) -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, index.into());
    memory_handle::KEY.put(&mut word, key.into());
    word[0] as u32
}
