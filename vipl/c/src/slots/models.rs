//! What the slots promise about threads, in every order that the threads can take: see `models` of the driver.

use loom::{cell::UnsafeCell, thread};
use viaduct_driver::sync::{
    fails, holds, Mutant,
    Operation::{Store, Swap},
};

use super::*;

const KIND: usize = 1;
const QUEUES: usize = 2;

/// Loom sees who reaches the cell, and complains of two that are not in order.
struct Thing {
    number: UnsafeCell<usize>,
    reserved: Reserved<Self, Arc<Self>, KIND, QUEUES, 2>,
}

type Things = Slots<Thing, Arc<Thing>, KIND, QUEUES, 2>;

/// A table with a single slot that is free, which things have one after the other.
fn table() -> &'static Things {
    // Each run has its own, and loom forgets what is in it.
    let things: &Things = Box::leak(Box::new(Slots::new()));
    std::mem::forget(things.reserve(false));
    things
}

fn put_as(things: &'static Things, number: usize, is_unshared: bool) -> Arc<Thing> {
    let reserved = things.reserve(is_unshared).expect("room");
    let thing = Arc::new(Thing { number: UnsafeCell::new(number), reserved });
    thing.reserved.fill(&thing, &thing);
    thing
}

fn put(things: &'static Things, number: usize) -> Arc<Thing> {
    put_as(things, number, false)
}

fn enter(things: &Things, handle: usize, queue: usize) -> Option<Entered<'_, Arc<Thing>>> {
    let handle = std::ptr::without_provenance_mut(handle);
    match is_unshared(handle) {
        // SAFETY: the handle says so; loom panics if two threads are there.
        true => unsafe { things.try_enter::<true>(handle, queue) },
        // SAFETY: nothing is promised.
        false => unsafe { things.try_enter::<false>(handle, queue) },
    }
}

/// Looks through the door of each queue for what a handle names.
fn look(things: &Things, handle: usize) {
    for queue in 0..QUEUES {
        if let Some(mut entered) = enter(things, handle, queue) {
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

/// Two threads use what a handle names through the door of a queue, one at a time; who finds the other one there gives up.
fn one_door(is_unshared: bool) {
    let things = table();
    let handle = put_as(things, 1, is_unshared).reserved.handle;
    look(things, handle);
    let change = move || {
        let entered = enter(things, handle, 0);
        // SAFETY: loom panics if anybody else is at it.
        entered
            .map(|mut entered| entered.parts().0.number.with_mut(|number| unsafe { *number += 1 }))
            .is_some()
    };
    let other = thread::spawn(change);
    let is_changed = change();
    assert!(other.join().expect("no panic") || is_changed);
}

/// A thread uses the stale handle of an unshared thing, while another one uses what is in the slot now.
fn stale_unshared_handle() {
    let things = table();
    let handle = put_as(things, 1, true).reserved.handle;
    look(things, handle);
    let named = std::ptr::without_provenance_mut(handle);
    drop(things.remove(named, |_| Ok(())).unwrap_or_else(|_| panic!("it is there")));
    let user = thread::spawn(move || assert!(enter(things, handle, 0).is_none(), "it names another thing"));
    let new = put(things, 2).reserved.handle;
    let mut entered = enter(things, new, 0).expect("nobody is in the way");
    // SAFETY: loom panics if anybody else is at it.
    entered.parts().0.number.with_mut(|number| unsafe { *number = 3 });
    drop(entered);
    user.join().expect("no panic");
}

/// An unshared thing goes from thread to thread.
fn handed_over() {
    let things = table();
    let handle = put_as(things, 1, true).reserved.handle;
    look(things, handle);
    thread::spawn(move || look(things, handle)).join().expect("no panic");
    let named = std::ptr::without_provenance_mut(handle);
    let gone = things.remove(named, |_| Ok(())).unwrap_or_else(|_| panic!("it is there"));
    // SAFETY: loom panics if anybody else is at it.
    gone.number.with_mut(|number| unsafe { *number = 0 });
}

#[test]
fn a_handle_names_its_thing_or_nothing_and_a_thing_that_is_used_stays() {
    holds(|| stale_handle(false));
    holds(|| one_door(false));
    holds(stale_unshared_handle);
    holds(handed_over);
}

#[test]
fn a_lock_that_orders_less_and_a_handle_that_is_given_twice_are_found() {
    const RACE: &str = "Causality violation";
    let weak = |operation| -> Option<Mutant> { Some(("queues/lock.rs", operation)) };
    for operation in [Swap, Store] {
        fails(weak(operation), RACE, || one_door(false));
        fails(weak(operation), RACE, || stale_handle(false));
    }
    fails(None, "the handle names another thing", || stale_handle(true));
    // Two threads with an unshared thing at one time.
    fails(None, RACE, || one_door(true));
}
