//! Eight threads in eight waits, and a NIC that completes what they wait for just when they ask for an interrupt, again and again: no
//! wake-up is lost. Threads and interrupts are real; the NIC is a thread that does with completions and arm words what docs/semantics.md
//! says. A signal stops each waiting thread somewhere behind its arm word, so that the completion and its interrupt also come where they
//! would hardly ever come by themselves: between its last look and its sleep. `VIADUCT_RACES=1000000` runs that many races, however long they take; else they end with the time.

use std::{
    cell::Cell,
    env,
    mem::zeroed,
    ptr::null_mut,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{channel, Receiver, Sender, TryRecvError},
        Mutex, MutexGuard,
    },
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::{descriptor::status, doorbell::page};
use vipl::{Descriptor, Direction, MemAttributes, Region, ViAttributes};

mod paper;
use paper::{Doorbells, Paper};

/// Work queues: two of each VI.
const QUEUES: usize = 8;
/// One is for events. But for two, the queues have one each: no other's interrupt makes up for one that was slept through.
const VECTORS: usize = 8;
const PAGE: u64 = 4096;
/// How long the races last in the suite.
const TIME: Duration = Duration::from_secs(8);
/// A wake-up that is this late is lost: a wait looks by itself only after a second.
const LATE: Duration = Duration::from_millis(700);

/// A work queue as the NIC has it.
#[derive(Default)]
struct Queue {
    /// The word of Length and Status of its one descriptor.
    word: Option<(Region, usize)>,
    posted: u64,
    completed: u64,
    armed: bool,
    raised: Option<Instant>,
}

/// A NIC that only knows of posts, arm words and interrupts.
struct Racer {
    queues: [Mutex<Queue>; QUEUES],
    random: Mutex<ChaCha8Rng>,
    /// Queues that are to be completed by the thread.
    turns: Mutex<Option<Sender<usize>>>,
    arms: AtomicU64,
    /// Arm words that found their descriptor complete.
    late_arms: AtomicU64,
    lost: AtomicU64,
}

impl Racer {
    fn new(seed: u64, turns: Sender<usize>) -> Self {
        Self {
            queues: Default::default(),
            random: Mutex::new(ChaCha8Rng::seed_from_u64(seed)),
            turns: Mutex::new(Some(turns)),
            arms: AtomicU64::new(0),
            late_arms: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    fn queue(&self, queue: usize) -> MutexGuard<'_, Queue> {
        self.queues[queue].lock().expect("no panic")
    }

    fn raise(&self, paper: &Paper<Self>, queue: usize, state: &mut Queue) {
        state.raised = Some(Instant::now());
        paper.raise(1 + queue % (VECTORS - 1));
    }

    fn below(&self, limit: u32) -> u32 {
        self.random.lock().expect("no panic").random_range(0..limit)
    }

    /// The thread completes what is posted on a queue, some time.
    fn later(&self, queue: usize) {
        if let Some(turns) = &*self.turns.lock().expect("no panic") {
            turns.send(queue).expect("it listens");
        }
    }

    /// Completes what is posted on a queue, if anything is: memory first, then the interrupt that was asked for.
    fn complete(&self, paper: &Paper<Self>, queue: usize) {
        let (region, offset) = {
            let state = self.queue(queue);
            match &state.word {
                Some(word) if state.posted > state.completed => word.clone(),
                _ => return,
            }
        };
        let operation = if queue % 2 == 0 { status::OP_SEND } else { status::OP_RECEIVE };
        let mut state = self.queue(queue);
        if state.posted > state.completed {
            paper::complete(&region, offset, 0, status::DONE | operation);
            state.completed += 1;
            if std::mem::take(&mut state.armed) {
                self.raise(paper, queue, &mut state);
            }
        }
    }

    fn arm(&self, paper: &Paper<Self>, queue: usize) {
        self.arms.fetch_add(1, Ordering::Relaxed);
        let when = self.below(4);
        let pause = self.below(12_000);
        // Just before.
        if when == 0 {
            self.complete(paper, queue);
        }
        let mut state = self.queue(queue);
        // Complete already: at once.
        if state.completed == state.posted {
            self.late_arms.fetch_add(1, Ordering::Relaxed);
            self.raise(paper, queue, &mut state);
            return;
        }
        state.armed = true;
        drop(state);
        match when {
            // Just behind it, before the last look.
            1 => self.complete(paper, queue),
            // While it looks, goes to sleep, or sleeps.
            _ => {
                self.later(queue);
                stop_in(pause);
            }
        }
    }
}

thread_local! {
    /// A waiting thread's timer, whose signal stops it.
    static TIMER: Cell<Option<libc::timer_t>> = const { Cell::new(None) };
}

/// Stops the thread that it comes to for a while.
extern "C" fn stop(_: libc::c_int) {
    for _ in 0..800 {
        std::hint::spin_loop();
    }
}

/// Gives this thread a timer.
fn make_timer() {
    // SAFETY: the structures are plain data, for which zeros are values; the handler only counts.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = stop as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, null_mut()), 0);
        let mut event: libc::sigevent = zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGUSR1;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = zeroed();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
        TIMER.set(Some(timer));
    }
}

