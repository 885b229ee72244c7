//! What the kernel answers about devices, regions, interrupts and IOMMUs, taken from its bytes:
//! `vfio_device_info`, `vfio_region_info`, `vfio_irq_info`, `vfio_iommu_type1_info` and the chains of
//! capabilities behind them.

use std::ops::RangeInclusive;

use vfio_bindings::bindings::vfio;

/// Bytes of a capability's header: identifier, version, offset of the next.
const HEADER_BYTES: usize = 8;

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceInfo {
    /// It is a PCI function.
    pub pci: bool,
    /// It has a reset.
    pub resets: bool,
}

/// A region: a BAR, or configuration space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionInfo {
    /// It can be read and written.
    pub accessible: bool,
    /// Bytes.
    pub size: u64,
    /// Where it begins in the device's file.
    pub offset: u64,
    /// Parts that can be mapped: offset in the region, and bytes.
    pub areas: Vec<(u64, u64)>,
}

/// An IOMMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IommuInfo {
    /// Its least page in bytes, if it says.
    pub least_page: Option<u64>,
    /// DMA addresses that it can translate, if it says.
    pub ranges: Option<Vec<RangeInclusive<u64>>>,
}

impl DeviceInfo {
    /// From a `vfio_device_info`.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let flags = u32_at(bytes, 4)?;
        Ok(Self {
            pci: flags & vfio::VFIO_DEVICE_FLAGS_PCI != 0,
            resets: flags & vfio::VFIO_DEVICE_FLAGS_RESET != 0,
        })
    }
}

impl RegionInfo {
    /// From a `vfio_region_info`.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let flags = u32_at(bytes, 4)?;
        let size = u64_at(bytes, 16)?;
        let both = vfio::VFIO_REGION_INFO_FLAG_READ | vfio::VFIO_REGION_INFO_FLAG_WRITE;
        let mut areas = Vec::new();
        if flags & vfio::VFIO_REGION_INFO_FLAG_MMAP != 0 && size != 0 {
            areas.push((0, size));
        }
        if flags & vfio::VFIO_REGION_INFO_FLAG_CAPS != 0 {
            let sparse = |(id, _): &(u32, &[u8])| *id == vfio::VFIO_REGION_INFO_CAP_SPARSE_MMAP;
            if let Some((_, body)) = capabilities(bytes, u32_at(bytes, 12)?)?.into_iter().find(sparse) {
                areas = sparse_areas(body, size)?;
            }
        }
        Ok(Self { accessible: flags & both == both, size, offset: u64_at(bytes, 24)?, areas })
    }
}

/// Vectors of an interrupt kind, from a `vfio_irq_info`; 0 when they cannot go to eventfds.
pub fn vectors(bytes: &[u8]) -> Result<usize, String> {
    let eventfds = u32_at(bytes, 4)? & vfio::VFIO_IRQ_INFO_EVENTFD != 0;
    Ok(if eventfds { u32_at(bytes, 12)? as usize } else { 0 })
}

impl IommuInfo {
    /// From a `vfio_iommu_type1_info`.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let flags = u32_at(bytes, 4)?;
        let pages = u64_at(bytes, 8)?;
        let says = flags & vfio::VFIO_IOMMU_INFO_PGSIZES != 0 && pages != 0;
        let mut ranges = None;
        if flags & vfio::VFIO_IOMMU_INFO_CAPS != 0 {
            let range = |(id, _): &(u32, &[u8])| *id == vfio::VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE;
            if let Some((_, body)) = capabilities(bytes, u32_at(bytes, 16)?)?.into_iter().find(range) {
                ranges = Some(iova_ranges(body)?);
            }
        }
        Ok(Self { least_page: says.then(|| 1 << pages.trailing_zeros()), ranges })
    }
}

/// The capabilities from offset `next` on, each with what is behind its header.
fn capabilities(bytes: &[u8], next: u32) -> Result<Vec<(u32, &[u8])>, String> {
    let mut found = Vec::new();
    let mut next = next as usize;
    let mut before = 0;
    while next != 0 {
        if next <= before {
            return Err(format!("the capability after the one at {before} is at {next}"));
        }
        let header = u32_at(bytes, next)?;
        // Version in the upper half: all that are known have version 1, and later ones only add.
        found.push((header & 0xffff, bytes.get(next + HEADER_BYTES..).unwrap_or_default()));
        before = next;
        next = u32_at(bytes, next + 4)? as usize;
    }
    Ok(found)
}

fn sparse_areas(body: &[u8], size: u64) -> Result<Vec<(u64, u64)>, String> {
    let count = u32_at(body, 0)? as usize;
    let area = |n: usize| Ok((u64_at(body, 8 + 16 * n)?, u64_at(body, 16 + 16 * n)?));
    let areas: Vec<(u64, u64)> = (0..count).map(area).collect::<Result<_, String>>()?;
    if let Some((at, length)) =
        areas.iter().find(|(at, length)| at.checked_add(*length).is_none_or(|end| end > size))
    {
        return Err(format!("{length:#x} bytes at {at:#x} can be mapped of a region of {size:#x}"));
    }
    Ok(areas.into_iter().filter(|(_, length)| *length != 0).collect())
}

