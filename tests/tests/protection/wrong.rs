//! Regions, segments and places that a VI must not use.

use viaduct_driver::device_protocol::rows;
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::status;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::profile::{PAGES, REGIONS};
use viaduct_spec::tables::table;
use viaduct_tests::raw::{Region, Segment};
use viaduct_tests::world::{Host, World};

/// Memory that its owner may only read.
static CONSTANT: [u8; 8192] = [0x5A; 8192];
/// A row of the region table that no agent gets to.
const ROW: u16 = REGIONS as u16 - 1;
/// And one of the page table.
const PAGE: u16 = PAGES as u16 - 1;

fn handle(index: u16, key: u16) -> u32 {
    let mut word = [0];
    memory_handle::INDEX.put(&mut word, index.into());
    memory_handle::KEY.put(&mut word, key.into());
    word[0] as u32
}

/// A live row for the first page of the host's memory that no agent would make, right but for `system`.
pub fn by_hand(world: &World, host: &Host, system: bool) -> Region {
    let address = host.memory.address(0);
    let row = rows::Region {
        base: address,
        length: 4096,
        tag: host.tag,
        key: 0x1234,
        first_page: PAGE,
        page_shift: 12,
        rdma_write: false,
        rdma_read: false,
        system,
        read_only: false,
    };
    world.commit(host.index, table::PAGE, PAGE.into(), &[host.map(0, 4096)]);
    world.commit(host.index, table::REGION, ROW.into(), &row.words());
    Region { handle: handle(ROW, 0x1234), address, length: 4096 }
}

/// A region that the host may read and not write.
pub fn constant(host: &Host) -> Region {
    let address = CONSTANT.as_ptr() as u64;
    let attributes = MemoryAttributes { tag: host.tag, rdma_write: false, rdma_read: false };
    // SAFETY: a static stays; the device gets no right to change it.
    let handle = unsafe { host.agent.register(address as usize, CONSTANT.len(), attributes) };
    Region { handle: handle.expect("room for a region"), address, length: CONSTANT.len() as u64 }
}

/// Segments that a VI with the host's tag must not use, and whether they are wrong for receives only.
pub fn wrong_segments(world: &World, host: &Host) -> Vec<(&'static str, Segment, bool)> {
    let foreign = host.register(0, 4096, host.agent.create_tag().expect("a tag"));
    let dead = host.register(0, 4096, host.tag);
    host.agent.deregister(dead.handle).expect("the NIC answers");
    let part = host.register(0x1003, 1000, host.tag);
    let start = host.memory.address(0);
    let own = host.region.handle;
    let segment = |address, handle| Segment { address, handle, length: 100 };
    let constant = constant(host);
    let arena = by_hand(world, host, true);
    vec![
        ("another tag", segment(start, foreign.handle), false),
        ("another key", segment(start, own ^ 0x1_0000), false),
        ("a region that is gone", segment(start, dead.handle), false),
        ("a region that never was", segment(start, handle(ROW - 1, 0)), false),
        ("region 0", segment(start, handle(0, memory_handle::KEY.get(&[own.into()]) as u16)), false),
        ("no row of the table", segment(start, own | 0xFFFF), false),
        ("a byte before it", segment(part.address - 1, part.handle), false),
        ("a byte behind it", segment(part.address + 901, part.handle), false),
        ("all behind it", Segment { length: 1, ..segment(part.address + 1000, part.handle) }, false),
        ("round the end of memory", segment(u64::MAX - 49, part.handle), false),
        ("far away", segment(part.address ^ 1 << 62, part.handle), false),
        ("an agent's arena", segment(arena.address, arena.handle), false),
        ("read-only memory", segment(constant.address, constant.handle), true),
    ]
}

/// Where the wrong places are, in a host's memory.
pub const PLACE: usize = 0x4000;

/// Wrong places for a descriptor, as region and address; and the error with which it completes, if
/// enough of it can be read to know where. Whatever holds a descriptor all the same holds this one.
pub fn wrong_places(
    world: &World,
    host: &Host,
    bytes: &[u8],
) -> Vec<(&'static str, Region, u64, Option<u32>)> {
    let at = PLACE;
    let address = host.memory.address(at);
    host.memory.write(at, bytes);
    host.memory.write(0x40, bytes);
    let foreign = host.register(at, 4096, host.agent.create_tag().expect("a tag"));
    let dead = host.register(at, 4096, host.tag);
    host.agent.deregister(dead.handle).expect("the NIC answers");
    let cut = |length| host.register(at, length, host.tag);
    let late = host.register(at + 32, 4096, host.tag);
    let arena = by_hand(world, host, true);
    vec![
        ("another tag", foreign, address, None),
        ("a region that is gone", dead, address, None),
        ("a region that never was", Region { handle: handle(ROW - 1, 0), ..host.region }, address, None),
        ("no row of the table", Region { handle: 0x7FFF, ..host.region }, address, None),
        ("an agent's arena", arena, arena.address + 0x40, None),
        ("behind the region", cut(0x40), address + 0x40, None),
        ("far behind the region", cut(0x41), address + (1 << 39), None),
        ("before the region", late, address, None),
        ("a control segment that the region cuts", cut(0x1F), address, None),
        ("a segment that the region cuts", cut(0x2F), address, Some(status::FORMAT_ERROR)),
    ]
}
