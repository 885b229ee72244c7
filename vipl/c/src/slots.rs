//! The handles of VIs and of completion queues, in fixed tables. A handle has the number of a slot and a generation, and slots are never freed. So a
//! call finds the slot without a search, and sees under the slot's own lock whether the handle still names what is there.
//!
//! A slot has several doors: locks of one atomic exchange, each with a reference to the thing in the slot. The first ones are the locks of the
//! thing's queues, and a post or a look holds its queue's; so calls on different queues do not wait for each other. All other calls use the
//! last door, only to copy the reference. A thing is taken out with all doors locked.

use std::{
    array::from_fn,
    cell::UnsafeCell,
    collections::LinkedList,
    sync::{atomic::Ordering, Arc, Mutex, MutexGuard, PoisonError},
};

use via::Return;
use viaduct_driver::{
    queues::lock::{Held, Lock},
    sync::AtomicUsize,
};

use crate::types::Pvoid;

/// Bits of a handle that say what kind of thing it names.
const KIND_BITS: u32 = 3;
/// Bytes of a slot. A handle holds the slot's offset in bytes, so that finding the slot is an addition.
const SLOT_BYTES: usize = 256;
/// First bit of the generation.
const GENERATION_BIT: u32 = 24;
/// A slot is used again only when so many others are free, as long as there are slots that were never used. So a stale handle finds nothing
/// for long.
const RESTING: usize = 32;

/// `COUNT` slots with `DOORS` doors each. `KIND`, which is not 0, tells their handles from others. An empty table is all zeros, so it takes no room
/// in the library's file.
pub struct Slots<T, const KIND: usize, const DOORS: usize, const COUNT: usize> {
    slots: [Slot<T, DOORS>; COUNT],
    /// Slots from here on were never used. Changed with the lock of `free` held.
    fresh: AtomicUsize,
    free: Mutex<Free>,
}

#[repr(align(256))]
struct Slot<T, const DOORS: usize> {
    doors: [Door<T>; DOORS],
}

/// A lock and what it leads to, on a cache line of its own.
#[repr(align(64))]
struct Door<T> {
    /// Held until the slot is used.
    lock: Lock,
    /// The handle of what is there; if nothing is, [`Slots::nobody`]. Changed with the lock held.
    handle: AtomicUsize,
    thing: UnsafeCell<Option<Arc<T>>>,
}

// SAFETY: what is behind a door is reached with its lock held, and is an `Arc`, whose clones go to other threads.
unsafe impl<T: Send + Sync> Sync for Door<T> {}

/// The slots that nothing is in.
struct Free {
    /// Those that were, the longest free first.
    used: LinkedList<usize>,
    /// Of the last handle that was given.
    generation: usize,
}

/// What a handle names, behind a door whose lock is held.
pub struct Entered<'a, T> {
    /// Something is behind it.
    door: &'a Door<T>,
    held: Held<'a>,
}

impl<'a, T> Entered<'a, T> {
    /// The thing, and its lock: as long as this is there, and no longer.
    #[inline(always)]
    pub fn parts(&mut self) -> (&T, &mut Held<'a>) {
        // SAFETY: the lock is held as long as this is there.
        (unsafe { self.door.thing() }, &mut self.held)
    }

    /// The handle that names it.
    #[inline(always)]
    pub fn handle(&self) -> Pvoid {
        std::ptr::without_provenance_mut(self.door.handle.load(Ordering::Relaxed))
    }

    /// Lets go of the lock, and keeps the thing.
    fn leave(self) -> Arc<T> {
        // SAFETY: as in `parts`.
        Arc::clone(unsafe { self.door.thing() })
    }
}

/// A slot for a thing, which has this. Dropped, the slot is free again: whoever uses the locks of its doors has the thing, too.
pub struct Reserved<T: 'static, const KIND: usize, const DOORS: usize, const COUNT: usize> {
    slots: &'static Slots<T, KIND, DOORS, COUNT>,
    index: usize,
    handle: usize,
}

