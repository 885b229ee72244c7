//! What a connection queue has begun for a VI.

use std::sync::Arc;

use crate::{handles::Table, types::Pvoid, word::Word};

/// What connection queues have begun, until its last event is taken, none comes of it any more, or its queue ends. The library's word for it is its
/// handle, which no program gets.
static BEGUN: Table<Begun> = Table::new(0);

/// How a connection queue brings a VI to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its program has asked.
    Asked,
    /// Its program has accepted.
    Accepted,
}

/// An attempt at a connection, and the connection that comes of it.
#[derive(Debug)]
pub struct Begun {
    own: Word,
    /// How it was begun.
    pub how: How,
    /// The handle of the VI.
    pub vi: Word,
    /// The handle of the queue.
    pub queue: Word,
    /// The program's word for it.
    pub context: Word,
}

impl Begun {
    /// One that is found from now on.
    pub fn new(how: How, vi: Pvoid, queue: Pvoid, context: Pvoid) -> Arc<Self> {
        let own = BEGUN.next();
        let [vi, queue, context] = [vi, queue, context].map(Word);
        let begun = Arc::new(Self { own: Word(own), how, vi, queue, context });
        // The handle is the table's own.
        let _ = BEGUN.insert(own, Arc::clone(&begun));
        begun
    }

    /// What the library is told to call it.
    pub fn number(&self) -> u64 {
        self.own.number()
    }

    /// What the library calls so; None: nobody is to hear of it any more.
    pub fn find(number: u64) -> Option<Arc<Self>> {
        BEGUN.get(Word::of(number).0).ok()
    }

    /// Nothing comes of it any more.
    pub fn forget(&self) {
        // It may be forgotten already.
        let _ = BEGUN.remove(self.own.0, |_| Ok(()));
    }

    /// Nobody hears what comes of what this queue has begun.
    pub fn forget_all(queue: Pvoid) {
        drop(BEGUN.remove_all(|begun| begun.queue.0 == queue));
    }
}
