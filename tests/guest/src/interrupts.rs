//! Interrupts: each vector's eventfd counts its own queue's completions, once for each time that the
//! queue was armed, and vector 0 the events.

use std::{
    os::fd::{AsFd, OwnedFd},
    thread,
    time::{Duration, Instant},
};

use anyhow::{ensure, Context, Result};
use libtest_mimic::Completion;
use rustix::{
    event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec},
    io::{read, Errno},
    time::{clock_gettime, ClockId},
};
use viaduct_driver::{
    agent::{cqs::ERROR_RING, EVENT_VECTOR},
    device::{Bar, PciDevice},
};
use viaduct_spec::{
    doorbell::{arm, cq_index, cq_page, page},
    register::registers,
};
use vipl::{Descriptor, Error, ReliabilityLevel, Status, Vi};

use crate::{
    bench::{index, Bench, End, LIMIT},
    note::note,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "interrupts_on_two_vectors", body: Body::Pair(two_vectors) },
    Test { name: "an_interrupt_for_what_is_complete_already", body: Body::Pair(complete_already) },
    Test { name: "one_arm_is_one_interrupt", body: Body::Pair(one_arm) },
    Test { name: "an_event_interrupts_on_vector_0", body: Body::Pair(event) },
    Test { name: "no_interrupt_without_its_eventfd", body: Body::Pair(silent) },
    Test { name: "a_sleeping_wait_wakes", body: Body::Pair(sleeping) },
];

/// Bytes of a message.
const BYTES: usize = 100;
/// For interrupts that must not come.
const A_WHILE: Duration = Duration::from_millis(150);

/// Why it cannot be tried here, if it cannot.
fn lacking(bench: &Bench) -> Option<Completion> {
    let none = bench.ends.iter().any(|end| end.device.vectors() < 3);
    none.then(|| Completion::ignored_with("a device here has fewer than three interrupt vectors"))
}

/// Our own eventfds, in place of the agent's.
struct Vectors(Vec<OwnedFd>);

impl Vectors {
    fn of(end: &End) -> Result<Self> {
        Self::some(end, end.device.vectors())
    }

    /// The first so many.
    fn some(end: &End, count: usize) -> Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let events = (0..count).map(|_| eventfd(0, flags)).collect::<Result<Vec<_>, _>>()?;
        let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
        end.device.take_interrupts(&borrowed)?;
        Ok(Self(events))
    }

    /// Waits until a vector has been raised.
    fn wait(&self, vector: usize) -> Result<()> {
        let mut fds = [PollFd::new(&self.0[vector], PollFlags::IN)];
        let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
        ensure!(poll(&mut fds, Some(&limit))? == 1, "no interrupt on vector {vector}");
        Ok(())
    }

    /// How often each was raised since the last time; waits for those that should not come.
    fn counts(&self) -> Result<Vec<u64>> {
        thread::sleep(A_WHILE);
        let count = |event: &OwnedFd| {
            let mut count = [0; 8];
            match read(event, &mut count) {
                Ok(_) => Ok(u64::from_ne_bytes(count)),
                Err(Errno::AGAIN) => Ok(0),
                Err(error) => Err(error.into()),
            }
        };
        self.0.iter().map(count).collect()
    }

    /// What [`Vectors::counts`] gives when these were raised once.
    fn once(&self, vectors: &[usize]) -> Vec<u64> {
        (0..self.0.len()).map(|vector| u64::from(vectors.contains(&vector))).collect()
    }
}

/// A work queue of a VI.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Send,
    Receive,
}

/// Arms a queue at a position.
fn rearm(end: &End, vi: &Vi, queue: Queue, position: u16) -> Result<()> {
    let mut word = [0];
    arm::POSITION.put(&mut word, position.into());
    // Changes with every store.
    let sequence = end.device.arms() as u64 + 1;
    arm::SEQUENCE.put(&mut word, sequence);
    let offset = if queue == Queue::Send { page::SEND_ARM } else { page::RECEIVE_ARM };
    let shift = end.device.read32(Bar::Registers, registers::DOORBELL_SHIFT)?;
    let page = u64::from(index(vi)) << shift;
    Ok(end.device.write64(Bar::Doorbells, page + offset, word[0])?)
}

/// Arms the error ring, of which no event is taken yet.
fn arm_events(end: &End) -> Result<()> {
    let register = |offset| end.device.read32(Bar::Registers, offset);
    let queue = u64::from(register(registers::VIS)?) + u64::from(ERROR_RING);
    let page = queue << register(registers::DOORBELL_SHIFT)?;
    let mut word = [0];
    cq_index::SEQUENCE.put(&mut word, 1);
    Ok(end.device.write64(Bar::Doorbells, page + cq_page::ARM, word[0])?)
}

