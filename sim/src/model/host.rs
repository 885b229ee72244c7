//! The host as the device reaches it: what a NIC needs of its bus, and the bus of the simulated network. An access takes no
//! time, and is out before anything that follows it.

use crate::memory::{Memory, INTERRUPTS};
use crate::root_complex::{BusCounters, ConfigSpace, Interrupts, Options};
use crate::watch::{Seen, Watch};

/// What a NIC needs of the host's side of its bus.
pub trait Host {
    /// Reads so many bytes at a DMA address; `None` if no memory answers.
    fn read(&mut self, address: u64, length: usize) -> Option<Vec<u8>>;

    /// Writes. It is posted, so the device does not hear of it when no memory is there.
    fn write(&mut self, address: u64, data: &[u8]);

    /// Sends an interrupt: a write of one double word.
    fn message(&mut self, address: u64, data: u32);

    /// Bus Master is enabled: the device may reach memory.
    fn bus_master(&self) -> bool;

    /// MSI-X is enabled, and the function is not masked.
    fn msix(&self) -> bool;

    /// A place of a work queue that holds no descriptor is passed over: no status says so, and an interrupt behind this tells of it.
    fn passes(&mut self, _receive: bool) {}
}

/// The host's side of the bus in a simulated network.
#[derive(Debug)]
pub struct Bus {
    /// Memory behind DMA addresses.
    pub memory: Memory,
    /// The function's configuration space.
    pub config: ConfigSpace,
    /// What has gone over the bus: one read or write for each piece of each access.
    pub counters: BusCounters,
    /// Where interrupts go.
    pub interrupts: Interrupts,
    /// Who is told.
    pub watch: Watch,
}

impl Bus {
    /// Nothing is mapped yet.
    pub fn new(options: &Options) -> Self {
        Self {
            memory: Memory::new(),
            config: ConfigSpace::new(options),
            counters: BusCounters::default(),
            interrupts: Interrupts::default(),
            watch: Watch::default(),
        }
    }
}

impl Host for Bus {
    fn read(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.counters.reads += 1;
        self.counters.read_bytes += length as u64;
        let mut data = vec![0; length];
        match self.memory.read(address, &mut data) {
            Ok(()) => {
                self.watch.tell(|| Seen::Read { address, data: data.clone() });
                Some(data)
            }
            Err(error) => {
                self.counters.unsupported += 1;
                tracing::warn!(%error, "a read of the NIC's reached no memory");
                None
            }
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        self.counters.count_write(data.len());
        self.watch.tell(|| Seen::Write { address, data: data.to_vec() });
        if let Err(error) = self.memory.write(address, data) {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a write of the NIC's reached no memory");
        }
    }

    fn message(&mut self, address: u64, data: u32) {
        if INTERRUPTS.contains(&address) {
            self.counters.interrupts += 1;
            self.watch.tell(|| Seen::Write { address, data: data.to_le_bytes().to_vec() });
            self.interrupts.raise(data as usize);
        } else {
            self.write(address, &data.to_le_bytes());
        }
    }

    fn bus_master(&self) -> bool {
        self.config.bus_master()
    }

    fn msix(&self) -> bool {
        self.config.msix_enable() && !self.config.msix_mask()
    }
}
