//! A PCI function for unit tests: it keeps the books. It has registers that read as told, takes
//! commands and writes them down, and maps memory by the rules of an IOMMU: nothing twice, and
//! nothing back but what was given. It is no NIC: what one does with its tables is tested on the RTL.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    os::fd::{BorrowedFd, OwnedFd},
    sync::Mutex,
};

use viaduct_spec::register::{command, registers, state, MAGIC_VALUE, VERSION_VALUE};

use crate::device::{
    sharing::{Handover, Sharing},
    Alarm, Bar, DeviceError, DmaAccess, PciDevice,
};

/// What the agent did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    Map {
        start: u64,
        address: u64,
        length: u64,
        access: DmaAccess,
    },
    /// Of a file with this inode.
    MapMemfd {
        start: u64,
        inode: u64,
        offset: u64,
        length: u64,
        access: DmaAccess,
    },
    Unmap {
        start: u64,
    },
    /// What others have mapped there.
    TakeBack {
        first: u64,
        bytes: u64,
    },
    /// And whether DMA is stopped.
    LetGo(bool),
    Command {
        op: u8,
        table: u8,
        row: u32,
        words: [u64; 3],
    },
    ReadResult,
    Enables(u32),
    Reset,
    Doorbell {
        offset: u64,
        token: u64,
    },
    /// On so many vectors.
    Interrupts(usize),
}

#[derive(Default)]
pub struct Ledger {
    books: Mutex<Books>,
    /// Who has it stops those who map and unmap.
    pub slow: Mutex<()>,
}

#[derive(Default)]
pub struct Books {
    pub registers: BTreeMap<u64, u64>,
    pub config: BTreeMap<u16, u32>,
    pub maps: BTreeMap<u64, (u64, DmaAccess)>,
    pub deeds: Vec<Deed>,
    pub dma_ranges: Vec<RangeInclusive<u64>>,
    pub vectors: usize,
    pub may_sleep: bool,
    events: Vec<OwnedFd>,
    /// Removal, error.
    alarms: Vec<OwnedFd>,
    /// How often somebody has asked whether it lives.
    pub checks: usize,
    /// How often its commands are still said to be running.
    pub busy: usize,
    /// How often somebody has paused.
    pub pauses: usize,
    /// Maps that still succeed.
    pub maps_left: usize,
    /// It maps memfds by themselves.
    pub maps_memfds: bool,
    /// Somebody is in the call that maps or unmaps.
    pub mapping: bool,
    /// What other processes have mapped: bytes by first address.
    pub others: BTreeMap<u64, u64>,
    /// It skips what others have mapped, as some kernels do.
    pub skips_others: bool,
    /// Happens at the next store to a doorbell page.
    pub at_doorbell: Option<Box<dyn FnOnce() + Send>>,
}

impl Ledger {
    pub fn new() -> Self {
        let ledger = Self::default();
        let mut books = ledger.books();
        books.maps_left = usize::MAX;
        // An IOMMU of 39 bits.
        books.dma_ranges = vec![0..=0xfedf_ffff, 0xfef0_0000..=0x7f_ffff_ffff];
        books.may_sleep = true;
        books.vectors = 4;
        books.registers = [
            (registers::MAGIC, u64::from(MAGIC_VALUE)),
            (registers::VERSION, VERSION_VALUE.into()),
            (registers::KIND, 1),
            (registers::VIS, 4),
            (registers::REGIONS, 8),
            (registers::PAGES, 16),
            (registers::DOORBELL_SHIFT, 12),
            (registers::CQS, 3),
            (registers::RECEIVE_AHEAD, 4),
            (registers::READ_DEPTH, 4),
        ]
        .into();
        drop(books);
        ledger
    }

    pub fn books(&self) -> std::sync::MutexGuard<'_, Books> {
        self.books.lock().expect("no test panics with the books open")
    }

    /// Raises a vector.
    pub fn interrupt(&self, vector: usize) {
        let books = self.books();
        if let Some(event) = books.events.get(vector) {
            rustix::io::write(event, &1u64.to_ne_bytes()).expect("an eventfd");
        }
    }

    /// Maps what lies where `deed` says.
    fn map(&self, start: u64, length: u64, access: DmaAccess, deed: Deed) -> Result<(), DeviceError> {
        self.take_time();
        let mut books = self.books();
        assert!(start % 4096 == 0 && length % 4096 == 0 && length > 0);
        assert!(books.dma_ranges.iter().any(|r| r.contains(&start) && r.contains(&(start + length - 1))));
        if books.maps.iter().any(|(s, (l, _))| start < s + l && *s < start + length) {
            return Err(refused(format!("map {start:#x}"), "an address is mapped once"));
        }
        if books.maps_left == 0 {
            return Err(refused(format!("map {start:#x}"), "there is no room"));
        }
        books.maps_left -= 1;
        books.maps.insert(start, (length, access));
        books.deeds.push(deed);
        Ok(())
    }

    /// Pins pages, or lets go of them.
    fn take_time(&self) {
        self.books().mapping = true;
        drop(self.slow.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        self.books().mapping = false;
    }

    /// The system says something of the function.
    pub fn alarm(&self, alarm: Alarm) {
        let books = self.books();
        rustix::io::write(&books.alarms[alarm as usize], &1u64.to_ne_bytes()).expect("an eventfd");
    }

    /// What was done since the last time this was asked.
    pub fn take_deeds(&self) -> Vec<Deed> {
        std::mem::take(&mut self.books().deeds)
    }
}

