//! Runs of pages, held against a list of them, and what is told of an arena. (Whole programs: `tests/viad/tests/heap.rs`.)

use std::{fs::File, mem::MaybeUninit, os::fd::FromRawFd, os::unix::fs::MetadataExt};

use super::*;
use crate::arenas::Home;

const SEED: u64 = 0x5eed_0f0a_11ed_0001;

fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

fn arena_of(address: usize) -> Result<Arena, c_int> {
    let mut arena = MaybeUninit::uninit();
    // SAFETY: there is room.
    match unsafe { viaduct_heap_arena(address as *const c_void, arena.as_mut_ptr()) } {
        // SAFETY: it is written.
        0 => Ok(unsafe { arena.assume_init() }),
        errno => Err(errno),
    }
}

#[test]
fn allocations_are_apart_aligned_zero_and_all_of_the_arenas_again_when_they_are_freed() {
    println!("seed {SEED:#x}");
    let mut state = SEED;
    let mut held: Vec<(usize, usize)> = Vec::new();
    for _ in 0..4000 {
        if held.len() > 40 || (!held.is_empty() && next(&mut state) % 3 == 0) {
            let (start, bytes) = held.swap_remove(next(&mut state) % held.len());
            // SAFETY: an allocation of so many bytes.
            unsafe { (start as *mut u8).write_bytes(0xee, bytes) };
            // SAFETY: as above.
            unsafe { free(start as *mut c_void) };
            continue;
        }
        let most = if next(&mut state) % 50 == 0 { 20 << 20 } else { 200_000 };
        let (bytes, alignment) = (PAGE + next(&mut state) % most, 1 << (next(&mut state) % 16));
        let start = memalign(alignment, bytes) as usize;
        let whole = bytes.next_multiple_of(PAGE);
        assert!(start % alignment == 0 && start % whole.next_power_of_two() == 0, "{bytes:#x} at {start:#x}");
        // SAFETY: an allocation.
        assert_eq!(unsafe { malloc_usable_size(start as *mut c_void) }, whole);
        assert!(held.iter().all(|(other, length)| start + whole <= *other || other + length <= start));
        for byte in (start..start + whole).step_by(PAGE / 2) {
            // SAFETY: in the allocation.
            assert_eq!(unsafe { (byte as *const u8).read() }, 0, "{byte:#x}");
        }
        held.push((start, whole));
    }
    for (start, _) in held {
        // SAFETY: an allocation.
        unsafe { free(start as *mut c_void) };
    }
    for arena in Arenas::lock().arenas() {
        assert!(matches!(arena.home, Home::File(..)));
        assert_eq!(arena.take_all(), Some(0), "one run of free pages");
    }
}

#[test]
fn an_arena_is_told_with_a_descriptor_of_it_and_not_with_one_of_another_file() {
    assert_eq!(arena_of(0x1000).map(drop), Err(libc::ENOENT));
    let start = malloc(3 * PAGE) as usize;
    let arena = arena_of(start + 3 * PAGE - 1).expect("an arena's");
    assert!(arena.start as usize <= start && arena.length >= 16 << 20);
    // SAFETY: the test's own.
    let file = unsafe { File::from_raw_fd(arena.file) };
    let about = file.metadata().expect("a file");
    assert_eq!(about.len(), arena.length);
    // SAFETY: the allocation is the test's.
    unsafe { (start as *mut u8).write(0x5a) };
    let mut byte = [0];
    let offset = start as u64 - arena.start;
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, offset).expect("it has so many bytes");
    assert_eq!(byte, [0x5a], "the memory is the file's");
    file.set_len(PAGE as u64).expect_err("it is sealed");

    let own = match Arenas::lock().arenas()[0].home {
        Home::File(own, (_, inode)) => {
            assert_eq!(inode, about.ino());
            own
        }
        _ => panic!("it was made here"),
    };
    // The program closes what it does not know.
    // SAFETY: the arena's.
    unsafe { libc::close(own) };
    assert_eq!(arena_of(start).map(drop), Err(libc::EBADF));
    let other = File::open("/dev/null").expect("it is there");
    // SAFETY: a descriptor in the place of the arena's.
    unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&other), own) };
    assert_eq!(arena_of(start).map(drop), Err(libc::EBADF), "another file");
}
