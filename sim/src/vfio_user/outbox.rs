//! What waits to be sent to a client. One thread writes the socket, so that messages stay whole
//! whoever makes them: the session replies, the stepping thread asks for memory.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::channel::send;

/// Replies that wait before the session does.
const CROWDED: usize = 64;

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    /// A message is being written.
    writing: bool,
    /// Nothing more is taken or sent.
    closed: bool,
}

/// Messages on their way to a client.
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    shared: Arc<(Mutex<Queue>, Condvar)>,
}

impl Outbox {
    /// Nothing waits.
    pub fn new() -> Self {
        Self::default()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing is half done while the lock is held.
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.shared.1.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message and does not wait. `false`: the client is gone.
    pub fn push(&self, message: Vec<u8>) -> bool {
        let mut queue = self.queue();
        if !queue.closed {
            queue.messages.push_back(message);
            self.shared.1.notify_all();
        }
        !queue.closed
    }

    /// Queues a reply; waits while the client does not read what is there already.
    pub fn reply(&self, message: Vec<u8>) {
        let mut queue = self.queue();
        while queue.messages.len() >= CROWDED && !queue.closed {
            queue = self.wait(queue);
        }
        drop(queue);
        self.push(message);
    }

    /// Writes what is queued to the client's socket until the outbox or the socket is closed.
    pub fn write_to(&self, stream: &UnixStream) {
        loop {
            let message = {
                let mut queue = self.queue();
                queue.writing = false;
                self.shared.1.notify_all();
                loop {
                    if queue.closed {
                        return;
                    }
                    if let Some(message) = queue.messages.pop_front() {
                        queue.writing = true;
                        break message;
                    }
                    queue = self.wait(queue);
                }
            };
            if send(stream, &message).is_err() {
                self.close();
            }
        }
    }

    /// Waits until all has been written, at most this long.
    pub fn drain(&self, patience: Duration) {
        let waits = |queue: &mut Queue| !queue.closed && (queue.writing || !queue.messages.is_empty());
        // Whatever the outcome, there is nothing left to do.
        drop(self.shared.1.wait_timeout_while(self.queue(), patience, waits));
    }

    /// Drops what waits; nothing more is taken.
    pub fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.messages.clear();
        self.shared.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;

    use super::*;

    #[test]
    fn messages_are_written_in_order_and_drained() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let outbox = Outbox::new();
        let writer = {
            let outbox = outbox.clone();
            thread::spawn(move || outbox.write_to(&ours))
        };
        for n in 0..200u8 {
            outbox.reply(vec![n; 3]);
        }
        outbox.drain(Duration::from_secs(5));
        outbox.close();
        writer.join().unwrap();
        let mut found = Vec::new();
        theirs.read_to_end(&mut found).unwrap();
        assert_eq!(found, (0..200).flat_map(|n| [n; 3]).collect::<Vec<u8>>());
        assert!(!outbox.push(vec![1]));
    }

    #[test]
    fn a_client_that_reads_nothing_holds_up_replies_only() {
        let outbox = Outbox::new();
        for _ in 0..CROWDED {
            outbox.reply(vec![0]);
        }
        assert!(outbox.push(vec![1]), "does not wait");
        let waiting = {
            let outbox = outbox.clone();
            thread::spawn(move || outbox.reply(vec![2]))
        };
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        outbox.close();
        waiting.join().unwrap();
    }
}
