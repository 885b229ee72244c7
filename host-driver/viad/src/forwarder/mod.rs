//! The forwarder: it looks at the doorbell pages of all clients, and passes on what they store to the device's pages.
//!
//! One pass takes all arm words, then all send doorbells, then all receive doorbells, then all indices, and writes receives, sends, indices
//! and arm words in that order. So a receive that was posted before a send, by whoever, reaches the device before it;
//! and whatever a client stored before an arm word reaches it before that.
//!
//! A forwarder that has nothing to do sleeps; `queues::poller_state` says why it sleeps through no doorbell.
//!
//! A word is passed on when it differs from the last one: consecutive words of a page differ, and what is overwritten in
//! between need not be seen (spec, doorbell pages). Nothing else is read from what clients can write.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{
        atomic::{fence, AtomicBool, AtomicU64, AtomicUsize, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::{Duration, Instant},
};

use rustix::event::{epoll, eventfd, EventfdFlags};
use viaduct_driver::{
    device::{Bar, DeviceError, PciDevice},
    viad::{
        doorbell_page::{DoorbellPage, Kind, TAKEN},
        notice::Notice,
    },
};
use viaduct_spec::doorbell::{cq_page, page};

/// Quiet passes after which others may run.
const YIELD: u32 = 64;

/// Words of a page, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Arm,
    Send,
    Receive,
    Index,
}

const TAKE: [Word; 4] = [Word::Arm, Word::Send, Word::Receive, Word::Index];
/// And in which they are written.
const WRITE: [Word; 4] = [Word::Receive, Word::Send, Word::Index, Word::Arm];

impl Word {
    /// Its offsets in a page.
    fn offsets(self, kind: Kind) -> &'static [u64] {
        match (kind, self) {
            (Kind::Vi, Self::Arm) => &[page::SEND_ARM, page::RECEIVE_ARM],
            (Kind::Vi, Self::Send) => &[page::SEND],
            (Kind::Vi, Self::Receive) => &[page::RECEIVE],
            (Kind::Cq, Self::Index) => &[cq_page::INDEX],
            (Kind::Cq, Self::Arm) => &[cq_page::ARM],
            (Kind::Vi, Self::Index) | (Kind::Cq, Self::Send | Self::Receive) => &[],
        }
    }
}

/// A client's doorbell page.
#[derive(Debug)]
pub struct Page {
    words: DoorbellPage,
    /// Where the device's page is, in its doorbell BAR.
    at: u64,
    /// What was passed on last, by word. Changed under the forwarder's lock alone.
    seen: [AtomicU64; 4],
}

/// A word to be passed on.
struct Change<'a> {
    page: &'a Page,
    offset: u64,
    value: u64,
}

impl Page {
    /// A new page, and the descriptor by which its client maps it.
    pub fn create(kind: Kind, at: u64) -> io::Result<(Arc<Self>, OwnedFd)> {
        let (words, file) = DoorbellPage::create(kind)?;
        Ok((Arc::new(Self { words, at, seen: Default::default() }), file))
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        self.words.word(offset)
    }

    /// The words of a kind that have changed since they were passed on.
    fn changes(&self, word: Word) -> impl Iterator<Item = Change<'_>> {
        word.offsets(self.words.kind()).iter().filter_map(move |&offset| {
            let now = self.word(offset).load(Ordering::Acquire);
            let seen = self.seen.get(offset as usize / 8)?;
            // 0 is no token and no sequence number: the page as it is at first.
            (seen.swap(now, Ordering::Relaxed) != now && now != 0).then_some(Change {
                page: self,
                offset,
                value: now,
            })
        })
    }

    /// A doorbell: what was passed on last, and whether there is something newer.
    pub fn doorbell(&self, offset: u64) -> (u64, bool) {
        let forwarded = self.seen.get(offset as usize / 8).map_or(0, |seen| seen.load(Ordering::Relaxed));
        let now = self.word(offset).load(Ordering::Relaxed);
        (forwarded, now != forwarded && now != 0)
    }
}

/// The forwarder of one device.
pub struct Forwarder {
    device: Arc<dyn PciDevice>,
    notice: Arc<Notice>,
    pages: Mutex<Vec<Arc<Page>>>,
    /// Who waits for the lock: the pass lets them have it.
    waiting: AtomicUsize,
    /// The clients' eventfds, and `stop`; they are never read: each write is an edge.
    epoll: OwnedFd,
    stop: OwnedFd,
    stopped: AtomicBool,
    poll: Duration,
}

