//! The handles of VIs and of completion queues, in fixed tables. A handle has the number of a slot and a generation, and slots are never freed. So a
//! call finds the slot without a search, and sees under the slot's own lock whether the handle still names what is there.
//!
//! A slot has several doors: locks of one atomic exchange, each with a reference to what is behind it. The first ones are the locks of the
//! thing's queues, and a post or a look holds its queue's; so calls on different queues do not wait for each other. All other calls use the
//! last door, only to copy the reference to the thing itself. A thing is taken out with all doors locked.
//!
//! A handle also says whether its thing is *unshared*: the program has promised that no two threads are in calls of the thing at one time. Posts and looks
//! then go through the queues' doors without the exchange. The last door is as for others: the library's own threads use it.

use std::{
    array::from_fn,
    cell::UnsafeCell,
    collections::LinkedList,
    sync::{atomic::Ordering, Arc, Mutex, MutexGuard, PoisonError},
};

use via::Return;
use viaduct_driver::{
    queues::{
        lock::{Held, Lock},
        locked::{Keeper, Place},
    },
    sync::AtomicUsize,
};

use crate::types::Pvoid;

/// Bits of a handle that say what kind of thing it names.
const KIND_BITS: u32 = 3;
/// The bit of a handle that says that its thing is unshared.
const UNSHARED: usize = 1 << KIND_BITS;
/// Bytes of a slot. A handle holds the slot's offset in bytes, so that finding the slot is an addition.
const SLOT_BYTES: usize = 256;
/// First bit of the generation.
const GENERATION_BIT: u32 = 24;
/// A slot is used again only when so many others are free, as long as there are slots that were never used. So a stale handle finds nothing
/// for long.
const RESTING: usize = 32;

/// Whether a handle names an unshared thing, if it names one.
#[inline(always)]
pub fn is_unshared(handle: Pvoid) -> bool {
    handle.addr() & UNSHARED != 0
}

/// `COUNT` slots for things of type `T`, which have `QUEUES` queues each. `Q` is what calls on a queue have of its thing. `KIND`, which is not 0, tells
/// their handles from others. An empty table is all zeros, so it takes no room in the library's file.
pub struct Slots<T, Q, const KIND: usize, const QUEUES: usize, const COUNT: usize> {
    slots: [Slot<T, Q, QUEUES>; COUNT],
    /// Slots from here on were never used. Changed with the lock of `free` held.
    fresh: AtomicUsize,
    free: Mutex<Free>,
}

#[repr(align(256))]
struct Slot<T, Q, const QUEUES: usize> {
    queues: [Door<Q>; QUEUES],
    last: Door<Arc<T>>,
}

/// A lock and what it leads to, on a cache line of its own.
#[repr(align(64))]
struct Door<V> {
    /// Held until the slot is used.
    lock: Lock,
    /// The handle of what is there; if nothing is, [`Slots::nobody`]. Changed with the lock held.
    handle: AtomicUsize,
    behind: UnsafeCell<Option<V>>,
}

// SAFETY: what is behind a door is reached with its lock held.
unsafe impl<V: Send> Sync for Door<V> {}

/// The slots that nothing is in.
struct Free {
    /// Those that were, the longest free first.
    used: LinkedList<usize>,
    /// Of the last handle that was given.
    generation: usize,
}

/// What a handle names, behind the door of a queue, whose lock is held.
pub struct Entered<'a, Q> {
    /// Something is behind it.
    door: &'a Door<Q>,
    held: Held<'a>,
}

impl<'a, Q> Entered<'a, Q> {
    /// What calls on the queue have of the thing, and the lock: as long as this is there, and no longer.
    #[inline(always)]
    pub fn parts(&mut self) -> (&Q, &mut Held<'a>) {
        // SAFETY: something is there, and the lock is held as long as this is.
        (unsafe { (*self.door.behind.get()).as_ref().unwrap_unchecked() }, &mut self.held)
    }

    /// The handle that names the thing.
    #[inline(always)]
    pub fn handle(&self) -> Pvoid {
        std::ptr::without_provenance_mut(self.door.handle.load(Ordering::Relaxed))
    }
}

/// A slot for a thing, which has this. Dropped, the slot is free again: whoever uses the locks of its doors has this, too.
pub struct Reserved<T: 'static, Q: 'static, const KIND: usize, const QUEUES: usize, const COUNT: usize> {
    slots: &'static Slots<T, Q, KIND, QUEUES, COUNT>,
    index: usize,
    handle: usize,
}

