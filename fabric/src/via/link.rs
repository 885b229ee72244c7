//! Where an endpoint is between its birth and its end: what its event queue has heard of its connection.

use std::sync::{
    atomic::{AtomicU8, Ordering},
    Arc, OnceLock,
};

use viaduct_driver::wakeup::Wakeup;

/// The states of an endpoint. It is connected once in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It has asked nobody, and nobody has been accepted.
    Idle,
    /// It has asked, or accepted.
    Connecting,
    /// Both ends are ready, and the program has been, or will be told: it may send.
    Connected,
    /// An operation has failed, and the VI has broken with it; its event queue is to tell.
    Broken,
    /// Its connection has ended, or has come to nothing.
    Over,
}

const STATES: [State; 5] = [State::Idle, State::Connecting, State::Connected, State::Broken, State::Over];

/// The state of an endpoint, which its event queue has, too.
#[derive(Debug)]
pub struct Link {
    state: AtomicU8,
    /// Wakes who waits for its event queue, if a program may wait for that queue's descriptor.
    wakeup: OnceLock<Arc<Wakeup>>,
}

impl Link {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self { state: AtomicU8::new(State::Idle as u8), wakeup: OnceLock::new() }
    }

    /// The state.
    pub fn state(&self) -> State {
        STATES[usize::from(self.state.load(Ordering::Acquire)) % STATES.len()]
    }

    /// Changes it, if it is `from`. False: it is not.
    pub fn change(&self, from: State, to: State) -> bool {
        self.state.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Wakes who waits for the event queue's descriptor when the VI breaks, from now on.
    pub fn wakes(&self, wakeup: &Arc<Wakeup>) {
        // An endpoint has one event queue: a second one is refused before this.
        let _ = self.wakeup.set(Arc::clone(wakeup));
    }

    /// An operation of a connected endpoint has failed: its event queue has something to tell.
    pub fn break_off(&self) {
        if self.change(State::Connected, State::Broken) {
            if let Some(wakeup) = self.wakeup.get() {
                wakeup.signal();
            }
        }
    }

    /// It is over, whatever it was.
    pub fn end(&self) -> State {
        let before = self.state.swap(State::Over as u8, Ordering::AcqRel);
        STATES[usize::from(before) % STATES.len()]
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::{
        event::{poll, PollFd, PollFlags},
        time::Timespec,
    };

    use super::*;

    #[test]
    fn who_waits_for_the_event_queue_wakes_when_a_vi_breaks_and_not_before_there_is_a_connection() {
        let wakeup = Wakeup::new().expect("a descriptor");
        let is_readable = || {
            let mut files = [PollFd::from_borrowed_fd(wakeup.as_fd(), PollFlags::IN)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut files, Some(&at_once)).expect("it is polled") == 1
        };
        let link = Link::new();
        link.wakes(&wakeup);
        link.break_off();
        assert!(!is_readable() && link.state() == State::Idle);
        assert!(
            link.change(State::Idle, State::Connecting) && link.change(State::Connecting, State::Connected)
        );
        link.break_off();
        assert!(is_readable() && link.state() == State::Broken);
    }

    #[test]
    fn each_state_has_its_number_and_an_endpoint_is_connected_once() {
        assert!(STATES.iter().zip(0..).all(|(state, number)| *state as u8 == number));
        let link = Link::new();
        assert!(link.change(State::Idle, State::Connecting) && !link.change(State::Idle, State::Connecting));
        assert!(link.change(State::Connecting, State::Connected));
        assert_eq!((link.end(), link.state()), (State::Connected, State::Over));
        assert!(!link.change(State::Idle, State::Connecting));
        assert!(!link.change(State::Connected, State::Broken), "it was over before");
    }
}
