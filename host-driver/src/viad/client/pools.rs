//! Pools: memory that this library makes for its program, and shares with viad, which maps a view of each. Allocations come out of them, and
//! are registered by pool and offset.

use std::{
    os::fd::AsFd,
    ptr::NonNull,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::mm::{madvise, Advice};

use super::{
    super::protocol::{Answer, Request},
    Client,
};
use crate::{
    device_memory::{DeviceMemory, Lender},
    dma_space::DmaSpace,
    kernel_agent::AgentError,
    memory::{Mapping, LARGEST_ALIGNMENT},
};

/// Bytes of a pool, unless one allocation has more.
const LEAST: usize = 1 << 20;
/// Bytes of a page.
const PAGE: usize = 4096;

/// The pools of a session.
#[derive(Debug, Default)]
pub(super) struct Pools(Mutex<Vec<Pool>>);

/// A pool that viad has.
#[derive(Debug)]
struct Pool {
    /// What viad calls it.
    number: u32,
    memory: Mapping,
    /// Its addresses that are not lent: they are given out as DMA addresses are, as late as possible again.
    free: DmaSpace,
    /// Allocations that are out of it.
    lent: usize,
}

impl Pools {
    fn lock(&self) -> MutexGuard<'_, Vec<Pool>> {
        // Each change is made when viad has answered: what a thread that panicked left is usable.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool in which all of a range lies, and where it begins there.
    pub(super) fn find(&self, address: u64, length: u64) -> Option<(u32, u64)> {
        self.lock().iter().find_map(|pool| Some((pool.number, pool.offset(address, length)?)))
    }
}

impl Pool {
    fn new(number: u32, memory: Mapping) -> Self {
        let start = memory.start().as_ptr() as u64;
        let free = DmaSpace::new(&[start..=start + (memory.length() - 1) as u64]);
        Self { number, memory, free, lent: 0 }
    }

    /// Where a range begins in it, if all of the range is in it.
    fn offset(&self, address: u64, length: u64) -> Option<u64> {
        let offset = address.checked_sub(self.memory.start().as_ptr() as u64)?;
        let end = offset.checked_add(length)?;
        (end <= self.memory.length() as u64).then_some(offset)
    }

    /// Takes whole pages out of it, aligned to their number, so that a region of them costs one row of the NIC's page table.
    fn lend(&mut self, length: usize) -> Option<NonNull<u8>> {
        let alignment = length.next_power_of_two().min(LARGEST_ALIGNMENT) as u64;
        let at = self.free.allocate(length as u64, 0, alignment)?;
        self.lent += 1;
        let start = self.memory.start();
        let offset = at as usize - start.as_ptr() as usize;
        // SAFETY: `free` has addresses of the memory alone.
        Some(unsafe { start.add(offset) })
    }

    /// Nobody uses these pages any more. Whoever has them next finds them zero.
    fn take_back(&mut self, start: NonNull<u8>, length: usize) {
        // SAFETY: the pages are the pool's, and nobody uses them. What is removed is zero when it is used again.
        let removed = unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxRemove) };
        if removed.is_err() {
            // Locked pages stay, for instance.
            // SAFETY: as above.
            unsafe { start.write_bytes(0, length) };
        }
        self.free.release(start.as_ptr() as u64, length as u64);
        self.lent -= 1;
    }
}

impl Client {
    /// Memory of `length` bytes, rounded up to whole pages, out of a pool.
    pub(super) fn lend(self: Arc<Self>, length: usize) -> Result<DeviceMemory, AgentError> {
        let too_long = || AgentError::NoMemory(std::io::ErrorKind::OutOfMemory.into());
        let length =
            length.max(1).checked_next_multiple_of(PAGE).filter(|length| *length <= isize::MAX as usize / 2);
        let length = length.ok_or_else(too_long)?;
        let mut pools = self.pools.lock();
        let start = match pools.iter_mut().find_map(|pool| pool.lend(length)) {
            Some(start) => start,
            None => {
                let mut pool = self.share(length.max(LEAST))?;
                // It is aligned to its size.
                let start = pool.lend(length).ok_or_else(too_long)?;
                pools.push(pool);
                start
            }
        };
        drop(pools);
        // SAFETY: the pool stays as long as anything is lent out of it.
        Ok(unsafe { DeviceMemory::lent(start, length, self) })
    }

    /// A new pool, of which viad has a view.
    fn share(&self, bytes: usize) -> Result<Pool, AgentError> {
        let (memory, file) = Mapping::shared("viaduct-pool", bytes).map_err(AgentError::NoMemory)?;
        let memory = memory.kept_from_children().map_err(AgentError::NoMemory)?;
        match self.call_with(&Request::SharePool(memory.length() as u64), &[file.as_fd()])?.0 {
            Answer::Pool(number) => Ok(Pool::new(number, memory)),
            other => Err(self.wrong(&other)),
        }
    }
}

impl Lender for Client {
    fn take_back(&self, start: NonNull<u8>, length: usize) {
        if !self.born.is_here() {
            // A child, which has nothing of it.
            return;
        }
        let mut pools = self.pools.lock();
        let address = start.as_ptr() as u64;
        let Some(n) = pools.iter().position(|pool| pool.offset(address, length as u64).is_some()) else {
            return;
        };
        pools[n].take_back(start, length);
        if pools[n].lent == 0 {
            let pool = pools.swap_remove(n);
            // No region is in it, so the NIC does not reach it, whatever viad says; one that is gone has no view either.
            let _ = self.done(&Request::DropPool(pool.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(length: usize) -> Pool {
        Pool::new(7, Mapping::shared("pool", length).expect("memory").0)
    }

    #[test]
    fn allocations_are_aligned_apart_and_zero_again() {
        let mut pool = pool(LEAST);
        let all = Pools::default();
        let start = pool.memory.start().as_ptr() as u64;
        let mut taken = Vec::new();
        for length in [PAGE, 3 * PAGE, PAGE, 16 * PAGE] {
            let at = pool.lend(length).expect("there is room");
            let address = at.as_ptr() as u64;
            assert_eq!(address % length.next_power_of_two() as u64, 0);
            assert!(address >= start && address + length as u64 <= start + LEAST as u64);
            // SAFETY: lent to nobody else.
            unsafe { at.write_bytes(0xee, length) };
            taken.push((address, length, at));
        }
        for (n, (address, length, _)) in taken.iter().enumerate() {
            let apart = |(other, bytes, _): &(u64, usize, NonNull<u8>)| {
                address + *length as u64 <= *other || other + *bytes as u64 <= *address
            };
            assert!(taken[..n].iter().all(apart), "{taken:?}");
        }
        assert!(pool.lend(LEAST).is_none(), "it is not empty");
        for (_, length, at) in taken {
            pool.take_back(at, length);
        }
        assert_eq!(pool.lent, 0);
        let whole = pool.lend(LEAST).expect("all of it is free");
        // SAFETY: all of the pool.
        assert!((0..LEAST).all(|n| unsafe { whole.add(n).read() } == 0), "what was there is gone");
        all.lock().push(pool);
        assert_eq!(all.find(start, LEAST as u64), Some((7, 0)));
        assert_eq!(all.find(start + 5, 10), Some((7, 5)));
        for (address, length) in [(start - 1, 2), (start, LEAST as u64 + 1), (start + 1, u64::MAX), (0, 1)] {
            assert_eq!(all.find(address, length), None, "{length:#x} bytes at {address:#x}");
        }
    }
}
