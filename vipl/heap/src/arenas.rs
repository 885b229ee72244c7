//! Arenas: memfds of sealed size, whole pages of which are allocations. What says which pages are whose is elsewhere, so nobody who shares an arena can
//! change it.

use std::{
    cell::UnsafeCell,
    ffi::c_int,
    ops::{Deref, DerefMut},
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    lock::Lock,
    system::{self, end, errno},
    Arena as Shared,
};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Arenas at most; their descriptors are the program's, too.
const MOST: usize = 1024;
/// Bytes of the first arenas. Each 16 arenas the next are twice as large, so that few descriptors do for much memory.
const FIRST_BYTES: usize = 16 << 20;
/// The largest alignment of an allocation's own accord: as that of the library's memory, so that a region costs one row of the NIC's page table.
const LARGEST_ALIGNMENT: usize = 1 << 30;
/// Addresses for arenas, as many as the system gives.
const RESERVES: [usize; 3] = [1 << 42, 1 << 36, 1 << 33];

/// Where an arena's memory is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// In a memfd, with this descriptor, device and inode.
    File(c_int, (u64, u64)),
    /// This process's alone: it was made before a fork.
    Private,
    /// Nowhere: there was no memory for a child's copy.
    Lost,
}

/// An arena.
#[derive(Clone, Copy)]
pub struct Arena {
    pub start: usize,
    pub pages: usize,
    pub home: Home,
    serial: u64,
    /// For each page: at the first and the last one of a run, how many it has, doubled, and one more if they are allocated.
    runs: *mut u32,
    /// While a fork is under way: the child's copy, or 0.
    pub twin: usize,
}

/// All arenas, in order of address.
pub struct Table {
    arenas: [Arena; MOST],
    count: usize,
    /// The next arena's least address, and the end of addresses.
    next: usize,
    end: usize,
}

struct Global(UnsafeCell<Table>);

// SAFETY: whoever reaches the table has closed the lock.
unsafe impl Sync for Global {}

const NONE: Arena =
    Arena { start: 0, pages: 0, home: Home::Lost, serial: 0, runs: std::ptr::null_mut(), twin: 0 };
static TABLE: Global = Global(UnsafeCell::new(Table { arenas: [NONE; MOST], count: 0, next: 0, end: 0 }));
static LOCK: Lock = Lock::new();
/// Addresses of arenas.
static FIRST: AtomicUsize = AtomicUsize::new(usize::MAX);
static END: AtomicUsize = AtomicUsize::new(0);

/// The arenas, closed to others.
pub struct Arenas(());

impl Arenas {
    /// Waits for them.
    pub fn lock() -> Self {
        LOCK.close();
        Self(())
    }

    /// Whether an address is one of arenas.
    pub fn has(address: usize) -> bool {
        address >= FIRST.load(Ordering::Relaxed) && address < END.load(Ordering::Relaxed)
    }

    /// Leaves them closed, until [`Arenas::closed`].
    pub fn leave_closed(self) {
        std::mem::forget(self);
    }

    /// Who left them closed has them again; or its child, whose one thread it is.
    pub fn closed() -> Self {
        Self(())
    }
}

impl Drop for Arenas {
    fn drop(&mut self) {
        LOCK.open();
    }
}

impl Deref for Arenas {
    type Target = Table;

    fn deref(&self) -> &Table {
        // SAFETY: it is closed to others.
        unsafe { &*TABLE.0.get() }
    }
}

impl DerefMut for Arenas {
    fn deref_mut(&mut self) -> &mut Table {
        // SAFETY: as above.
        unsafe { &mut *TABLE.0.get() }
    }
}

/// Pages of an allocation.
#[derive(Clone, Copy)]
pub struct Run {
    arena: usize,
    page: usize,
    pages: usize,
    start: usize,
    home: Home,
}

impl Run {
    pub fn bytes(self) -> usize {
        self.pages * PAGE
    }

