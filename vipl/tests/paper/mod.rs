//! A PCI function of paper, for tests of what the library does by itself: its registers read as a NIC's at rest, and its doorbells are
//! the test's. What a NIC does is tested on the RTL.

#![allow(dead_code, reason = "each test uses its own half")]

use std::{
    net::Ipv4Addr,
    ops::{Deref, RangeInclusive},
    os::fd::{BorrowedFd, OwnedFd},
    sync::{
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        Arc, Mutex,
    },
};

use viaduct_driver::{
    agent::Options,
    device::{Bar, DeviceError, DmaAccess, PciDevice, Polling},
};
use viaduct_spec::{
    descriptor::control_segment,
    register::{control, registers, MAGIC_VALUE, VERSION_VALUE},
};
use vipl::{Mac, Nic, Region};

/// What registers read that do not read 0: four VIs, four completion queues, 32 regions.
const REGISTERS: [(u64, u32); 11] = [
    (registers::MAGIC, MAGIC_VALUE),
    (registers::VERSION, VERSION_VALUE),
    (registers::KIND, 2),
    (registers::VIS, 4),
    (registers::CQS, 4),
    (registers::REGIONS, 32),
    (registers::PAGES, 64),
    (registers::DOORBELL_SHIFT, 12),
    (registers::RECEIVE_AHEAD, 4),
    (registers::READ_DEPTH, 4),
    // It sends and receives.
    (registers::CONTROL, 1 << control::SEND_ENABLE.lo | 1 << control::RECEIVE_ENABLE.lo),
];

/// Configuration space: the command register, and its Bus Master Enable.
const COMMAND: u16 = 4;
const BUS_MASTER: u32 = 1 << 2;

/// What is behind the doorbells.
pub trait Doorbells: Send + Sync + Sized + 'static {
    /// A store to the doorbells' BAR.
    fn store(&self, paper: &Paper<Self>, offset: u64, value: u64);
}

/// The function.
pub struct Paper<D> {
    /// What is behind its doorbells.
    pub doorbells: D,
    vectors: usize,
    events: Mutex<Vec<OwnedFd>>,
    gone: AtomicBool,
    /// What it says of polling.
    pub polling: Mutex<Polling>,
    /// It refuses to take memory back.
    pub keeps_memory: AtomicBool,
    /// How often somebody let time pass.
    pub pauses: AtomicUsize,
    /// How often somebody asked whether it lives.
    pub checks: AtomicUsize,
}

impl<D: Doorbells> Paper<D> {
    /// With so many interrupt vectors. Without any, nobody sleeps.
    pub fn new(vectors: usize, doorbells: D) -> Arc<Self> {
        Arc::new(Self {
            doorbells,
            vectors,
            events: Mutex::default(),
            gone: AtomicBool::new(false),
            polling: Mutex::new(Polling::Yield),
            keeps_memory: AtomicBool::new(false),
            pauses: AtomicUsize::new(0),
            checks: AtomicUsize::new(0),
        })
    }

    /// The NIC that it is.
    pub fn nic(self: &Arc<Self>) -> Nic {
        let own = Options::new(Mac([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1));
        let options = Options { seed: Some(1), ..own };
        Nic::open_device("paper", Arc::clone(self) as _, options).expect("it answers as a NIC")
    }

    /// An interrupt of a vector.
    pub fn raise(&self, vector: usize) {
        let events = self.events.lock().expect("no panic");
        rustix::io::write(&events[vector], &1u64.to_ne_bytes()).expect("an eventfd");
    }

    /// From now on it is gone.
    pub fn burn(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    fn alive(&self) -> Result<(), DeviceError> {
        match self.gone.load(Ordering::SeqCst) {
            true => Err(DeviceError::Gone { place: "paper".into(), reason: "it burnt".into() }),
            false => Ok(()),
        }
    }
}

impl<D> Deref for Paper<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.doorbells
    }
}

impl<D: Doorbells> PciDevice for Paper<D> {
    fn read32(&self, _: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.alive()?;
        Ok(REGISTERS.iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| *value))
    }
    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.read32(bar, offset).map(u64::from)
    }
    fn write32(&self, _: Bar, _: u64, _: u32) -> Result<(), DeviceError> {
        self.alive()
    }
    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        self.alive()?;
        if bar == Bar::Doorbells {
            self.doorbells.store(self, offset, value);
        }
        Ok(())
    }
    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        self.checks.fetch_add(usize::from(offset == 0), Ordering::SeqCst);
        self.alive()?;
        Ok(if offset == COMMAND { BUS_MASTER } else { 0 })
    }
    fn config_write32(&self, _: u16, _: u32) -> Result<(), DeviceError> {
        self.alive()
    }
    unsafe fn map_dma(&self, _: u64, _: usize, _: usize, _: DmaAccess) -> Result<(), DeviceError> {
        self.alive()
    }
    fn unmap_dma(&self, _: u64, _: usize) -> Result<(), DeviceError> {
        self.alive()?;
        match self.keeps_memory.load(Ordering::SeqCst) {
            true => Err(DeviceError::Refused { request: "an unmap".into(), reason: "it keeps it".into() }),
            false => Ok(()),
        }
    }
    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        vec![0..=u64::from(u32::MAX)]
    }
    fn vectors(&self) -> usize {
        self.vectors
    }
    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let events = events.iter().map(|event| event.try_clone_to_owned().expect("a descriptor"));
        *self.events.lock().expect("no panic") = events.collect();
        Ok(())
    }
    fn may_sleep(&self) -> bool {
        self.vectors != 0
    }
    fn polling(&self) -> Polling {
        *self.polling.lock().expect("no panic")
    }
    fn reset(&self) -> Result<(), DeviceError> {
        self.alive()
    }
    fn pause(&self) {
        self.pauses.fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
    }
}

/// What a NIC does to complete the descriptor at `offset`: Length and Status in one, behind all else.
pub fn complete(memory: &Region, offset: usize, length: u32, status: u32) {
    let mut words = [0; 4];
    control_segment::LENGTH.put(&mut words, length.into());
    control_segment::STATUS.put(&mut words, status.into());
    assert!((memory.address() + offset) % 64 == 0 && offset + 64 <= memory.length(), "a place");
    // SAFETY: the word of Length and Status of a descriptor inside the region, which lives; everyone accesses it as an atomic.
    let word = unsafe { memory.as_ptr().add(offset + 24).cast::<AtomicU64>().as_ref() };
    word.store(words[3], Ordering::Release);
}
