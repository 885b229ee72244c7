//! A region of two pages whose rows a test writes by hand: behind the second one there may be nothing.

use viaduct_driver::device_protocol::rows;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::tables::table;

use crate::raw::Region;
use crate::world::{Host, World};

/// Bytes of a page.
const PAGE: usize = 0x1000;
/// First row of the page table that the agent does not use here.
const ROW: u16 = 128;
/// A DMA address that the host's IOMMU does not know.
const NOWHERE: u64 = 1 << 50;

/// See the module's description.
#[derive(Debug, Clone, Copy)]
pub struct TwoPages {
    /// The region.
    pub region: Region,
    /// DMA address of its first page.
    address: u64,
}

impl TwoPages {
    /// The two pages around the end of the page that `offset` of a host's memory lies in, under the host's tag.
    pub fn around(world: &World, host: &Host, offset: usize) -> Self {
        let start = offset & !(PAGE - 1);
        let region = host.register(start, 2 * PAGE, host.tag);
        let pages = Self { region, address: host.map(start, 2 * PAGE) };
        world.commit(host.index, table::PAGE, ROW.into(), &[pages.address]);
        pages.find_second(world, host);
        let row = rows::Region {
            base: region.address,
            length: region.length,
            tag: host.tag,
            key: memory_handle::KEY.get(&[region.handle.into()]) as u16,
            first_page: ROW,
            page_shift: 12,
            rdma_write: false,
            rdma_read: false,
            system: false,
            read_only: false,
        };
        world.commit(host.index, table::REGION, region.index().into(), &row.words());
        pages
    }

    /// From now on the bus has nothing behind the second page.
    pub fn lose_second(&self, world: &World, host: &Host) {
        world.commit(host.index, table::PAGE, (ROW + 1).into(), &[NOWHERE]);
    }

    /// It is there again.
    pub fn find_second(&self, world: &World, host: &Host) {
        world.commit(host.index, table::PAGE, (ROW + 1).into(), &[self.address + PAGE as u64]);
    }
}
