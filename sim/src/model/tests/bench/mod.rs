//! Models on a fabric, driven by hand: rows, rings, doorbells. Virtual addresses are DMA addresses, and places in a file.
//!
//! | file | what it holds |
//! |---|---|
//! | `layout` | where everything lies |
//! | `memory`, `registers` | what the host and the agent reach |
//! | `connection`, `descriptor`, `posts` | virtual interfaces and their work |
//! | `completion_queues`, `interrupts` | how completions and events are told |
//! | `wire` | faults, and frames of the test's own |

mod completion_queues;
mod connection;
mod descriptor;
mod interrupts;
mod layout;
mod memory;
mod posts;
mod registers;
mod wire;

use std::fs::File;

use viaduct_spec::profile::VIS;
use viaduct_spec::register::{control, registers as register};
use viaduct_spec::tables::completion_queue;

use crate::fabric::{Capture, Link};
use crate::model::Choices;
use crate::network::{Activity, Network, Options, Port};

pub use connection::{End, Level};
pub use descriptor::{handle, Completion, Descriptor, RECEIVED, SENT};
pub use layout::{DATA, DATA_REGION, ERROR_RING, PSN, RING_LOG2, TAG};
use layout::{DESCRIPTORS, ERROR_RING_LOG2};
pub use registers::{moved, row};

/// The bench.
pub struct Bench {
    pub net: Network,
    files: Vec<File>,
    /// NIC, vector and eventfd.
    eventfds: Vec<(usize, usize, File)>,
    /// Positions of each queue: [NIC][VI][receive].
    positions: Vec<Vec<[u16; 2]>>,
    next_descriptor: u64,
    /// Events seen, by NIC.
    events: Vec<u64>,
}

impl Bench {
    /// So many models, all rows but those of virtual interfaces written.
    pub fn new(nics: usize) -> Self {
        Self::captured(nics, None)
    }

    /// The same, with a capture.
    pub fn captured(nics: usize, capture: Option<Capture>) -> Self {
        Self::of(nics, Choices::default(), capture)
    }

    /// So many models with these choices, all rows but those of virtual interfaces written.
    pub fn choosing(nics: usize, choices: Choices) -> Self {
        Self::of(nics, choices, None)
    }

    fn of(nics: usize, choices: Choices, capture: Option<Capture>) -> Self {
        let options =
            Options { link: Link { latency: 16, rate: 8, ..Link::default() }, ..Options::default() };
        let ports = (0..nics).map(|_| Port::Model(choices)).collect();
        let mut bench = Self {
            net: Network::of(ports, &options, capture),
            files: Vec::new(),
            eventfds: Vec::new(),
            positions: vec![vec![[0; 2]; VIS]; nics],
            next_descriptor: DESCRIPTORS,
            events: vec![0; nics],
        };
        for nic in 0..nics {
            bench.map(nic);
            // Memory Enable and Bus Master.
            bench.net.config_write(nic, 4, &[6, 0]);
            bench.store(nic, register::MAC, 8, Self::mac(nic));
            bench.store(nic, register::IP, 4, Self::ip(nic));
            bench.store(nic, register::PKEY, 4, 0xFFFF);
            bench.regions(nic);
            bench.cq(nic, ERROR_RING, ERROR_RING_LOG2, &[(completion_queue::EVENTS, 1)]);
            let enable = control::RECEIVE_ENABLE.mask() | control::SEND_ENABLE.mask() << 1;
            bench.store(nic, register::CONTROL, 4, enable);
        }
        bench
    }

    /// Runs until nothing moves and no timer runs.
    pub fn settle(&mut self) {
        let limit = self.net.now() + 1_000_000_000;
        while self.net.now() < limit {
            match self.net.activity() {
                Activity::Busy => self.net.step(16),
                Activity::Idle(Some(when)) => self.net.skip_to(when),
                Activity::Idle(None) => return,
            }
        }
        panic!("the network does not come to rest");
    }

    /// Every NIC's memory was always there.
    pub fn check(&mut self) {
        for nic in 0..self.net.len() {
            assert_eq!(self.net.counters(nic).0.unsupported, 0);
        }
    }
}
