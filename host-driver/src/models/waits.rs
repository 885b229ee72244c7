//! Waits: a generation, an arm word, a look, a sleep.

use std::{
    sync::{atomic::Ordering, Arc},
    time::Duration,
};

use loom::{sync::Mutex, thread};

use crate::{
    agent::generation::Generation,
    sync::{fails, holds, AtomicU32},
    wait::{turn, Turn, Vectors},
};

const LONG: Duration = Duration::from_secs(1);
const SLEPT_ON: &str = "deadlock";

/// A NIC with one vector and one completion, and what a wait looks at.
#[derive(Default)]
struct Nic {
    vector: Generation,
    /// The completion's status word.
    status: AtomicU32,
    given_up: AtomicU32,
    /// Whether it is complete, and whether somebody has asked for an interrupt.
    state: Mutex<(bool, bool)>,
}

impl Nic {
    fn new() -> Arc<Self> {
        let nic = Arc::<Self>::default();
        // Loom's atomics begin here, before there are threads.
        assert!(!nic.is_complete() && nic.given_up.load(Ordering::Acquire) == 0);
        nic
    }

    fn is_complete(&self) -> bool {
        self.status.load(Ordering::Acquire) != 0
    }

    /// Memory first, then the interrupt that was asked for.
    fn complete(&self) {
        self.status.store(1, Ordering::Release);
        let mut state = self.state.lock().expect("no panic");
        state.0 = true;
        if state.1 {
            self.vector.raise();
        }
    }

    /// An arm word: the interrupt comes when it is complete, or at once.
    fn arm(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.1 = true;
        if state.0 {
            self.vector.raise();
        }
    }
}

/// As the NIC's vector is read.
struct Vector<'a> {
    nic: &'a Nic,
    /// The generation is read only when one goes to sleep, behind the arm word and the look.
    is_read_late: bool,
}

impl Vectors for Vector<'_> {
    fn generation(&self, _: u8) -> Option<u64> {
        Some(if self.is_read_late { 0 } else { self.nic.vector.now() })
    }

    fn sleep(&self, _: u8, seen: u64, timeout: Duration) -> bool {
        let seen = if self.is_read_late { self.nic.vector.now() } else { seen };
        self.nic.vector.sleep(seen, timeout)
    }

    fn wake(&self, _: u8) {
        self.nic.vector.raise();
    }
}

/// Takes turns until it is complete; between two it looks, as all who wait do.
fn wait(vector: &Vector, arm: impl Fn(), look: impl Fn() -> bool) {
    let found = || Ok::<_, ()>(look().then_some(()));
    let arm = || {
        arm();
        Ok(())
    };
    while !matches!(turn(vector, 0, || LONG, arm, found), Ok(Turn::Found(()))) {
        if vector.nic.is_complete() {
            break;
        }
    }
}

/// The NIC completes something, and raises the vector if it was asked to.
fn interrupt(is_read_late: bool) {
    let nic = Nic::new();
    let device = Arc::clone(&nic);
    let device = thread::spawn(move || device.complete());
    let look = || nic.is_complete();
    wait(&Vector { nic: &nic, is_read_late }, || nic.arm(), look);
    device.join().expect("no panic");
}

/// The library completes something itself, for which no interrupt comes, and wakes the vector.
fn wake_up(is_looked_for: bool) {
    let nic = Nic::new();
    let library = Arc::clone(&nic);
    let library = thread::spawn(move || {
        library.status.store(1, Ordering::Release);
        library.vector.raise();
    });
    if !nic.is_complete() {
        wait(&Vector { nic: &nic, is_read_late: false }, || {}, || is_looked_for && nic.is_complete());
    }
    library.join().expect("no panic");
}

/// Somebody gives the wait up, and wakes it.
fn giving_up(is_known_before: bool) {
    let nic = Nic::new();
    let other = Arc::clone(&nic);
    let other = thread::spawn(move || {
        other.given_up.store(1, Ordering::Release);
        other.vector.raise();
    });
    let vector = Vector { nic: &nic, is_read_late: false };
    loop {
        let before = nic.given_up.load(Ordering::Acquire);
        let left = || match if is_known_before { before } else { nic.given_up.load(Ordering::Acquire) } {
            0 => LONG,
            _ => Duration::ZERO,
        };
        if turn(&vector, 0, left, || Ok::<_, ()>(()), || Ok(None::<()>)) == Ok(Turn::Over) {
            break;
        }
    }
    other.join().expect("no panic");
}

#[test]
fn no_interrupt_and_no_wake_up_is_slept_through() {
    holds(|| interrupt(false));
    holds(|| wake_up(true));
    holds(|| giving_up(false));
}

#[test]
fn steps_in_another_order_are_found() {
    fails(None, SLEPT_ON, || interrupt(true));
    fails(None, SLEPT_ON, || wake_up(false));
    fails(None, SLEPT_ON, || giving_up(true));
}
