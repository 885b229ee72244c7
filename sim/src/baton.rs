//! Turns: of the threads that have a [`Seat`], exactly one runs.
//!
//! The order is that of the seats, and a turn ends where its thread says so, so that what the
//! threads do does not depend on how the system schedules them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

#[derive(Debug, Default)]
struct Turns {
    /// Who sits where; empty until its thread has sat down.
    seats: Vec<Option<ThreadId>>,
    /// Seats whose threads have ended.
    left: Vec<bool>,
    current: usize,
}

#[derive(Debug, Default)]
struct Shared {
    turns: Mutex<Turns>,
    change: Condvar,
}

/// Hands turns round.
#[derive(Debug, Clone, Default)]
pub struct Baton {
    shared: Arc<Shared>,
}

/// A place in the round, made by the thread that starts the others, in an order of its own. One
/// that is dropped before its thread has sat down is left out.
#[derive(Debug)]
pub struct Seat(Seated);

/// A thread's part in the round; its turns end when this is dropped.
#[derive(Debug)]
pub struct Seated {
    baton: Baton,
    index: usize,
}

impl Baton {
    /// A round with no seats: whoever calls runs.
    pub fn new() -> Self {
        Self::default()
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.shared.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat behind those that are there. Make all seats before the first thread starts: a round
    /// that grows while it goes is in nobody's order.
    pub fn seat(&self) -> Seat {
        let mut turns = self.turns();
        turns.seats.push(None);
        turns.left.push(false);
        Seat(Seated { baton: self.clone(), index: turns.seats.len() - 1 })
    }

    /// Ends this thread's turn and waits for its next one. A thread without a seat goes on.
    pub fn pass(&self) {
        let mut turns = self.turns();
        let me = thread::current().id();
        if turns.seats.get(turns.current).copied().flatten() == Some(me) {
            let index = turns.current;
            turns.advance();
            self.shared.change.notify_all();
            self.wait(turns, index);
        }
    }

    fn wait(&self, mut turns: MutexGuard<'_, Turns>, index: usize) {
        while turns.current != index {
            turns = self.shared.change.wait(turns).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Turns {
    /// To the next seat whose thread has not left.
    fn advance(&mut self) {
        let count = self.seats.len();
        let next = (1..=count).map(|step| (self.current + step) % count).find(|&seat| !self.left[seat]);
        self.current = next.unwrap_or(self.current);
    }
}

impl Seat {
    /// Sits the calling thread down and waits for its turn.
    pub fn sit(self) -> Seated {
        let Self(seated) = self;
        let mut turns = seated.baton.turns();
        turns.seats[seated.index] = Some(thread::current().id());
        seated.baton.wait(turns, seated.index);
        seated
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        let mut turns = self.baton.turns();
        turns.left[self.index] = true;
        if turns.current == self.index {
            turns.advance();
        }
        self.baton.shared.change.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_in_order() {
        let run = || {
            let (baton, log) = (Baton::new(), Arc::new(Mutex::new(Vec::new())));
            let seats: Vec<Seat> = (0..4).map(|_| baton.seat()).collect();
            let threads: Vec<_> = (0..)
                .zip(seats)
                .map(|(name, seat)| {
                    let (baton, log) = (baton.clone(), log.clone());
                    thread::spawn(move || {
                        let _seated = seat.sit();
                        // Each thread ends at another time.
                        for turn in 0..3 + name {
                            log.lock().unwrap().push((name, turn));
                            baton.pass();
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let log = log.lock().unwrap().clone();
            log
        };
        let first = run();
        assert_eq!(first[..6], [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1)]);
        assert_eq!(first.len(), 3 + 4 + 5 + 6);
        for _ in 0..20 {
            assert_eq!(run(), first);
        }
    }

    #[test]
    fn a_thread_without_a_seat_goes_on() {
        let baton = Baton::new();
        baton.pass();
        let _seat = baton.seat();
        baton.pass();
    }
}
