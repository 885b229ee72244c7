//! What the threads of the queues and waits have in common: atomics, fences, locks, and how a thread lets others run. They are the standard
//! library's.
//!
//! In a build with `--cfg loom` they are those of the model checker loom, which runs the code that uses them in every order that its
//! threads can take. Such a build is for the modules `models` of this crate and of `vipl-c`, and for nothing else: atomics in memory that another
//! process maps are not loom's. The models judge happens-before of acquire and release, and SeqCst fences. They do not judge a
//! SeqCst access, which loom takes for an acquire or a release; the code relies on fences instead. Loads that see a later store of another thread
//! (load buffering) loom does not try. And what a device sees is none of its business: `barrier.rs`.

#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    process::abort,
    sync::{
        atomic::{fence, AtomicU32, AtomicU64, AtomicUsize},
        Condvar, Mutex, MutexGuard,
    },
    thread::{sleep, yield_now},
};

#[cfg(loom)]
mod modelled;
#[cfg(loom)]
pub use modelled::*;