    /// Gives the memory back to the system; whoever has it next finds it zero.
    pub fn forget(self) {
        let advice = match self.home {
            Home::File(..) => libc::MADV_REMOVE,
            Home::Private => libc::MADV_DONTNEED,
            Home::Lost => return,
        };
        // SAFETY: the pages are allocated, and who had them has given them back.
        unsafe {
            if libc::madvise(self.start as *mut _, self.bytes(), advice) != 0 {
                // Locked pages stay, for instance.
                (self.start as *mut u8).write_bytes(0, self.bytes());
            }
        }
    }
}

impl Arena {
    pub fn bytes(&self) -> usize {
        self.pages * PAGE
    }

    fn run(&self, page: usize) -> (usize, bool) {
        // SAFETY: one number for each page; callers ask for pages of the arena.
        let word = unsafe { self.runs.add(page).read() };
        ((word >> 1) as usize, word & 1 == 1)
    }

    fn set_run(&self, page: usize, pages: usize, taken: bool) {
        let word = (pages as u32) << 1 | u32::from(taken);
        // SAFETY: the run is the arena's.
        unsafe {
            self.runs.add(page).write(word);
            self.runs.add(page + pages - 1).write(word);
        }
    }

    /// The first free pages that begin at such an alignment: the page.
    fn take(&self, pages: usize, alignment: usize) -> Option<usize> {
        let mut page = 0;
        while page < self.pages {
            let (length, taken) = self.run(page);
            let first = ((self.start + page * PAGE).next_multiple_of(alignment) - self.start) / PAGE;
            if !taken && first + pages <= page + length {
                if first > page {
                    self.set_run(page, first - page, false);
                }
                self.set_run(first, pages, true);
                let rest = page + length - first - pages;
                if rest > 0 {
                    self.set_run(first + pages, rest, false);
                }
                return Some(first);
            }
            page += length;
        }
        None
    }

    /// All pages at once: whether nothing is allocated.
    #[cfg(test)]
    pub fn take_all(&self) -> Option<usize> {
        self.take(self.pages, PAGE)
    }

    /// Frees a run, and makes one of it and its free neighbours.
    fn give_back(&self, page: usize, pages: usize) {
        let (mut first, mut end) = (page, page + pages);
        if end < self.pages {
            let (length, taken) = self.run(end);
            end += if taken { 0 } else { length };
        }
        if first > 0 {
            let (length, taken) = self.run(first - 1);
            first -= if taken { 0 } else { length };
        }
        self.set_run(first, end - first, false);
    }
}

impl Table {
    /// The arenas that there are.
    pub fn arenas(&mut self) -> &mut [Arena] {
        &mut self.arenas[..self.count]
    }

    /// Whole pages, zero: their address.
    pub fn allocate(&mut self, size: usize, alignment: usize) -> Option<usize> {
        let bytes = size.max(1).checked_next_multiple_of(PAGE).filter(|bytes| *bytes <= 1 << 42)?;
        let natural = bytes.next_power_of_two().min(LARGEST_ALIGNMENT);
        let alignment = alignment.checked_next_power_of_two()?.max(natural);
        if alignment > LARGEST_ALIGNMENT {
            return None;
        }
        let pages = bytes / PAGE;
        // What is this process's alone since a fork is used up, and what is new can be registered again.
        let living = self.arenas[..self.count].iter().filter(|arena| matches!(arena.home, Home::File(..)));
        let mut found = living.filter_map(|arena| Some(arena.start + arena.take(pages, alignment)? * PAGE));
        match found.next() {
            Some(start) => Some(start),
            None => {
                let arena = self.grow(bytes, alignment)?;
                Some(arena.start + arena.take(pages, alignment)? * PAGE)
            }
        }
    }

