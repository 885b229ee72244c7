//! Handlers that are called when a queue has something: each once, in the order in which they were given.

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::ThreadId,
    time::Duration,
};

use via::{Error, Return};

use crate::types::Pvoid;

/// How long the thread waits before it looks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(50);

/// The handlers of one queue that wait.
pub struct Notifier<H> {
    state: Mutex<State<H>>,
    changed: Condvar,
}

struct State<H> {
    waiting: VecDeque<(H, Word)>,
    /// The thread that serves them, while there is one.
    thread: Option<ThreadId>,
    /// The queue has been destroyed.
    stopped: bool,
}

/// A word of the program's.
#[derive(Clone, Copy)]
struct Word(Pvoid);

// SAFETY: the library only gives it back.
unsafe impl Send for Word {}

/// A queue that handlers are called for.
pub trait Notified: Send + 'static {
    type Handler: Copy + Send;
    type Item;

    fn notifier(&self) -> &Notifier<Self::Handler>;
    /// Takes what is there.
    fn look(&self) -> Result<Self::Item, Error>;
    /// Takes what comes in this time.
    fn wait(&self, time: Duration) -> Result<Self::Item, Error>;
    fn call(&self, handler: Self::Handler, context: Pvoid, item: Self::Item);
}

thread_local! {
    /// This thread runs a handler.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

impl<H> Notifier<H> {
    pub fn new() -> Self {
        let state = State { waiting: VecDeque::new(), thread: None, stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<H>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handlers that wait are never called. Returns when none runs, unless one of them asks.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.waiting.clear();
        self.changed.notify_all();
        let own = std::thread::current().id();
        while state.thread.is_some_and(|thread| thread != own) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Something may have been put on a queue that was empty.
    pub fn poke(&self) {
        // A thread that waits for it looks again by itself, too.
        self.changed.notify_all();
    }
}

/// Calls `handler` when the queue has something: now, if it has and nobody is before us; else from a thread.
pub fn notify<Q: Notified>(queue: Q, handler: Q::Handler, context: Pvoid) -> Result<(), Return> {
    let mut state = queue.notifier().lock();
    if state.stopped {
        return Err(Return::InvalidParameter);
    }
    // A handler that asks for the next one is not called from within itself: a long queue would be a deep stack.
    if state.waiting.is_empty() && state.thread.is_none() && !IN_HANDLER.get() {
        match queue.look() {
            Ok(item) => {
                drop(state);
                run(&queue, handler, context, item);
                return Ok(());
            }
            Err(Error::NotDone | Error::Empty) => {}
            Err(error) => return Err(error.code()),
        }
    }
    state.waiting.push_back((handler, Word(context)));
    if state.thread.is_some() {
        return Ok(());
    }
    drop(state);
    start(queue)
}

/// Starts the thread, if nobody else has meanwhile.
fn start<Q: Notified>(queue: Q) -> Result<(), Return> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("vipl-notify".into()).spawn(move || {
        let own = std::thread::current().id();
        let mut state = queue.notifier().lock();
        let first = state.thread.is_none();
        if first {
            state.thread = Some(own);
        }
        drop(state);
        let _ = tell.send(());
        if first {
            serve(&queue);
        }
    });
    thread.map_err(|_| Return::ErrorResource)?;
    let _ = told.recv();
    Ok(())
}

/// Serves the handlers until none waits.
fn serve<Q: Notified>(queue: &Q) {
    let notifier = queue.notifier();
    loop {
        let mut state = notifier.lock();
        if state.waiting.is_empty() {
            state.thread = None;
            notifier.changed.notify_all();
            return;
        }
        drop(state);
        match queue.wait(SLICE) {
            Ok(item) => {
                let next = notifier.lock().waiting.pop_front();
                if let Some((handler, Word(context))) = next {
                    run(queue, handler, context, item);
                }
            }
            Err(Error::Timeout) => {}
            Err(Error::Empty) => {
                let state = notifier.lock();
                if !state.stopped {
                    drop(notifier.changed.wait_timeout(state, SLICE));
                }
            }
            // The NIC is gone: nothing comes any more.
            Err(_) => notifier.lock().waiting.clear(),
        }
    }
}

fn run<Q: Notified>(queue: &Q, handler: Q::Handler, context: Pvoid, item: Q::Item) {
    let before = IN_HANDLER.replace(true);
    queue.call(handler, context, item);
    IN_HANDLER.set(before);
}
