//! The NIC behind its pins: everything that stands in registers and memories of the hardware.

use std::collections::VecDeque;

use viaduct_spec::profile::{CQS, VIS};

use super::choices::Choices;
use super::counters::Counters;
use super::cq::CompletionQueue;
use super::host::Host;
use super::queues::{Receive, WorkQueue};
use super::registers::Registers;
use super::requester::Requester;
use super::responder::Responder;
use super::tables::{Tables, ViState};
use super::transmit::Way;
use super::vectors::Vectors;
use crate::clock::Cycle;

/// A virtual interface.
#[derive(Debug, Default)]
pub struct Vi {
    /// Its state.
    pub state: ViState,
    /// Send and receive queue.
    pub queues: [WorkQueue; 2],
    /// Receives that are fetched; `None`: a place without a descriptor.
    pub ahead: VecDeque<Option<Receive>>,
    /// Receives that there is room for now are fetched then.
    pub refills: Option<Cycle>,
    /// What it sends.
    pub requester: Requester,
    /// What it receives.
    pub responder: Responder,
    /// Its last packet was an answer.
    pub answered: bool,
}

impl Vi {
    /// The next moment at which something happens by itself.
    fn deadline(&self) -> Option<Cycle> {
        [self.requester.deadline(), self.refills].into_iter().flatten().min()
    }
}

/// The NIC.
#[derive(Debug)]
pub struct Device {
    /// What the specification leaves open.
    pub choices: Choices,
    /// Now.
    pub now: Cycle,
    /// The host.
    pub host: Host,
    /// Interrupt vectors.
    pub vectors: Vectors,
    /// Counters.
    pub counters: Counters,
    /// Registers.
    pub registers: Registers,
    /// Tables.
    pub tables: Tables,
    /// Completion queues.
    pub cqs: Vec<CompletionQueue>,
    /// Virtual interfaces.
    pub vis: Vec<Vi>,
    /// The VI whose turn it is to send.
    pub turn: usize,
    /// Frames to ourselves, and when they come.
    pub loopback: VecDeque<(Cycle, Vec<u8>)>,
    /// The frame that was made last, for the wire.
    pub outgoing: Option<Vec<u8>>,
}

impl Device {
    /// After power-up.
    pub fn new(choices: Choices, host: Host) -> Self {
        Self {
            choices,
            now: 0,
            host,
            vectors: Vectors::new(),
            counters: Counters::new(),
            registers: Registers::default(),
            tables: Tables::new(),
            cqs: vec![CompletionQueue::default(); CQS],
            vis: (0..VIS).map(|_| Vi::default()).collect(),
            turn: 0,
            loopback: VecDeque::new(),
            outgoing: None,
        }
    }

    /// CONTROL's RESET: everything but the PCIe edge, to which the vectors belong.
    pub fn reset(&mut self) {
        let fresh = Self::new(self.choices, Host::new(&Default::default()));
        let old = std::mem::replace(self, fresh);
        (self.now, self.host, self.vectors) = (old.now, old.host, old.vectors);
        self.vectors.restart();
    }

    /// Function reset: the vectors and configuration space too.
    pub fn function_reset(&mut self) {
        self.reset();
        self.vectors = Vectors::new();
        self.host.config.reset();
    }

    /// Nothing is in flight and nothing waits, but for the peer or the host.
    pub fn is_idle(&self) -> bool {
        self.loopback.is_empty() && !self.has_packets(Way::Wire) && !self.has_packets(Way::Loopback)
    }

    /// When the first timer ends.
    pub fn deadline(&self) -> Option<Cycle> {
        let vis = self.vis.iter().filter_map(Vi::deadline).min();
        [vis, self.vectors.deadline(self.now)].into_iter().flatten().min()
    }

    /// Lets all timers end that are due.
    pub fn serve_timers(&mut self) {
        self.send_interrupts();
        for vi in 0..self.vis.len() {
            if self.vis[vi].deadline().is_some_and(|when| when <= self.now) {
                self.serve_timer(vi);
            }
        }
    }
}
