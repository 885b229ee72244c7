//! The lock of one atomic exchange.

use std::sync::Arc;

use loom::{cell::UnsafeCell, thread};

use crate::{
    queues::{
        lock::{Held, Lock},
        locked::{Locked, Place},
    },
    sync::{
        fails, holds,
        Operation::{Store, Swap},
    },
};

/// Loom sees who reaches the cell, and complains of two that are not in order.
type Shared = Locked<UnsafeCell<u32>>;

fn add(shared: &Shared) {
    let value = shared.lock();
    // SAFETY: loom panics if anybody else is at it.
    value.with_mut(|value| unsafe { *value += 1 });
}

fn value(shared: &Shared) -> u32 {
    // SAFETY: as above.
    shared.lock().with(|value| unsafe { *value })
}

/// Two threads at a value which each of them changes.
fn two_threads(shared: Arc<Shared>) {
    // Loom's atomic begins here, before there are threads.
    assert_eq!(value(&shared), 0);
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || add(&other));
    add(&shared);
    other.join().expect("no panic");
    assert_eq!(value(&shared), 2);
}

fn threads_that_take_turns() {
    two_threads(Arc::new(Shared::new(Place::default(), UnsafeCell::new(0))));
}

/// Who takes the lock without waiting, as `take` does, has the value as its last holder left it.
fn one_of_two_threads_takes(take: impl FnOnce(&Lock) -> Option<Held<'_>>) {
    struct Tried(Lock, UnsafeCell<u32>);
    let shared = Arc::new(Tried(Lock::new(), UnsafeCell::new(0)));
    drop(shared.0.hold());
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || {
        let _held = other.0.hold();
        // SAFETY: loom panics if anybody else is at it.
        other.1.with_mut(|value| unsafe { *value = 1 });
    });
    if let Some(_held) = take(&shared.0) {
        // SAFETY: as above.
        shared.1.with(|value| assert!(unsafe { *value } < 2));
    }
    other.join().expect("no panic");
}

fn threads_of_which_one_tries() {
    one_of_two_threads_takes(Lock::try_hold);
}

/// Who finds something that stands against it is not in the way.
fn threads_of_which_one_has_a_condition(difference: usize) {
    one_of_two_threads_takes(|lock| {
        let held = lock.try_hold_if(|| difference)?;
        assert_eq!(difference, 0, "it is to be kept out");
        Some(held)
    });
}

/// A value whose lock keeps nobody out.
fn unshared() -> Arc<Shared> {
    // SAFETY: a model hands it over, or loom finds that two threads have it.
    Arc::new(Shared::new(unsafe { Place::default().unshared() }, UnsafeCell::new(0)))
}

fn an_unshared_value_that_is_handed_over() {
    let value_of = unshared();
    // Loom's atomic begins here, before there are threads.
    assert_eq!(value(&value_of), 0);
    let other = Arc::clone(&value_of);
    thread::spawn(move || add(&other)).join().expect("no panic");
    add(&value_of);
    assert_eq!(value(&value_of), 2);
}

fn an_unshared_value_in_two_threads() {
    two_threads(unshared());
}

#[test]
fn one_thread_at_a_time_has_the_value_as_the_last_one_left_it() {
    holds(threads_that_take_turns);
    holds(threads_of_which_one_tries);
    holds(|| threads_of_which_one_has_a_condition(0));
    holds(|| threads_of_which_one_has_a_condition(1));
}

#[test]
fn an_unshared_value_is_for_one_thread_after_the_other_and_two_at_once_are_found() {
    holds(an_unshared_value_that_is_handed_over);
    fails(None, "Causality violation", an_unshared_value_in_two_threads);
}

#[test]
fn a_lock_that_orders_less_is_found() {
    const RACE: &str = "Causality violation";
    let models: [fn(); 3] =
        [threads_that_take_turns, threads_of_which_one_tries, || threads_of_which_one_has_a_condition(0)];
    for model in models {
        fails(Some(("queues/lock.rs", Swap)), RACE, model);
        fails(Some(("queues/lock.rs", Store)), RACE, model);
    }
}
