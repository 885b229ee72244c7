//! A BAR or configuration space: mapped where the kernel lets it be mapped, read and written through the
//! device's file elsewhere.

use std::{
    fs::File,
    io,
    os::{fd::AsFd, unix::fs::FileExt},
    ptr::NonNull,
};

use rustix::{
    mm::{madvise, mmap, mmap_anonymous, munmap, Advice, MapFlags, ProtFlags},
    param::page_size,
};

use super::info::RegionInfo;
use crate::{barrier, fork::Birth};

/// Bytes of a page of a BAR.
const PAGE_BYTES: u64 = 4096;

// On smaller machines an access of 8 bytes is two instructions.
const _: () = assert!(usize::BITS >= 64, "8 bytes in one access need a 64-bit machine");

/// A region of a device.
#[derive(Debug)]
pub struct Region {
    size: u64,
    /// Where it begins in the device's file.
    offset: u64,
    areas: Vec<Area>,
}

/// A part that is mapped.
#[derive(Debug)]
struct Area {
    offset: u64,
    length: usize,
    start: NonNull<u8>,
    /// Children of this process have it not.
    born: Birth,
}

// SAFETY: a mapping belongs to the whole process, and device registers are accessed with single volatile
// instructions: that is what threads may share.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

/// A number that one access moves, little-endian in the device.
pub trait Word: Copy {
    /// Its bytes in a buffer of 8, and back.
    fn to_bytes(self) -> [u8; 8];
    /// From the first bytes of a buffer.
    fn from_bytes(bytes: [u8; 8]) -> Self;
    /// Between the machine's order and the device's.
    fn little_endian(self) -> Self;
}

impl Word for u32 {
    fn to_bytes(self) -> [u8; 8] {
        u64::from(self).to_le_bytes()
    }
    fn from_bytes(bytes: [u8; 8]) -> Self {
        u64::from_le_bytes(bytes) as Self
    }
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

impl Word for u64 {
    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

impl Region {
    /// A region of `device`; `map`: in memory where it can be.
    pub fn new(device: &File, info: &RegionInfo, map: bool) -> io::Result<Self> {
        let mut region = Self { size: info.size, offset: info.offset, areas: Vec::new() };
        for (offset, length) in info.areas.iter().filter(|_| map) {
            region.areas.extend(Area::new(device, info.offset, *offset, *length)?);
        }
        Ok(region)
    }

    /// Whether `count` bytes at `offset` are in it and naturally aligned; else the rule.
    pub fn check(&self, offset: u64, count: usize) -> Result<(), String> {
        let count = count as u64;
        if offset % count != 0 {
            return Err("offsets are naturally aligned".into());
        }
        if offset.checked_add(count).is_none_or(|end| end > self.size) {
            return Err(format!("the region has {:#x} bytes", self.size));
        }
        Ok(())
    }

    /// Reads at an offset that [`Region::check`] allows.
    pub fn read<T: Word>(&self, device: &File, offset: u64) -> io::Result<T> {
        let Some(place) = self.mapped::<T>(offset) else {
            let mut bytes = [0; 8];
            let count = device.read_at(&mut bytes[..size_of::<T>()], self.file_offset(offset)?)?;
            return if count == size_of::<T>() { Ok(T::from_bytes(bytes)) } else { Err(cut(count)) };
        };
        // SAFETY: inside a mapped area and aligned; registers may change at any time, so volatile.
        let value = unsafe { place.read_volatile() };
        // What the caller reads from memory next is not older than the register.
        barrier::from_device();
        Ok(value.little_endian())
    }

    /// Writes at an offset that [`Region::check`] allows.
    pub fn write<T: Word>(&self, device: &File, offset: u64, value: T) -> io::Result<()> {
        // What the caller stored in memory is there before the device is told of it.
        barrier::to_device();
        let Some(place) = self.mapped::<T>(offset) else {
            let count = device.write_at(&value.to_bytes()[..size_of::<T>()], self.file_offset(offset)?)?;
            return if count == size_of::<T>() { Ok(()) } else { Err(cut(count)) };
        };
        // SAFETY: inside a mapped area and aligned; no Rust object lies there.
        unsafe { place.write_volatile(value.little_endian()) };
        Ok(())
    }

    /// Where `offset` is in memory, if all of a T there is mapped.
    fn mapped<T>(&self, offset: u64) -> Option<*mut T> {
        let area = self.areas.iter().find(|area| {
            offset >= area.offset && offset - area.offset + size_of::<T>() as u64 <= area.length as u64
        })?;
        // SAFETY: inside the area, by the search.
        Some(unsafe { area.start.as_ptr().add((offset - area.offset) as usize) }.cast())
    }

    /// The page at `offset`, if it is mapped.
    pub fn page(&self, offset: u64) -> Option<NonNull<u8>> {
        let last = offset.checked_add(PAGE_BYTES - 8).filter(|_| offset % PAGE_BYTES == 0)?;
        // One mapping has both ends of it.
        let (start, end) = (self.mapped::<u64>(offset)?, self.mapped::<u64>(last)?);
        (end.addr() - start.addr() == last as usize - offset as usize).then(|| NonNull::new(start.cast()))?
    }

    /// Puts memory of nobody's in the place of what is mapped. Loads and stores of other threads meet the one or the other, and none fails.
    pub fn let_go(&self) -> io::Result<()> {
        self.areas.iter().try_for_each(Area::let_go)
    }

