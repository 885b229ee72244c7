//! The protection checker: every access to host memory passes it. Live, key, tag, right, and the
//! whole span inside the region; then the pages.

use viaduct_spec::handle::memory_handle;
use viaduct_spec::register::counter;
use viaduct_spec::tables::{page, region};

use super::choices::Mutant;
use super::device::Device;

/// An access was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// Where an access begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By virtual address and memory handle: data.
    Address {
        /// The address.
        address: u64,
        /// The handle: region and key.
        handle: u32,
    },
    /// By bytes from the region's base rounded down to 64: descriptors and rings.
    Offset {
        /// The region.
        region: u16,
        /// Bytes.
        offset: u64,
    },
}

impl Place {
    /// So many bytes further on.
    pub fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Address { address, handle } => {
                Self::Address { address: address.wrapping_add(bytes), handle }
            }
            Self::Offset { region, offset } => Self::Offset { region, offset: offset.wrapping_add(bytes) },
        }
    }

    /// The region's row.
    pub fn region(self) -> usize {
        match self {
            Self::Address { handle, .. } => memory_handle::INDEX.get(&[handle.into()]) as usize,
            Self::Offset { region, .. } => region.into(),
        }
    }
}

/// What is done there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The VI's own NIC reads.
    Read,
    /// The VI's own NIC writes.
    Write,
    /// The peer reads: RDMA.
    RemoteRead,
    /// The peer writes: RDMA.
    RemoteWrite,
    /// The NIC reads a ring of the agent's.
    SystemRead,
    /// The NIC writes a ring of the agent's.
    SystemWrite,
}

impl Right {
    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RemoteWrite | Self::SystemWrite)
    }

    fn system(self) -> bool {
        matches!(self, Self::SystemRead | Self::SystemWrite)
    }
}

/// An access to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub place: Place,
    /// Bytes that have to lie in the region: what remains of the segment, of which a part may be moved now.
    pub span: u64,
    /// The tag that the region must have.
    pub tag: u16,
    /// What for.
    pub right: Right,
}

impl Device {
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
        let mutant = u128::from(self.choices.mutant == Some(Mutant::OneBehind));
        let end = u128::from(address) + u128::from(access.span) - mutant.min(access.span.into());
        let inside = address >= base && end <= u128::from(base) + u128::from(row.get(region::LENGTH));
        (allowed && inside).then_some(address).ok_or(Refused)
    }

    /// DMA address and bytes of each page that an allowed access of `length` bytes touches.
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

    fn granted(&mut self, access: Access, length: usize) -> Result<Vec<(u64, usize)>, Refused> {
        let pieces = self.check(access).and_then(|address| self.pages(access, address, length));
        if pieces.is_err() {
            self.counters.count(counter::ACCESS_REFUSED);
        }
        pieces
    }

    /// Whether an access would be granted; a refusal counts.
    pub fn probe(&mut self, access: Access) -> Result<(), Refused> {
        self.granted(access, 0).map(drop)
    }

    /// Reads the first `length` bytes of an access. Memory that is not there is a refusal too.
    pub fn read(&mut self, access: Access, length: usize) -> Result<Vec<u8>, Refused> {
        let mut data = Vec::with_capacity(length);
        for (address, count) in self.granted(access, length)? {
            data.extend(self.host.read(address, count).ok_or(Refused)?);
        }
        Ok(data)
    }

    /// Writes `data` to the beginning of an access.
    pub fn write(&mut self, access: Access, data: &[u8]) -> Result<(), Refused> {
        let mut rest = data;
        for (address, count) in self.granted(access, data.len())? {
            let (piece, behind) = rest.split_at(count);
            self.host.write(address, piece);
            rest = behind;
        }
        Ok(())
    }
}
