//! A wait ends in time, and a look that finds nothing keeps nobody waiting.

use std::{
    sync::{atomic::Ordering, mpsc::channel},
    time::{Duration, Instant},
};

use viaduct_driver::device::Polling;
use viaduct_spec::descriptor::status;
use vipl::Error;

use super::{bench, descriptor, paper::complete};

#[test]
#[cfg_attr(miri, ignore = "too many looks for Miri")]
fn a_wait_ends_in_time_and_at_once_when_the_device_is_gone() {
    let bench = bench();
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    let start = Instant::now();
    assert!(matches!(bench.vi.recv_wait(Some(Duration::from_millis(50))), Err(Error::Timeout)));
    assert!(start.elapsed() >= Duration::from_millis(50) && start.elapsed() < Duration::from_secs(2));
    bench.paper.burn();
    let start = Instant::now();
    let error = bench.vi.recv_wait(None).expect_err("nobody completes it");
    assert!(error.is_gone() && error.to_string().contains("it burnt"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
#[cfg_attr(miri, ignore = "too many looks for Miri")]
fn a_done_that_finds_nothing_pauses_only_where_time_passes_in_that() {
    const LOOKS: usize = 5000;
    let bench = bench();
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    for (polling, pauses) in [(Polling::Spin, 0), (Polling::Yield, 0), (Polling::Pause, 2 * (LOOKS - 64))] {
        let cq = bench.nic.create_cq(4).expect("a queue");
        *bench.paper.polling.lock().expect("no panic") = polling;
        let before = bench.paper.pauses.load(Ordering::SeqCst);
        for _ in 0..LOOKS {
            assert!(matches!(bench.vi.recv_done(), Err(Error::NotDone)));
            assert!(matches!(cq.done(), Err(Error::NotDone)));
        }
        assert_eq!(bench.paper.pauses.load(Ordering::SeqCst) - before, pauses, "{polling:?}");
        // What is found ends the row of misses.
        complete(&bench.memory, 0, 0, status::DONE | status::OP_RECEIVE);
        let head = bench.vi.recv_done().expect("complete");
        bench.vi.post_recv(head).expect("room");
    }
    complete(&bench.memory, 0, 0, status::DONE | status::OP_RECEIVE);
}

#[test]
#[cfg_attr(miri, ignore = "it waits for other threads")]
fn done_does_not_wait_behind_a_post_that_the_device_is_slow_to_take() {
    let bench = bench();
    bench.vi.post_recv(descriptor(&bench, 0)).expect("room");
    std::thread::scope(|scope| {
        // Dropped before the threads are waited for, also in a panic.
        let slow = bench.paper.slow.lock().expect("no panic");
        let next = descriptor(&bench, 64);
        scope.spawn(|| bench.vi.post_recv(next).expect("room"));
        while bench.paper.doorbells.doorbells.lock().expect("no panic").len() < 2 {
            std::thread::yield_now();
        }
        // It is in its call. What is complete is found, and so is that nothing else is.
        complete(&bench.memory, 0, 5, status::DONE | status::OP_RECEIVE);
        let (tell, told) = channel();
        let bench = &bench;
        scope.spawn(move || {
            tell.send(bench.vi.recv_done().map(|head| head.length())).expect("it listens");
            tell.send(bench.vi.recv_done().map(|head| head.length())).expect("it listens");
        });
        let soon = Duration::from_secs(10);
        assert_eq!(told.recv_timeout(soon).expect("at once").expect("complete"), 5);
        assert!(matches!(told.recv_timeout(soon).expect("at once"), Err(Error::NotDone)));
        drop(slow);
    });
    complete(&bench.memory, 64, 0, status::DONE | status::OP_RECEIVE);
}
