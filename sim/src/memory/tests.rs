//! The address space of a NIC: what may be mapped, and what is reached.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;

use super::*;

fn range(iova: u64, length: u64, offset: u64, writable: bool) -> Range {
    Range { iova, length, offset, readable: true, writable }
}

fn file(pages: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(pages * PAGE).unwrap();
    file
}

#[test]
fn an_access_may_cross_from_one_mapping_into_the_next() {
    let mut memory = Memory::new();
    let (low, high) = (file(1), file(2));
    memory.map(&range(0x10000, PAGE, 0, true), Some(low.try_clone().unwrap())).unwrap();
    memory.map(&range(0x11000, PAGE, PAGE, true), Some(high.try_clone().unwrap())).unwrap();
    memory.write(0x10ffc, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let mut found = [0; 8];
    memory.read(0x10ffc, &mut found).unwrap();
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut tail = [0; 4];
    high.read_exact_at(&mut tail, PAGE).unwrap();
    assert_eq!(tail, [5, 6, 7, 8]);
    assert!(matches!(memory.read(0x11ffc, &mut found), Err(AccessError::Unmapped(0x12000))));
}

#[test]
fn an_aligned_word_arrives_whole() {
    let mut memory = Memory::new();
    memory.map(&range(0, PAGE, 0, true), Some(file(1))).unwrap();
    memory.write(8, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let mut found = [0; 24];
    memory.read(0, &mut found).unwrap();
    assert_eq!(found[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((found[7], found[16]), (0, 0));
}

#[test]
fn a_mapping_that_is_read_only_is_not_written() {
    let mut memory = Memory::new();
    memory.map(&range(0, PAGE, 0, false), Some(file(1))).unwrap();
    assert!(matches!(memory.write(0, &[1]), Err(AccessError::Forbidden(0))));
    let hidden = Range { readable: false, ..range(PAGE, PAGE, 0, true) };
    memory.map(&hidden, Some(file(1))).unwrap();
    assert!(matches!(memory.read(PAGE, &mut [0]), Err(AccessError::Forbidden(PAGE))));
}

#[test]
fn overlaps_are_refused_and_neighbours_are_not() {
    let mut memory = Memory::new();
    let mut map = |iova, length| memory.map(&range(iova, length, 0, true), None);
    map(0x4000, 0x2000).unwrap();
    for (iova, length) in
        [(0x4000, 0x2000), (0x5000, 0x1000), (0x3000, 0x2000), (0, 0x10000), (0x5000, 0x4000)]
    {
        assert!(matches!(map(iova, length), Err(MapError::Overlap { .. })), "{iova:#x}+{length:#x}");
    }
    map(0x3000, 0x1000).unwrap();
    map(0x6000, 0x1000).unwrap();
}

#[test]
fn unmapping_takes_what_is_inside_and_cuts_nothing() {
    let mut memory = Memory::new();
    for page in 0..4 {
        memory.map(&range(0x10000 + page * 2 * PAGE, 2 * PAGE, 0, true), None).unwrap();
    }
    assert!(matches!(memory.unmap(0x11000, 0x1000), Err(MapError::Cuts { .. })));
    assert!(matches!(memory.unmap(0x10000, 0x1000), Err(MapError::Cuts { .. })));
    assert!(matches!(memory.unmap(0x11000, 0x3000), Err(MapError::Cuts { .. })));
    assert_eq!(memory.len(), 4);
    assert_eq!(memory.unmap(0x12000, 0x4000).unwrap(), 0x4000);
    assert_eq!(memory.len(), 2);
    assert_eq!(memory.unmap(0x12000, 0x4000).unwrap(), 0);
    assert_eq!(memory.unmap(0, 1 << 40).unwrap(), 0x4000);
    assert!(memory.is_empty());
}

#[test]
fn the_addresses_of_interrupts_are_no_memory() {
    let mut memory = Memory::new();
    for (iova, length) in [(0xFEE0_0000, PAGE), (0xFEEF_F000, PAGE), (0xFEDF_F000, 2 * PAGE), (0, 1 << 32)] {
        let refused = memory.map(&range(iova, length, 0, true), None);
        assert!(matches!(refused, Err(MapError::Interrupts { .. })), "{iova:#x}+{length:#x}");
    }
    memory.map(&range(0xFEDF_F000, PAGE, 0, true), None).unwrap();
    memory.map(&range(0xFEF0_0000, PAGE, 0, true), None).unwrap();
}

#[test]
fn what_has_no_file_and_is_allowed_goes_by_message() {
    let mut memory = Memory::new();
    memory.map(&range(0, PAGE, 0, true), Some(file(1))).unwrap();
    memory.map(&range(PAGE, PAGE, 0, false), None).unwrap();
    assert!(!memory.lacks_file(0, 4096, false));
    assert!(memory.lacks_file(0xFFC, 8, false), "one part of it");
    assert!(memory.lacks_file(0x1FFC, 4, false));
    assert!(!memory.lacks_file(0x1000, 4, true), "read only");
    assert!(!memory.lacks_file(0x1FFC, 8, false), "beyond");
    assert!(!memory.lacks_file(u64::MAX, 8, false));
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let mut memory = Memory::new();
    for (iova, length, offset) in [
        (0, 0, 0),
        (1, PAGE, 0),
        (0, PAGE + 1, 0),
        (u64::MAX - PAGE + 1, 2 * PAGE, 0),
        (0, PAGE, u64::MAX),
        (0, 1 << 63, 1 << 63),
    ] {
        let refused = memory.map(&range(iova, length, offset, true), None);
        assert!(matches!(refused, Err(MapError::Shape { .. })), "{iova:#x}+{length:#x}@{offset:#x}");
    }
    // The very last page is a range like any other.
    memory.map(&range(u64::MAX - PAGE + 1, PAGE, 0, true), None).unwrap();
    assert!(matches!(memory.read(u64::MAX, &mut [0, 0]), Err(AccessError::Unmapped(_))));
}

#[test]
fn files_that_could_block_or_grow_are_refused() {
    let mut memory = Memory::new();
    let (pipe, _end) = io::pipe().unwrap();
    let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
    assert!(matches!(memory.map(&range(0, PAGE, 0, false), Some(pipe)), Err(MapError::File { .. })));
    let zero = File::open("/dev/zero").unwrap();
    assert!(matches!(memory.map(&range(0, PAGE, 0, false), Some(zero)), Err(MapError::File { .. })));
    let named = tempfile::NamedTempFile::new().unwrap();
    let append = OpenOptions::new().append(true).open(named.path()).unwrap();
    let hidden = Range { readable: false, ..range(0, PAGE, 0, true) };
    assert!(matches!(memory.map(&hidden, Some(append)), Err(MapError::File { .. })));
    let read_only = File::open(named.path()).unwrap();
    assert!(matches!(memory.map(&range(0, PAGE, 0, true), Some(read_only)), Err(MapError::File { .. })));
    assert!(memory.is_empty());
}

#[test]
fn a_file_that_shrank_is_a_fault_and_not_a_crash() {
    let mut memory = Memory::new();
    let backing = file(1);
    memory.map(&range(0, PAGE, 0, true), Some(backing.try_clone().unwrap())).unwrap();
    backing.set_len(0).unwrap();
    assert!(matches!(memory.read(0, &mut [0; 8]), Err(AccessError::File { .. })));
}

#[test]
fn own_memory_is_reached_through_proc() {
    let mut memory = Memory::new();
    let open = || OpenOptions::new().read(true).write(true).open("/proc/self/mem").unwrap();
    let mut buffer = vec![0u8; 3 * PAGE as usize];
    let address = (buffer.as_mut_ptr() as u64).next_multiple_of(PAGE);
    let skipped = (address - buffer.as_ptr() as u64) as usize;
    memory.map(&range(0x7000, PAGE, address, true), Some(open())).unwrap();
    memory.map(&range(0x8000, PAGE, 0, true), Some(open())).unwrap();
    memory.write(0x7010, b"from the NIC").unwrap();
    let buffer = std::hint::black_box(buffer);
    assert_eq!(&buffer[skipped + 0x10..][..12], b"from the NIC");
    // Page 0 of this process is not mapped.
    assert!(matches!(memory.read(0x8000, &mut [0; 4]), Err(AccessError::File { .. })));
    assert_eq!(memory.files.len(), 1, "one descriptor for both mappings");
}
