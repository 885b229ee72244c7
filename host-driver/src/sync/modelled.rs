//! Loom's atomics, fences and locks in the places of the standard library's, and what weakens them: a model that finds nothing wrong with weaker
//! ones would find nothing at all.

use std::{
    cell::Cell,
    panic::{catch_unwind, Location},
    sync::{atomic::Ordering, LockResult, OnceLock, PoisonError},
    time::Duration,
};

use loom::thread::{current, ThreadId};
pub use loom::{
    hint::spin_loop,
    sync::{Mutex, MutexGuard},
    thread::yield_now,
};

/// What a mutant weakens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Loads are relaxed.
    Load,
    /// Stores are relaxed.
    Store,
    /// Exchanges are relaxed.
    Swap,
    /// The model's first thread passes no fences.
    FirstsFence,
    /// Its other threads pass none.
    OthersFence,
}

/// The code of one file with one sort of its operations weakened.
pub type Mutant = (&'static str, Operation);

thread_local! {
    /// Loom's threads are all on one of the system's.
    static MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    /// The model's first thread.
    static FIRST: Cell<Option<ThreadId>> = const { Cell::new(None) };
}

/// Whether this operation of the caller's file is weakened.
#[track_caller]
fn is_weak(operation: Operation) -> bool {
    let caller = Location::caller();
    MUTANT.get().is_some_and(|(file, weak)| weak == operation && caller.file().ends_with(file))
}

#[track_caller]
fn order(operation: Operation, order: Ordering) -> Ordering {
    if is_weak(operation) {
        Ordering::Relaxed
    } else {
        order
    }
}

/// Runs a model in all orders. It panics if one goes wrong.
pub fn holds(model: impl Fn() + Send + Sync + 'static) {
    loom::model(model);
}

/// Runs a model whose code is weakened, or is wrong by itself (None).
///
/// # Panics
/// No order of the threads goes wrong, or one does so with other words.
pub fn fails(mutant: Option<Mutant>, words: &str, model: fn()) {
    MUTANT.set(mutant);
    let outcome = catch_unwind(|| {
        loom::model(move || {
            FIRST.set(Some(current().id()));
            model();
        });
    });
    MUTANT.set(None);
    let panic = outcome.expect_err("nothing goes wrong");
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(said.contains(words), "{mutant:?} goes wrong otherwise: {said}");
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        /// An atomic of loom's, from the first access on: statics have them too.
        #[derive(Debug)]
        pub struct $name {
            first: $value,
            modelled: OnceLock<Box<loom::sync::atomic::$name>>,
        }

        impl $name {
            /// With a first value.
            pub const fn new(first: $value) -> Self {
                Self { first, modelled: OnceLock::new() }
            }

            fn modelled(&self) -> &loom::sync::atomic::$name {
                self.modelled.get_or_init(|| Box::new(loom::sync::atomic::$name::new(self.first)))
            }

            /// As the standard library's.
            #[track_caller]
            pub fn load(&self, by: Ordering) -> $value {
                self.modelled().load(order(Operation::Load, by))
            }

            /// As the standard library's.
            #[track_caller]
            pub fn store(&self, value: $value, by: Ordering) {
                self.modelled().store(value, order(Operation::Store, by));
            }

            /// As the standard library's.
            pub fn fetch_or(&self, value: $value, by: Ordering) -> $value {
                self.modelled().fetch_or(value, by)
            }

            /// As the standard library's.
            pub fn fetch_and(&self, value: $value, by: Ordering) -> $value {
                self.modelled().fetch_and(value, by)
            }

            /// As the standard library's, for a word that is 0 or 1. One that changes nothing stores nothing: loom would let a thread that
            /// exchanges again and again find its own store for ever.
            ///
            /// # Panics
            /// It is another word.
            #[track_caller]
            pub fn swap(&self, value: $value, by: Ordering) -> $value {
                let by = order(Operation::Swap, by);
                let unchanged = match by {
                    Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
                    _ => Ordering::Acquire,
                };
                match self.modelled().compare_exchange(1 - value, value, by, unchanged) {
                    Ok(before) => before,
                    Err(before) if before == value => before,
                    Err(before) => panic!("a word that is exchanged was {before}"),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);

/// As the standard library's.
#[track_caller]
pub fn fence(by: Ordering) {
    let operation = match FIRST.get() == Some(current().id()) {
        true => Operation::FirstsFence,
        false => Operation::OthersFence,
    };
    if !is_weak(operation) {
        loom::sync::atomic::fence(by);
    }
}

/// As the standard library's, for a model, which ends with that.
///
/// # Panics
/// Always.
pub fn abort() -> ! {
    panic!("the process is aborted");
}

/// Time does not pass: others run.
pub fn sleep(_: Duration) {
    yield_now();
}

/// A condition variable of loom's.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// As the standard library's, for a time-out that never comes: who is not woken sleeps for ever, and loom says so.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        while condition(&mut guard) {
            guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        Ok((guard, ()))
    }

    /// As the standard library's.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
