//! Where the device finds regions: their DMA addresses, and their rows of the page table, which lead there. A region takes both when it is
//! registered, and gives both back when its memory is not mapped any more.

use crate::{
    device::{DeviceError, PciDevice},
    dma_space::DmaSpace,
    kernel_agent::AgentError,
    pages::Cover,
};

/// Where the device finds a region: DMA addresses and page table rows of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The first DMA address.
    pub iova: u64,
    /// Bytes, whole pages.
    pub bytes: u64,
    /// Its rows of the page table: how many, and how large their pages are.
    pub cover: Cover,
    /// The first one of these rows.
    pub first_page: usize,
    /// Its addresses are leased: its owner maps and unmaps it.
    pub leased: bool,
}

impl Place {
    /// Takes the memory there back from the device.
    pub fn unmap(&self, device: &dyn PciDevice) -> Result<(), DeviceError> {
        match self.leased {
            true => Ok(()),
            false => device.unmap_dma(self.iova, self.bytes as usize),
        }
    }
}

/// All rows of the page table and all DMA addresses, and which of them are free.
#[derive(Debug)]
pub(super) struct Places {
    /// Rows of the page table in use.
    pages: Vec<bool>,
    space: DmaSpace,
}

impl Places {
    /// All free: so many rows, and these addresses.
    pub fn new(pages: u32, space: DmaSpace) -> Self {
        Self { pages: vec![false; pages as usize], space }
    }

    /// DMA addresses, free or not.
    pub fn dma_bytes(&self) -> u64 {
        self.space.bytes()
    }

    /// Takes DMA addresses and page table rows for a region, as few as can be, and `most` rows at most.
    pub fn take(&mut self, start: u64, bytes: u64, most: u64) -> Result<Place, AgentError> {
        for (smaller, cover) in Cover::all(start, bytes).take_while(|cover| cover.count <= most).enumerate() {
            let first_page = match self.find_pages(cover.count) {
                Some(page) => page,
                None if smaller == 0 => return Err(AgentError::Full(self.pages.len(), "page")),
                // With addresses for larger pages the rows would have done.
                None => break,
            };
            if let Some(iova) = self.space.allocate(bytes, start, cover.size()) {
                let place = Place { iova, bytes, cover, first_page, leased: false };
                self.mark_pages(place, true);
                return Ok(place);
            }
        }
        Err(AgentError::DmaAddresses { length: bytes, all: self.space.bytes() })
    }

    /// Takes page table rows, as few as can be, for a region that its owner has mapped at a DMA address.
    pub fn take_at(&mut self, iova: u64, start: u64, bytes: u64, most: u64) -> Result<Place, AgentError> {
        let is_congruent = |cover: &Cover| (iova ^ start) & (cover.size() - 1) == 0;
        let mut covers =
            Cover::all(start, bytes).take_while(|cover| cover.count <= most).filter(is_congruent);
        let found = covers.find_map(|cover| Some((cover, self.find_pages(cover.count)?)));
        let (cover, first_page) = found.ok_or(AgentError::Full(self.pages.len(), "page"))?;
        let place = Place { iova, bytes, cover, first_page, leased: true };
        self.mark_pages(place, true);
        Ok(place)
    }

    /// Takes back what a region had that is not mapped any more.
    pub fn give_back(&mut self, place: Place) {
        self.mark_pages(place, false);
        if !place.leased {
            self.space.release(place.iova, place.bytes);
        }
    }

    /// Takes DMA addresses for somebody else to map memory at, aligned to their number: the first.
    pub fn lease(&mut self, bytes: u64) -> Result<u64, AgentError> {
        let all = self.space.bytes();
        let first = self.space.allocate(bytes, 0, bytes.next_power_of_two());
        first.ok_or(AgentError::DmaAddresses { length: bytes, all })
    }

    /// Takes the addresses of a lease back, in which nothing is mapped any more.
    pub fn end_lease(&mut self, first: u64, bytes: u64) {
        self.space.release(first, bytes);
    }

    fn mark_pages(&mut self, place: Place, taken: bool) {
        self.pages[place.first_page..][..place.cover.count as usize].fill(taken);
    }

    /// The first run of `count` free rows of the page table.
    fn find_pages(&self, count: u64) -> Option<usize> {
        let count = usize::try_from(count).ok()?;
        self.pages.windows(count).position(|run| run.iter().all(|used| !used))
    }
}
