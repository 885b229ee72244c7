//! A doorbell page, as the consumer of a queue stores into it.

use std::sync::Arc;

use crate::{
    device::{Bar, DeviceError, PciDevice},
    fork::Birth,
};

/// A doorbell page that no device of this process has.
pub trait Page: Send + Sync {
    /// Stores an 8-byte word, aligned. Words that follow each other differ (docs/reference.md, doorbell pages).
    fn store(&self, offset: u64, word: u64) -> Result<(), DeviceError>;
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

    /// Whether this is the process that it was made in.
    pub fn check_process(&self) -> Result<(), DeviceError> {
        self.born.check()
    }
}