/// Stops this thread so many nanoseconds from now, if it has a timer.
fn stop_in(nanoseconds: u32) {
    let Some(timer) = TIMER.get() else { return };
    // SAFETY: the timer is this thread's, and the structure is plain data.
    unsafe {
        let mut time: libc::itimerspec = zeroed();
        time.it_value.tv_nsec = libc::c_long::from(nanoseconds) + 1;
        assert_eq!(libc::timer_settime(timer, 0, &time, null_mut()), 0);
    }
}

impl Doorbells for Racer {
    fn store(&self, paper: &Paper<Self>, offset: u64, _: u64) {
        let (vi, place) = ((offset / PAGE) as usize, offset % PAGE);
        if vi >= QUEUES / 2 {
            return;
        }
        let receives = place == page::RECEIVE || place == page::RECEIVE_ARM;
        let queue = 2 * vi + usize::from(receives);
        if place == page::SEND || place == page::RECEIVE {
            let mut state = self.queue(queue);
            state.posted += 1;
            state.raised = None;
            drop(state);
            // Perhaps before it arms.
            if self.below(8) == 0 {
                self.later(queue);
            }
        } else if place == page::SEND_ARM || place == page::RECEIVE_ARM {
            self.arm(paper, queue);
        }
    }
}

#[test]
fn no_wake_up_is_lost_in_eight_waits() {
    let wanted: Option<u64> = env::var("VIADUCT_RACES").ok().map(|races| races.parse().expect("a number"));
    let seed = rand::random::<u64>();
    println!("seed {seed}");
    let (turns, turn): (_, Receiver<usize>) = channel();
    let device = Paper::new(VECTORS, Racer::new(seed, turns));
    let nic = device.nic();
    let ptag = nic.create_ptag().expect("a tag");
    let memory = nic.allocate(4096, &MemAttributes::new(&ptag)).expect("memory");
    let vis: Vec<_> =
        (0..QUEUES / 2).map(|_| nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI")).collect();
    for queue in 0..QUEUES {
        assert_eq!(usize::from(vis[queue / 2].index()), queue / 2, "queues are told apart by their page");
        device.queue(queue).word = Some((memory.clone(), 64 * queue));
    }
    let over = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..QUEUES)
            .map(|queue| {
                let (vi, memory, device, over) = (&vis[queue / 2], &memory, &device, &over);
                let direction = if queue % 2 == 0 { Direction::Send } else { Direction::Receive };
                scope.spawn(move || {
                    make_timer();
                    let mut rounds = 0u64;
                    let mut descriptor = Some(Descriptor::new().build(memory, 64 * queue).expect("inside"));
                    while !over.load(Ordering::Relaxed) {
                        let next = descriptor.take().expect("it is ours");
                        match direction {
                            Direction::Send => vi.post_send(next).expect("room"),
                            Direction::Receive => vi.post_recv(next).expect("room"),
                        }
                        descriptor = Some(vi.wait(direction, None).expect("it completes"));
                        let raised = device.queue(queue).raised;
                        if raised.is_some_and(|raised| raised.elapsed() > LATE) {
                            device.lost.fetch_add(1, Ordering::Relaxed);
                        }
                        rounds += 1;
                        let enough = match wanted {
                            Some(races) => device.arms.load(Ordering::Relaxed) >= races,
                            None => start.elapsed() >= TIME,
                        };
                        if enough {
                            over.store(true, Ordering::Relaxed);
                        }
                    }
                    rounds
                })
            })
            .collect();
        let device = &device;
        scope.spawn(move || {
            loop {
                match turn.try_recv() {
                    Ok(queue) => {
                        // From the last look to well into the sleep.
                        for _ in 0..device.below(400) {
                            std::hint::spin_loop();
                        }
                        device.complete(device, queue);
                    }
                    // Awake, it is quick enough to come between a look and a sleep.
                    Err(TryRecvError::Empty) => std::thread::yield_now(),
                    Err(TryRecvError::Disconnected) => return,
                }
            }
        });
        let rounds: u64 = waiters.into_iter().map(|waiter| waiter.join().expect("no panic")).sum();
        device.turns.lock().expect("no panic").take();
        let (arms, late) = (device.arms.load(Ordering::Relaxed), device.late_arms.load(Ordering::Relaxed));
        println!(
            "{rounds} waits, {arms} arm words, {late} of them behind their completion, in {:.1} s",
            start.elapsed().as_secs_f64()
        );
        // They did race.
        assert!(arms > 1000 && late > 10, "{arms} {late}");
    });
    assert_eq!(device.lost.load(Ordering::Relaxed), 0);
}
