//! The lock of one atomic exchange.

use std::sync::Arc;

use loom::{cell::UnsafeCell, thread};

use crate::{
    queues::lock::{Lock, Locked, Place},
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

fn threads_that_take_turns() {
    let shared = Arc::new(Shared::new(Place::default(), UnsafeCell::new(0)));
    // Loom's atomic begins here, before there are threads.
    assert_eq!(value(&shared), 0);
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || add(&other));
    add(&shared);
    other.join().expect("no panic");
    assert_eq!(value(&shared), 2);
}

/// Who finds the lock free without waiting has the value as its last holder left it.
fn threads_of_which_one_tries() {
    struct Tried(Lock, UnsafeCell<u32>);
    let shared = Arc::new(Tried(Lock::new(), UnsafeCell::new(0)));
    drop(shared.0.hold());
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || {
        let _held = other.0.hold();
        // SAFETY: loom panics if anybody else is at it.
        other.1.with_mut(|value| unsafe { *value = 1 });
    });
    if let Some(_held) = shared.0.try_hold() {
        // SAFETY: as above.
        shared.1.with(|value| assert!(unsafe { *value } < 2));
    }
    other.join().expect("no panic");
}

#[test]
fn one_thread_at_a_time_has_the_value_as_the_last_one_left_it() {
    holds(threads_that_take_turns);
    holds(threads_of_which_one_tries);
}

#[test]
fn a_lock_that_orders_less_is_found() {
    const RACE: &str = "Causality violation";
    for model in [threads_that_take_turns, threads_of_which_one_tries] {
        fails(Some(("queues/lock.rs", Swap)), RACE, model);
        fails(Some(("queues/lock.rs", Store)), RACE, model);
    }
}
