//! Those of this process who sleep on a vector. The word that they sleep on is viad's, which this process may not write: what wakes them
//! without an interrupt is counted here.

use std::{sync::PoisonError, time::Duration};

use viaduct_spec::profile::VECTORS;

use crate::sync::{yield_now, Mutex, MutexGuard};

/// Words on which one sleeps, one a vector; another process counts in them.
pub trait Words {
    /// What a vector's word is now.
    fn generation(&self, vector: u8) -> Option<u32>;
    /// Sleeps while a vector's word is `seen`, at most for `timeout`; it may wake early.
    fn sleep(&self, vector: u8, seen: u32, timeout: Duration);
    /// Wakes all who sleep on a vector's word.
    fn wake(&self, vector: u8);
}

/// The sleepers of each vector.
#[derive(Debug, Default)]
pub struct Sleepers([Mutex<Vector>; VECTORS]);

#[derive(Debug, Default, Clone, Copy)]
struct Vector {
    /// How often they were woken.
    wakes: u32,
    /// Those that sleep, or are about to, since then.
    asleep: u32,
    /// Those that were woken, and may sleep still.
    woken: u32,
}

impl Sleepers {
    fn vector(&self, vector: u8) -> Option<MutexGuard<'_, Vector>> {
        // Numbers: what a thread that panicked left is as good as any.
        Some(self.0.get(usize::from(vector))?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Half of it is viad's, half our own. It is compared for equality alone, and nobody sleeps for 2^32 of either.
    pub fn generation(&self, words: &impl Words, vector: u8) -> Option<u64> {
        let wakes = self.vector(vector)?.wakes;
        Some(u64::from(wakes) << 32 | u64::from(words.generation(vector)?))
    }

    /// Sleeps while the generation of a vector is `seen`, at most for `timeout`; it may wake early.
    pub fn sleep(&self, words: &impl Words, vector: u8, seen: u64, timeout: Duration) {
        let is_now = |state: &Vector| u64::from(state.wakes) == seen >> 32;
        match self.vector(vector) {
            Some(mut state) if is_now(&state) => state.asleep += 1,
            _ => return,
        }
        words.sleep(vector, seen as u32, timeout);
        if let Some(mut state) = self.vector(vector) {
            match is_now(&state) {
                true => state.asleep -= 1,
                false => state.woken -= 1,
            }
        }
    }

    /// Wakes all who sleep. It returns when they have woken: one that is about to sleep may not do so yet, and is woken the next time.
    pub fn wake(&self, words: &impl Words, vector: u8) {
        if let Some(mut state) = self.vector(vector) {
            state.wakes = state.wakes.wrapping_add(1);
            state.woken += std::mem::take(&mut state.asleep);
        }
        while self.vector(vector).is_some_and(|state| state.woken > 0) {
            words.wake(vector);
            yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::fd::AsFd,
        sync::atomic::{AtomicU32, Ordering},
        time::Instant,
    };

    use super::*;
    use crate::{
        device::DmaAccess,
        memory::Mapping,
        viad::notice::{self, Notice},
    };

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn no_wake_up_is_lost_of_one_among_many_sleepers() {
        let (_viads, file) = Notice::create().expect("memory");
        let memory = Mapping::of(file.as_fd(), notice::BYTES, DmaAccess::Read).expect("mapped");
        let (notice, sleepers) = (Notice::of(memory).expect("a page"), Sleepers::default());
        let (done, turns) = (AtomicU32::new(0), 3000);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| loop {
                    let seen = sleepers.generation(&notice, 2).expect("a vector");
                    if done.load(Ordering::SeqCst) == turns {
                        return;
                    }
                    sleepers.sleep(&notice, 2, seen, LONG);
                });
            }
            for turn in 1..=turns {
                // What happened comes before the wake-up.
                done.store(turn, Ordering::SeqCst);
                sleepers.wake(&notice, 2);
            }
        });
        assert!(start.elapsed() < LONG, "somebody slept on");
        assert_eq!(sleepers.generation(&notice, 2), Some(u64::from(turns) << 32));
        // Another vector's sleepers slept on; and there are no others.
        assert_eq!(sleepers.generation(&notice, 1), Some(0));
        assert_eq!(sleepers.generation(&notice, VECTORS as u8), None);
        sleepers.wake(&notice, VECTORS as u8);
    }
}