fn iova_ranges(body: &[u8]) -> Result<Vec<RangeInclusive<u64>>, String> {
    let count = u32_at(body, 0)? as usize;
    let range = |n: usize| Ok(u64_at(body, 8 + 16 * n)?..=u64_at(body, 16 + 16 * n)?);
    let mut ranges: Vec<RangeInclusive<u64>> = (0..count).map(range).collect::<Result<_, String>>()?;
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| *range.start());
    Ok(ranges)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    array(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    array(bytes, at).map(u64::from_ne_bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], String> {
    let short = || format!("an answer of {} bytes has no {N} bytes at {at}", bytes.len());
    let end = at.checked_add(N).ok_or_else(short)?;
    bytes.get(at..end).and_then(|bytes| bytes.try_into().ok()).ok_or_else(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// A 64-bit number as two words, as it lies in memory.
    fn wide(number: u64) -> [u32; 2] {
        let bytes = number.to_ne_bytes();
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        [word(0), word(4)]
    }

    fn region(flags: u32, capabilities: u32, size: u64, rest: &[u32]) -> Vec<u8> {
        let mut all = vec![0, flags, 0, capabilities];
        all.extend(wide(size).into_iter().chain(wide(0x1_0000_0000)));
        all.extend(rest);
        words(&all)
    }

    #[test]
    fn regions_without_capabilities_are_mapped_whole_or_not_at_all() {
        let whole = RegionInfo::parse(&region(0b111, 0, 0x1_0000, &[])).expect("well formed");
        let expected = RegionInfo {
            accessible: true,
            size: 0x1_0000,
            offset: 0x1_0000_0000,
            areas: vec![(0, 0x1_0000)],
        };
        assert_eq!(whole, expected);
        let none = RegionInfo::parse(&region(0b011, 0, 256, &[])).expect("well formed");
        assert!(none.accessible && none.areas.is_empty());
        let empty = RegionInfo::parse(&region(0, 0, 0, &[])).expect("well formed");
        assert!(!empty.accessible && empty.areas.is_empty());
        assert!(!RegionInfo::parse(&region(0b001, 0, 256, &[])).expect("well formed").accessible);
    }

    #[test]
    fn a_sparse_region_is_mapped_in_its_areas() {
        // Another capability first: type 2.
        let mut rest = vec![2 | 1 << 16, 48, 9, 9, 1 | 1 << 16, 0, 3, 0];
        rest.extend(
            [(0, 0x8000), (0x9000, 0), (0xa000, 0x6000)]
                .iter()
                .flat_map(|(at, length)| wide(*at).into_iter().chain(wide(*length))),
        );
        let info = RegionInfo::parse(&region(0b1111, 32, 0x1_0000, &rest)).expect("well formed");
        assert_eq!(info.areas, [(0, 0x8000), (0xa000, 0x6000)]);
        // MSIX_MAPPABLE alone: all of it.
        let info = RegionInfo::parse(&region(0b1111, 32, 0x1_0000, &[3 | 1 << 16, 0])).expect("well formed");
        assert_eq!(info.areas, [(0, 0x1_0000)]);
    }

    #[test]
    fn broken_answers_are_errors() {
        let broken = |bytes: &[u8]| RegionInfo::parse(bytes).expect_err("broken");
        let whole = region(0b1111, 32, 0x1000, &[1 | 1 << 16, 0, 1, 0, 0, 0, 0x1000, 0]);
        RegionInfo::parse(&whole).expect("well formed");
        for length in 0..whole.len() {
            broken(&whole[..length]);
        }
        assert!(broken(&region(0b1111, 32, 0x1000, &[2, 32])).contains("at 32"), "a loop");
        assert!(broken(&region(0b1111, 32, 0x1000, &[2, 40, 0, 32])).contains("at 32"), "a loop of two");
        broken(&region(0b1111, u32::MAX, 0x1000, &[]));
        broken(&region(0b1111, 32, 0x1000, &[1, 0, u32::MAX, 0]));
        let outside = [1, 0, 1, 0, 0x1000, 0, 1, 0];
        assert!(broken(&region(0b1111, 32, 0x1000, &outside)).contains("0x1 bytes at 0x1000"));
        let wraps = [1, 0, 1, 0, u32::MAX, u32::MAX, 2, 0];
        broken(&region(0b1111, 32, 0x1000, &wraps));
    }

    #[test]
    fn an_iommu_says_its_pages_and_addresses() {
        let mut all = vec![0, 0b11];
        all.extend(wide(0x4020_1000));
        all.extend([24, 0]);
        // DMA_AVAIL first, then two ranges in the wrong order and one that is empty.
        all.extend([3 | 1 << 16, 36, 65535]);
        all.extend([1 | 1 << 16, 0, 3, 0]);
        for (first, last) in [(0xfef0_0000, (1 << 39) - 1), (0, 0xfedf_ffff), (5, 4)] {
            all.extend(wide(first).into_iter().chain(wide(last)));
        }
        let info = IommuInfo::parse(&words(&all)).expect("well formed");
        assert_eq!(info.least_page, Some(4096));
        assert_eq!(info.ranges, Some(vec![0..=0xfedf_ffff, 0xfef0_0000..=(1 << 39) - 1]));
        let old = IommuInfo::parse(&words(&[24, 0, 0, 0, 0, 0])).expect("well formed");
        assert_eq!(old, IommuInfo { least_page: None, ranges: None });
        for length in 0..words(&all).len() {
            IommuInfo::parse(&words(&all)[..length]).expect_err("short");
        }
    }

    #[test]
    fn devices_and_interrupts_say_what_they_can() {
        assert_eq!(DeviceInfo::parse(&words(&[20, 0b11, 9, 5])), Ok(DeviceInfo { pci: true, resets: true }));
        assert_eq!(DeviceInfo::parse(&words(&[20, 0b100])), Ok(DeviceInfo { pci: false, resets: false }));
        assert_eq!(vectors(&words(&[16, 0b1001, 2, 8])), Ok(8));
        assert_eq!(vectors(&words(&[16, 0b1000, 2, 8])), Ok(0));
        vectors(&words(&[16, 1])).expect_err("short");
    }
}
