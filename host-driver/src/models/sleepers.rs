//! Sleepers on a word that another process counts in, and their wake-up without it.

use std::{
    sync::{atomic::Ordering, Arc},
    time::Duration,
};

use loom::{
    sync::{Condvar, Mutex},
    thread,
};

use crate::{
    sync::{fails, holds, AtomicU32},
    viad::sleepers::{Sleepers, Words},
};

/// A futex.
#[derive(Default)]
struct Word {
    value: Mutex<u32>,
    woken: Condvar,
}

impl Words for Word {
    fn generation(&self, _: u8) -> Option<u32> {
        Some(*self.value.lock().expect("no panic"))
    }

    fn sleep(&self, _: u8, seen: u32, _: Duration) {
        let value = self.value.lock().expect("no panic");
        if *value == seen {
            drop(self.woken.wait(value).expect("no panic"));
        }
    }

    fn wake(&self, _: u8) {
        // The kernel looks at the word and puts the sleeper on its list in one step, and wakes those on the list.
        let _value = self.value.lock().expect("no panic");
        self.woken.notify_all();
    }
}

#[derive(Default)]
struct Common {
    word: Word,
    sleepers: Sleepers,
    done: AtomicU32,
}

/// Who brings it.
#[derive(Clone, Copy)]
enum By {
    /// This process: no interrupt comes.
    Wake,
    /// The other process, which counts in the word.
    Interrupt,
}

/// Something is brought, and who waits for it wakes. `is_seen_late`: who waits reads the generation behind its look.
fn sleeper(by: By, is_seen_late: bool) {
    let common = Arc::new(Common::default());
    // Loom's atomic begins here, before there are threads.
    assert_eq!(common.done.load(Ordering::Acquire), 0);
    let bringer = Arc::clone(&common);
    let bringer = thread::spawn(move || {
        bringer.done.store(1, Ordering::Release);
        match by {
            By::Wake => bringer.sleepers.wake(&bringer.word, 0),
            By::Interrupt => {
                *bringer.word.value.lock().expect("no panic") += 1;
                bringer.word.wake(0);
            }
        }
    });
    let generation = || common.sleepers.generation(&common.word, 0).expect("a vector");
    loop {
        let early = generation();
        if common.done.load(Ordering::Acquire) != 0 {
            break;
        }
        let seen = if is_seen_late { generation() } else { early };
        common.sleepers.sleep(&common.word, 0, seen, Duration::MAX);
    }
    bringer.join().expect("no panic");
}

#[test]
fn no_wake_up_is_slept_through() {
    holds(|| sleeper(By::Wake, false));
    holds(|| sleeper(By::Interrupt, false));
}

#[test]
fn a_generation_that_is_read_late_is_found() {
    const SLEPT_ON: &str = "deadlock";
    fails(None, SLEPT_ON, || sleeper(By::Wake, true));
    fails(None, SLEPT_ON, || sleeper(By::Interrupt, true));
}