/// The vector that the agent has given to a queue.
fn vector(end: &End, vi: &Vi, queue: Queue) -> usize {
    end.device.vector(2 * index(vi) + u16::from(queue == Queue::Receive)).into()
}

/// Two connected VIs, eventfds for both NICs, and for each VI the vectors of its queues.
type Ready = ([Vi; 2], [Vectors; 2], [[usize; 2]; 2]);

fn ready(bench: &Bench, level: ReliabilityLevel) -> Result<Ready> {
    let vis = bench.connect(level)?;
    let [a, b] = &bench.ends;
    let vectors = [Vectors::of(a)?, Vectors::of(b)?];
    let numbers = [0, 1]
        .map(|n: usize| [Queue::Send, Queue::Receive].map(|queue| vector(&bench.ends[n], &vis[n], queue)));
    for numbers in &numbers {
        let [send, receive] = *numbers;
        ensure!(send != receive, "both queues of a VI have vector {send}");
        ensure!(
            send != usize::from(EVENT_VECTOR) && receive != usize::from(EVENT_VECTOR),
            "vector of events"
        );
    }
    Ok((vis, vectors, numbers))
}

fn small(end: &mut End) -> Result<Descriptor> {
    end.in_memory(BYTES)
}

/// Polls until a descriptor is complete: VIPL's waits would arm the queue.
fn seen(bench: &Bench, done: impl Fn() -> Result<Descriptor, Error>) -> Result<()> {
    bench.until("a completion", |_| match done() {
        Ok(_) => Ok(true),
        Err(Error::NotDone) => Ok(false),
        Err(error) => Err(error.into()),
    })
}

/// Posts a receive.
fn expect(bench: &mut Bench, vis: &[Vi; 2], to: usize) -> Result<()> {
    let receive = small(&mut bench.ends[to])?;
    bench.ends[to].receive(&vis[to], receive)
}

fn two_vectors(bench: &mut Bench) -> Result<Completion> {
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let (vis, vectors, numbers) = ready(bench, ReliabilityLevel::ReliableDelivery)?;
    // Nobody is armed: nobody is called.
    expect(bench, &vis, 1)?;
    vis[0].post_send(small(&mut bench.ends[0])?)?;
    seen(bench, || vis[1].recv_done())?;
    seen(bench, || vis[0].send_done())?;
    for end in [0, 1] {
        assert_eq!(vectors[end].counts()?, vectors[end].once(&[]), "NIC {end}, not armed");
    }
    // Both queues of both VIs; one message has gone, and is seen.
    for (end, [send, receive]) in [[1, 0], [0, 1]].into_iter().enumerate() {
        rearm(&bench.ends[end], &vis[end], Queue::Send, send)?;
        rearm(&bench.ends[end], &vis[end], Queue::Receive, receive)?;
    }
    for end in [0, 1] {
        assert_eq!(vectors[end].counts()?, vectors[end].once(&[]), "NIC {end}, nothing is complete");
    }
    for (from, to) in [(0, 1), (1, 0)] {
        expect(bench, &vis, to)?;
        vis[from].post_send(small(&mut bench.ends[from])?)?;
        // The interrupt comes behind the completion: who is woken finds it.
        vectors[to].wait(numbers[to][1])?;
        let received = vis[to].recv_done().context("an interrupt, and no completion")?;
        vectors[from].wait(numbers[from][0])?;
        let sent = vis[from].send_done().context("an interrupt, and no completion")?;
        assert_eq!((received.status(), sent.status()), (Status::DONE, Status::DONE));
        assert_eq!(vectors[to].counts()?, vectors[to].once(&[numbers[to][1]]), "NIC {to}, which receives");
        assert_eq!(
            vectors[from].counts()?,
            vectors[from].once(&[numbers[from][0]]),
            "NIC {from}, which sends"
        );
    }
    Ok(Completion::Completed)
}

fn complete_already(bench: &mut Bench) -> Result<Completion> {
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let (vis, vectors, numbers) = ready(bench, ReliabilityLevel::ReliableDelivery)?;
    expect(bench, &vis, 1)?;
    vis[0].post_send(small(&mut bench.ends[0])?)?;
    seen(bench, || vis[1].recv_done())?;
    seen(bench, || vis[0].send_done())?;
    for (end, queue) in [(0, Queue::Send), (1, Queue::Receive)] {
        let number = numbers[end][usize::from(queue == Queue::Receive)];
        // Position 0 is complete: at once.
        rearm(&bench.ends[end], &vis[end], queue, 0)?;
        vectors[end].wait(number)?;
        assert_eq!(vectors[end].counts()?, vectors[end].once(&[number]));
        // Position 1 is not.
        rearm(&bench.ends[end], &vis[end], queue, 1)?;
        assert_eq!(vectors[end].counts()?, vectors[end].once(&[]));
    }
    Ok(Completion::Completed)
}

