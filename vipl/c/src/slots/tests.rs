//! What a table of handles promises, on one thread and on two.

use std::{
    iter::from_fn,
    ptr::{null_mut, without_provenance_mut},
};

use viaduct_driver::queues::locked::Locked;

use super::*;

/// Handles that nobody gave, which are tried.
const FORGED: usize = if cfg!(miri) { 1 << 8 } else { 1 << 20 };

/// Calls on the queue of a thing have its number.
struct Thing<const KIND: usize>(usize, Reserved<Thing<KIND>, usize, KIND, 1, 64>);
type Things<const KIND: usize> = Slots<Thing<KIND>, usize, KIND, 1, 64>;

fn put_as<const KIND: usize>(slots: &'static Things<KIND>, number: usize, is_unshared: bool) -> Pvoid {
    let thing = Arc::new(Thing(number, slots.reserve(is_unshared).expect("room")));
    assert!(slots.get(thing.1.handle()).is_err() && enter(slots, thing.1.handle()).is_none(), "not yet");
    thing.1.fill(&thing, &number);
    thing.1.handle()
}

fn put<const KIND: usize>(slots: &'static Things<KIND>, number: usize) -> Pvoid {
    put_as(slots, number, false)
}

fn enter<const KIND: usize>(slots: &'static Things<KIND>, handle: Pvoid) -> Option<Entered<'static, usize>> {
    match is_unshared(handle) {
        // SAFETY: the handle says so, and each test keeps to it.
        true => unsafe { slots.try_enter::<true>(handle, 0) },
        // SAFETY: nothing is promised.
        false => unsafe { slots.try_enter::<false>(handle, 0) },
    }
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
        let forged = without_provenance_mut(forged);
        assert!(ONES.get(forged).is_err() && enter(&ONES, forged).is_none(), "{forged:p}");
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
            assert!(handles.insert(SLOTS.reserve(n % 2 == 0).expect("room").handle().addr()));
            continue;
        }
        let handle = put_as(&SLOTS, n, n % 2 == 0);
        assert!(handles.insert(handle.addr()), "never again");
        assert_eq!(SLOTS.find_map(|found| Some(found.0)), Some(n));
        assert_eq!(SLOTS.remove(handle, |_| Ok(())).ok().map(|gone| gone.0), Some(n));
    }
    let all: Vec<_> = from_fn(|| SLOTS.reserve(false).ok()).collect();
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
    let mut entered = enter(&SLOTS, without_provenance_mut(handle)).expect("live");
    std::thread::scope(|scope| {
        let remove = || SLOTS.remove(without_provenance_mut(handle), |_| Ok(())).map(|gone| gone.0);
        let remove = scope.spawn(remove);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!remove.is_finished());
        assert_eq!(*entered.parts().0, 7);
        drop(entered);
        assert_eq!(remove.join().expect("it ends").ok(), Some(7));
    });
}

#[test]
fn who_waits_for_a_queue_to_take_a_thing_out_keeps_nobody_from_finding_it() {
    static SLOTS: Things<1> = Slots::new();
    let handle = put(&SLOTS, 7).addr();
    let entered = enter(&SLOTS, without_provenance_mut(handle)).expect("live");
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

#[test]
fn the_handle_of_an_unshared_thing_says_so_and_names_it_with_that_alone() {
    static SLOTS: Things<1> = Slots::new();
    let (shared, unshared) = (put_as(&SLOTS, 1, false), put_as(&SLOTS, 2, true));
    assert!(!is_unshared(shared) && is_unshared(unshared));
    for (handle, number) in [(shared, 1), (unshared, 2)] {
        let mut entered = enter(&SLOTS, handle).expect("live");
        assert_eq!((*entered.parts().0, entered.handle()), (number, handle));
        assert!(enter(&SLOTS, handle).is_none(), "somebody is behind the door");
        // Any thread of the library's finds it meanwhile.
        assert_eq!(SLOTS.get(handle).expect("live").0, number);
        drop(entered);
        let other = handle.map_addr(|handle| handle ^ UNSHARED);
        assert!(SLOTS.get(other).is_err() && enter(&SLOTS, other).is_none());
        assert!(enter(&SLOTS, handle).is_some(), "the other handle has left the lock as it was");
        SLOTS.remove(handle, |_| Ok(())).expect("live");
        assert!(SLOTS.get(handle).is_err() && enter(&SLOTS, handle).is_none());
    }
}

#[test]
fn a_stale_unshared_handle_is_not_in_the_way_of_who_has_its_slot() {
    static SLOTS: Things<1> = Slots::new();
    let stale = put_as(&SLOTS, 1, true);
    SLOTS.remove(stale, |_| Ok(())).expect("live");
    let place = |handle: Pvoid| handle.addr() & (63 * SLOT_BYTES);
    let next = |number| {
        let handle = put(&SLOTS, number);
        let is_there = place(handle) == place(stale);
        if !is_there {
            SLOTS.remove(handle, |_| Ok(())).expect("live");
        }
        is_there.then_some(handle)
    };
    let handle = (0..2 * 64).find_map(next).expect("slots are used again");
    let entered = enter(&SLOTS, handle).expect("live");
    assert!(enter(&SLOTS, stale).is_none() && SLOTS.get(stale).is_err());
    assert!(enter(&SLOTS, handle).is_none(), "its lock is held still");
    drop(entered);
    assert!(enter(&SLOTS, stale).is_none() && enter(&SLOTS, handle).is_some());
}

#[test]
fn a_slot_is_no_other_things_as_long_as_a_queue_has_the_lock_of_its_door() {
    static SLOTS: Things<1> = Slots::new();
    for is_unshared in [false, true] {
        let reserved = Arc::new(SLOTS.reserve(is_unshared).expect("room"));
        let queue = Locked::new(reserved.place(0), 5);
        drop(reserved);
        assert_eq!(from_fn(|| SLOTS.reserve(false).ok()).collect::<Vec<_>>().len(), 63);
        assert_eq!(*queue.lock(), 5);
        drop(queue);
        assert_eq!(from_fn(|| SLOTS.reserve(false).ok()).collect::<Vec<_>>().len(), 64);
    }
}

#[test]
fn a_queue_and_the_door_of_its_slot_have_one_lock() {
    static SLOTS: Things<1> = Slots::new();
    for is_unshared in [false, true] {
        let reserved = Arc::new(SLOTS.reserve(is_unshared).expect("room"));
        let queue = Locked::new(reserved.place(0), 5);
        let thing = Arc::new(Thing(1, SLOTS.reserve(false).expect("room")));
        reserved.fill(&thing, &1);
        let mut entered = enter(&SLOTS, reserved.handle()).expect("live");
        assert!(queue.try_lock().is_none());
        let (_, held) = entered.parts();
        // SAFETY: it is its lock.
        assert_eq!(*unsafe { queue.held(held) }, 5);
        drop(entered);
        let locked = queue.lock();
        assert!(enter(&SLOTS, reserved.handle()).is_none());
        drop(locked);
        SLOTS.remove(reserved.handle(), |_| Ok(())).expect("live");
    }
}
