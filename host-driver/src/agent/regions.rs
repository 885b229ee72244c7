//! Registered memory: rows of the region and page tables, and the handles that name them.

use std::{collections::VecDeque, os::fd::BorrowedFd};

use viaduct_spec::{
    handle::memory_handle,
    tables::{region, table},
};

use super::{admin::Admin, tags::Tags, AgentError};
use crate::{
    device::{DeviceError, DmaAccess, PciDevice},
    dma_space::DmaSpace,
    memory::{self, Mapping},
    pages::{self, Cover},
    rows,
};

/// What memory is registered for (VIP_MEM_ATTRIBUTES).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryAttributes {
    /// Protection tag.
    pub tag: u16,
    /// Remote peers of VIs with this tag may write it.
    pub rdma_write: bool,
    /// Remote peers of VIs with this tag may read it.
    pub rdma_read: bool,
}

/// The region and page tables, as the agent keeps them.
#[derive(Debug)]
pub struct Regions {
    /// Rows of the region table; row 0 stays empty.
    rows: Vec<Option<Entry>>,
    /// Free rows, the longest free first: a stale handle meets its row's next owner as late as
    /// possible.
    free: VecDeque<u16>,
    /// Rows of the page table in use.
    pages: Vec<bool>,
    space: DmaSpace,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    row: rows::Region,
    place: Place,
}

/// Where the device finds a region: DMA addresses and page table rows of its own.
#[derive(Debug, Clone, Copy)]
struct Place {
    iova: u64,
    /// Bytes, whole pages.
    bytes: u64,
    cover: Cover,
    first_page: usize,
}

/// A region as its owner asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub length: u64,
    /// Tag and rights.
    pub attributes: MemoryAttributes,
    /// An arena of the agent's.
    pub system: bool,
    /// Random bits for the handle.
    pub key: u16,
}

impl Request {
    /// For memory that holds rings: under the agent's own tag, with no right of any peer's.
    pub fn system(memory: &Mapping, tag: u16, key: u16) -> Self {
        Self {
            address: memory.start().as_ptr() as u64,
            length: memory.length() as u64,
            attributes: MemoryAttributes { tag, rdma_write: false, rdma_read: false },
            system: true,
            key,
        }
    }

    /// The whole pages that it touches: first byte, and bytes.
    pub fn pages(&self) -> Result<(u64, u64), AgentError> {
        let &Self { address, length, .. } = self;
        let whole = (length <= region::LENGTH.mask()).then(|| pages::whole(address, length)).flatten();
        whole.ok_or(AgentError::Range { address, length })
    }
}

impl Regions {
    /// Empty tables of a NIC, and all DMA addresses of its function free.
    pub fn new(rows: u16, pages: u32, space: DmaSpace) -> Self {
        Self {
            rows: vec![None; rows.into()],
            free: (1..rows).collect(),
            pages: vec![false; pages as usize],
            space,
        }
    }

