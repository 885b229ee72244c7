//! A doorbell page, as the consumer of a queue stores into it.

use std::{
    fmt,
    ptr::NonNull,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc,
    },
};

use super::poller_state::PollerState;
use crate::{
    barrier,
    device::{Bar, DeviceError, PciDevice},
    fork::Birth,
    sync::AtomicU64,
};

/// A doorbell page that no device of this process has.
pub trait Page: Send + Sync {
    /// Stores an 8-byte word, aligned. Words that follow each other differ (docs/reference.md, doorbell pages).
    fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError>;
    /// The doorbell at `offset`, if a store is all that it takes: its poller sees the store, and the caller has nothing to wait for.
    fn bell(&self, offset: u64) -> Option<Bell>;
    /// Wakes the process that polls the page.
    ///
    /// # Errors
    /// That process is gone.
    fn wake(&self) -> Result<(), DeviceError>;
}

/// The doorbell page of a VI or a completion queue. A child of a fork has none: its stores are errors.
pub struct Doorbells {
    born: Birth,
    place: Place,
}

enum Place {
    Bar { device: Arc<dyn PciDevice>, page: u64 },
    Other(Box<dyn Page>),
}

/// A doorbell in memory: a store rings it. It stays as long as its page does.
#[derive(Debug, Clone, Copy)]
pub struct Bell {
    word: NonNull<AtomicU64>,
    /// Who looks at the page; None: a device, which sees each store.
    poller: Option<Poller>,
}

/// What a client knows of the process that polls its doorbells.
#[derive(Debug, Clone, Copy)]
pub struct Poller {
    /// What the process says of itself.
    pub state: NonNull<PollerState>,
    /// The process is gone, unless this is 0.
    pub gone: NonNull<AtomicU32>,
}

// SAFETY: the pointers are to atomics, which any thread may use, and are followed only while the page is there (`Bell::new`).
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Bell {
    /// The doorbell at `word`.
    ///
    /// # Safety
    /// The pointers are followed as long as the page is there that answers with this: until then they lead to atomics.
    pub unsafe fn new(word: NonNull<AtomicU64>, poller: Option<Poller>) -> Self {
        Self { word, poller }
    }

    /// Rings; what was stored before is seen before the doorbell. False: the poller sleeps or is gone, and [`Doorbells::wake`] is due.
    ///
    /// # Safety
    /// The page is there.
    #[inline]
    pub unsafe fn ring(&self, word: u64) -> bool {
        barrier::to_device();
        // SAFETY: the page is there, and the word in it.
        let bell = unsafe { self.word.as_ref() };
        bell.store(word.to_le(), Ordering::Release);
        let Some(poller) = self.poller else { return true };
        // SAFETY: the page is there, and so are these.
        let (state, gone) = unsafe { (poller.state.as_ref(), poller.gone.as_ref()) };
        state.word() | u64::from(gone.load(Ordering::Relaxed)) == 0
    }
}

impl Doorbells {
    /// The page at offset `page` of the device's doorbell BAR.
    pub fn of_device(device: Arc<dyn PciDevice>, page: u64) -> Self {
        Self { born: Birth::now(), place: Place::Bar { device, page } }
    }

    /// Any other.
    pub fn of_page(page: impl Page + 'static) -> Self {
        Self { born: Birth::now(), place: Place::Other(Box::new(page)) }
    }

    /// Stores an 8-byte word.
    pub fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError> {
        self.born.check()?;
        match &self.place {
            Place::Bar { device, page } => device.write64(Bar::Doorbells, page + offset, word),
            Place::Other(page) => page.store(offset, word),
        }
    }

    /// [`Doorbells::store`], but when it returns the device has the word: [`PciDevice::write64_taken`].
    pub fn store_taken(&self, offset: u64, word: u64) -> Result<(), DeviceError> {
        self.born.check()?;
        match &self.place {
            Place::Bar { device, page } => device.write64_taken(Bar::Doorbells, page + offset, word),
            Place::Other(page) => page.store(offset, word),
        }
    }

    /// The doorbell at `offset`, if it is memory and nothing has to be waited for: valid as long as this is.
    pub fn bell(&self, offset: u64) -> Option<Bell> {
        match &self.place {
            Place::Bar { device, page } => {
                let page = device.doorbell_page(*page)?;
                // SAFETY: the page is memory as long as the device is there, and doorbells are aligned words in it.
                Some(unsafe { Bell::new(page.byte_add(offset as usize).cast(), None) })
            }
            Place::Other(page) => page.bell(offset),
        }
    }

    /// Wakes the process that polls the page.
    ///
    /// # Errors
    /// That process is gone.
    #[cold]
    pub fn wake(&self) -> Result<(), DeviceError> {
        self.born.check()?;
        match &self.place {
            // A device sees each store.
            Place::Bar { .. } => Ok(()),
            Place::Other(page) => page.wake(),
        }
    }

    /// Whether this is the process that it was made in.
    #[inline]
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.born.check()
    }
}

impl fmt::Debug for Doorbells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorbells").finish_non_exhaustive()
    }
}
