//! How a wait sleeps: what it asks of the device, in which order, and what wakes it. The device here moves
//! nothing by itself; each test says what happens at which arm word. That a NIC does so is tested on the RTL.

use std::{
    collections::VecDeque,
    sync::{atomic::Ordering, Arc, Mutex},
    time::{Duration, Instant},
};

use viaduct_spec::{
    descriptor::status,
    doorbell::{arm, page},
};
use vipl::{Descriptor, Error, MemAttributes, Ptag, Region, Vi, ViAttributes};

mod paper;
use paper::{complete, Doorbells, Paper};

type Deed = Box<dyn FnOnce(&Paper<Puppet>) + Send>;

/// Does what it is told when somebody arms.
#[derive(Default)]
struct Puppet {
    /// Arm words: offset in the doorbell page, position, sequence.
    arms: Mutex<Vec<(u64, u64, u64)>>,
    /// What happens at the next arm words.
    script: Mutex<VecDeque<Deed>>,
}

impl Puppet {
    fn at_arm(&self, deed: impl FnOnce(&Paper<Self>) + Send + 'static) {
        self.script.lock().expect("no panic").push_back(Box::new(deed));
    }

    fn arms(&self) -> Vec<(u64, u64, u64)> {
        self.arms.lock().expect("no panic").clone()
    }
}

impl Doorbells for Puppet {
    fn store(&self, paper: &Paper<Self>, offset: u64, value: u64) {
        if offset % 4096 < page::SEND_ARM {
            return;
        }
        let word = (offset, arm::POSITION.get(&[value]), arm::SEQUENCE.get(&[value]));
        self.arms.lock().expect("no panic").push(word);
        let deed = self.script.lock().expect("no panic").pop_front();
        if let Some(deed) = deed {
            deed(paper);
        }
    }
}

/// A VI with a queue of receives, and the device below it.
struct Stage {
    device: Arc<Paper<Puppet>>,
    vi: Vi,
    region: Region,
    _ptag: Ptag,
}

const LONG: Option<Duration> = Some(Duration::from_secs(60));
/// Vector of the first receive queue, where there are four: 1 + 1 % 3.
const VECTOR: usize = 2;

impl Stage {
    fn new(vectors: usize) -> Self {
        let device = Paper::new(vectors, Puppet::default());
        let nic = device.nic();
        let ptag = nic.create_ptag().expect("a tag");
        let region = nic.allocate(4096, &MemAttributes::new(&ptag)).expect("memory");
        let vi = nic.create_vi(&ViAttributes { depth: 8, ..ViAttributes::new(&ptag) }).expect("a VI");
        Self { device, vi, region, _ptag: ptag }
    }

    /// Posts a receive with its descriptor at place `place`.
    fn post(&self, place: usize) {
        let descriptor = Descriptor::new().build(&self.region, 64 * place).expect("a place");
        self.vi.post_recv(descriptor).expect("room");
    }

    /// What completes the receive at `place`, as a NIC would.
    fn completion(&self, place: usize) -> impl FnOnce() + Send + 'static {
        let region = self.region.clone();
        move || complete(&region, 64 * place, 0, status::DONE | status::OP_RECEIVE)
    }

    fn checks(&self) -> usize {
        self.device.checks.load(Ordering::SeqCst)
    }

    fn pauses(&self) -> usize {
        self.device.pauses.load(Ordering::SeqCst)
    }
}

#[test]
fn a_completion_before_the_last_look_needs_no_interrupt() {
    let stage = Stage::new(4);
    stage.post(0);
    let complete = stage.completion(0);
    stage.device.at_arm(move |_| complete());
    stage.vi.recv_wait(LONG).expect("it completes");
    assert_eq!(stage.device.arms(), [(page::RECEIVE_ARM, 0, 1)]);
    // Who sleeps in vain asks whether the device lives.
    assert_eq!((stage.checks(), stage.pauses()), (0, 0));
}

#[test]
fn an_interrupt_before_the_sleep_ends_it_and_others_interrupts_arm_anew() {
    let stage = Stage::new(4);
    stage.post(0);
    for _ in 0..20 {
        stage.device.at_arm(|device| device.raise(VECTOR));
    }
    let complete = stage.completion(0);
    stage.device.at_arm(move |device| {
        complete();
        device.raise(VECTOR);
    });
    stage.vi.recv_wait(LONG).expect("it completes");
    let arms = stage.device.arms();
    // Each interrupt wakes once; some may be heard as one.
    assert!((2..=21).contains(&arms.len()), "{arms:?}");
    assert!(arms.iter().zip(1..).all(|(arm, n)| *arm == (page::RECEIVE_ARM, 0, n)), "{arms:?}");
    assert_eq!((stage.checks(), stage.pauses()), (0, 0), "no interrupt was slept through");
}

