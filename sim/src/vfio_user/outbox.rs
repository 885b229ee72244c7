//! What is to be sent to a client. Messages stay whole and in order whoever makes them: the session replies, the stepping thread asks for
//! memory. Who has a message sends it at once if the socket takes it; what it does not take the writer sends, a thread that may wait for the client.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::channel::{send, send_now};

/// Messages that wait before the session does.
const CROWDED: usize = 64;

#[derive(Debug, Default)]
struct Queue {
    /// Messages that wait. A part of the first one may have been sent: that part is not here any more.
    messages: VecDeque<Vec<u8>>,
    /// The writer sends a message.
    writing: bool,
    /// Nothing more is taken or sent.
    closed: bool,
}

/// Messages on their way to a client.
#[derive(Debug, Clone)]
pub struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    stream: Arc<UnixStream>,
}

impl Outbox {
    /// Nothing waits for this client's socket.
    pub fn new(stream: Arc<UnixStream>) -> Self {
        Self { shared: Arc::new(Shared { queue: Mutex::default(), changed: Condvar::new(), stream }) }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing is half done while the lock is held.
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the client does not read what is there already: who is about to make it more calls this.
    pub fn wait_for_room(&self) {
        let mut queue = self.queue();
        while queue.messages.len() >= CROWDED && !queue.closed {
            queue = self.wait(queue);
        }
    }

    /// Sends a message, or queues it, and does not wait. `false`: the client is gone.
    pub fn push(&self, mut message: Vec<u8>) -> bool {
        let mut queue = self.queue();
        if queue.closed {
            return false;
        }
        if queue.messages.is_empty() && !queue.writing {
            match send_now(&self.shared.stream, &message) {
                Ok(count) => drop(message.drain(..count)),
                Err(_) => {
                    self.end(&mut queue);
                    return false;
                }
            }
        }
        if !message.is_empty() {
            queue.messages.push_back(message);
            self.shared.changed.notify_all();
        }
        true
    }

    /// What the writer does: sends what is queued, and waits for the client, until the outbox or the socket is closed.
    pub fn write(&self) {
        loop {
            let message = {
                let mut queue = self.queue();
                queue.writing = false;
                self.shared.changed.notify_all();
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
            if send(&self.shared.stream, &message).is_err() {
                self.close();
            }
        }
    }

    /// Waits until all has been sent, at most this long.
    pub fn drain(&self, patience: Duration) {
        let waits = |queue: &mut Queue| !queue.closed && (queue.writing || !queue.messages.is_empty());
        // Whatever the outcome, there is nothing left to do.
        drop(self.shared.changed.wait_timeout_while(self.queue(), patience, waits));
    }

    /// Drops what waits, and closes the socket; nothing more is taken.
    pub fn close(&self) {
        self.end(&mut self.queue());
    }

    /// Under the lock, so that nobody sends anything behind a part of a message.
    fn end(&self, queue: &mut Queue) {
        queue.closed = true;
        queue.messages.clear();
        self.shared.changed.notify_all();
        // It may be closed already.
        let _ = self.shared.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;

    use super::*;

    fn outbox() -> (Outbox, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Outbox::new(Arc::new(ours)), theirs)
    }

    /// More than a socket takes.
    const LARGE: usize = 4 << 20;

    #[test]
    fn a_message_is_sent_by_who_has_it() {
        let (outbox, mut theirs) = outbox();
        assert!(outbox.push(vec![1, 2]));
        assert!(outbox.push(vec![3]));
        let mut found = [0; 3];
        theirs.read_exact(&mut found).unwrap();
        assert_eq!(found, [1, 2, 3]);
    }

    #[test]
    fn messages_are_sent_in_order_and_drained() {
        let (outbox, mut theirs) = outbox();
        let writer = {
            let outbox = outbox.clone();
            thread::spawn(move || outbox.write())
        };
        let reader = thread::spawn(move || {
            let mut found = Vec::new();
            theirs.read_to_end(&mut found).unwrap();
            found
        });
        let mut expected = Vec::new();
        for n in 0..200u8 {
            // Some of them wait, and those behind them.
            let message = vec![n; if n % 50 == 7 { LARGE } else { 3 }];
            expected.extend_from_slice(&message);
            outbox.wait_for_room();
            assert!(outbox.push(message));
        }
        outbox.drain(Duration::from_secs(60));
        outbox.close();
        writer.join().unwrap();
        assert!(!outbox.push(vec![1]));
        drop(outbox);
        assert!(reader.join().unwrap() == expected);
    }

    #[test]
    fn a_client_that_reads_nothing_holds_up_who_waits_for_room() {
        let (outbox, _theirs) = outbox();
        assert!(outbox.push(vec![0; LARGE]));
        for _ in 1..CROWDED {
            outbox.wait_for_room();
            assert!(outbox.push(vec![0]), "does not wait");
        }
        let waiting = {
            let outbox = outbox.clone();
            thread::spawn(move || outbox.wait_for_room())
        };
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        outbox.close();
        waiting.join().unwrap();
    }

    #[test]
    fn a_client_that_is_gone_is_noticed() {
        let (outbox, theirs) = outbox();
        drop(theirs);
        assert!(!outbox.push(vec![0]));
        assert!(!outbox.push(vec![0]));
    }
}
