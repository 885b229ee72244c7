//! The protection checker: every access to host memory passes it. Live, key, tag, right, and the whole span inside the
//! region; then the pages. It knows the tables, and changes nothing.

use viaduct_spec::handle::memory_handle;
use viaduct_spec::tables::{page, region};

use super::place::{Access, Place, Refused, Right};
use super::tables::Tables;

/// The checker, over the tables as they stand.
#[derive(Debug, Clone, Copy)]
pub struct Protection<'a> {
    /// Regions and pages.
    pub tables: &'a Tables,
    /// [`Mutant::OneBehind`](super::choices::Mutant::OneBehind): one byte behind its region is let through.
    pub one_behind: bool,
}

impl Protection<'_> {
    /// DMA address and bytes of each page that an access touches with its first `length` bytes, if it is allowed.
    pub fn grant(&self, access: Access, length: usize) -> Result<Vec<(u64, usize)>, Refused> {
        let address = self.check(access)?;
        self.pages(access, address, length)
    }

    /// Bytes from a place to its region's end; 0 where nothing may be read.
    pub fn room(&self, access: Access) -> u64 {
        let start = match self.check(Access { span: 0, ..access }) {
            Ok(start) => start,
            Err(Refused) => return 0,
        };
        let row = &self.tables.region[access.place.region()];
        (row.get(region::BASE).wrapping_add(row.get(region::LENGTH))).wrapping_sub(start)
    }

    /// The virtual address where an access begins, if it is allowed.
    fn check(&self, access: Access) -> Result<u64, Refused> {
        let index = access.place.region();
        // Row 0 is never used.
        let row = self.tables.region.get(index).filter(|_| index != 0).ok_or(Refused)?;
        let base = row.get(region::BASE);
        let (address, key) = match access.place {
            Place::Address { address, handle } => (address, Some(memory_handle::KEY.get(&[handle.into()]))),
            Place::Offset { offset, .. } => ((base & !63).wrapping_add(offset), None),
        };
        let right = match access.right {
            Right::RemoteRead => row.is(region::RDMA_READ),
            Right::RemoteWrite => row.is(region::RDMA_WRITE),
            _ => true,
        };
        let allowed = row.is(region::LIVE)
            && key.is_none_or(|key| key == row.get(region::KEY))
            && row.get(region::TAG) == u64::from(access.tag)
            && right
            && (!row.is(region::SYSTEM) || access.right.system())
            && !(row.is(region::READ_ONLY) && access.right.writes());
        let behind = u128::from(self.one_behind).min(access.span.into());
        let end = u128::from(address) + u128::from(access.span) - behind;
        let inside = address >= base && end <= u128::from(base) + u128::from(row.get(region::LENGTH));
        (allowed && inside).then_some(address).ok_or(Refused)
    }

    /// The pages of an allowed access.
    fn pages(&self, access: Access, address: u64, length: usize) -> Result<Vec<(u64, usize)>, Refused> {
        let row = &self.tables.region[access.place.region()];
        let size = 1u64 << row.get(region::PAGE_SHIFT);
        let first = row.get(region::BASE) & !(size - 1);
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < length as u64 {
            let at = address.wrapping_add(done);
            let number =
                row.get(region::FIRST_PAGE) + (at.wrapping_sub(first) >> row.get(region::PAGE_SHIFT));
            let page = self.tables.page.get(number as usize).ok_or(Refused)?;
            let within = at & (size - 1);
            let count = (size - within).min(length as u64 - done);
            pieces.push((page.get(page::ADDRESS).wrapping_add(within), count as usize));
            done += count;
        }
        Ok(pieces)
    }
}
