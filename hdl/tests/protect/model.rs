//! What the checker must decide, with numbers wide enough that nothing can wrap.

use viaduct_spec::profile::{PAGES, REGIONS};

/// A row of the region table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Region {
    pub base: u64,
    pub length: u64,
    pub tag: u16,
    pub key: u16,
    pub first_page: u16,
    pub page_shift: u8,
    pub live: bool,
    pub system: bool,
    pub read_only: bool,
    pub rdma_write: bool,
    pub rdma_read: bool,
}

/// A request of a client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    pub address: u64,
    pub span: u32,
    pub length: u16,
    pub region: u16,
    pub key: u16,
    pub tag: u16,
    pub by_offset: bool,
    pub system: bool,
    pub write: bool,
    pub clip: bool,
    /// Rights of remote peers: 1 write, 2 read.
    pub remote: u8,
    pub user: u8,
}

/// The tables as last committed.
pub struct Tables {
    pub regions: Vec<Region>,
    /// DMA address of each page.
    pub pages: Vec<u64>,
}

impl Tables {
    pub fn new() -> Self {
        Self { regions: vec![Region::default(); REGIONS], pages: vec![0; PAGES] }
    }

    /// The pieces (DMA address, bytes) of a granted access; `None` if it is refused.
    pub fn decide(&self, access: &Access) -> Option<Vec<(u64, u64)>> {
        let region = self.regions.get(usize::from(access.region)).filter(|_| access.region != 0)?;
        let rights = region.live
            && region.system == access.system
            && region.tag == access.tag
            && (access.by_offset || region.key == access.key)
            && !(access.write && region.read_only)
            && (access.remote & 1 == 0 || region.rdma_write)
            && (access.remote & 2 == 0 || region.rdma_read)
            && (12..=43).contains(&region.page_shift)
            && (1..=4096).contains(&access.length);
        if !rights {
            return None;
        }
        let base = i128::from(region.base);
        let first = match access.by_offset {
            true => base - base % 64 + i128::from(access.address),
            false => i128::from(access.address),
        };
        let end = base + i128::from(region.length);
        if first < base || first > end {
            return None;
        }
        let mut length = i128::from(access.length);
        if access.clip {
            length = length.min(end - first);
            if length == 0 {
                return None;
            }
        } else if first + length.max(if access.remote == 0 { 0 } else { access.span.into() }) > end {
            return None;
        }
        let size = 1i128 << region.page_shift;
        let start = base - base % size;
        let mut pieces = Vec::new();
        let mut at = first;
        while at < first + length {
            let row = i128::from(region.first_page) + (at - start) / size;
            let page = self.pages.get(usize::try_from(row).ok()?)?;
            let inside = (at - start) % size;
            let bytes = (size - inside).min(first + length - at);
            // The page's address is the agent's; its low bits are 0 up to the page size.
            pieces.push((page | inside as u64, bytes as u64));
            at += bytes;
        }
        Some(pieces)
    }
}