impl Forwarder {
    /// It looks for `poll` before it sleeps.
    pub fn new(device: Arc<dyn PciDevice>, notice: Arc<Notice>, poll: Duration) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        watch(&epoll, &stop)?;
        Ok(Self {
            device,
            notice,
            pages: Mutex::default(),
            waiting: AtomicUsize::new(0),
            epoll,
            stop,
            stopped: AtomicBool::new(false),
            poll,
        })
    }

    /// Passes doorbells on until [`Forwarder::stop`].
    ///
    /// # Errors
    /// The device's.
    pub fn run(&self) -> Result<(), DeviceError> {
        let mut quiet = 0u32;
        let mut since = Instant::now();
        while !self.stopped.load(Ordering::Relaxed) {
            if self.pass()? {
                (quiet, since) = (0, Instant::now());
                continue;
            }
            quiet = quiet.wrapping_add(1);
            if since.elapsed() < self.poll {
                if quiet % YIELD == 0 {
                    std::thread::yield_now();
                }
                continue;
            }
            self.notice.state().sleep_unless(|| self.pass(), || self.sleep())?;
            (quiet, since) = (0, Instant::now());
        }
        Ok(())
    }

    /// Sleeps until a client, or [`Forwarder::stop`], wakes us; what has done so since the last sleep ends this one at once.
    fn sleep(&self) {
        let none = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        // An interrupted sleep is a short one.
        let _ = epoll::wait(&self.epoll, &mut [none; 16][..], None);
    }

    /// Ends [`Forwarder::run`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // A counter that starts at 0 takes a 1.
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
    }

    /// A client, and the eventfd by which it wakes us.
    pub fn add_client(&self) -> io::Result<OwnedFd> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        watch(&self.epoll, &wake)?;
        Ok(wake)
    }

    /// The client is gone. It may have left its eventfd to others.
    pub fn remove_client(&self, wake: &OwnedFd) {
        let _ = epoll::delete(&self.epoll, wake);
    }

    /// From now on a page is looked at.
    pub fn add(&self, page: &Arc<Page>) {
        self.lock().push(Arc::clone(page));
    }

    /// From now on a page is not looked at.
    pub fn remove(&self, page: &Arc<Page>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, page));
    }

    /// Passes on what a page holds.
    pub fn settle(&self, page: &Arc<Page>) -> Result<(), DeviceError> {
        let _one_at_a_time = self.lock();
        self.forward(std::slice::from_ref(page)).map(drop)
    }

    /// Passes on what a VI's page holds, and empties its doorbells: the queues start anew. Of the send queue alone, or of both.
    pub fn renew(&self, page: &Arc<Page>, send_only: bool) -> Result<(), DeviceError> {
        let _one_at_a_time = self.lock();
        self.forward(std::slice::from_ref(page))?;
        let words: &[u64] = if send_only { &[page::SEND] } else { &[page::SEND, page::RECEIVE] };
        for &offset in words {
            page.word(offset).store(0, Ordering::Release);
            page.seen[offset as usize / 8].store(0, Ordering::Relaxed);
        }
        if !send_only {
            // The word that was taken last may be the new ring's first: nobody takes it for taken.
            page.word(TAKEN + page::RECEIVE).store(0, Ordering::Release);
        }
        Ok(())
    }

    fn pass(&self) -> Result<bool, DeviceError> {
        while self.waiting.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        self.forward(&pages)
    }

    /// Passes on what is new on some pages; the lock is held. Whether there was anything.
    fn forward(&self, pages: &[Arc<Page>]) -> Result<bool, DeviceError> {
        let mut changes: [Vec<Change<'_>>; 4] = Default::default();
        for word in TAKE {
            changes[word as usize].extend(pages.iter().flat_map(|page| page.changes(word)));
            // The next kind is read behind this one.
            fence(Ordering::SeqCst);
        }
        for word in WRITE {
            let changes = &changes[word as usize];
            for (Change { page, offset, value }, left) in changes.iter().zip((0..changes.len()).rev()) {
                let at = page.at + offset;
                if word == Word::Receive && left == 0 {
                    self.device.write64_taken(Bar::Doorbells, at, *value)?;
                } else {
                    self.device.write64(Bar::Doorbells, at, *value)?;
                }
            }
            if word == Word::Receive {
                // From here on they are posted, and their clients go on.
                for Change { page, offset, value } in changes {
                    page.word(TAKEN + offset).store(*value, Ordering::Release);
                }
            }
        }
        let any = changes.iter().any(|some| !some.is_empty());
        Ok(any)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Page>>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A list: what a thread that panicked left is usable.
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        pages
    }
}

/// Each write to an eventfd ends a wait.
fn watch(epoll: &OwnedFd, event: &OwnedFd) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    Ok(epoll::add(epoll, event.as_fd(), epoll::EventData::new_u64(0), flags)?)
}

#[cfg(test)]
mod tests;