fn refused(request: String, reason: &str) -> DeviceError {
    DeviceError::Refused { request, reason: reason.into() }
}

impl PciDevice for Ledger {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.read64(bar, offset).map(|value| value as u32)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        assert_eq!(bar, Bar::Registers, "doorbells are not read");
        let mut books = self.books();
        if offset == registers::RESULT {
            books.deeds.push(Deed::ReadResult);
        }
        if offset == registers::STATE && books.busy > 0 {
            books.busy -= 1;
            let mut word = [0];
            state::COMMAND_BUSY.put(&mut word, 1);
            return Ok(word[0]);
        }
        Ok(books.registers.get(&offset).copied().unwrap_or(0))
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.write64(bar, offset, value.into())
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        let mut books = self.books();
        if bar == Bar::Doorbells {
            books.deeds.push(Deed::Doorbell { offset, token: value });
            if let Some(happens) = books.at_doorbell.take() {
                drop(books);
                happens();
            }
        } else if offset == registers::COMMAND {
            let word = [value];
            let stage = |at| books.registers.get(&at).copied().unwrap_or(0);
            let words = [registers::STAGE0, registers::STAGE1, registers::STAGE2].map(stage);
            let deed = Deed::Command {
                op: command::OP.get(&word) as u8,
                table: command::TABLE.get(&word) as u8,
                row: command::ROW.get(&word) as u32,
                words,
            };
            books.deeds.push(deed);
            for at in [registers::STAGE0, registers::STAGE1, registers::STAGE2] {
                books.registers.insert(at, 0);
            }
        } else {
            books.registers.insert(offset, value);
        }
        Ok(())
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        let mut books = self.books();
        books.checks += usize::from(offset == 0);
        Ok(books.config.get(&offset).copied().unwrap_or(0))
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        let mut books = self.books();
        books.config.insert(offset, value);
        if offset == 4 {
            books.deeds.push(Deed::Enables(value));
        }
        Ok(())
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        assert_eq!(address % 4096, 0);
        let (start, length) = (iova, length as u64);
        self.map(start, length, access, Deed::Map { start, address: address as u64, length, access })
    }

    fn maps_memfds(&self) -> bool {
        self.books().maps_memfds
    }

    fn map_memfd(
        &self,
        iova: u64,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        assert!(self.maps_memfds() && offset % 4096 == 0);
        let inode = rustix::fs::fstat(file).expect("a file").st_ino;
        let (start, length) = (iova, length as u64);
        self.map(start, length, access, Deed::MapMemfd { start, inode, offset, length, access })
    }

    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        self.take_time();
        let mut books = self.books();
        match books.maps.get(&iova) {
            Some((mapped, _)) if *mapped == length as u64 => {
                books.maps.remove(&iova);
                books.deeds.push(Deed::Unmap { start: iova });
                Ok(())
            }
            _ => Err(refused(format!("unmap {iova:#x}"), "what is unmapped is what was mapped")),
        }
    }

    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        self.books().dma_ranges.clone()
    }

    fn vectors(&self) -> usize {
        self.books().vectors
    }

    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        let mut books = self.books();
        assert!(events.len() <= books.vectors);
        books.events = events.iter().map(|e| e.try_clone_to_owned().expect("a descriptor")).collect();
        books.deeds.push(Deed::Interrupts(events.len()));
        Ok(())
    }

    fn set_alarms(&self, removal: BorrowedFd<'_>, error: BorrowedFd<'_>) -> Result<(), DeviceError> {
        let alarms = [removal, error].map(|e| e.try_clone_to_owned().expect("a descriptor"));
        self.books().alarms = alarms.into();
        Ok(())
    }

    fn may_sleep(&self) -> bool {
        self.books().may_sleep
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        Some(self)
    }

    fn reset(&self) -> Result<(), DeviceError> {
        self.books().deeds.push(Deed::Reset);
        Ok(())
    }

    fn pause(&self) {
        self.books().pauses += 1;
    }
}

impl Sharing for Ledger {
    fn hand_over(&self) -> Result<Handover, DeviceError> {
        Err(refused("to hand a ledger over".into(), "it has no descriptors"))
    }

    fn take_back(&self, first: u64, bytes: u64) -> Result<u64, DeviceError> {
        let mut books = self.books();
        books.deeds.push(Deed::TakeBack { first, bytes });
        if books.skips_others {
            return Ok(0);
        }
        let mut sum = 0;
        books.others.retain(|start, length| {
            let is_there = (first..first + bytes).contains(start);
            sum += if is_there { *length } else { 0 };
            !is_there
        });
        Ok(sum)
    }

    fn try_take_back(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn let_go(&self, stop: bool) -> Result<(), DeviceError> {
        self.books().deeds.push(Deed::LetGo(stop));
        Ok(())
    }

    fn most_maps(&self) -> u64 {
        65_535
    }
}
