//! The host as the device reaches it: memory, configuration space, and where its interrupts go.
//! An access takes no time, and is out before anything that follows it.

use crate::memory::{Memory, INTERRUPTS};
use crate::root_complex::{BusCounters, ConfigSpace, Interrupts, Options};

/// The host's side of the bus.
#[derive(Debug)]
pub struct Host {
    /// Memory behind DMA addresses.
    pub memory: Memory,
    /// The function's configuration space.
    pub config: ConfigSpace,
    /// What has gone over the bus: one read or write for each piece of each access.
    pub counters: BusCounters,
    /// Where interrupts go.
    pub interrupts: Interrupts,
}

impl Host {
    /// Nothing is mapped yet.
    pub fn new(options: &Options) -> Self {
        Self {
            memory: Memory::new(),
            config: ConfigSpace::new(options),
            counters: BusCounters::default(),
            interrupts: Interrupts::default(),
        }
    }

    /// Reads; `None` if no memory answers.
    pub fn read(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.counters.reads += 1;
        self.counters.read_bytes += length as u64;
        let mut data = vec![0; length];
        match self.memory.read(address, &mut data) {
            Ok(()) => Some(data),
            Err(error) => {
                self.counters.unsupported += 1;
                tracing::warn!(%error, "a read of the NIC's reached no memory");
                None
            }
        }
    }

    /// Writes: posted, so the device does not hear of it when no memory is there.
    pub fn write(&mut self, address: u64, data: &[u8]) {
        self.counters.writes += 1;
        self.counters.write_bytes += data.len() as u64;
        if let Err(error) = self.memory.write(address, data) {
            self.counters.unsupported += 1;
            tracing::warn!(%error, "a write of the NIC's reached no memory");
        }
    }

    /// Sends an interrupt: a write of one double word.
    pub fn message(&mut self, address: u64, data: u32) {
        if INTERRUPTS.contains(&address) {
            self.counters.interrupts += 1;
            self.interrupts.raise(data as usize);
        } else {
            self.write(address, &data.to_le_bytes());
        }
    }
}