fn one_arm(bench: &mut Bench) -> Result<Completion> {
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let (vis, vectors, numbers) = ready(bench, ReliabilityLevel::ReliableDelivery)?;
    rearm(&bench.ends[0], &vis[0], Queue::Send, 0)?;
    for _ in 0..3 {
        expect(bench, &vis, 1)?;
        vis[0].post_send(small(&mut bench.ends[0])?)?;
        seen(bench, || vis[1].recv_done())?;
        seen(bench, || vis[0].send_done())?;
    }
    vectors[0].wait(numbers[0][0])?;
    assert_eq!(vectors[0].counts()?, vectors[0].once(&[numbers[0][0]]), "three sends, one arm");
    assert_eq!(vectors[1].counts()?, vectors[1].once(&[]), "nobody has armed there");
    Ok(Completion::Completed)
}

fn event(bench: &mut Bench) -> Result<Completion> {
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let (vis, vectors, _) = ready(bench, ReliabilityLevel::UnreliableDelivery)?;
    arm_events(&bench.ends[1])?;
    // A message that meets no receive.
    vis[0].post_send(small(&mut bench.ends[0])?)?;
    seen(bench, || vis[0].send_done())?;
    vectors[1].wait(EVENT_VECTOR.into())?;
    assert_eq!(vectors[1].counts()?, vectors[1].once(&[EVENT_VECTOR.into()]));
    assert_eq!(vectors[0].counts()?, vectors[0].once(&[]));
    Ok(Completion::Completed)
}

fn silent(bench: &mut Bench) -> Result<Completion> {
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let (vis, vectors, numbers) = ready(bench, ReliabilityLevel::ReliableDelivery)?;
    // Fewer eventfds than before: those of before are silent, and so are the vectors without one.
    let [send, receive] = numbers[1];
    let fewer = Vectors::some(&bench.ends[1], send.max(receive))?;
    for queue in [Queue::Send, Queue::Receive] {
        rearm(&bench.ends[1], &vis[1], queue, 0)?;
    }
    for (from, to) in [(0, 1), (1, 0)] {
        expect(bench, &vis, to)?;
        vis[from].post_send(small(&mut bench.ends[from])?)?;
        seen(bench, || vis[to].recv_done())?;
        seen(bench, || vis[from].send_done())?;
    }
    fewer.wait(send.min(receive))?;
    assert_eq!(fewer.counts()?, fewer.once(&[send.min(receive)]));
    assert_eq!(vectors[1].counts()?, vectors[1].once(&[]));
    // None: interrupts are off.
    bench.ends[1].device.take_interrupts(&[])?;
    rearm(&bench.ends[1], &vis[1], Queue::Receive, 0)?;
    rearm(&bench.ends[1], &vis[1], Queue::Send, 0)?;
    assert_eq!(fewer.counts()?, fewer.once(&[]));
    Ok(Completion::Completed)
}

/// Processor time of this thread.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn sleeping(bench: &mut Bench) -> Result<Completion> {
    const SLEEP: Duration = Duration::from_secs(2);
    if let Some(lacking) = lacking(bench) {
        return Ok(lacking);
    }
    let vis = bench.connect(ReliabilityLevel::ReliableDelivery)?;
    expect(bench, &vis, 1)?;
    let send = small(&mut bench.ends[0])?;
    let arms = bench.ends[1].device.arms();
    let [from, to] = &vis;
    thread::scope(|scope| -> Result<()> {
        let waiter = scope.spawn(|| {
            let (start, begin) = (Instant::now(), processor());
            let received = to.recv_wait(Some(LIMIT));
            (received, start.elapsed(), processor() - begin)
        });
        thread::sleep(SLEEP);
        ensure!(!waiter.is_finished(), "nothing was sent yet");
        let sent = Instant::now();
        from.post_send(send)?;
        let (received, waited, used) = waiter.join().map_err(|_| anyhow::anyhow!("the waiter panicked"))?;
        let woke = sent.elapsed();
        assert_eq!(received.context("the wait")?.length(), BYTES);
        ensure!(bench.ends[1].device.arms() > arms, "the wait has armed nothing");
        note(format!("waited {waited:?}, used {used:?}, woke {woke:?} after the send"));
        ensure!(used < waited / 4, "{used:?} of processor time in a wait of {waited:?}: that was no sleep");
        ensure!(woke < LIMIT / 2, "it woke {woke:?} after the send");
        Ok(())
    })?;
    from.send_wait(Some(LIMIT))?;
    // A sleep with nothing to come ends at its time.
    let start = Instant::now();
    expect(bench, &vis, 1)?;
    let nothing = vis[1].recv_wait(Some(SLEEP / 4));
    ensure!(matches!(nothing, Err(Error::Timeout)), "a message that nobody sent");
    ensure!((SLEEP / 4..LIMIT / 2).contains(&start.elapsed()), "{:?}", start.elapsed());
    Ok(Completion::Completed)
}
