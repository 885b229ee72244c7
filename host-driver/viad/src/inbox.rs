//! What a session is told without having asked: asynchronous errors of its VIs, and events of its connections. They wait here until
//! it fetches them; a page of its own tells it that there are some.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
    },
};

use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use viaduct_driver::{
    cm::{self, ConnectionId, EventQueue, ListenerId},
    kernel_agent::Event,
    viad::{
        notice::{Notice, CONNECTION_EVENTS, EVENTS},
        protocol::{MOST_CONNECTION_EVENTS, MOST_EVENTS},
        socket,
    },
};

/// The most connection events that wait: a client that fetches none loses the oldest.
const MOST_WAITING: usize = 1024;

/// A session's inbox.
#[derive(Debug)]
pub struct Inbox {
    /// Tells sessions apart.
    pub session: u64,
    errors: Mutex<VecDeque<Event>>,
    connection_events: Mutex<EventQueue>,
    notice: Notice,
    /// viad's end of the socket by which it says that something was raised, if the session has asked for that.
    watch: OnceLock<OwnedFd>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Lists: what a thread that panicked left is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// An empty one; the descriptor of its page.
    pub fn new() -> io::Result<(Arc<Self>, OwnedFd)> {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let (notice, file) = Notice::create()?;
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let (errors, connection_events, watch) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Ok((Arc::new(Self { session, errors, connection_events, notice, watch }), file))
    }

    /// An asynchronous error. A client that fetches none loses the oldest. One that is there already is not there twice: whoever
    /// makes a flood of them makes one.
    pub fn put_error(&self, event: Event) {
        let mut errors = lock(&self.errors);
        if errors.contains(&event) {
            return;
        }
        if errors.len() >= MOST_EVENTS {
            errors.pop_front();
        }
        errors.push_back(event);
        drop(errors);
        self.notice.raise(EVENTS);
        self.wake();
    }

    /// The client's end of the socket by which viad says from now on that something was raised; None: it has one already. It is a socket and no
    /// eventfd, because a client can make that block for viad, too.
    pub fn watch(&self) -> io::Result<Option<OwnedFd>> {
        let (own, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok(self.watch.set(own).is_ok().then_some(theirs))
    }

    /// Something was raised in a page that the session sees. It does not wait: a client that does not read has been told.
    fn wake(&self) {
        if let Some(watch) = self.watch.get() {
            let _ = socket::send(watch, &[1], &[]);
        }
    }

    /// Fetches the errors, oldest first.
    pub fn take_errors(&self) -> Vec<Event> {
        lock(&self.errors).drain(..).collect()
    }

    /// An event of a connection's.
    pub fn put_connection_event(&self, event: cm::Event) {
        lock(&self.connection_events).push_within(event, MOST_WAITING);
        self.notice.raise(CONNECTION_EVENTS);
        self.wake();
    }

    /// Fetches events of connections, oldest first, as many as fit a reply.
    pub fn take_connection_events(&self) -> Vec<cm::Event> {
        lock(&self.connection_events).take_some(MOST_CONNECTION_EVENTS)
    }

    /// Nothing more is asked about a connection.
    pub fn forget(&self, id: ConnectionId) {
        lock(&self.connection_events).forget(id);
    }

    /// A request that this listener got, and nobody has fetched.
    pub fn take_request(&self, own: ListenerId) -> Option<ConnectionId> {
        let is =
            |event: &cm::Event| matches!(event, cm::Event::Incoming { listener, .. } if *listener == own);
        lock(&self.connection_events).take(is).map(|event| event.id())
    }
}

/// The sessions that are told when a vector is raised.
#[derive(Debug, Default)]
pub struct Watchers(Mutex<Vec<Weak<Inbox>>>);

impl Watchers {
    /// One more, as long as it lives.
    pub fn add(&self, inbox: &Arc<Inbox>) {
        let mut all = lock(&self.0);
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(inbox));
    }

    /// A vector was raised in the common page.
    pub fn wake(&self) {
        lock(&self.0).iter().filter_map(Weak::upgrade).for_each(|inbox| inbox.wake());
    }
}

#[cfg(test)]
mod tests {
    use viaduct_spec::register::event_code;

    use super::*;

    #[test]
    fn a_flood_of_one_error_is_one() {
        let (inbox, _page) = Inbox::new().expect("memory");
        let event = |vi| Event { code: event_code::RECVQ_EMPTY, vi, life: 1, receive: true, broke: false };
        for round in 0..10_000 {
            inbox.put_error(event(round % 3));
        }
        assert_eq!(inbox.take_errors(), [event(0), event(1), event(2)]);
        for vi in 0..MOST_EVENTS as u16 + 5 {
            inbox.put_error(event(vi));
        }
        let taken = inbox.take_errors();
        assert_eq!((taken.len(), taken[0]), (MOST_EVENTS, event(5)));
    }

    #[test]
    fn who_watches_is_told_and_who_does_not_read_stops_nobody() {
        let (inbox, _page) = Inbox::new().expect("memory");
        let watchers = Watchers::default();
        let theirs = inbox.watch().expect("a socket").expect("the first one");
        assert!(inbox.watch().expect("a socket").is_none(), "one for a session");
        watchers.add(&inbox);
        // Far more than a socket takes.
        for _ in 0..100_000 {
            watchers.wake();
        }
        let mut told = [0; 64];
        assert_eq!(rustix::io::read(&theirs, &mut told).expect("it was told"), 64);
        inbox.put_error(Event { code: event_code::CONN_LOST, vi: 1, life: 1, receive: true, broke: false });
        drop((watchers, inbox));
        // What was said is there to be read; then it has ended.
        while rustix::io::read(&theirs, &mut told).expect("a socket") > 0 {}
    }
}
