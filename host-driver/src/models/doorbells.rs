//! Doorbells in memory, and a poller that sleeps.

use std::{
    convert::Infallible,
    ptr::NonNull,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
};

use loom::{
    sync::{Condvar, Mutex},
    thread,
};

use crate::{
    queues::{
        doorbells::{Bell, Poller},
        poller_state::PollerState,
    },
    sync::{
        fails, holds, AtomicU64,
        Operation::{FirstsFence, OthersFence},
    },
};

/// An eventfd that is watched for edges: a write ends the sleep under way, or the next one.
#[derive(Default)]
struct Edge {
    is_there: Mutex<bool>,
    came: Condvar,
}

impl Edge {
    fn write(&self) {
        *self.is_there.lock().expect("no panic") = true;
        self.came.notify_all();
    }

    fn wait(&self) {
        let mut is_there = self.is_there.lock().expect("no panic");
        while !*is_there {
            is_there = self.came.wait(is_there).expect("no panic");
        }
        *is_there = false;
    }
}

/// The page, the notice page, the eventfd.
#[derive(Default)]
struct Common {
    doorbell: AtomicU64,
    state: PollerState,
    wake: Edge,
    gone: AtomicU32,
}

/// How the poller looks once more before it sleeps.
#[derive(Clone, Copy, PartialEq)]
enum LastLook {
    AsItShould,
    LeftOut,
}

/// A client rings twice; the poller sleeps until it has seen the last word.
fn poller_and_client(last_look: LastLook) {
    const LAST: u64 = 2;
    let common = Arc::new(Common::default());
    // Loom's atomics begin here, before there are threads.
    assert_eq!((common.doorbell.load(Ordering::Relaxed), common.state.word()), (0, 0));
    let client = Arc::clone(&common);
    let client = thread::spawn(move || {
        let poller = Poller { state: NonNull::from(&client.state), gone: NonNull::from(&client.gone) };
        // SAFETY: they stay as long as this thread.
        let bell = unsafe { Bell::new(NonNull::from(&client.doorbell), Some(poller)) };
        for word in 1..=LAST {
            // SAFETY: as above.
            if !unsafe { bell.ring(word) } {
                client.wake.write();
            }
        }
    });
    let mut seen = 0;
    while seen < LAST {
        let pass = || {
            let now = match last_look {
                LastLook::AsItShould => common.doorbell.load(Ordering::Acquire),
                LastLook::LeftOut => seen,
            };
            let is_new = now != seen;
            seen = now;
            Ok::<_, Infallible>(is_new)
        };
        common.state.sleep_unless(pass, || common.wake.wait()).expect("no error");
        // Awake, it passes over the doorbells until they are quiet.
        seen = seen.max(common.doorbell.load(Ordering::Acquire));
    }
    client.join().expect("no panic");
}

#[test]
fn no_doorbell_is_slept_through() {
    holds(|| poller_and_client(LastLook::AsItShould));
}

#[test]
fn a_fence_or_a_look_that_is_left_out_is_found() {
    const SLEPT_ON: &str = "deadlock";
    let as_it_should = || poller_and_client(LastLook::AsItShould);
    fails(Some(("queues/poller_state.rs", FirstsFence)), SLEPT_ON, as_it_should);
    fails(Some(("queues/poller_state.rs", OthersFence)), SLEPT_ON, as_it_should);
    fails(None, SLEPT_ON, || poller_and_client(LastLook::LeftOut));
}
