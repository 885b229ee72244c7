//! A PCI device between the agent and the real one, that maps some memory otherwise than it was asked.
//!
//! The agent believes that all is well and tells the NIC so; the NIC's own checks pass; and then it
//! reaches for DMA addresses that the IOMMU does not give it. Nothing else can make it do so.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use viaduct_driver::device::{sharing::Sharing, Bar, DeviceError, DmaAccess, PciDevice};
use viaduct_spec::{
    doorbell::page as doorbell_page,
    register::{command, command_op, registers},
    tables::{page, table, work_queue},
};

/// What is done instead of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trick {
    /// Nothing.
    Leave,
    /// It is mapped, and unmapped at once.
    Unmap,
    /// It is mapped for reading only.
    ReadOnly,
    /// It is not mapped, and the NIC is told that it is at this DMA address.
    At(u64),
}

/// A device of which some maps are not what the agent thinks.
pub struct Meddling {
    device: Arc<dyn PciDevice>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the address of a page of this process.
    tricks: BTreeMap<usize, Trick>,
    /// What the agent believes to be mapped, by DMA address.
    maps: BTreeMap<u64, Map>,
    stage: [u64; 3],
    /// Vectors of the work queues, by their row.
    vectors: BTreeMap<u16, u8>,
    arms: usize,
    /// The agent's eventfds.
    interrupts: Vec<OwnedFd>,
}

/// A map, as the agent asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Map {
    /// Its DMA address.
    pub iova: u64,
    /// Where it is in this process.
    pub address: usize,
    /// Bytes.
    pub length: usize,
    trick: Option<Trick>,
}

impl Meddling {
    /// Meddles with nothing yet.
    pub fn new(device: Arc<dyn PciDevice>) -> Self {
        Self { device, state: Mutex::default() }
    }

    /// Maps of memory that begins at `address`, which is page aligned, are `trick` from now on.
    pub fn instead(&self, address: usize, trick: Trick) {
        self.state().tricks.insert(address, trick);
    }

    /// The map that the agent believes to cover an address of this process.
    pub fn map_of(&self, address: usize) -> Option<Map> {
        self.state()
            .maps
            .values()
            .copied()
            .find(|map| (map.address..map.address + map.length).contains(&address))
    }

    /// Whether the device can reach any of the page at `iova`.
    pub fn reaches(&self, iova: u64) -> bool {
        let state = self.state();
        let mut real = state.maps.values().filter(|map| matches!(map.trick, None | Some(Trick::ReadOnly)));
        real.any(|map| map.iova < iova + 4096 && iova < map.iova + map.length as u64)
    }

    /// How many maps there are.
    pub fn maps(&self) -> usize {
        self.state().maps.len()
    }

    /// The vector that the agent has given to a work queue: row 2 x VI + (1 for the receive queue).
    pub fn vector(&self, queue: u16) -> u8 {
        self.state().vectors.get(&queue).copied().unwrap_or(0)
    }

    /// Arm words stored into doorbell pages so far.
    pub fn arms(&self) -> usize {
        self.state().arms
    }

    /// Sets other eventfds than the agent's, whose waits do not wake from then on.
    pub fn take_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        self.device.set_interrupts(events)
    }

    /// Sets the agent's eventfds again.
    pub fn give_interrupts_back(&self) -> Result<(), DeviceError> {
        let state = self.state();
        let events: Vec<_> = state.interrupts.iter().map(AsFd::as_fd).collect();
        // An agent whose device has no vectors has set none.
        if events.is_empty() {
            return Ok(());
        }
        self.device.set_interrupts(&events)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command is about to run on the staged row.
    fn before(&self, word: u64) -> Result<(), DeviceError> {
        let mut state = self.state();
        if command::OP.get(&[word]) != u64::from(command_op::COMMIT) {
            return Ok(());
        }
        match u8::try_from(command::TABLE.get(&[word])) {
            Ok(table::PAGE) => {
                // A region of one page has one row, which holds the page's DMA address as it is.
                let told = page::ADDRESS.get(&state.stage);
                if let Some(Map { trick: Some(Trick::At(iova)), .. }) = state.maps.get(&told) {
                    self.device.write64(Bar::Registers, registers::STAGE0, *iova)?;
                }
            }
            Ok(table::WORK_QUEUE) => {
                let vector = work_queue::VECTOR.get(&state.stage) as u8;
                state.vectors.insert(command::ROW.get(&[word]) as u16, vector);
            }
            _ => {}
        }
        Ok(())
    }
}