impl<T, Q, const KIND: usize, const QUEUES: usize, const COUNT: usize> Slots<T, Q, KIND, QUEUES, COUNT> {
    /// Nothing yet.
    pub const fn new() -> Self {
        assert!(
            COUNT.is_power_of_two()
                && COUNT > 1
                && COUNT * SLOT_BYTES <= 1 << GENERATION_BIT
                && KIND < 1 << KIND_BITS
                && UNSHARED < SLOT_BYTES
        );
        assert!(KIND != 0 && QUEUES != 0);
        assert!(size_of::<Slot<T, Q, QUEUES>>() == SLOT_BYTES);
        let free = Mutex::new(Free { used: LinkedList::new(), generation: 0 });
        let slots = [const { Slot { queues: [const { Door::new() }; QUEUES], last: Door::new() } }; COUNT];
        Self { slots, fresh: AtomicUsize::new(0), free }
    }

    /// A slot for a thing that comes later. `is_unshared`: the program has promised that no two threads are in calls of the thing at one time.
    pub fn reserve(&'static self, is_unshared: bool) -> Result<Reserved<T, Q, KIND, QUEUES, COUNT>, Return> {
        let mut free = self.free();
        let fresh = self.fresh.load(Ordering::Relaxed);
        let is_fresh = fresh < COUNT && free.used.len() < RESTING;
        let index = match is_fresh {
            true => fresh,
            false => free.used.pop_front().ok_or(Return::ErrorResource)?,
        };
        if is_fresh {
            let slot = &self.slots[fresh];
            slot.queues.iter().for_each(|door| door.open(Self::nobody(fresh)));
            slot.last.open(Self::nobody(fresh));
            self.fresh.store(fresh + 1, Ordering::Release);
        }
        free.generation += 1;
        let unshared = if is_unshared { UNSHARED } else { 0 };
        let handle = free.generation << GENERATION_BIT | (index * SLOT_BYTES) | unshared | KIND;
        Ok(Reserved { slots: self, index, handle })
    }

    /// What is in place of a handle where a slot is empty: whatever has these bits does not lead to this slot.
    const fn nobody(index: usize) -> usize {
        (index ^ 1) * SLOT_BYTES
    }

