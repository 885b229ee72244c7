//! Handlers that are called when a queue has something: each once, in the order in which they were given.
//!
//! From the first one that has to wait, a queue has a thread that sleeps until the NIC's interrupt, until a handler is given, or until
//! something is posted to a work queue that was empty.

use std::{
    cell::Cell,
    collections::VecDeque,
    sync::{
        atomic::{AtomicBool, Ordering},
        Condvar, Mutex, MutexGuard, PoisonError,
    },
    thread::JoinHandle,
};

use via::{Error, Return};

use crate::types::Pvoid;

/// The handlers of one queue that wait.
pub struct Notifier<H> {
    state: Mutex<State<H>>,
    changed: Condvar,
    /// There is a thread, which wants to know what is posted.
    served: AtomicBool,
    /// The queue has been destroyed.
    stopped: AtomicBool,
}

struct State<H> {
    waiting: VecDeque<(H, Word)>,
    thread: Option<JoinHandle<()>>,
    /// The thread runs a handler.
    busy: bool,
    /// Posts so far, modulo 2^64.
    pokes: u64,
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
    /// From now on there is a thread, which each post is to tell of.
    fn serve(&self);
    /// Takes what is there.
    fn look(&self) -> Result<Self::Item, Error>;
    /// Takes what comes, unless it is stopped: then it is woken.
    fn wait(&self, stopped: &AtomicBool) -> Result<Self::Item, Error>;
    fn call(&self, handler: Self::Handler, context: Pvoid, item: Self::Item);
}

thread_local! {
    /// This thread runs a handler.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// Whether a handler of a queue's asks.
pub fn is_handler() -> bool {
    IN_HANDLER.get()
}

impl<H> Notifier<H> {
    pub fn new() -> Self {
        let state = State { waiting: VecDeque::new(), thread: None, busy: false, pokes: 0 };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            served: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<H>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State<H>>) -> MutexGuard<'a, State<H>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Handlers that wait are never called. When it returns the thread has ended, unless a handler asks. `wake` wakes whoever
    /// sleeps for the queue.
    pub fn stop(&self, wake: impl FnOnce()) {
        let mut state = self.lock();
        self.stopped.store(true, Ordering::Release);
        state.waiting.clear();
        let thread = state.thread.take();
        self.changed.notify_all();
        drop(state);
        wake();
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }

    /// Whether there is a thread, which wants to know what is posted.
    fn is_served(&self) -> bool {
        self.served.load(Ordering::Acquire)
    }

    /// Something has been put on a queue that may have been empty.
    pub fn poke(&self) {
        // Whoever sees no thread yet has put it there before the thread looks.
        if self.is_served() {
            let mut state = self.lock();
            state.pokes = state.pokes.wrapping_add(1);
            self.changed.notify_all();
        }
    }
}

/// Calls `handler` when the queue has something: now, if it has and nobody is before us; else from a thread.
pub fn notify<Q: Notified>(queue: Q, handler: Q::Handler, context: Pvoid) -> Result<(), Return> {
    let mut state = queue.notifier().lock();
    if queue.notifier().is_stopped() {
        return Err(Return::InvalidParameter);
    }
    // A handler that asks for the next one is not called from within itself: a long queue would be a deep stack.
    if state.waiting.is_empty() && !state.busy && !IN_HANDLER.get() {
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
    queue.notifier().changed.notify_all();
    if state.thread.is_some() {
        return Ok(());
    }
    queue.notifier().served.store(true, Ordering::Release);
    queue.serve();
    let (tell, told) = std::sync::mpsc::channel::<Q>();
    let serve = move || told.iter().for_each(|queue| serve(&queue));
    match viaduct_driver::thread::spawn("vipl-notify", serve) {
        Ok(thread) => state.thread = Some(thread),
        Err(_) => {
            state.waiting.pop_back();
            return Err(Return::ErrorResource);
        }
    }
    drop(state);
    // It listens.
    let _ = tell.send(queue);
    Ok(())
}

/// Serves the handlers until the queue is destroyed.
fn serve<Q: Notified>(queue: &Q) {
    let notifier = queue.notifier();
    loop {
        let mut state = notifier.lock();
        while state.waiting.is_empty() && !notifier.is_stopped() {
            state = notifier.sleep(state);
        }
        if notifier.is_stopped() {
            return;
        }
        let seen = state.pokes;
        drop(state);
        match queue.wait(&notifier.stopped) {
            Ok(item) => {
                let next = {
                    let mut state = notifier.lock();
                    let next = state.waiting.pop_front();
                    state.busy = next.is_some();
                    next
                };
                if let Some((handler, Word(context))) = next {
                    run(queue, handler, context, item);
                }
                notifier.lock().busy = false;
            }
            Err(Error::Timeout) => {}
            Err(Error::Empty) => {
                let mut state = notifier.lock();
                while state.pokes == seen && !notifier.is_stopped() {
                    state = notifier.sleep(state);
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
