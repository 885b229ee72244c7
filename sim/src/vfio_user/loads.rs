//! Loads that are under way. The session goes on meanwhile with other loads and posted stores, and whoever steps the NIC replies.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use viaduct_driver::vfio_user::message::Header;

use super::outbox::Outbox;

/// Loads under way at most; who wants one more waits.
const MOST_LOADS: usize = 64;

/// How many loads of a client are under way.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    shared: Arc<(Mutex<usize>, Condvar)>,
}

impl Loads {
    fn count(&self) -> MutexGuard<'_, usize> {
        // A number is never half changed.
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, most: usize) -> MutexGuard<'_, usize> {
        let wait = self.shared.1.wait_while(self.count(), |count| *count > most);
        wait.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until none is under way: what comes next may change what they would find.
    pub fn wait(&self) {
        drop(self.wait_for(0));
    }

    /// One more; waits while there are too many. The reply to `header` has `body`, and behind it `size` bytes of what the load gives.
    pub fn begin(&self, outbox: &Outbox, header: Header, body: Vec<u8>, size: usize) -> Load {
        *self.wait_for(MOST_LOADS - 1) += 1;
        Load { loads: self.clone(), outbox: outbox.clone(), header, body: Some(body), size }
    }
}

/// A load that is under way. If it is dropped, because the simulation has ended, the client hears that there is no device.
pub struct Load {
    loads: Loads,
    outbox: Outbox,
    header: Header,
    /// None: the reply is sent.
    body: Option<Vec<u8>>,
    size: usize,
}

impl Load {
    /// The load has given this: replies.
    pub fn reply(mut self, value: u64) {
        if let Some(mut body) = self.body.take() {
            body.extend_from_slice(&value.to_le_bytes()[..self.size]);
            self.send(self.header.reply(&body));
        }
    }

    fn send(&self, reply: Vec<u8>) {
        if !self.header.no_reply() {
            // Where the client is gone, nobody wants it.
            let _ = self.outbox.push(reply);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.body.is_some() {
            self.send(self.header.failure(Errno::NODEV));
        }
        *self.loads.count() -= 1;
        self.loads.shared.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    use viaduct_driver::vfio_user::message::Command;

    use super::super::channel::receive;
    use super::*;

    fn header() -> Header {
        Header::command(7, Command::RegionRead, false)
    }

    #[test]
    fn each_load_is_answered_once_and_who_waits_waits_for_all() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (loads, outbox) = (Loads::default(), Outbox::new(Arc::new(ours)));
        let begin = || loads.begin(&outbox, header(), vec![1, 2], 4);
        let (answered, dropped) = (begin(), begin());
        assert_eq!(*loads.count(), 2);
        answered.reply(0x0807_0605_0403);
        drop(dropped);
        loads.wait();
        let reply = receive(&theirs).unwrap();
        assert!(!reply.header.is_failure());
        assert_eq!(reply.body, [1, 2, 3, 4, 5, 6]);
        let refusal = receive(&theirs).unwrap();
        assert!(refusal.header.is_failure());
    }

    #[test]
    fn one_too_many_waits() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let (loads, outbox) = (Loads::default(), Outbox::new(Arc::new(ours)));
        let mut begun: Vec<_> =
            (0..MOST_LOADS).map(|_| loads.begin(&outbox, header(), Vec::new(), 8)).collect();
        thread::scope(|scope| {
            let last = scope.spawn(|| drop(loads.begin(&outbox, header(), Vec::new(), 8)));
            thread::sleep(Duration::from_millis(20));
            assert!(!last.is_finished());
            begun.pop();
            last.join().unwrap();
        });
        drop(begun);
        loads.wait();
    }
}
