//! A client that does nothing but what it may, and looks closely at what becomes of it.

use std::sync::atomic::{AtomicBool, Ordering};

use vipl::Nic;

use crate::stage::{connected, Stage, BUFFER, LONG};

/// Messages of a NIC to itself, so many: each byte and each completion is looked at, and nothing happens that is not of them.
///
/// # Panics
/// Something is not as it was sent.
pub fn honest(nic: &Nic, rounds: usize) {
    let (one, other) = connected(nic, nic);
    for round in 0..rounds {
        let message: Vec<u8> = (0..200 + round % 3000).map(|n| (n * 31 + round) as u8).collect();
        other.post_recv(1, BUFFER, 8192);
        one.send(0, BUFFER, &message);
        let received = other.vi.recv_wait(Some(LONG)).expect("it arrives");
        assert_eq!(received.length(), message.len());
        assert_eq!(other.bytes(BUFFER, message.len()), message, "round {round}");
        let sent = one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
        assert_eq!(sent.length(), message.len(), "round {round}");
        // Nobody completes what was not posted, nor twice.
        assert!(other.vi.recv_done().is_err() && one.vi.send_done().is_err(), "round {round}");
    }
    let events = nic.take_events().expect("it answers");
    assert!(events.is_empty(), "{events:?}");
}

/// Runs an honest client beside `deed`.
///
/// # Panics
/// The deed disturbs it.
pub fn beside_an_honest_client(stage: &Stage, deed: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    std::thread::scope(|scope| {
        let honest = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                honest(&nic, 20);
            }
            honest(&nic, 20);
        });
        // Also when it panics.
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let end = End(&done);
        deed();
        drop(end);
        honest.join().expect("nothing disturbs it");
    });
}
