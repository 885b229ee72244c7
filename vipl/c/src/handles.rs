//! Handles: numbers that are never used again, and what they name. A handle that was never given, or is no more, names nothing.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    },
};

use via::Return;

use crate::types::Pvoid;

/// Bits of a handle that say what kind of thing it names.
const KIND_BITS: u32 = 3;

/// All things of a kind.
pub struct Table<T> {
    kind: u64,
    last: AtomicU64,
    things: RwLock<BTreeMap<u64, Arc<T>>>,
}

impl<T> Table<T> {
    /// Nothing yet. `kind` is the table's own; 0 is that of the one whose handles no program gets.
    pub const fn new(kind: u64) -> Self {
        Self { kind, last: AtomicU64::new(0), things: RwLock::new(BTreeMap::new()) }
    }

    /// A handle for a thing that comes later.
    pub fn next(&self) -> Pvoid {
        self.of(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The handle of the thing with a number.
    pub fn of(&self, number: u64) -> Pvoid {
        std::ptr::without_provenance_mut((number << KIND_BITS | self.kind) as usize)
    }

    /// The number in a handle of this kind; any other is invalid.
    fn number(&self, handle: Pvoid) -> Result<u64, Return> {
        let word = handle.addr() as u64;
        let kind = word & ((1 << KIND_BITS) - 1);
        (kind == self.kind).then_some(word >> KIND_BITS).ok_or(Return::InvalidParameter)
    }

    pub fn insert(&self, handle: Pvoid, thing: Arc<T>) -> Result<(), Return> {
        let number = self.number(handle)?;
        self.write().insert(number, thing);
        Ok(())
    }

    /// What a handle names.
    pub fn get(&self, handle: Pvoid) -> Result<Arc<T>, Return> {
        let number = self.number(handle)?;
        self.read().get(&number).cloned().ok_or(Return::InvalidParameter)
    }

    /// Takes a thing out, if `may` lets it go. Nobody finds it meanwhile.
    pub fn remove(
        &self,
        handle: Pvoid,
        may: impl FnOnce(&Arc<T>) -> Result<(), Return>,
    ) -> Result<Arc<T>, Return> {
        let number = self.number(handle)?;
        let mut things = self.write();
        may(things.get(&number).ok_or(Return::InvalidParameter)?)?;
        things.remove(&number).ok_or(Return::InvalidParameter)
    }

    /// Takes out all that `which` says.
    pub fn remove_all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut things = self.write();
        let gone: Vec<u64> =
            things.iter().filter(|(_, thing)| which(thing)).map(|(number, _)| *number).collect();
        gone.iter().filter_map(|number| things.remove(number)).collect()
    }

    /// The first that `of` has something of. The thing itself is not held: nobody who removes it finds it in use.
    pub fn find_map<U>(&self, of: impl Fn(&T) -> Option<U>) -> Option<U> {
        self.read().values().find_map(|thing| of(thing))
    }

    /// All that `which` says.
    pub fn all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        self.read().values().filter(|thing| which(thing)).cloned().collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Arc<T>>> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.things.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Arc<T>>> {
        self.things.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null_mut, without_provenance_mut};

    #[test]
    fn only_live_handles_of_the_kind_name_something() {
        let (ones, twos) = (Table::new(1), Table::new(2));
        let one = ones.next();
        ones.insert(one, Arc::new("one")).expect("its kind");
        twos.insert(twos.next(), Arc::new("two")).expect("its kind");
        assert_eq!(*ones.get(one).expect("live"), "one");
        assert!(twos.get(one).is_err() && ones.get(null_mut()).is_err());
        for forged in 0..4096usize {
            let handle = without_provenance_mut(forged);
            assert_eq!(ones.get(handle).is_ok(), handle == one);
        }
        assert!(ones.remove(one, |_| Err(Return::ErrorResource)).is_err() && ones.get(one).is_ok());
        ones.remove(one, |_| Ok(())).expect("live");
        assert!(ones.get(one).is_err() && ones.remove(one, |_| Ok(())).is_err());
        assert_ne!(ones.next(), one, "never again");
    }
}
