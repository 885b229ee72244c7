//! The NIC behind its pins: its parts, and what comes to them; frames in [`frames`]. What the parts ask for is applied in [`effects`].

mod effects;
mod frames;

use std::sync::Arc;

use viaduct_spec::profile::VIS;
use viaduct_spec::register::counter;
use viaduct_spec::tables::{completion_queue, table, transmit, vi_state};

use super::choices::{Choices, Mutant, WHEN_TOLD};
use super::context::Context;
use super::counters::Counters;
use super::cq::CompletionQueues;
use super::doorbells::Doorbell;
use super::effect::Effects;
use super::held::Held;
use super::host::Host;
use super::memory::Memory;
use super::protection::Protection;
use super::registers::{Order, Registers};
use super::tables::{Row, Rows, Tables, ViState};
use super::transmit::{Outbox, Way};
use super::vectors::Vectors;
use super::vi::Vi;
use crate::clock::Cycle;

/// The NIC.
#[derive(Debug, Clone)]
pub struct Device<H> {
    /// What the specification leaves open.
    pub choices: Choices,
    /// Now.
    pub now: Cycle,
    /// The host.
    pub host: H,
    /// Frames that have been made.
    pub outbox: Outbox,
    vectors: Vectors,
    counters: Counters,
    registers: Registers,
    pub(super) tables: Arc<Tables>,
    pub(super) cqs: CompletionQueues,
    pub(super) vis: Vec<Vi>,
    held: Held,
}

impl<H: Host> Device<H> {
    /// After power-up.
    pub fn new(choices: Choices, host: H) -> Self {
        Self {
            choices,
            now: 0,
            host,
            outbox: Outbox::default(),
            vectors: Vectors::new(),
            counters: Counters::new(),
            registers: Registers::default(),
            tables: Arc::new(Tables::new()),
            cqs: CompletionQueues::new(),
            vis: (0..VIS).map(|_| Vi::default()).collect(),
            held: Held::default(),
        }
    }

    /// CONTROL's RESET: everything but the PCIe edge, to which the vectors belong.
    fn reset(&mut self) {
        self.vectors.restart();
        self.outbox = Outbox::default();
        self.counters = Counters::new();
        self.registers = Registers::default();
        self.tables = Arc::new(Tables::new());
        self.cqs = CompletionQueues::new();
        self.vis.fill_with(Vi::default);
        self.held = Held::default();
    }

    /// Function reset, but for the host's side of it: the vectors too.
    pub fn function_reset(&mut self) {
        self.reset();
        self.vectors = Vectors::new();
    }

    /// Frames are received, once memory may be reached.
    pub fn receives(&self) -> bool {
        self.registers.receives()
    }

    /// Work queues are served, and memory may be reached.
    pub fn serves(&self) -> bool {
        self.registers.sends() && self.host.bus_master()
    }

    /// Nothing is in flight and nothing waits, but for the peer or the host.
    fn is_idle(&self) -> bool {
        let waits = [Way::Wire, Way::Loopback].into_iter().any(|way| self.has_packets(way));
        self.outbox.arrival().is_none() && !waits
    }

    /// When the first timer ends.
    pub fn deadline(&self) -> Option<Cycle> {
        let vis = self.vis.iter().filter_map(Vi::deadline).min();
        [vis, self.vectors.deadline(self.now), self.held.deadline()].into_iter().flatten().min()
    }