    /// An arena more, in which so many bytes find room.
    fn grow(&mut self, bytes: usize, alignment: usize) -> Option<Arena> {
        if self.end == 0 {
            // Once: with no room for it there are no arenas.
            self.end = 1;
            let found =
                RESERVES.iter().find_map(|all| Some((system::reserve(*all, LARGEST_ALIGNMENT)?, all)));
            if let Some((start, all)) = found {
                (self.next, self.end) = (start, start + all);
                FIRST.store(start, Ordering::Relaxed);
                END.store(self.end, Ordering::Relaxed);
            }
        }
        let length = bytes.max(FIRST_BYTES << (self.count / 16).min(6));
        let start =
            self.next.next_multiple_of(length.next_power_of_two().min(LARGEST_ALIGNMENT).max(alignment));
        let fits = start.checked_add(length).is_some_and(|end| end <= self.end);
        let slot = self.arenas.get_mut(self.count).filter(|_| fits)?;
        let pages = length / PAGE;
        let runs = system::private(pages * size_of::<u32>())? as *mut u32;
        let file = system::memfd(length)?;
        let identity = system::identity(file)?;
        // SAFETY: addresses that were reserved for arenas, and are nobody's yet.
        if !unsafe { system::map(file, start, length) } {
            // SAFETY: its own.
            unsafe { libc::close(file) };
            return None;
        }
        let serial = self.count as u64;
        *slot = Arena { start, pages, home: Home::File(file, identity), serial, runs, twin: 0 };
        slot.set_run(0, pages, false);
        self.count += 1;
        self.next = start + length;
        Some(*slot)
    }

    fn arena_of(&self, address: usize) -> Option<usize> {
        let behind = self.arenas[..self.count].partition_point(|arena| arena.start <= address);
        let arena = behind.checked_sub(1)?;
        (address - self.arenas[arena].start < self.arenas[arena].bytes()).then_some(arena)
    }

    /// The pages of an allocation.
    pub fn find(&self, start: usize) -> Run {
        let found = self.arena_of(start).and_then(|arena| {
            let found = &self.arenas[arena];
            let page = (start - found.start) / PAGE;
            let (pages, taken) = found.run(page);
            let first = start % PAGE == 0 && taken && pages > 0;
            first.then_some(Run { arena, page, pages, start, home: found.home })
        });
        found.unwrap_or_else(|| {
            end(c"free(), realloc() or malloc_usable_size(): not an allocation (vipl_heap)\n")
        })
    }

    /// Frees them.
    pub fn release(&mut self, run: Run) {
        self.arenas[run.arena].give_back(run.page, run.pages);
    }

    /// Makes an allocation shorter or longer where it is.
    pub fn resize(&mut self, start: usize, size: usize) -> bool {
        let run = self.find(start);
        let Some(bytes) = size.checked_next_multiple_of(PAGE) else { return false };
        let (arena, pages) = (&self.arenas[run.arena], bytes / PAGE);
        if pages < run.pages {
            let (page, less) = (run.page + pages, run.pages - pages);
            arena.set_run(run.page, pages, true);
            Run { page, pages: less, start: start + bytes, ..run }.forget();
            arena.give_back(page, less);
        } else if pages > run.pages {
            let (end, more) = (run.page + run.pages, pages - run.pages);
            let (length, taken) = if end < arena.pages { arena.run(end) } else { (0, true) };
            if taken || length < more {
                return false;
            }
            arena.set_run(run.page, pages, true);
            if length > more {
                arena.set_run(end + more, length - more, false);
            }
        }
        true
    }

    /// The arena in which an address lies; or an error number.
    pub fn share(&self, address: usize) -> Result<Shared, c_int> {
        let arena = &self.arenas[self.arena_of(address).ok_or(libc::ENOENT)?];
        let Home::File(file, identity) = arena.home else { return Err(libc::ESTALE) };
        if system::identity(file) != Some(identity) {
            return Err(libc::EBADF);
        }
        // SAFETY: a descriptor more, the caller's.
        let file = unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0) };
        if file < 0 {
            return Err(errno());
        }
        Ok(Shared { start: arena.start as u64, length: arena.bytes() as u64, serial: arena.serial, file })
    }
}