impl<T, const KIND: usize, const DOORS: usize, const COUNT: usize> Slots<T, KIND, DOORS, COUNT> {
    /// Nothing yet.
    pub const fn new() -> Self {
        assert!(
            COUNT.is_power_of_two()
                && COUNT > 1
                && COUNT * SLOT_BYTES <= 1 << GENERATION_BIT
                && KIND < 1 << KIND_BITS
        );
        assert!(KIND != 0 && DOORS != 0);
        assert!(size_of::<Slot<T, DOORS>>() == SLOT_BYTES);
        let free = Mutex::new(Free { used: LinkedList::new(), generation: 0 });
        let slots = [const { Slot { doors: [const { Door::new() }; DOORS] } }; COUNT];
        Self { slots, fresh: AtomicUsize::new(0), free }
    }

    /// A slot for a thing that comes later.
    pub fn reserve(&'static self) -> Result<Reserved<T, KIND, DOORS, COUNT>, Return> {
        let mut free = self.free();
        let fresh = self.fresh.load(Ordering::Relaxed);
        let is_fresh = fresh < COUNT && free.used.len() < RESTING;
        let index = match is_fresh {
            true => fresh,
            false => free.used.pop_front().ok_or(Return::ErrorResource)?,
        };
        if is_fresh {
            for door in &self.slots[fresh].doors {
                door.handle.store(Self::nobody(fresh), Ordering::Relaxed);
                door.lock.free();
            }
            self.fresh.store(fresh + 1, Ordering::Release);
        }
        free.generation += 1;
        let handle = free.generation << GENERATION_BIT | (index * SLOT_BYTES) | KIND;
        Ok(Reserved { slots: self, index, handle })
    }

    /// What is in place of a handle where a slot is empty: whatever has these bits does not lead to this slot.
    const fn nobody(index: usize) -> usize {
        (index ^ 1) * SLOT_BYTES
    }