    /// A part of the NIC does something to a VI; what it asks for is done.
    pub fn act(&mut self, vi: usize, part: impl FnOnce(&mut Vi, &mut Context<'_>, &mut Effects)) {
        let mut effects = Effects::new();
        let (part_of, _, mut context) = self.parts(vi);
        part(part_of, &mut context, &mut effects);
        self.apply(vi, effects);
    }

    /// A VI, the completion queues, and what a part of the VI is given.
    fn parts(&mut self, vi: usize) -> (&mut Vi, &mut CompletionQueues, Context<'_>) {
        let serves = self.serves();
        let one_behind = self.choices.mutant == Some(Mutant::OneBehind);
        let protection = Protection { tables: &self.tables, one_behind };
        let context = Context {
            now: self.now,
            choices: &self.choices,
            tables: &self.tables,
            rows: Rows::new(&self.tables, vi),
            connected: self.vis[vi].state() == ViState::Connected,
            serves,
            memory: Memory::new(&mut self.host, protection, &mut self.counters),
        };
        (&mut self.vis[vi], &mut self.cqs, context)
    }

    /// Lets all timers end that are due.
    pub fn serve_timers(&mut self) {
        self.send_interrupts();
        let dropped = self.held.drop_overdue(self.now);
        self.counters.add(counter::DROP_OVERFLOW, dropped as u64);
        for vi in 0..self.vis.len() {
            if self.vis[vi].deadline().is_some_and(|when| when <= self.now) {
                self.act(vi, |part, context, effects| part.serve_timer(context, effects));
            }
        }
    }

    /// Does for all queues what can be done now.
    pub fn serve_queues(&mut self) {
        for vi in 0..self.vis.len() {
            self.act(vi, |_, _, effects| effects.serve(false));
            // Whoever leads the model says when receives are fetched.
            let led = self.choices.receive_cycles == WHEN_TOLD;
            match led && self.vis[vi].state() == ViState::Connected {
                true => self.vis[vi].postpone_receives(),
                false => self.act(vi, |_, _, effects| effects.serve(true)),
            }
        }
        if self.serves() {
            self.take_held(0..self.vis.len());
        }
    }

    /// A load of registers, of up to 8 bytes, naturally aligned.
    pub fn load_register(&self, offset: u64, length: usize) -> u64 {
        if Vectors::covers(offset) {
            return self.vectors.read(offset, length);
        }
        self.registers.load(offset, length, self.now, self.is_idle(), &self.counters)
    }

    /// A store to registers, naturally aligned; one of fewer than 4 bytes does nothing.
    pub fn store_register(&mut self, offset: u64, length: usize, value: u64) {
        if Vectors::covers(offset) && length >= 4 {
            self.vectors.write(offset, length, value);
            return self.send_interrupts();
        }
        match self.registers.store(offset, length, value) {
            None => {}
            Some(Order::Reset) => self.reset(),
            Some(Order::Enable) => self.serve_queues(),
            Some(Order::Commit { table, row, staged }) => {
                let ended = self.commit(table, row, staged);
                self.registers.end_command(ended.ok_or(()));
            }
            Some(Order::Query { vi }) => {
                let state = self.vis.get(vi).map(|vi| vi.state().code());
                self.registers.end_command(state.map(Some).ok_or(()));
            }
        }
    }

    /// Puts the staged row into a table: what RESULT tells of it. `None`: there is no such row.
    fn commit(&mut self, number: u8, row: usize, staged: Row) -> Option<Option<u64>> {
        if number == table::VI_STATE {
            self.vis.get(row)?;
            let state = ViState::from_code(staged.get(vi_state::STATE));
            self.act(row, |part, _, effects| part.set_state(state, effects));
            self.take_held(row..row + 1);
            return Some(None);
        }
        let place = Arc::make_mut(&mut self.tables).get_mut(number)?.get_mut(row)?;
        let old = std::mem::replace(place, staged);
        let mut result = None;
        match number {
            // LIFE-1: the queue is empty, at position 0. LIFE-2: what was posted before is forgotten.
            table::WORK_QUEUE => self.vis[row / 2].renew_queue(row % 2 == 1),
            // LIFE-1: a life begins.
            table::TRANSMIT => self.act(row, |part, context, _| part.requester.renew(context)),
            // LIFE-2: what came for the VI is forgotten.
            table::RECEIVE => {
                self.act(row, |part, context, _| part.responder.renew(context));
                self.take_held(row..row + 1);
            }
            table::COMPLETION_QUEUE => {
                let mut effects = Effects::new();
                let was_live = old.is(completion_queue::LIVE);
                result = self.cqs.renew(row, was_live, &staged, &mut effects);
                self.apply(0, effects);
            }
            _ => {}
        }
        Some(result)
    }

    /// A store to doorbells, naturally aligned.
    pub fn store_doorbell(&mut self, offset: u64, length: usize, value: u64) {
        match Doorbell::of(offset, length, value, &self.tables) {
            None => self.counters.count(counter::DOORBELL_IGNORED),
            Some(Doorbell::Post { vi, receive, position, inline }) => {
                self.act(vi, |part, context, effects| part.post(receive, position, inline, context, effects));
            }
            Some(Doorbell::Arm { vi, receive, seen }) => {
                self.act(vi, |part, context, effects| part.arm(receive, seen, context, effects));
            }
            Some(Doorbell::Index { queue, index }) => self.cqs.set_index(queue, index),
            Some(Doorbell::ArmCq { queue, seen }) => {
                let mut effects = Effects::new();
                self.cqs.arm(queue, seen, &self.tables.completion_queue[queue], &mut effects);
                self.apply(0, effects);
            }
        }
    }

    /// How many virtual interfaces there are.
    pub fn vis(&self) -> usize {
        self.vis.len()
    }

    /// Whether an answer of a VI's can be sent now.
    pub fn has_answer(&self, vi: usize) -> bool {
        let responder = &self.vis[vi].responder;
        let reads = || responder.reads_next(&Rows::new(&self.tables, vi), &self.protection());
        responder.has_reply() && (self.host.bus_master() || !reads())
    }

    fn protection(&self) -> Protection<'_> {
        Protection { tables: &self.tables, one_behind: self.choices.mutant == Some(Mutant::OneBehind) }
    }

    /// Whether a request of a VI's can be sent now.
    pub fn has_request(&self, vi: usize) -> bool {
        self.vis[vi].has_request(&Rows::new(&self.tables, vi), &self.choices, self.serves())
    }

    fn way(&self, vi: usize) -> Way {
        match self.tables.transmit[vi].is(transmit::LOOPBACK) {
            true => Way::Loopback,
            false => Way::Wire,
        }
    }

    fn has_packet(&self, vi: usize) -> bool {
        self.has_answer(vi) || self.has_request(vi)
    }

    /// Whether some VI has a packet for this way.
    pub fn has_packets(&self, way: Way) -> bool {
        (0..self.vis.len()).any(|vi| self.way(vi) == way && self.has_packet(vi))
    }

    /// Makes one packet of the VI whose turn it is; of those on the wire only if that can take one. Whether there was one.
    pub fn make_packet_in_turn(&mut self, wire_ready: bool) -> bool {
        let mut outbox = std::mem::take(&mut self.outbox);
        let next = outbox
            .next(self.vis.len(), |vi| (wire_ready || self.way(vi) == Way::Loopback) && self.has_packet(vi));
        self.outbox = outbox;
        let Some(vi) = next else { return false };
        self.act(vi, |part, context, effects| part.send_in_turn(context, effects));
        true
    }

    /// Makes an answer of a VI's, or a request; there must be one.
    pub fn make_packet(&mut self, vi: usize, answer: bool) {
        self.act(vi, |part, context, effects| match answer {
            true => part.responder.send(context, effects),
            false => part.requester.send(context, effects),
        });
    }
}
