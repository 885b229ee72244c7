//! Interrupts: a thread that wants one sleeps here until its vector is raised.
//!
//! One thread waits for all vectors, and counts what it hears of each as a generation. Who is about to
//! sleep reads the generation, asks the device for an interrupt, looks once more whether what it waits for
//! is there, and sleeps only as long as the generation is the one it read. So an interrupt that comes
//! between the asking and the sleeping ends the sleep before it begins: none is lost. One that was meant for
//! another user of the vector wakes too: whoever is woken looks, and asks anew.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc, OnceLock,
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::{eventfd, poll, EventfdFlags, PollFd, PollFlags},
    io::Errno,
};
use viaduct_spec::profile::VECTORS;

use super::generation::Generation;
use crate::{
    device::{Alarm, DeviceError, PciDevice},
    fork::Birth,
    thread,
    wakeup::{is_readable, Wakeup, Wakeups},
};

/// The interrupt vector of the error ring.
pub const EVENT_VECTOR: u8 = 0;

/// The interrupts of one device. Dropping it ends its thread.
pub struct Interrupts {
    born: Birth,
    vectors: Arc<[Vector]>,
    listener: Arc<OnceLock<Listener>>,
    alarm: Arc<Alarmed>,
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// What the system may say, each by a descriptor of its own.
const ALARMS: [Alarm; 2] = [Alarm::Removal, Alarm::Error];

/// One vector: those who sleep on it, and those who wait on descriptors.
#[derive(Default)]
struct Vector {
    generation: Generation,
    wakeups: Wakeups,
}

impl Vector {
    fn raise(&self) {
        self.generation.raise();
        self.wakeups.signal();
    }
}

/// Who else wants to hear each vector.
type Listener = Box<dyn Fn(u8) + Send + Sync>;

/// What the system has said of the function, once it has.
struct Alarmed {
    /// Each is readable when the system has said what stands at its place in [`ALARMS`], and the thread has not heard it.
    files: [OwnedFd; 2],
    what: OnceLock<Alarm>,
    /// Not 0 as soon as `what` is set: for those who may look at a word alone.
    word: AtomicU32,
}

impl Interrupts {
    /// Takes the interrupts of a device that has been reset. None where there are none, or where one must not
    /// sleep: there one polls.
    pub fn start(device: &dyn PciDevice) -> Result<Option<Self>, DeviceError> {
        let count = device.vectors().min(VECTORS);
        if count == 0 || !device.may_sleep() {
            return Ok(None);
        }
        let system =
            |source| DeviceError::System { request: "threads and eventfds for interrupts".into(), source };
        let new = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(io::Error::from);
        let stop = new().map_err(system)?;
        let stopped = stop.try_clone().map_err(system)?;
        let events = (0..count).map(|_| new()).collect::<Result<Vec<OwnedFd>, _>>().map_err(system)?;
        let borrowed: Vec<BorrowedFd<'_>> = events.iter().map(AsFd::as_fd).collect();
        device.set_interrupts(&borrowed)?;
        drop(borrowed);
        let files = [new().map_err(system)?, new().map_err(system)?];
        device.set_alarms(files[0].as_fd(), files[1].as_fd())?;
        let vectors: Arc<[Vector]> = (0..count).map(|_| Vector::default()).collect();
        // The thread knows of the vectors alone: it keeps neither agent nor device alive.
        let heard = Arc::clone(&vectors);
        let listener = Arc::<OnceLock<Listener>>::default();
        let told = Arc::clone(&listener);
        let alarm = Arc::new(Alarmed { files, what: OnceLock::new(), word: AtomicU32::new(0) });
        let alarmed = Arc::clone(&alarm);
        let body = move || {
            listen(&heard, &events, &alarmed, &stopped, &told);
        };
        let thread = thread::spawn("viaduct-interrupts", body).map_err(system)?;
        Ok(Some(Self { born: Birth::now(), vectors, listener, alarm, stop, thread: Some(thread) }))
    }