    fn file_offset(&self, offset: u64) -> io::Result<u64> {
        self.offset.checked_add(offset).ok_or_else(|| io::Error::other("an offset beyond the device's file"))
    }
}

/// The kernel moves all of a register or fails.
fn cut(count: usize) -> io::Error {
    io::Error::other(format!("the kernel moved only {count} bytes"))
}

impl Area {
    /// Maps the whole pages of `length` bytes at `offset` of the region that begins at `base` of the
    /// device's file. None: it has none.
    fn new(device: &File, base: u64, offset: u64, length: u64) -> io::Result<Option<Self>> {
        let page = page_size() as u64;
        let too_large = || io::Error::other("a region beyond the address space");
        let end = offset.checked_add(length).ok_or_else(too_large)? / page * page;
        let offset = offset.checked_next_multiple_of(page).ok_or_else(too_large)?;
        if offset >= end {
            return Ok(None);
        }
        let length = usize::try_from(end - offset).map_err(|_| too_large())?;
        let place = base.checked_add(offset).ok_or_else(too_large)?;
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                device.as_fd(),
                place,
            )?
        };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let area = Self { offset, length, start, born: Birth::now() };
        // A child's copy would keep the function open and let the child ring its doorbells.
        // SAFETY: the mapping made above; the advice changes nothing for this process.
        unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxDontFork) }?;
        Ok(Some(area))
    }
}

impl Area {
    fn let_go(&self) -> io::Result<()> {
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
        // SAFETY: over all of the mapping made in `new`; pointers into it lead into memory as before.
        unsafe { mmap_anonymous(self.start.as_ptr().cast(), self.length, rights, flags) }?;
        Ok(())
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        if !self.born.is_here() {
            // A child: what is at these addresses by now is somebody else's.
            return;
        }
        // SAFETY: the mapping made in `new`; pointers into it live as long as a call.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork::tests::drop_in_child;

    /// A device of one page, which is mapped.
    fn one_page() -> (File, Region) {
        let device = tempfile::tempfile().expect("a file");
        let page = page_size() as u64;
        device.set_len(page).expect("room");
        let info = RegionInfo { accessible: true, size: page, offset: 0, areas: vec![(0, page)] };
        let region = Region::new(&device, &info, true).expect("mapped");
        (device, region)
    }

    /// A file stands for the device: its pages map as a BAR's do.
    #[test]
    fn areas_go_through_memory_and_the_rest_through_the_file() {
        let device = tempfile::tempfile().expect("a file");
        let page = page_size() as u64;
        device.set_len(8 * page).expect("room");
        let info = RegionInfo {
            accessible: true,
            size: 4 * page,
            offset: 2 * page,
            areas: vec![(0, page), (2 * page + 8, 2 * page - 8)],
        };
        let region = Region::new(&device, &info, true).expect("mapped");
        let mapped: Vec<(u64, usize)> = region.areas.iter().map(|area| (area.offset, area.length)).collect();
        assert_eq!(mapped, [(0, page as usize), (3 * page, page as usize)], "whole pages of the areas");
        for offset in (0..4 * page).step_by(8) {
            region.write(&device, offset, 0x1122_3344_5566_0000 + offset).expect("in the region");
        }
        let mut bytes = vec![0; 8 * page as usize];
        device.read_at(&mut bytes, 0).expect("a file");
        assert!(bytes[..2 * page as usize].iter().all(|byte| *byte == 0));
        assert!(bytes[6 * page as usize..].iter().all(|byte| *byte == 0));
        for offset in (0..4 * page).step_by(8) {
            let at = (2 * page + offset) as usize;
            let expected = 0x1122_3344_5566_0000 + offset;
            assert_eq!(bytes[at..at + 8], expected.to_le_bytes());
            assert_eq!(region.read::<u64>(&device, offset).ok(), Some(expected));
            assert_eq!(region.read::<u32>(&device, offset + 4).ok(), Some(0x1122_3344));
        }
        region.write(&device, page + 4, 0xdead_beef_u32).expect("in the region");
        assert_eq!(region.read::<u64>(&device, page).ok().map(|value| value >> 32), Some(0xdead_beef));
    }

    #[test]
    fn what_is_let_go_of_takes_stores_that_reach_no_device() {
        let (device, region) = one_page();
        region.write(&device, 8, 1_u64).expect("in the region");
        region.let_go().expect("mapped");
        region.write(&device, 8, 2_u64).expect("it is memory");
        let mut bytes = [0; 8];
        device.read_at(&mut bytes, 8).expect("a file");
        assert_eq!(u64::from_le_bytes(bytes), 1, "the second store is nobody's");
        assert_eq!(region.read::<u64>(&device, 8).ok(), Some(2));
    }

    #[test]
    fn a_child_that_drops_its_copy_takes_nothing_from_who_is_at_its_addresses() {
        let (device, region) = one_page();
        let (start, length) = (region.areas[0].start, region.areas[0].length);
        // SAFETY: all that it has mapped there.
        let region = unsafe { drop_in_child(region, start, length) };
        region.write(&device, 0, 7_u32).expect("the parent has it as ever");
    }

    #[test]
    fn offsets_are_checked() {
        let device = tempfile::tempfile().expect("a file");
        let info = RegionInfo { accessible: true, size: 0x100, offset: 0, areas: Vec::new() };
        let region = Region::new(&device, &info, true).expect("nothing to map");
        assert_eq!(region.check(0xf8, 8), Ok(()));
        assert!(region.check(0x100, 4).is_err_and(|rule| rule.contains("0x100")));
        assert!(region.check(0xfc, 8).is_err() && region.check(2, 4).is_err());
        assert!(region.check(u64::MAX - 3, 4).is_err());
        region.read::<u32>(&device, 0).expect_err("an empty file");
    }
}