#[test]
fn an_interrupt_wakes_who_sleeps() {
    let stage = Stage::new(4);
    stage.post(0);
    let complete = stage.completion(0);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| stage.vi.recv_wait(LONG));
        while stage.device.arms().is_empty() {
            std::thread::yield_now();
        }
        // By now it sleeps, most likely; if not, nothing below is different.
        std::thread::sleep(Duration::from_millis(50));
        complete();
        stage.device.raise(VECTOR);
        sleeper.join().expect("no panic").expect("it completes");
    });
    // One arm word, hence 65 looks and one sleep, however long it took.
    assert_eq!(stage.device.arms(), [(page::RECEIVE_ARM, 0, 1)]);
    assert_eq!((stage.checks(), stage.pauses()), (0, 0));
}

#[test]
fn two_threads_on_one_vector_both_wake() {
    // One vector for all.
    let stage = Stage::new(1);
    stage.post(0);
    let send = Descriptor::new().build(&stage.region, 64).expect("a place");
    stage.vi.post_send(send).expect("room");
    let (receive, send) = (stage.completion(0), stage.completion(1));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| stage.vi.recv_wait(LONG));
        let sender = scope.spawn(|| stage.vi.send_wait(LONG));
        let armed = |count: usize| {
            while stage.device.arms().len() < count {
                std::thread::yield_now();
            }
        };
        armed(2);
        receive();
        stage.device.raise(0);
        receiver.join().expect("no panic").expect("it completes");
        // The other was woken for nothing, and has armed anew.
        armed(3);
        assert_eq!(stage.device.arms()[2].0, page::SEND_ARM);
        send();
        stage.device.raise(0);
        sender.join().expect("no panic").expect("it completes");
    });
    assert_eq!((stage.checks(), stage.pauses()), (0, 0));
}

#[test]
fn the_arm_word_has_the_oldest_position_also_where_positions_wrap() {
    let stage = Stage::new(4);
    let time = Some(Duration::from_millis(1));
    assert!(matches!(stage.vi.recv_wait(time), Err(Error::Empty)));
    for _ in 0..(1 << 14) - 2 {
        stage.post(0);
        stage.completion(0)();
        stage.vi.recv_done().expect("complete");
    }
    assert_eq!(stage.device.arms(), [], "nothing was waited for");
    (0..4).for_each(|place| stage.post(place));
    for (place, position) in [0x3ffe, 0x3fff, 0, 1].into_iter().enumerate() {
        assert!(matches!(stage.vi.recv_wait(time), Err(Error::Timeout)));
        assert_eq!(stage.device.arms().last().map(|arm| arm.1), Some(position));
        stage.completion(place)();
        stage.vi.recv_wait(time).expect("complete");
    }
}

#[test]
fn a_time_out_ends_the_sleep_and_nothing_before_it() {
    let stage = Stage::new(4);
    stage.post(0);
    let start = Instant::now();
    let wait = Duration::from_millis(30);
    assert!(matches!(stage.vi.recv_wait(Some(wait)), Err(Error::Timeout)));
    assert!(start.elapsed() >= wait);
    assert_eq!(stage.device.arms().len(), 1);
    // No time, no sleep, nothing to ask.
    assert!(matches!(stage.vi.recv_wait(Some(Duration::ZERO)), Err(Error::Timeout)));
    assert_eq!(stage.device.arms().len(), 1);
    stage.completion(0)();
    stage.vi.recv_wait(Some(Duration::ZERO)).expect("a look is free");
}

#[test]
fn a_device_that_goes_ends_the_sleep() {
    let stage = Stage::new(4);
    stage.post(0);
    stage.device.at_arm(|device| device.burn());
    let error = stage.vi.recv_wait(None).expect_err("it is gone");
    assert!(error.is_gone(), "{error}");
    assert_eq!(stage.checks(), 1);
}

#[test]
fn without_interrupts_it_polls() {
    let stage = Stage::new(0);
    stage.post(0);
    assert!(matches!(stage.vi.recv_wait(Some(Duration::from_millis(5))), Err(Error::Timeout)));
    let complete = stage.completion(0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| stage.vi.recv_wait(LONG));
        let before = stage.pauses();
        while stage.pauses() < before + 2000 {
            std::thread::yield_now();
        }
        complete();
        waiter.join().expect("no panic").expect("it completes");
    });
    assert_eq!(stage.device.arms(), []);
    assert!(stage.checks() > 0, "now and then it asks whether the device lives");
}
