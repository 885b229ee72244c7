//! The host that the model reaches while it follows a trace: it reads what memory held at that moment, and what it writes is held
//! against what the NIC wrote.

use std::sync::Arc;

use viaduct_sim::model;

use super::history::History;

/// Something that the model has let out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// A memory write.
    Write(u64, Vec<u8>),
    /// An interrupt.
    Interrupt(u32),
    /// A place of a work queue, of which there is no status: whether of the receive queue.
    Passed(bool),
}

/// See the module's description.
#[derive(Debug, Clone)]
pub struct Host {
    history: Arc<History>,
    /// Memory is as it was before this moment.
    pub before: usize,
    /// What the model has let out and nobody has looked at.
    pub done: Vec<Done>,
    /// Bus Master.
    pub master: bool,
    /// MSI-X.
    pub msix: bool,
}

impl Host {
    /// With the memory of a trace.
    pub fn new(history: Arc<History>) -> Self {
        Self { history, before: 0, done: Vec::new(), master: false, msix: false }
    }
}

impl model::Host for Host {
    fn read(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.history.read(address, length, self.before)
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        self.done.push(Done::Write(address, data.to_vec()));
    }

    fn message(&mut self, _address: u64, data: u32) {
        self.done.push(Done::Interrupt(data));
    }

    fn passes(&mut self, receive: bool) {
        self.done.push(Done::Passed(receive));
    }

    fn bus_master(&self) -> bool {
        self.master
    }

    fn msix(&self) -> bool {
        self.msix
    }
}
