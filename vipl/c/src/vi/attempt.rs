//! The attempt at a connection of a VI, as the C interface has it: what is under way, and who may begin the next one.

use std::sync::{Arc, Mutex};

use via::{connections::PeerRequest, Return};

use crate::{entry::lock, types::Pvoid};

/// How a connection queue brings a VI to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its program has asked.
    Asked,
    /// Its program has accepted.
    Accepted,
}

/// What is under way for a VI.
#[derive(Default)]
pub enum Attempt {
    /// Nothing: the next one may begin.
    #[default]
    None,
    /// A call has the VI until it returns: it connects it, begins one of those below, or destroys it.
    Call,
    /// A peer request is on its way, until its outcome is taken.
    Peer(Arc<dyn PeerRequest>),
    /// A connection queue, which this is the handle of, has one under way, until its event is taken.
    Queued(How, Pvoid),
}

// SAFETY: the pointer in it is a handle.
unsafe impl Send for Attempt {}

/// The attempts of a VI, one after the other.
#[derive(Default)]
pub struct Attempts(Mutex<Attempt>);

impl Attempts {
    /// One begins, by a call.
    ///
    /// # Errors
    /// [`Return::InvalidState`]: another is under way.
    pub fn begin(&self) -> Result<Connecting<'_>, Return> {
        let mut attempt = lock(&self.0);
        match *attempt {
            Attempt::None => *attempt = Attempt::Call,
            _ => return Err(Return::InvalidState),
        }
        Ok(Connecting(self))
    }

    /// Whether one is under way.
    pub fn is_under_way(&self) -> bool {
        !matches!(*lock(&self.0), Attempt::None)
    }

    /// Whether a connection queue has one under way.
    pub fn is_of(&self, queue: Pvoid) -> bool {
        matches!(*lock(&self.0), Attempt::Queued(_, its) if its == queue)
    }

    /// The peer request that is on its way.
    pub fn peer(&self) -> Option<Arc<dyn PeerRequest>> {
        match &*lock(&self.0) {
            Attempt::Peer(request) => Some(Arc::clone(request)),
            _ => None,
        }
    }

    /// The outcome of a peer request is taken, if nobody has ended it before.
    pub fn end_peer(&self, request: &Arc<dyn PeerRequest>) {
        self.end_if(|now| matches!(now, Attempt::Peer(now) if Arc::ptr_eq(now, request)));
    }

    /// The event of a connection queue's is taken; how it came to it, if nobody has ended it before.
    pub fn end_queued(&self) -> Option<How> {
        match self.end_if(|now| matches!(now, Attempt::Queued(..))) {
            Attempt::Queued(how, _) => Some(how),
            _ => None,
        }
    }

    /// Ends in this way what is under way beyond a call. Whoever asks meanwhile comes before it, or behind. What a call does itself ends with that call.
    pub fn end_by<T>(&self, how: impl FnOnce() -> T) -> T {
        let mut attempt = lock(&self.0);
        let ended = how();
        if !matches!(*attempt, Attempt::Call) {
            *attempt = Attempt::None;
        }
        ended
    }

    /// Ends it if it is this one; what it was.
    fn end_if(&self, is_it: impl FnOnce(&Attempt) -> bool) -> Attempt {
        let mut attempt = lock(&self.0);
        match is_it(&attempt) {
            true => std::mem::take(&mut *attempt),
            false => Attempt::None,
        }
    }
}

/// A call has a VI as long as this lives.
pub struct Connecting<'a>(&'a Attempts);

impl Connecting<'_> {
    /// The call asks for what goes on behind it. Who ends that, or takes what comes of it, finds it, or comes before it.
    ///
    /// # Errors
    /// Those of `ask`: nothing is under way then.
    pub fn go_on(self, ask: impl FnOnce() -> Result<Attempt, Return>) -> Result<(), Return> {
        let Attempts(attempt) = self.0;
        let mut attempt = lock(attempt);
        // It is the call's no longer: by the time that this would drop, another may have begun.
        std::mem::forget(self);
        *attempt = Attempt::None;
        *attempt = ask()?;
        Ok(())
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let Attempts(attempt) = self.0;
        *lock(attempt) = Attempt::None;
    }
}

#[cfg(test)]
mod tests {
    use std::{ptr::without_provenance_mut, sync::Barrier, thread, time::Duration};

    use via::{connections::Answer, Error};

    use super::*;

    /// A peer request that nobody answers.
    struct Unanswered;

    impl PeerRequest for Unanswered {
        fn done(&self) -> Result<Answer, Error> {
            Err(Error::NotDone)
        }

        fn wait(&self) -> Result<Answer, Error> {
            Err(Error::NotDone)
        }
    }

    fn queue(number: usize) -> Pvoid {
        without_provenance_mut(number)
    }

    fn refused(attempts: &Attempts) -> bool {
        attempts.begin().err() == Some(Return::InvalidState)
    }

    #[test]
    fn one_is_under_way_at_a_time_whatever_it_is() {
        let attempts = Attempts::default();
        let call = attempts.begin().unwrap();
        assert!(attempts.is_under_way() && refused(&attempts));
        // A disconnect leaves it to the call.
        attempts.end_by(|| ());
        assert!(refused(&attempts));
        drop(call);
        assert!(!attempts.is_under_way());

        let request: Arc<dyn PeerRequest> = Arc::new(Unanswered);
        attempts.begin().unwrap().go_on(|| Ok(Attempt::Peer(Arc::clone(&request)))).unwrap();
        assert!(refused(&attempts) && attempts.peer().is_some());
        attempts.end_peer(&(Arc::new(Unanswered) as Arc<dyn PeerRequest>));
        assert_eq!(attempts.end_queued(), None);
        assert!(refused(&attempts), "neither was its own end");
        attempts.end_peer(&request);
        assert!(attempts.peer().is_none() && !attempts.is_under_way());

        attempts.begin().unwrap().go_on(|| Ok(Attempt::Queued(How::Accepted, queue(8)))).unwrap();
        assert!(refused(&attempts) && attempts.is_of(queue(8)) && !attempts.is_of(queue(16)));
        assert_eq!((attempts.end_queued(), attempts.end_queued()), (Some(How::Accepted), None));
        assert!(!attempts.is_under_way());
    }

    #[test]
    fn what_could_not_be_asked_for_is_not_under_way() {
        let attempts = Attempts::default();
        let asked = attempts.begin().unwrap().go_on(|| Err(Return::ErrorResource));
        assert_eq!(asked, Err(Return::ErrorResource));
        assert!(!attempts.is_under_way());
    }

    #[test]
    fn an_end_that_comes_while_it_is_asked_for_finds_it() {
        let attempts = Attempts::default();
        let asked = Barrier::new(2);
        thread::scope(|scope| {
            let call = attempts.begin().unwrap();
            let ends = scope.spawn(|| {
                asked.wait();
                attempts.end_queued()
            });
            let begun = call.go_on(|| {
                asked.wait();
                // Time for the other thread to come to the lock: it waits there.
                thread::sleep(Duration::from_millis(20));
                Ok(Attempt::Queued(How::Asked, queue(8)))
            });
            begun.unwrap();
            assert_eq!(ends.join().unwrap(), Some(How::Asked));
        });
        assert!(!attempts.is_under_way());
    }
}