    /// From now on `listener` is told of each vector that is heard. The first one stays.
    pub fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener);
    }

    /// What the system has said of the function, as far as the thread has heard it.
    pub fn alarm(&self) -> Option<Alarm> {
        self.alarm.what.get().copied()
    }

    /// What the system has said of the function by now: the thread may not have run since.
    pub fn alarm_now(&self) -> Option<Alarm> {
        // The thread notes an alarm before it reads the descriptor, so one of the two shows it.
        let said = ALARMS.into_iter().zip(&self.alarm.files).find(|(_, file)| is_readable(file));
        said.map(|(what, _)| what).or_else(|| self.alarm())
    }

    /// A word that is not 0 as soon as the thread has heard an alarm.
    pub fn alarm_word(&self) -> &AtomicU32 {
        &self.alarm.word
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.vectors.len()
    }

    /// The vector of a work queue or completion queue, by the row of its table. Events have one of their own, if there are two.
    pub fn of_queue(&self, row: u32) -> u8 {
        match self.vectors.len() as u32 {
            0 | 1 => EVENT_VECTOR,
            // At most VECTORS, which fits.
            count => (1 + row % (count - 1)) as u8,
        }
    }

    /// How often a vector was heard, by now. None: there is no such vector.
    pub fn generation(&self, vector: u8) -> Option<u64> {
        Some(self.vectors.get(usize::from(vector))?.generation.now())
    }

    /// Sleeps until the generation of a vector is another than `seen`, at most for `timeout`. Whether it is.
    pub fn sleep(&self, vector: u8, seen: u64, timeout: Duration) -> bool {
        let Some(vector) = self.vectors.get(usize::from(vector)) else {
            std::thread::sleep(timeout);
            return false;
        };
        vector.generation.sleep(seen, timeout)
    }

    /// From now on `wakeup` is signalled whenever a vector is heard, or its sleepers are woken. Whether there is such a vector.
    pub fn add_wakeup(&self, vector: u8, wakeup: &Arc<Wakeup>) -> bool {
        self.vectors.get(usize::from(vector)).map(|vector| vector.wakeups.add(wakeup)).is_some()
    }

    /// Wakes who sleeps on a vector, as if it had been heard.
    pub fn wake(&self, vector: u8) {
        if let Some(vector) = self.vectors.get(usize::from(vector)) {
            vector.raise();
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if !self.born.is_here() {
            // The thread is the parent's, and its eventfd.
            std::mem::forget(self.thread.take());
            return;
        }
        // A counter that starts at 0 takes a 1 at once.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Hears interrupts until it is told to stop. Should the system not let it, those who sleep wake by
/// themselves now and then, and find what is there.
fn listen(
    vectors: &[Vector],
    events: &[OwnedFd],
    alarm: &Alarmed,
    stop: &OwnedFd,
    listener: &OnceLock<Listener>,
) {
    let wanted = events.iter().chain(&alarm.files).chain([stop]);
    let mut files: Vec<PollFd<'_>> = wanted.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    loop {
        match poll(&mut files, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        if files.last().is_none_or(|stop| !stop.revents().is_empty()) {
            return;
        }
        for ((file, event), what) in files[events.len()..].iter().zip(&alarm.files).zip(ALARMS) {
            if !file.revents().is_empty() {
                // The first one counts. All who sleep hear it: they look, and ask whether the device lives.
                let _ = alarm.what.set(what);
                alarm.word.store(1, Ordering::Release);
                let _ = rustix::io::read(event, &mut [0; 8]);
                for (vector, number) in vectors.iter().zip(0..) {
                    vector.raise();
                    if let Some(listener) = listener.get() {
                        listener(number);
                    }
                }
            }
        }
        for (((file, event), vector), number) in files.iter().zip(events).zip(vectors).zip(0..) {
            // However often it was raised, it is read once: first taken, then told. What is raised in
            // between is told once more.
            if !file.revents().is_empty() && rustix::io::read(event, &mut [0; 8]).is_ok() {
                vector.raise();
                if let Some(listener) = listener.get() {
                    listener(number);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Deed, Ledger};
    use std::{sync::Mutex, time::Instant};

    const LONG: Duration = Duration::from_secs(60);

    fn interrupts(ledger: &Ledger, vectors: usize) -> Interrupts {
        ledger.books().vectors = vectors;
        Interrupts::start(ledger).expect("it takes eventfds").expect("it has vectors")
    }

    #[test]
    fn no_vectors_or_no_sleep_is_no_interrupts() {
        let ledger = Ledger::new();
        ledger.books().vectors = 0;
        assert!(Interrupts::start(&ledger).expect("nothing to do").is_none());
        ledger.books().vectors = 4;
        ledger.books().may_sleep = false;
        assert!(Interrupts::start(&ledger).expect("nothing to do").is_none());
        assert!(!ledger.take_deeds().iter().any(|deed| matches!(deed, Deed::Interrupts(_))));
    }

    #[test]
    fn queues_share_what_events_leave() {
        let ledger = Ledger::new();
        let of = |vectors, queues: u32| -> Vec<u8> {
            let interrupts = interrupts(&ledger, vectors);
            (0..queues).map(|queue| interrupts.of_queue(queue)).collect()
        };
        assert_eq!(of(1, 3), [0, 0, 0]);
        assert_eq!(of(2, 3), [1, 1, 1]);
        assert_eq!(of(4, 7), [1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(of(1000, 9), [1, 2, 3, 4, 5, 6, 7, 1, 2], "no more than a row can say");
        assert_eq!(ledger.take_deeds().last(), Some(&Deed::Interrupts(VECTORS)));
    }

    #[test]
    fn an_interrupt_wakes_all_who_sleep_on_its_vector_and_nobody_else() {
        let ledger = Ledger::new();
        let interrupts = interrupts(&ledger, 3);
        let seen = [0, 1, 2].map(|vector| interrupts.generation(vector).expect("a vector"));
        std::thread::scope(|scope| {
            let sleepers = [(); 3].map(|()| scope.spawn(|| interrupts.sleep(1, seen[1], LONG)));
            ledger.interrupt(1);
            assert!(sleepers.into_iter().all(|sleeper| sleeper.join().expect("no panic")));
        });
        // Raised before the sleep begins: no sleep. Not raised: all of it.
        assert!(interrupts.sleep(1, seen[1], LONG));
        assert!(!interrupts.sleep(2, seen[2], Duration::from_millis(5)));
        assert!(!interrupts.sleep(0, seen[0], Duration::ZERO));
        assert_eq!(interrupts.generation(3), None);
        assert!(!interrupts.sleep(3, 0, Duration::from_millis(1)));
    }

    #[test]
    fn who_sleeps_is_woken_without_an_interrupt_too() {
        let ledger = Ledger::new();
        let interrupts = interrupts(&ledger, 3);
        let seen = interrupts.generation(2).expect("a vector");
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| interrupts.sleep(2, seen, LONG));
            interrupts.wake(2);
            assert!(sleeper.join().expect("no panic"));
        });
        // There is no such vector, and nobody to wake.
        interrupts.wake(3);
    }

    #[test]
    fn a_descriptor_is_signalled_by_its_vector_by_a_wake_and_by_an_alarm() {
        let ledger = Ledger::new();
        let interrupts = interrupts(&ledger, 3);
        let wakeup = Wakeup::new().expect("a descriptor");
        assert!(interrupts.add_wakeup(2, &wakeup) && !interrupts.add_wakeup(3, &wakeup));
        let wait = |limit: Duration| {
            let limit = rustix::time::Timespec::try_from(limit).expect("a time");
            poll(&mut [PollFd::new(&*wakeup, PollFlags::IN)], Some(&limit)).expect("a descriptor") == 1
        };
        ledger.interrupt(1);
        assert!(!wait(Duration::from_millis(5)), "another's");
        ledger.interrupt(2);
        assert!(wait(LONG));
        wakeup.clear();
        assert!(!wait(Duration::ZERO));
        interrupts.wake(2);
        assert!(wait(LONG));
    }

    #[test]
    fn no_interrupt_is_lost_however_they_fall() {
        let ledger = Ledger::new();
        let interrupts = interrupts(&ledger, 2);
        let turn = Mutex::new(0u32);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=2000 {
                    // What happened is in memory before the interrupt.
                    *turn.lock().expect("no panic") = n;
                    ledger.interrupt(1);
                    if n % 3 == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            let start = Instant::now();
            loop {
                let seen = interrupts.generation(1).expect("a vector");
                if *turn.lock().expect("no panic") == 2000 {
                    break;
                }
                assert!(interrupts.sleep(1, seen, LONG), "slept through at {:?}", start.elapsed());
            }
        });
    }

    #[test]
    fn the_thread_ends_and_lets_go() {
        let ledger = Ledger::new();
        let interrupts = interrupts(&ledger, 2);
        let vectors = Arc::downgrade(&interrupts.vectors);
        drop(interrupts);
        assert!(vectors.upgrade().is_none(), "the thread has ended");
    }
}