    /// Goes through the door of a queue to what a handle names, if nobody else is behind it. It waits for nothing and calls nothing.
    ///
    /// # Safety
    /// If `IS_UNSHARED`, the handle is [`is_unshared`]: the program's promise is in place of the exchange.
    #[inline(always)]
    pub unsafe fn try_enter<const IS_UNSHARED: bool>(
        &self,
        handle: Pvoid,
        queue: usize,
    ) -> Option<Entered<'_, Q>> {
        let place = handle.addr() & ((COUNT - 1) * SLOT_BYTES);
        // SAFETY: a multiple of a slot's bytes, and less than all have together.
        let slot = unsafe { &*self.slots.as_ptr().byte_add(place) };
        let door = &slot.queues[queue];
        // What led here is not `nobody`: where there is no difference, something is there.
        let difference = || door.handle.load(Ordering::Relaxed) ^ handle.addr();
        let held = match IS_UNSHARED {
            false => door.lock.try_hold_if(difference),
            // SAFETY: where there is no difference the handle is that of an unshared thing, which no other thread uses now.
            true => unsafe { door.lock.try_hold_unshared_if(difference) },
        }?;
        Some(Entered { door, held })
    }

    /// The slot that a handle leads to, if it has been used.
    fn used(&self, handle: Pvoid) -> Result<(usize, &Slot<T, Q, QUEUES>), Return> {
        let index = (handle.addr() / SLOT_BYTES) & (COUNT - 1);
        let is_used = index < self.fresh.load(Ordering::Acquire);
        is_used.then(|| (index, &self.slots[index])).ok_or(Return::InvalidParameter)
    }

    /// What a handle names.
    pub fn get(&self, handle: Pvoid) -> Result<Arc<T>, Return> {
        let (_, slot) = self.used(handle)?;
        let _held = slot.last.lock.hold();
        // SAFETY: the lock is held.
        Ok(Arc::clone(unsafe { slot.last.named(handle) }?))
    }

    /// Takes a thing out, if `may` lets it go. Nobody finds it meanwhile.
    pub fn remove(
        &self,
        handle: Pvoid,
        may: impl FnOnce(&Arc<T>) -> Result<(), Return>,
    ) -> Result<Arc<T>, Return> {
        let (index, slot) = self.used(handle)?;
        // The last door's lock comes last: who comes through that door waits for nobody who waits for a queue.
        let held: [Held<'_>; QUEUES] = from_fn(|queue| slot.queues[queue].lock.hold());
        let last = slot.last.lock.hold();
        // SAFETY: the lock is held.
        may(unsafe { slot.last.named(handle) }?)?;
        // SAFETY: as above.
        let queues = slot.queues.each_ref().map(|door| unsafe { door.put(Self::nobody(index), None) });
        // SAFETY: as above.
        let taken = unsafe { slot.last.put(Self::nobody(index), None) };
        drop((last, held));
        drop(queues);
        taken.ok_or(Return::InvalidParameter)
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

    /// The handles of all things.
    pub fn handles(&self) -> Vec<Pvoid> {
        self.found(|_| Some(())).into_iter().map(|(handle, ())| handle).collect()
    }

    /// What `of` has of all things, with their handles. Only the last doors' locks are taken: nobody waits for a queue.
    fn found<U>(&self, of: impl Fn(&T) -> Option<U>) -> Vec<(Pvoid, U)> {
        let fresh = self.fresh.load(Ordering::Acquire);
        let doors = self.slots[..fresh].iter().map(|slot| &slot.last);
        let found = doors.filter_map(|door| {
            let held = door.lock.hold();
            // SAFETY: the lock is held as long as it is looked at.
            let found = unsafe { &*door.behind.get() }.as_deref().and_then(&of);
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
            let nobody = Self::nobody(index);
            slot.queues.iter().for_each(|door| door.handle.store(nobody, Ordering::Relaxed));
            slot.last.handle.store(nobody, Ordering::Relaxed);
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Door<V> {
    const fn new() -> Self {
        Self { lock: Lock::new_held(), handle: AtomicUsize::new(0), behind: UnsafeCell::new(None) }
    }

    /// It is used from now on, and nothing is behind it.
    fn open(&self, nobody: usize) {
        self.handle.store(nobody, Ordering::Relaxed);
        self.lock.free();
    }

    /// What is behind it, if a handle names that.
    ///
    /// # Safety
    /// The lock is held as long as this is borrowed.
    unsafe fn named(&self, handle: Pvoid) -> Result<&V, Return> {
        // SAFETY: the caller's promise.
        let behind = unsafe { &*self.behind.get() }.as_ref();
        behind
            .filter(|_| self.handle.load(Ordering::Relaxed) == handle.addr())
            .ok_or(Return::InvalidParameter)
    }

    /// Puts something behind it, or nothing; what was there.
    ///
    /// # Safety
    /// The lock is held, and nobody has borrowed what is there.
    unsafe fn put(&self, handle: usize, what: Option<V>) -> Option<V> {
        self.handle.store(handle, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        std::mem::replace(unsafe { &mut *self.behind.get() }, what)
    }
}

impl<T, Q, const KIND: usize, const QUEUES: usize, const COUNT: usize> Reserved<T, Q, KIND, QUEUES, COUNT> {
    /// The handle that the thing will have.
    pub fn handle(&self) -> Pvoid {
        std::ptr::without_provenance_mut(self.handle)
    }

    /// The place of a queue's lock, which is that of its door. The queue keeps the slot from being another thing's.
    pub fn place(self: &Arc<Self>, queue: usize) -> Place
    where
        T: Send + Sync,
        Q: Send,
    {
        let lock = &self.slots.slots[self.index].queues[queue].lock;
        let place = Place::in_table(lock, Arc::clone(self) as Keeper);
        match is_unshared(self.handle()) {
            // SAFETY: the program has promised it: `reserve`.
            true => unsafe { place.unshared() },
            false => place,
        }
    }

    /// From now on the handle names the thing. Calls on its queues have `queues`.
    pub fn fill(&self, thing: &Arc<T>, queues: &Q)
    where
        Q: Clone,
    {
        let slot = &self.slots.slots[self.index];
        for door in &slot.queues {
            let _held = door.lock.hold();
            // SAFETY: the lock is held.
            drop(unsafe { door.put(self.handle, Some(queues.clone())) });
        }
        let _held = slot.last.lock.hold();
        // SAFETY: as above.
        drop(unsafe { slot.last.put(self.handle, Some(Arc::clone(thing))) });
    }
}

impl<T, Q, const KIND: usize, const QUEUES: usize, const COUNT: usize> Drop
    for Reserved<T, Q, KIND, QUEUES, COUNT>
{
    fn drop(&mut self) {
        self.slots.free().used.push_back(self.index);
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(test)]
mod tests;