    /// Goes through a door to what a handle names, if nobody else is behind it: [`Slots::enter`], which waits for nothing and calls nothing.
    #[inline(always)]
    pub fn try_enter(&self, handle: Pvoid, door: usize) -> Option<Entered<'_, T>> {
        let door = self.door(handle, door);
        Self::behind(door, door.lock.try_hold()?, handle)
    }

    /// Goes through a door to what a handle names.
    pub fn enter(&self, handle: Pvoid, door: usize) -> Option<Entered<'_, T>> {
        if Self::index(handle) >= self.fresh.load(Ordering::Acquire) {
            return None;
        }
        let door = self.door(handle, door);
        Self::behind(door, door.lock.hold(), handle)
    }

    /// The slot that a handle leads to.
    fn index(handle: Pvoid) -> usize {
        (handle.addr() / SLOT_BYTES) & (COUNT - 1)
    }

    /// A door of the slot that a handle leads to.
    #[inline(always)]
    fn door(&self, handle: Pvoid, door: usize) -> &Door<T> {
        let place = handle.addr() & ((COUNT - 1) * SLOT_BYTES);
        // SAFETY: a multiple of a slot's bytes, and less than all have together.
        let slot = unsafe { &*self.slots.as_ptr().byte_add(place) };
        &slot.doors[door]
    }

    /// What a handle names, behind a door whose lock is held.
    #[inline(always)]
    fn behind<'a>(door: &'a Door<T>, held: Held<'a>, handle: Pvoid) -> Option<Entered<'a, T>> {
        // What led here is not `nobody`: if it is equal, something is there.
        (door.handle.load(Ordering::Relaxed) == handle.addr()).then_some(Entered { door, held })
    }

    /// What a handle names.
    pub fn get(&self, handle: Pvoid) -> Result<Arc<T>, Return> {
        Ok(self.enter(handle, DOORS - 1).ok_or(Return::InvalidParameter)?.leave())
    }

    /// Takes a thing out, if `may` lets it go. Nobody finds it meanwhile.
    pub fn remove(
        &self,
        handle: Pvoid,
        may: impl FnOnce(&Arc<T>) -> Result<(), Return>,
    ) -> Result<Arc<T>, Return> {
        let index = Self::index(handle);
        if index >= self.fresh.load(Ordering::Acquire) {
            return Err(Return::InvalidParameter);
        }
        let doors = &self.slots[index].doors;
        // The last door's lock comes last: who comes through that door waits for nobody who waits for a queue.
        let held: [Held<'_>; DOORS] = from_fn(|door| doors[door].lock.hold());
        if doors[DOORS - 1].handle.load(Ordering::Relaxed) != handle.addr() {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: all locks are held.
        may(unsafe { &*doors[0].thing.get() }.as_ref().ok_or(Return::InvalidParameter)?)?;
        let mut taken = doors.each_ref().map(|door| {
            door.handle.store(Self::nobody(index), Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { &mut *door.thing.get() }.take()
        });
        drop(held);
        taken[0].take().ok_or(Return::InvalidParameter)
    }

    /// Takes out all that `which` says.
    pub fn remove_all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let gone = self.found(|thing| which(thing).then_some(()));
        gone.into_iter().filter_map(|(handle, ())| self.remove(handle, |_| Ok(())).ok()).collect()
    }

    /// The first that `of` has something of.
    pub fn find_map<U>(&self, of: impl Fn(&T) -> Option<U>) -> Option<U> {
        self.found(of).into_iter().map(|(_, found)| found).next()
    }

    /// What `of` has of all things, with their handles. Only the last doors' locks are taken: nobody waits for a queue.
    fn found<U>(&self, of: impl Fn(&T) -> Option<U>) -> Vec<(Pvoid, U)> {
        let fresh = self.fresh.load(Ordering::Acquire);
        let doors = self.slots[..fresh].iter().map(|slot| &slot.doors[DOORS - 1]);
        let found = doors.filter_map(|door| {
            let held = door.lock.hold();
            // SAFETY: the lock is held as long as it is looked at.
            let found = unsafe { &*door.thing.get() }.as_deref().and_then(&of);
            let handle = std::ptr::without_provenance_mut(door.handle.load(Ordering::Relaxed));
            drop(held);
            Some((handle, found?))
        });
        found.collect()
    }

    /// From now on no handle names anything: this process is a child of a fork, and nothing here is its own. It does no more than the handler of
    /// a fork may.
    pub fn forget(&self) {
        for (index, slot) in self.slots[..self.fresh.load(Ordering::Relaxed)].iter().enumerate() {
            slot.doors.iter().for_each(|door| door.handle.store(Self::nobody(index), Ordering::Relaxed));
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Door<T> {
    /// What is behind it.
    ///
    /// # Safety
    /// Something is, and its lock is held as long as this is borrowed.
    #[inline(always)]
    unsafe fn thing(&self) -> &Arc<T> {
        // SAFETY: the caller's promise.
        unsafe { (*self.thing.get()).as_ref().unwrap_unchecked() }
    }

    const fn new() -> Self {
        Self { lock: Lock::new_held(), handle: AtomicUsize::new(0), thing: UnsafeCell::new(None) }
    }
}

impl<T, const KIND: usize, const DOORS: usize, const COUNT: usize> Reserved<T, KIND, DOORS, COUNT> {
    /// The handle that the thing will have.
    pub fn handle(&self) -> Pvoid {
        std::ptr::without_provenance_mut(self.handle)
    }

    /// The lock of a door.
    pub fn lock(&self, door: usize) -> &'static Lock {
        &self.slots.slots[self.index].doors[door].lock
    }

    /// From now on the handle names the thing.
    pub fn fill(&self, thing: &Arc<T>) {
        for door in &self.slots.slots[self.index].doors {
            let _held = door.lock.hold();
            // SAFETY: the lock is held.
            *unsafe { &mut *door.thing.get() } = Some(Arc::clone(thing));
            door.handle.store(self.handle, Ordering::Relaxed);
        }
    }
}

impl<T, const KIND: usize, const DOORS: usize, const COUNT: usize> Drop for Reserved<T, KIND, DOORS, COUNT> {
    fn drop(&mut self) {
        self.slots.free().used.push_back(self.index);
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null_mut, without_provenance_mut};

    /// Handles that nobody gave, which are tried.
    const FORGED: usize = if cfg!(miri) { 1 << 8 } else { 1 << 20 };

    struct Thing<const KIND: usize>(usize, Reserved<Thing<KIND>, KIND, 2, 64>);
    type Things<const KIND: usize> = Slots<Thing<KIND>, KIND, 2, 64>;

    fn put<const KIND: usize>(slots: &'static Things<KIND>, number: usize) -> Pvoid {
        let thing = Arc::new(Thing(number, slots.reserve().expect("room")));
        assert!(slots.get(thing.1.handle()).is_err(), "not yet");
        thing.1.fill(&thing);
        thing.1.handle()
    }

    #[test]
    fn only_live_handles_of_the_kind_name_something() {
        static ONES: Things<1> = Slots::new();
        static TWOS: Things<2> = Slots::new();
        let one = put(&ONES, 1);
        put(&TWOS, 2);
        assert_eq!(ONES.get(one).expect("live").0, 1);
        assert!(TWOS.get(one).is_err() && ONES.get(null_mut()).is_err() && TWOS.get(null_mut()).is_err());
        for forged in (0..FORGED).filter(|forged| *forged != one.addr()) {
            assert!(ONES.get(without_provenance_mut(forged)).is_err(), "{forged:#x}");
        }
        assert!(ONES.remove(one, |_| Err(Return::ErrorResource)).is_err() && ONES.get(one).is_ok());
        assert!(ONES.remove(null_mut(), |_| Ok(())).is_err());
        ONES.remove(one, |_| Ok(())).expect("live");
        assert!(ONES.get(one).is_err() && ONES.remove(one, |_| Ok(())).is_err());
    }

    #[test]
    fn slots_are_used_again_and_handles_are_not() {
        static SLOTS: Things<1> = Slots::new();
        let mut handles = std::collections::BTreeSet::new();
        for n in 0..if cfg!(miri) { 100 } else { 1000 } {
            // Every third is given up.
            if n % 3 == 0 {
                assert!(handles.insert(SLOTS.reserve().expect("room").handle().addr()));
                continue;
            }
            let handle = put(&SLOTS, n);
            assert!(handles.insert(handle.addr()), "never again");
            assert_eq!(SLOTS.find_map(|found| Some(found.0)), Some(n));
            assert_eq!(SLOTS.remove(handle, |_| Ok(())).ok().map(|gone| gone.0), Some(n));
        }
        let all: Vec<_> = std::iter::from_fn(|| SLOTS.reserve().ok()).collect();
        assert_eq!(all.len(), 64, "none is lost, and there are no more");
        drop(all);
        for n in 0..64 {
            put(&SLOTS, n);
        }
        assert_eq!(SLOTS.remove_all(|thing| thing.0 % 2 == 0).len(), 32);
        assert_eq!(SLOTS.remove_all(|_| true).len(), 32);
    }

    #[test]
    fn what_somebody_uses_behind_a_door_stays_as_long() {
        static SLOTS: Things<1> = Slots::new();
        let handle = put(&SLOTS, 7).addr();
        let mut entered = SLOTS.enter(without_provenance_mut(handle), 0).expect("live");
        std::thread::scope(|scope| {
            let remove = || SLOTS.remove(without_provenance_mut(handle), |_| Ok(())).map(|gone| gone.0);
            let remove = scope.spawn(remove);
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!remove.is_finished());
            assert_eq!(entered.parts().0 .0, 7);
            drop(entered);
            assert_eq!(remove.join().expect("it ends").ok(), Some(7));
        });
    }

    #[test]
    fn who_waits_for_a_queue_to_take_a_thing_out_keeps_nobody_from_finding_it() {
        static SLOTS: Things<1> = Slots::new();
        let handle = put(&SLOTS, 7).addr();
        let entered = SLOTS.enter(without_provenance_mut(handle), 0).expect("live");
        std::thread::scope(|scope| {
            let remove = || SLOTS.remove(without_provenance_mut(handle), |_| Ok(())).map(|gone| gone.0);
            let remove = scope.spawn(remove);
            std::thread::sleep(std::time::Duration::from_millis(20));
            // Both would wait for ever.
            assert!(SLOTS.get(without_provenance_mut(handle)).is_ok());
            assert_eq!(SLOTS.find_map(|thing| Some(thing.0)), Some(7));
            assert!(!remove.is_finished());
            drop(entered);
            assert_eq!(remove.join().expect("it ends").ok(), Some(7));
        });
    }
}
