//! What the slots promise about threads, in every order that the threads can take: see `models` of the driver.

use loom::{cell::UnsafeCell, thread};
use viaduct_driver::sync::{
    fails, holds, Mutant,
    Operation::{Store, Swap},
};

use super::*;

const KIND: usize = 1;
const DOORS: usize = 2;

/// Loom sees who reaches the cell, and complains of two that are not in order.
struct Thing {
    number: UnsafeCell<usize>,
    reserved: Reserved<Self, KIND, DOORS, 2>,
}

type Things = Slots<Thing, KIND, DOORS, 2>;

/// A table with a single slot that is free, which things have one after the other.
fn table() -> &'static Things {
    // Each run has its own, and loom forgets what is in it.
    let things: &Things = Box::leak(Box::new(Slots::new()));
    std::mem::forget(things.reserve());
    things
}

fn put(things: &'static Things, number: usize) -> Arc<Thing> {
    let reserved = things.reserve().expect("room");
    let thing = Arc::new(Thing { number: UnsafeCell::new(number), reserved });
    thing.reserved.fill(&thing);
    thing
}

/// Looks through each door for what a handle names.
fn look(things: &Things, handle: usize) {
    for door in 0..DOORS {
        if let Some(mut entered) = things.enter(std::ptr::without_provenance_mut(handle), door) {
            let (thing, _) = entered.parts();
            // SAFETY: loom panics if anybody changes it.
            thing.number.with(|number| assert_eq!(unsafe { *number }, 1, "the handle names another thing"));
        }
    }
}

/// A thread uses a handle, while another takes the thing out, changes it, and puts another one into the slot. `is_given_twice`: the other
/// one has the handle of the first.
fn stale_handle(is_given_twice: bool) {
    let things = table();
    let thing = put(things, 1);
    let handle = thing.reserved.handle;
    // Loom's atomics begin here, before there are threads.
    look(things, handle);
    drop(thing);
    let user = thread::spawn(move || look(things, handle));
    let named = std::ptr::without_provenance_mut(handle);
    let gone = things.remove(named, |_| Ok(())).unwrap_or_else(|_| panic!("it is there"));
    // SAFETY: loom panics if anybody else is at it.
    gone.number.with_mut(|number| unsafe { *number = 0 });
    drop(gone);
    if is_given_twice {
        things.free().generation -= 1;
    }
    put(things, 2);
    user.join().expect("no panic");
}

/// Two threads use what a handle names through its doors, one at a time.
fn one_door() {
    let things = table();
    let handle = put(things, 1).reserved.handle;
    look(things, handle);
    let change = move || {
        let mut entered = things.enter(std::ptr::without_provenance_mut(handle), 0).expect("it is there");
        // SAFETY: loom panics if anybody else is at it.
        entered.parts().0.number.with_mut(|number| unsafe { *number += 1 });
    };
    let other = thread::spawn(change);
    change();
    other.join().expect("no panic");
}

#[test]
fn a_handle_names_its_thing_or_nothing_and_a_thing_that_is_used_stays() {
    holds(|| stale_handle(false));
    holds(one_door);
}

#[test]
fn a_lock_that_orders_less_and_a_handle_that_is_given_twice_are_found() {
    const RACE: &str = "Causality violation";
    let weak = |operation| -> Option<Mutant> { Some(("queues/lock.rs", operation)) };
    for operation in [Swap, Store] {
        fails(weak(operation), RACE, one_door);
        fails(weak(operation), RACE, || stale_handle(false));
    }
    fails(None, "the handle names another thing", || stale_handle(true));
}
