//! The attempt at a connection of a VI, as the C interface has it: what is under way, and who may begin the next one.

use std::sync::{Arc, Mutex};

use via::{connections::PeerRequest, Return};

use super::begun::Begun;
use crate::{entry::lock, types::Pvoid};

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
    /// A connection queue has one under way, until its event is taken.
    Queued(Arc<Begun>),
}

/// The attempts of a VI, one after the other.
#[derive(Default)]
pub struct Attempts(Mutex<State>);

#[derive(Default)]
struct State {
    attempt: Attempt,
    /// What has become the VI's connection, if a connection queue has begun it, until a disconnect.
    connection: Option<Arc<Begun>>,
}

impl Attempts {
    /// One begins, by a call.
    ///
    /// # Errors
    /// [`Return::InvalidState`]: another is under way.
    pub fn begin(&self) -> Result<Connecting<'_>, Return> {
        let mut state = lock(&self.0);
        match state.attempt {
            Attempt::None => state.attempt = Attempt::Call,
            _ => return Err(Return::InvalidState),
        }
        Ok(Connecting(self))
    }

    /// Whether one is under way.
    pub fn is_under_way(&self) -> bool {
        !matches!(lock(&self.0).attempt, Attempt::None)
    }

    /// The peer request that is on its way.
    pub fn peer(&self) -> Option<Arc<dyn PeerRequest>> {
        match &lock(&self.0).attempt {
            Attempt::Peer(request) => Some(Arc::clone(request)),
            _ => None,
        }
    }

    /// The outcome of a peer request is taken, if nobody has ended it before.
    pub fn end_peer(&self, request: &Arc<dyn PeerRequest>) {
        let mut state = lock(&self.0);
        if matches!(&state.attempt, Attempt::Peer(now) if Arc::ptr_eq(now, request)) {
            state.attempt = Attempt::None;
        }
    }

    /// The event of what a connection queue has begun is taken. False: somebody has ended it before.
    pub fn end_queued(&self, begun: &Arc<Begun>, is_connected: bool) -> bool {
        let mut state = lock(&self.0);
        let is_it = matches!(&state.attempt, Attempt::Queued(now) if Arc::ptr_eq(now, begun));
        if is_it {
            *state = State { attempt: Attempt::None, connection: is_connected.then(|| Arc::clone(begun)) };
        }
        is_it
    }

    /// Ends in this way the connection, and what is under way beyond a call. Whoever asks meanwhile comes before it, or behind. What a call does itself
    /// ends with that call. The second part is the connection, if a connection queue has begun it.
    pub fn end_by<T>(&self, how: impl FnOnce() -> T) -> (T, Option<Arc<Begun>>) {
        let mut state = lock(&self.0);
        let ended = how();
        if !matches!(state.attempt, Attempt::Call) {
            state.attempt = Attempt::None;
        }
        (ended, state.connection.take())
    }

    /// Ends in this way what this connection queue has under way: what has become a connection stays.
    pub fn end_if_of(&self, queue: Pvoid, how: impl FnOnce()) {
        let mut state = lock(&self.0);
        if matches!(&state.attempt, Attempt::Queued(begun) if begun.queue.0 == queue) {
            how();
            state.attempt = Attempt::None;
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
        let Attempts(state) = self.0;
        let mut state = lock(state);
        // It is the call's no longer: by the time that this would drop, another may have begun.
        std::mem::forget(self);
        state.attempt = Attempt::None;
        state.attempt = ask()?;
        Ok(())
    }
}

impl Drop for Connecting<'_> {
    fn drop(&mut self) {
        let Attempts(state) = self.0;
        lock(state).attempt = Attempt::None;
    }
}

#[cfg(test)]
mod tests {
    use std::{ptr::without_provenance_mut, sync::Barrier, thread, time::Duration};

    use via::{connections::Answer, Error};

    use super::{super::begun::How, *};

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

    /// Of queue 8.
    fn begun() -> Arc<Begun> {
        Begun::new(How::Asked, without_provenance_mut(2), queue(8), without_provenance_mut(77))
    }

    fn begin(attempts: &Attempts, begun: &Arc<Begun>) {
        attempts.begin().unwrap().go_on(|| Ok(Attempt::Queued(Arc::clone(begun)))).unwrap();
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
        assert!(!attempts.end_queued(&begun(), true));
        assert!(refused(&attempts), "neither was its own end");
        attempts.end_peer(&request);
        assert!(attempts.peer().is_none() && !attempts.is_under_way());

        let one = begun();
        begin(&attempts, &one);
        assert!(refused(&attempts));
        assert!(attempts.end_queued(&one, false) && !attempts.end_queued(&one, false));
        assert!(!attempts.is_under_way());
    }

    #[test]
    fn an_event_ends_only_what_it_is_of() {
        let attempts = Attempts::default();
        let (first, second) = (begun(), begun());
        begin(&attempts, &first);
        assert!(attempts.end_by(|| ()).1.is_none(), "it was no connection");
        begin(&attempts, &second);
        assert!(!attempts.end_queued(&first, false) && refused(&attempts));
        assert!(attempts.end_queued(&second, true) && !attempts.is_under_way());
        let connection = attempts.end_by(|| ()).1.unwrap();
        assert!(Arc::ptr_eq(&connection, &second) && attempts.end_by(|| ()).1.is_none());
    }

    #[test]
    fn the_end_of_a_queue_ends_what_it_has_under_way_and_no_connection() {
        let attempts = Attempts::default();
        let is_ended = |number: usize| {
            let mut is_ended = false;
            attempts.end_if_of(queue(number), || is_ended = true);
            is_ended
        };
        begin(&attempts, &begun());
        assert!(!is_ended(16) && refused(&attempts));
        assert!(is_ended(8) && !is_ended(8) && !attempts.is_under_way());
        let connected = begun();
        begin(&attempts, &connected);
        assert!(attempts.end_queued(&connected, true) && !is_ended(8));
    }

    #[test]
    fn an_event_that_is_taken_while_the_queue_ends_finds_it_ended() {
        let attempts = Attempts::default();
        let (ending, one) = (Barrier::new(2), begun());
        begin(&attempts, &one);
        thread::scope(|scope| {
            let taken = scope.spawn(|| {
                ending.wait();
                attempts.end_queued(&one, true)
            });
            attempts.end_if_of(queue(8), || {
                ending.wait();
                // Time for the other thread to come to the lock: it waits there.
                thread::sleep(Duration::from_millis(20));
            });
            assert!(!taken.join().unwrap(), "it would be connected");
        });
        assert!(attempts.end_by(|| ()).1.is_none());
    }

    #[test]
    fn what_a_queue_has_begun_is_found_until_it_is_forgotten() {
        let begun = begun();
        let found = Begun::find(begun.number()).unwrap();
        assert!(Arc::ptr_eq(&found, &begun) && found.context.0 == without_provenance_mut(77));
        let other = self::begun();
        other.forget();
        Begun::forget_all(queue(16));
        assert!(Begun::find(other.number()).is_none() && Begun::find(begun.number()).is_some());
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
        let (asked, one) = (Barrier::new(2), begun());
        thread::scope(|scope| {
            let call = attempts.begin().unwrap();
            let ends = scope.spawn(|| {
                asked.wait();
                attempts.end_queued(&one, false)
            });
            let begun = call.go_on(|| {
                asked.wait();
                // Time for the other thread to come to the lock: it waits there.
                thread::sleep(Duration::from_millis(20));
                Ok(Attempt::Queued(Arc::clone(&one)))
            });
            begun.unwrap();
            assert!(ends.join().unwrap());
        });
        assert!(!attempts.is_under_way());
    }
}