impl PciDevice for Meddling {
    fn read32(&self, bar: Bar, offset: u64) -> Result<u32, DeviceError> {
        self.device.read32(bar, offset)
    }

    fn read64(&self, bar: Bar, offset: u64) -> Result<u64, DeviceError> {
        self.device.read64(bar, offset)
    }

    fn write32(&self, bar: Bar, offset: u64, value: u32) -> Result<(), DeviceError> {
        self.device.write32(bar, offset, value)
    }

    fn write64(&self, bar: Bar, offset: u64, value: u64) -> Result<(), DeviceError> {
        match (bar, offset) {
            (Bar::Registers, registers::STAGE0) => self.state().stage[0] = value,
            (Bar::Registers, registers::STAGE1) => self.state().stage[1] = value,
            (Bar::Registers, registers::STAGE2) => self.state().stage[2] = value,
            (Bar::Registers, registers::COMMAND) => self.before(value)?,
            (Bar::Doorbells, offset) => {
                let word = offset & 0xfff;
                let arms = word == doorbell_page::SEND_ARM || word == doorbell_page::RECEIVE_ARM;
                self.state().arms += usize::from(arms);
            }
            _ => {}
        }
        self.device.write64(bar, offset, value)
    }

    fn config_read32(&self, offset: u16) -> Result<u32, DeviceError> {
        self.device.config_read32(offset)
    }

    fn config_write32(&self, offset: u16, value: u32) -> Result<(), DeviceError> {
        self.device.config_write32(offset, value)
    }

    unsafe fn map_dma(
        &self,
        iova: u64,
        address: usize,
        length: usize,
        access: DmaAccess,
    ) -> Result<(), DeviceError> {
        let trick = self.state().tricks.get(&address).copied();
        let access = if trick == Some(Trick::ReadOnly) { DmaAccess::Read } else { access };
        if !matches!(trick, Some(Trick::Leave | Trick::At(_))) {
            // SAFETY: the caller's promise; the device gets no more than it was promised for.
            unsafe { self.device.map_dma(iova, address, length, access) }?;
        }
        if trick == Some(Trick::Unmap) {
            self.device.unmap_dma(iova, length)?;
        }
        self.state().maps.insert(iova, Map { iova, address, length, trick });
        Ok(())
    }

    fn unmap_dma(&self, iova: u64, length: usize) -> Result<(), DeviceError> {
        match self.state().maps.remove(&iova) {
            Some(Map { trick: Some(Trick::Leave | Trick::Unmap | Trick::At(_)), .. }) => Ok(()),
            _ => self.device.unmap_dma(iova, length),
        }
    }

    fn dma_ranges(&self) -> Vec<RangeInclusive<u64>> {
        self.device.dma_ranges()
    }

    fn vectors(&self) -> usize {
        self.device.vectors()
    }

    fn set_interrupts(&self, events: &[BorrowedFd<'_>]) -> Result<(), DeviceError> {
        self.device.set_interrupts(events)?;
        let own = events.iter().map(BorrowedFd::try_clone_to_owned).collect::<Result<_, _>>();
        self.state().interrupts =
            own.map_err(|source| DeviceError::System { request: "keep the eventfds".into(), source })?;
        Ok(())
    }

    fn set_alarms(&self, removal: BorrowedFd<'_>, error: BorrowedFd<'_>) -> Result<(), DeviceError> {
        self.device.set_alarms(removal, error)
    }

    fn may_sleep(&self) -> bool {
        self.device.may_sleep()
    }

    fn sharing(&self) -> Option<&dyn Sharing> {
        self.device.sharing()
    }

    fn reset(&self) -> Result<(), DeviceError> {
        self.device.reset()
    }

    fn pause(&self) {
        self.device.pause();
    }
}