    /// Registers memory of this process, of any alignment and length.
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
        let access = memory::access(start, start + bytes)?;
        self.enter(device, tags, request, access, |iova| {
            // SAFETY: the caller's promise.
            unsafe { device.map_dma(iova, start as usize, bytes as usize, access) }
        })
    }

    /// Registers memory of another process, which is `file`, and in which it may do as `access` says.
    pub fn register_file(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        request: Request,
        file: BorrowedFd<'_>,
        access: DmaAccess,
    ) -> Result<u32, AgentError> {
        let (start, bytes) = request.pages()?;
        self.enter(device, tags, request, access, |iova| {
            device.map_file(iova, file, start, bytes as usize, access)
        })
    }

    fn enter(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        request: Request,
        access: DmaAccess,
        map: impl FnOnce(u64) -> Result<(), DeviceError>,
    ) -> Result<u32, AgentError> {
        let Request { address, length, attributes, system, key } = request;
        tags.check(attributes.tag)?;
        let (start, bytes) = request.pages()?;
        if attributes.rdma_write && access == DmaAccess::Read {
            return Err(AgentError::RightToWrite(address));
        }
        let index = *self.free.front().ok_or(AgentError::Full(self.rows.len() - 1, "region"))?;
        let place = self.place(start, bytes)?;
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

        if let Err(error) = map(place.iova) {
            self.space.release(place.iova, bytes);
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
            // Either the device is gone, or the row was never made live.
            self.unmap(device, place)?;
            return Err(error);
        }
        tags.take(attributes.tag)?;
        self.free.pop_front();
        self.pages[place.first_page..][..place.cover.count as usize].fill(true);
        self.rows[usize::from(index)] = Some(Entry { row, place });
        Ok(handle(index, key))
    }

    /// Ends a registration. When it returns without an error, nothing reaches the memory through
    /// this handle any more; after an error the NIC may still do so, and the memory must stay.
    pub fn deregister(
        &mut self,
        device: &dyn PciDevice,
        tags: &mut Tags,
        handle: u32,
    ) -> Result<(), AgentError> {
        let (index, entry) = self.find(handle)?;
        let admin = Admin::of(device);
        admin.commit(table::REGION, index.into(), &[0; 3])?;
        admin.drain()?;
        self.unmap(device, entry.place)?;
        tags.give_back(entry.row.tag);
        self.rows[usize::from(index)] = None;
        self.free.push_back(index);
        self.pages[entry.place.first_page..][..entry.place.cover.count as usize].fill(false);
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
        let (index, Entry { row: old, place }) = self.find(handle)?;
        if attributes.rdma_write && old.read_only {
            return Err(AgentError::RightToWrite(old.base));
        }
        tags.take(attributes.tag)?;
        let MemoryAttributes { tag, rdma_write, rdma_read } = attributes;
        let row = rows::Region { tag, rdma_write, rdma_read, ..old };
        let admin = Admin::of(device);
        // Of a device that fails here nobody knows which row it has: both tags stay.
        admin.commit(table::REGION, index.into(), &row.words())?;
        self.rows[usize::from(index)] = Some(Entry { row, place });
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
            result = result.and(self.unmap(device, place));
        }
        result
    }

    /// DMA addresses, free or not.
    pub fn dma_bytes(&self) -> u64 {
        self.space.bytes()
    }

    /// What a handle was registered with.
    pub fn attributes(&self, handle: u32) -> Result<MemoryAttributes, AgentError> {
        let row = self.find(handle)?.1.row;
        Ok(MemoryAttributes { tag: row.tag, rdma_write: row.rdma_write, rdma_read: row.rdma_read })
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
            .filter(|entry| entry.row.key == key)
            .map(|entry| (index, entry))
            .ok_or(AgentError::UnknownHandle(handle))
    }

    /// Finds a region DMA addresses and page table rows, as few as can be. The addresses are taken, the
    /// rows are not yet.
    fn place(&mut self, start: u64, bytes: u64) -> Result<Place, AgentError> {
        for (smaller, cover) in Cover::all(start, bytes).enumerate() {
            let first_page = match self.find_pages(cover.count) {
                Some(page) => page,
                None if smaller == 0 => return Err(AgentError::Full(self.pages.len(), "page")),
                // With addresses for larger pages the rows would have done.
                None => break,
            };
            if let Some(iova) = self.space.allocate(bytes, start, cover.size()) {
                return Ok(Place { iova, bytes, cover, first_page });
            }
        }
        Err(AgentError::DmaAddresses { length: bytes, all: self.space.bytes() })
    }

    /// Takes the memory back from the device. Its DMA addresses are free only when that went well.
    fn unmap(&mut self, device: &dyn PciDevice, place: Place) -> Result<(), DeviceError> {
        device.unmap_dma(place.iova, place.bytes as usize)?;
        self.space.release(place.iova, place.bytes);
        Ok(())
    }

    /// The first run of `count` free rows of the page table.
    fn find_pages(&self, count: u64) -> Option<usize> {
        let count = usize::try_from(count).ok()?;
        self.pages.windows(count).position(|run| run.iter().all(|used| !used))
    }
}

fn handle(index: u16, key: u16) -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, index.into());
    memory_handle::KEY.put(&mut word, key.into());
    word[0] as u32
}
