//! Descriptors that programs wait on: what arms them, what signals them, and in which order. The device here moves nothing by itself; each test says
//! what happens at which arm word. That a NIC's completions come through is tested over models (`tests/viad/tests/waiting.rs`).

use std::{
    os::fd::BorrowedFd,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex,
    },
    time::Duration,
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    time::Timespec,
};
use viaduct_spec::doorbell::cq_page;
use vipl::{Error, Return};

mod paper;
use paper::{Doorbells, Paper};

/// VIs of paper: the pages of completion queues are behind theirs.
const VIS: u64 = 4;
const PAGE: u64 = 4096;
const LONG: Duration = Duration::from_secs(60);

/// Raises vectors when somebody arms a completion queue.
#[derive(Default)]
struct Raiser {
    at_arm: Mutex<Option<usize>>,
    arms: AtomicUsize,
}

impl Doorbells for Raiser {
    fn store(&self, paper: &Paper<Self>, offset: u64, _: u64) {
        // The first queue is the agent's, for events.
        if offset >= (VIS + 1) * PAGE && offset % PAGE == cq_page::ARM {
            self.arms.fetch_add(1, Ordering::SeqCst);
            if let Some(vector) = self.at_arm.lock().expect("no panic").take() {
                paper.raise(vector);
            }
        }
    }
}

fn is_readable(file: BorrowedFd<'_>, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).expect("a time");
    poll(&mut [PollFd::from_borrowed_fd(file, PollFlags::IN)], Some(&limit)).expect("a descriptor") == 1
}

#[test]
fn what_is_raised_at_the_arm_word_is_not_lost_and_what_was_raised_before_is_cleared() {
    let device = Paper::new(4, Raiser::default());
    let nic = device.nic();
    let cq = nic.create_cq(4).expect("a queue");
    let file = cq.fd().expect("it has interrupts");
    // Queue 1, where three vectors are for queues.
    let vector = 2;
    device.raise(vector);
    assert!(is_readable(file, LONG));
    cq.arm().expect("it has interrupts");
    assert!(!is_readable(file, Duration::ZERO), "it says nothing of before");
    for _ in 0..200 {
        *device.at_arm.lock().expect("no panic") = Some(vector);
        cq.arm().expect("it has interrupts");
        assert!(is_readable(file, LONG));
    }
    assert_eq!(device.arms.load(Ordering::SeqCst), 201);
    assert!(matches!(cq.done(), Err(Error::NotDone)), "spurious, as it may be");
}

#[test]
fn each_queue_of_a_vector_has_its_own_and_a_wake_without_the_nic_is_one() {
    let device = Paper::new(2, Raiser::default());
    let nic = device.nic();
    let cqs = [(); 2].map(|()| nic.create_cq(4).expect("a queue"));
    let files = cqs.each_ref().map(|cq| cq.fd().expect("it has interrupts"));
    device.raise(1);
    assert!(files.iter().all(|file| is_readable(*file, LONG)));
    cqs[0].arm().expect("it has interrupts");
    assert!(!is_readable(files[0], Duration::ZERO) && is_readable(files[1], Duration::ZERO));
    cqs[1].arm().expect("it has interrupts");
    cqs[0].wake();
    assert!(is_readable(files[0], Duration::ZERO));
    // Events have a vector of their own.
    let events = nic.events_fd().expect("it has interrupts");
    assert!(!is_readable(events, Duration::ZERO));
    device.raise(0);
    assert!(is_readable(events, LONG));
    nic.arm_events().expect("it has interrupts");
    assert!(!is_readable(events, Duration::ZERO));
}

#[test]
fn without_interrupts_there_is_no_descriptor_and_that_is_said() {
    let device = Paper::new(0, Raiser::default());
    let nic = device.nic();
    let cq = nic.create_cq(4).expect("a queue");
    let errors = [cq.fd().err(), cq.arm().err(), nic.events_fd().err(), nic.arm_events().err()];
    for error in errors {
        let error = error.expect("nobody would be woken");
        assert_eq!(error.code(), Return::ErrorNotSupported);
        assert!(error.to_string().contains("without interrupts"), "{error}");
    }
}
