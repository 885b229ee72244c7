//! Frames on their way to a peer: the stepping thread puts them in and never waits, a writing thread takes them out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;

/// Bytes that wait from which on the port asks the switch for silence: as many as the switch keeps for a port before it asks the others.
const CROWDED: usize = 64 << 10;

/// The end that frames are put into. When it is dropped, the writing thread ends behind the last one.
#[derive(Debug)]
pub struct Outbox {
    frames: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// The end that frames are taken out of.
#[derive(Debug)]
pub struct Outgoing {
    frames: Receiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

impl Outbox {
    /// Both ends; nothing waits.
    pub fn new() -> (Self, Outgoing) {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        (Self { frames: sender, waiting: waiting.clone() }, Outgoing { frames: receiver, waiting })
    }

    /// Puts a frame in. `false`: the peer is gone.
    pub fn push(&self, frame: Vec<u8>) -> bool {
        self.waiting.fetch_add(frame.len(), Ordering::Relaxed);
        self.frames.send(frame).is_ok()
    }

    /// Whether so much waits that the switch should keep what it has.
    pub fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= CROWDED
    }
}

impl Outgoing {
    /// Gives each frame to `write`, in order, until that fails or the other end is gone.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn drain<E>(self, mut write: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        while let Ok(frame) = self.frames.recv() {
            write(&frame)?;
            self.waiting.fetch_sub(frame.len(), Ordering::Relaxed);
        }
        Ok(())
    }
}
