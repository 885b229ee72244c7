//! Two locks that two threads want in opposite orders, as a poll of a completion queue and a call that has a work queue do: the poll waits for
//! nobody while it has the first one.

use std::sync::Arc;

use loom::{cell::UnsafeCell, thread};

use crate::{
    queues::locked::{Locked, Place},
    sync::{fails, holds},
};

/// Loom sees who reaches the cell, and complains of two that are not in order.
type Shared = Locked<UnsafeCell<u32>>;

struct Queues {
    completion: Shared,
    work: Shared,
}

fn add(value: &UnsafeCell<u32>) {
    // SAFETY: loom panics if anybody else is at it.
    value.with_mut(|value| unsafe { *value += 1 });
}

fn value(shared: &Shared) -> u32 {
    // SAFETY: as above.
    shared.lock().with(|value| unsafe { *value })
}

/// What a poll does with the lock of a work queue that somebody else has.
#[derive(Clone, Copy)]
enum Busy {
    /// It lets go of its own lock before it waits.
    LetsGo,
    /// It waits with its own lock held.
    Waits,
}

fn poll_beside_a_call(busy: Busy) {
    let new = || Shared::new(Place::default(), UnsafeCell::new(0));
    let queues = Arc::new(Queues { completion: new(), work: new() });
    // Loom's atomics begin here, before there are threads.
    assert_eq!(value(&queues.completion) + value(&queues.work), 0);
    let call = Arc::clone(&queues);
    let call = thread::spawn(move || {
        let work = call.work.lock();
        add(&call.completion.lock());
        add(&work);
    });
    let completion = queues.completion.lock();
    add(&completion);
    match (queues.work.try_lock(), busy) {
        (Some(work), _) => {
            drop(completion);
            add(&work);
        }
        (None, Busy::LetsGo) => {
            drop(completion);
            add(&queues.work.lock());
        }
        (None, Busy::Waits) => {
            add(&queues.work.lock());
            drop(completion);
        }
    }
    call.join().expect("no panic");
    assert_eq!((value(&queues.completion), value(&queues.work)), (2, 2));
}

#[test]
fn a_poll_and_a_call_that_has_a_work_queue_both_end() {
    holds(|| poll_beside_a_call(Busy::LetsGo));
}

#[test]
fn a_poll_that_waits_with_its_lock_held_is_found() {
    // Two threads that spin for ever.
    fails(None, "maximum number of branches", || poll_beside_a_call(Busy::Waits));
}
