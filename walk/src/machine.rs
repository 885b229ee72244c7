//! Two hosts with their NICs on a network, that go through a program.

use std::io;
use std::path::PathBuf;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::device::Bar;
use viaduct_sim::network::{Activity, Network};
use viaduct_sim::root_complex::Access;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::CONTROL_SEGMENT_BYTES;
use viaduct_spec::doorbell;
use viaduct_spec::profile::DOORBELL_SHIFT;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::{command, command_op, control, event, event_code, registers, state};
use viaduct_spec::tables::{cq_entry, table, vi_state, vi_states};

use crate::ability::{Abilities, Ability};
use crate::conditions::Schedule;
use crate::consumer::Consumer;
use crate::descriptor;
use crate::memory::{Memory, DESCRIPTORS, SLOTS};
use crate::operation::{Bell, End, Flaw, Operation, Post, Registration, Request, Stray};
use crate::outcome::{Completion, Entry, Event, Outcome, Story};
use crate::program::Program;
use crate::rows::{self, row, ENTRY_BYTES};
use crate::weather::{Keyed, Met};

/// Busy cycles after which a program is taken to hang.
const PATIENCE: u64 = 3_000_000;

/// Cycles between two looks whether a load is answered.
const LOOK: u64 = 8;

/// What goes through a program, and what is kept of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// What each NIC is.
    pub kinds: [Kind; 2],
    /// For the models among them.
    pub schedule: Schedule,
    /// Capture.
    pub pcap: Option<PathBuf>,
    /// Waveforms.
    pub trace: Option<PathBuf>,
}

impl Run {
    /// With nothing kept.
    pub fn of(kinds: [Kind; 2], schedule: Schedule) -> Self {
        Self { kinds, schedule, pcap: None, trace: None }
    }
}

/// A descriptor that was posted.
#[derive(Debug)]
struct Posted {
    /// Which operation of the program.
    operation: usize,
    /// Where it lies.
    place: u32,
    /// What Length and Status said.
    before: u64,
    complete: bool,
}

/// A queue of an end's, since its connection was made.
#[derive(Debug, Default)]
struct Queue {
    posted: Vec<Posted>,
    /// Those of them that were complete at the last look.
    complete: usize,
    /// A stray store has told the NIC of descriptors that there are not.
    wrecked: bool,
}

/// An end of a connection.
#[derive(Debug, Default)]
struct Side {
    open: bool,
    queues: [Queue; 2],
    /// Registrations, and how many there have been in each slot.
    slots: [(Option<Registration>, u16); SLOTS],
    home: bool,
}

/// Everything.
pub struct Machine<'a> {
    program: &'a Program,
    net: Network,
    memories: [Memory; 2],
    sides: Vec<Side>,
    /// How often each connection was made.
    generations: Vec<u64>,
    stories: Vec<Story>,
    faults: Vec<String>,
    /// Bytes that nobody looks at: whose, where, how many.
    forgotten: Vec<(End, u32, u32)>,
    jitter: Option<ChaCha8Rng>,
    /// Number of the operation.
    at: usize,
    met: Met,
    /// Completion queues of each NIC.
    queues: [[Consumer; rows::CQS]; 2],
}

/// Goes through a program. What the abilities do not tell apart is the same in the outcome.
pub fn run(program: &Program, run: &Run, abilities: Abilities) -> io::Result<Outcome> {
    let mut machine = Machine::new(program, run)?;
    let mut stretch = 0;
    for at in 0..program.operations.len() {
        machine.at = at;
        machine.operate(&program.operations[at])?;
        if program.operations[at].is_rest() {
            stretch += 1;
            let turn = run.schedule.turn(stretch);
            machine.jitter = turn.jitter;
            turn.choices.into_iter().enumerate().for_each(|(nic, choices)| machine.net.choose(nic, choices));
        }
        if !machine.faults.is_empty() {
            break;
        }
    }
    let mut outcome = machine.finish()?;
    if !abilities.has(Ability::Doubt) {
        outcome.stories.iter_mut().for_each(Story::forget_doubt);
    }
    if !abilities.has(Ability::Last) {
        outcome.stories.iter_mut().for_each(Story::forget_echoes);
    }
    Ok(outcome)
}

impl<'a> Machine<'a> {
    fn new(program: &'a Program, run: &Run) -> io::Result<Self> {
        let conditions = run.schedule.apply(&program.conditions);
        let setup = Setup {
            kinds: run.kinds.to_vec(),
            choices: run.schedule.turn(0).choices.to_vec(),
            seed: conditions.seed,
            network: conditions.options(),
            pcap: run.pcap.clone(),
            trace: run.trace.clone(),
            ..Setup::default()
        };
        let mut net = setup.build().map_err(io::Error::other)?;
        let met = Met::default();
        net.fabric_mut().set_weather(Box::new(Keyed::new(conditions.seed, conditions.rates, met.clone())));
        let ends = 2 * program.connections.len();
        let scattered: Vec<bool> = (0..ends).map(|end| program.connections[end / 2].scattered).collect();
        let memory = |host| {
            let own = |end: &End| program.connections[end / 2].nics[end % 2] == host;
            let own: Vec<End> = (0..ends).filter(own).collect();
            Memory::new(host, program.seed, scattered.clone(), &own)
        };
        let mut machine = Self {
            program,
            net,
            memories: [memory(0)?, memory(1)?],
            sides: (0..ends).map(|_| Side::default()).collect(),
            generations: vec![0; program.connections.len()],
            stories: vec![Story::default(); program.connections.len()],
            faults: Vec::new(),
            forgotten: Vec::new(),
            jitter: run.schedule.turn(0).jitter,
            at: 0,
            met,
            queues: Default::default(),
        };
        for nic in 0..2 {
            let Machine { memories, net, .. } = &mut machine;
            memories[nic].map(net.memory(nic))?;
            // Memory Enable and Bus Master.
            machine.net.config_write(nic, 4, &[6, 0]);
            machine.set_up(nic)?;
        }
        Ok(machine)
    }

    fn store(&mut self, nic: usize, bar: Bar, offset: u64, length: usize, value: u64) {
        match Access::new(bar, offset, length) {
            Some(access) => self.net.store(nic, access, value),
            None => self.faults.push(format!("no store of {length} bytes at {offset:#x}")),
        }
    }

    fn load(&mut self, nic: usize, offset: u64, length: usize) -> u64 {
        let access = Access::new(Bar::Registers, offset, length);
        let Some(access) = access else { return u64::MAX };
        let load = self.net.load(nic, access);
        loop {
            self.net.step(LOOK);
            if let Some(value) = self.net.answer(nic, load) {
                return value;
            }
        }
    }

    /// Runs a command, and waits until it is done.
    fn command(&mut self, nic: usize, op: u8, number: u8, at: usize) {
        let word =
            row(&[(command::OP, op.into()), (command::TABLE, number.into()), (command::ROW, at as u64)]);
        self.store(nic, Bar::Registers, registers::COMMAND, 8, word[0]);
        for _ in 0..1000 {
            let word = [self.load(nic, registers::STATE, 4)];
            if word[0] == u64::from(u32::MAX) {
                return self.faults.push(format!("NIC {nic} does not answer"));
            }
            if state::COMMAND_BUSY.get(&word) == 0 {
                if state::COMMAND_ERROR.get(&word) != 0 {
                    self.faults.push(format!("NIC {nic} refuses command {op} of table {number}"));
                }
                return;
            }
        }
        self.faults.push(format!("NIC {nic} does not end command {op} of table {number}"));
    }

    fn commit(&mut self, nic: usize, number: u8, at: usize, words: &[u64]) {
        if !self.faults.is_empty() {
            return;
        }
        for (offset, word) in [registers::STAGE0, registers::STAGE1, registers::STAGE2].into_iter().zip(words)
        {
            self.store(nic, Bar::Registers, offset, 8, *word);
        }
        self.command(nic, command_op::COMMIT, number, at);
    }

    /// After power-up or a reset.
    fn set_up(&mut self, nic: usize) -> io::Result<()> {
        // The tables are being cleared.
        for _ in 0..1000 {
            let word = self.load(nic, registers::STATE, 4);
            if word == u64::from(u32::MAX) {
                self.faults.push(format!("NIC {nic} does not answer after its reset"));
                return Ok(());
            }
            if state::COMMAND_BUSY.get(&[word]) == 0 {
                break;
            }
            self.net.step(64);
        }
        self.store(nic, Bar::Registers, registers::MAC, 8, rows::mac(nic));
        self.store(nic, Bar::Registers, registers::IP, 4, rows::ip(nic).into());
        self.store(nic, Bar::Registers, registers::PKEY, 4, 0xFFFF);
        let arena = self.memories[nic].arena_address();
        self.commit(nic, table::PAGE, rows::first_page(rows::ARENA_REGION) as usize, &[arena]);
        let bytes = self.memories[nic].arena_bytes();
        self.commit(nic, table::REGION, rows::ARENA_REGION.into(), &rows::arena(arena, bytes));
        for queue in self.needed(nic) {
            self.queues[nic][queue] = Consumer { stores: self.queues[nic][queue].stores, ..Consumer::default() };
            self.clear_ring(nic, queue, false)?;
            self.commit(nic, table::COMPLETION_QUEUE, queue, &rows::completion_queue(queue, false)[..2]);
        }
        let enable = control::RECEIVE_ENABLE.mask() | control::SEND_ENABLE.mask() << 1;
        self.store(nic, Bar::Registers, registers::CONTROL, 4, enable);
        Ok(())
    }

    fn nic(&self, end: End) -> usize {
        self.program.connections[end / 2].nics[end % 2]
    }

    fn vi(&self, end: End) -> usize {
        self.program.connections[end / 2].vis[end % 2]
    }

    fn operate(&mut self, operation: &Operation) -> io::Result<()> {
        match operation {
            Operation::Connect(connection) => self.connect(*connection)?,
            Operation::Post(post) => self.post(post)?,
            Operation::Arrive => self.arrive(),
            Operation::Settle => self.settle()?,
            Operation::Pause(frames) => self.pause(*frames),
            Operation::Disconnect(end) if self.sides[*end].open => self.set_state(*end, vi_states::ERROR),
            Operation::Disconnect(_) => {}
            Operation::Register(end, slot, made) => self.register(*end, *slot, made),
            Operation::Deregister(end, slot) => self.deregister(*end, *slot),
            Operation::Stray(end, receive, stray) => self.stray(*end, *receive, *stray)?,
            Operation::Reset(nic) => self.reset(*nic)?,
            Operation::Resize(nic, number) if self.needed(*nic).contains(&(1 + number)) => {
                self.resize(*nic, 1 + number)?;
            }
            Operation::Resize(..) => {}
        }
        Ok(())
    }

    fn set_state(&mut self, end: End, to: u8) {
        let words = row(&[(vi_state::STATE, to.into())]);
        self.commit(self.nic(end), table::VI_STATE, self.vi(end), &words[..1]);
    }

    fn connect(&mut self, connection: usize) -> io::Result<()> {
        let ends = [2 * connection, 2 * connection + 1];
        let open: Vec<End> = ends.into_iter().filter(|end| self.sides[*end].open).collect();
        open.iter().for_each(|end| self.set_state(*end, vi_states::ERROR));
        if !open.is_empty() {
            self.settle()?;
        }
        self.generations[connection] += 1;
        let made = self.program.connections[connection];
        for end in ends {
            let (nic, vi) = (self.nic(end), self.vi(end));
            if self.sides[end].open {
                self.set_state(end, vi_states::IDLE);
                self.command(nic, command_op::DRAIN, 0, 0);
            }
            if !self.sides[end].home {
                self.sides[end].home = true;
                let whole = Registration {
                    at: 0,
                    length: crate::memory::SLICE,
                    foreign: false,
                    read_only: false,
                    remote_write: true,
                    remote_read: true,
                };
                self.register(end, 0, &whole);
            }
            for (number, words) in rows::connection(&made, end, self.generations[connection]) {
                self.commit(nic, number, vi, &words);
            }
            for (n, word) in rows::template(&made, end, self.generations[connection]).into_iter().enumerate()
            {
                self.commit(nic, table::TEMPLATE, 8 * vi + n, &[word]);
            }
            for receive in 0..2 {
                let words = rows::work_queue(&made, end, receive);
                self.commit(nic, table::WORK_QUEUE, 2 * vi + receive, &words[..2]);
            }
            self.sides[end].queues = Default::default();
            self.sides[end].open = true;
        }
        ends.into_iter().for_each(|end| self.set_state(end, vi_states::CONNECTED));
        Ok(())
    }

    fn register(&mut self, end: End, slot: usize, made: &Registration) {
        self.deregister(end, slot);
        let nic = self.nic(end);
        let (place, count) = &mut self.sides[end].slots[slot];
        *place = Some(*made);
        *count += 1;
        let region = rows::region(end, slot);
        let count = *count;
        let connection = &self.program.connections[end / 2];
        for (page, of) in rows::pages(connection, made).enumerate() {
            let address = self.memories[nic].page_address(end, of);
            self.commit(nic, table::PAGE, rows::first_page(region) as usize + page, &[address]);
        }
        self.commit(
            nic,
            table::REGION,
            region.into(),
            &rows::registration(connection, end, slot, count, made),
        );
    }

    fn deregister(&mut self, end: End, slot: usize) {
        if self.sides[end].slots[slot].0.take().is_some() {
            let nic = self.nic(end);
            self.commit(nic, table::REGION, rows::region(end, slot).into(), &[0; 3]);
            self.command(nic, command_op::DRAIN, 0, 0);
        }
    }

    fn reset(&mut self, nic: usize) -> io::Result<()> {
        self.store(nic, Bar::Registers, registers::CONTROL, 4, control::RESET.mask() << 31);
        for end in 0..self.sides.len() {
            if self.nic(end) == nic {
                let slots = self.sides[end].slots.map(|(_, count)| (None, count));
                self.forget(end);
                self.sides[end] = Side { slots, ..Side::default() };
            }
        }
        self.set_up(nic)
    }

    /// A reset meets what was posted and is not complete at any point of its way: nobody looks at it any more.
    fn forget(&mut self, end: End) {
        for posted in self.sides[end].queues.iter().flat_map(|queue| &queue.posted) {
            if posted.complete {
                continue;
            }
            self.forgotten.push((end, posted.place, CONTROL_SEGMENT_BYTES as u32));
            let Operation::Post(post) = &self.program.operations[posted.operation] else { continue };
            if post.receive || post.request == Request::Read {
                self.forgotten.extend(post.pieces.iter().map(|piece| (end, piece.at, piece.length)));
            }
        }
        // And what the peer was about to write.
        for posted in &self.sides[end ^ 1].queues[0].posted {
            let Operation::Post(post) = &self.program.operations[posted.operation] else { continue };
            if post.request == Request::Write && !posted.complete {
                let length = post.pieces.iter().map(|piece| piece.length).sum();
                self.forgotten.push((end, post.remote.1, length));
            }
        }
    }

    fn handle(&self, end: End, slot: usize) -> u32 {
        rows::handle(end, slot, self.sides[end].slots[slot].1)
    }

    fn write_slot(&mut self, end: End, receive: usize, position: u16, token: u64) -> io::Result<()> {
        let nic = self.nic(end);
        let slots = 1 << self.program.connections[end / 2].ring_log2;
        let at = rows::ring(end, receive) + 8 * (u64::from(position) % slots);
        self.memories[nic].write_arena(at, &token.to_le_bytes())
    }

    fn ring(&mut self, end: End, receive: usize, token: u64, length: usize) {
        let page = (self.vi(end) as u64) << DOORBELL_SHIFT;
        let word = page + if receive == 1 { doorbell::page::RECEIVE } else { doorbell::page::SEND };
        match length {
            8 => self.store(self.nic(end), Bar::Doorbells, word, 8, token),
            _ => self.store(self.nic(end), Bar::Doorbells, word + 4, 4, token >> 32),
        }
    }

    fn post(&mut self, post: &Post) -> io::Result<()> {
        let (end, receive) = (post.end, usize::from(post.receive));
        let slots = 1 << self.program.connections[end / 2].ring_log2;
        let side = &self.sides[end];
        let queue = &side.queues[receive];
        if !side.open || queue.wrecked || queue.posted.len() - queue.complete >= slots {
            return Ok(());
        }
        self.dawdle();
        let position = self.sides[end].queues[receive].posted.len() as u16;
        let connection = &self.program.connections[end / 2];
        let base = |end: End| rows::address(connection, end);
        let slot = |end: End, slot: usize| {
            let made = self.sides[end].slots[slot].0;
            made.map_or(u32::MAX, |made| made.at + made.length)
        };
        let handles =
            descriptor::Places { handle: &|end, slot| self.handle(end, slot), address: &base, end_of: &slot };
        let bytes = descriptor::encode(post, &handles);
        let nic = self.nic(end);
        self.memories[nic].write(end, post.place, &bytes)?;
        let region = match post.flaw {
            Flaw::Nowhere => 0xFE,
            Flaw::Foreign => rows::ARENA_REGION,
            _ => rows::region(end, 0),
        };
        let place = post.place - if region == rows::ARENA_REGION { DESCRIPTORS } else { 0 };
        let token = doorbell::encode(region, u64::from(place) / 64, position);
        self.write_slot(end, receive, position, token)?;
        let before = u64::from_le_bytes(bytes[24..32].try_into().map_err(io::Error::other)?);
        // Nothing can be written to a descriptor that is nowhere.
        let complete = matches!(post.flaw, Flaw::Nowhere | Flaw::Foreign);
        let queue = &mut self.sides[end].queues[receive];
        queue.posted.push(Posted { operation: self.at, place: post.place, before, complete });
        queue.complete += usize::from(complete);
        match post.bell {
            Bell::Token => self.ring(end, receive, token, 8),
            Bell::High => self.ring(end, receive, token, 4),
            Bell::Silent => {}
        }
        Ok(())
    }

    fn stray(&mut self, end: End, receive: bool, stray: Stray) -> io::Result<()> {
        let receive = usize::from(receive);
        let side = &mut self.sides[end];
        let queue = &mut side.queues[receive];
        if !side.open || queue.wrecked {
            return Ok(());
        }
        let next = queue.posted.len() as u16;
        queue.wrecked |= matches!(stray, Stray::Ahead(_) | Stray::Stale);
        let token = |position: u16| doorbell::encode(rows::region(end, 0), 0x400, position & 0x3FFF);
        let page = (self.vi(end) as u64) << DOORBELL_SHIFT;
        let nic = self.nic(end);
        match stray {
            Stray::Low => self.store(nic, Bar::Doorbells, page + 8 * receive as u64, 4, 0x1234),
            Stray::Ahead(by) => self.ring(end, receive, token(next + by), 8),
            Stray::Stale => {
                self.write_slot(end, receive, next, token(next + 0x1000))?;
                self.ring(end, receive, token(next), 4);
            }
            Stray::Beside(at) => {
                let length = if at % 8 == 0 { 8 } else { 4 };
                self.store(nic, Bar::Doorbells, page + at, length, u64::MAX);
            }
        }
        Ok(())
    }

    /// In schedules that differ from the program's, hosts are slow now and then.
    fn dawdle(&mut self) {
        if let Some(random) = &mut self.jitter {
            let most = [0, 0, 100, 1000, 5000][random.random_range(0..5)];
            let cycles = random.random_range(0..=most);
            self.net.step(cycles);
        }
    }

    fn arrive(&mut self) {
        while (0..2).any(|nic| self.net.backlog(nic) != 0) {
            self.net.step(16);
        }
    }

    fn pause(&mut self, frames: u32) {
        let jitter = self.jitter.as_mut().map_or(0, |random| random.random_range(-4i64..=4));
        let until = self.net.fabric().counters().frames + (i64::from(frames) + jitter).max(0) as u64;
        while self.net.fabric().counters().frames < until && self.net.activity() == Activity::Busy {
            self.net.step(self.net.quantum().min(16));
        }
    }

    /// Runs until nothing moves and no timer runs.
    fn settle(&mut self) -> io::Result<()> {
        let mut busy = 0;
        loop {
            match self.net.activity() {
                Activity::Busy => {
                    self.net.step(self.net.quantum());
                    busy += self.net.quantum();
                }
                Activity::Idle(Some(when)) => self.net.skip_to(when),
                Activity::Idle(None) => break,
            }
            if busy > PATIENCE {
                self.faults.push("the network does not come to rest".into());
                break;
            }
        }
        for nic in 0..2 {
            self.take_entries(nic)?;
        }
        self.stories.iter_mut().for_each(|story| story.stamp_entries(self.at));
        (0..self.sides.len()).try_for_each(|end| self.look(end))
    }

    /// Takes what is in a NIC's completion queues and in its error ring.
    fn take_entries(&mut self, nic: usize) -> io::Result<()> {
        for queue in self.needed(nic) {
            let before = self.queues[nic][queue].taken;
            while let Some(words) = self.queues[nic][queue].take(queue, &mut self.memories[nic])? {
                self.entry(nic, queue, words);
            }
            if self.queues[nic][queue].taken != before {
                self.tell_index(nic, queue);
            }
        }
        Ok(())
    }

    fn tell_index(&mut self, nic: usize, queue: usize) {
        let page = ((VIS + queue) as u64) << DOORBELL_SHIFT;
        let word = self.queues[nic][queue].index();
        self.store(nic, Bar::Doorbells, page + doorbell::cq_page::INDEX, 8, word);
    }

    /// An entry goes to the story of the connection that it is of.
    fn entry(&mut self, nic: usize, queue: usize, words: [u64; 2]) {
        let token = [cq_entry::TOKEN.get(&words)];
        let events = queue == rows::ERROR_RING;
        let code = event::CODE.get(&token) as u8;
        let number = match events {
            true => event::VI.get(&token) as usize,
            false => cq_entry::VI.get(&words) as usize,
        };
        let end = (0..self.sides.len()).find(|end| match events && code == event_code::CQ_OVERRUN {
            // A queue that may run over is of one work queue.
            true => self.nic(*end) == nic && self.queues_of(*end).contains(&Some(number)),
            false => (self.nic(*end), self.vi(*end)) == (nic, number),
        });
        let Some(end) = end else {
            return self.faults.push(format!("NIC {nic} has in queue {queue} an entry of nobody: {words:x?}"));
        };
        let receive = match events {
            true => event::RECEIVE.get(&token) != 0,
            false => cq_entry::RECEIVE.get(&words) != 0,
        };
        if events {
            let broke = event::BROKE.get(&token) != 0;
            self.stories[end / 2].events.push(Event { at: self.at, end: end % 2, code, receive, broke });
        } else if self.queues_of(end)[usize::from(receive)] == Some(queue) {
            // Those of a ring that is given up are taken early: they count from the next rest on.
            let entry = Entry { at: usize::MAX, end: end % 2, receive, token: token[0] };
            self.stories[end / 2].entries.push(entry);
        } else {
            self.faults.push(format!("NIC {nic} has in queue {queue} an entry of another: {words:x?}"));
        }
    }

    /// Completion queues of a NIC that the program uses.
    fn needed(&self, nic: usize) -> Vec<usize> {
        let ends = (0..self.sides.len()).filter(|end| self.nic(*end) == nic);
        let mut needed: Vec<usize> = ends.flat_map(|end| self.queues_of(end)).flatten().collect();
        needed.push(rows::ERROR_RING);
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    fn queues_of(&self, end: End) -> [Option<usize>; 2] {
        [0, 1].map(|receive| rows::cq_of(&self.program.connections[end / 2], end, receive))
    }

    fn resize(&mut self, nic: usize, queue: usize) -> io::Result<()> {
        let old = self.queues[nic][queue];
        let new = Consumer { other: !old.other, taken: 0, ..old };
        self.clear_ring(nic, queue, new.other)?;
        self.commit(nic, table::COMPLETION_QUEUE, queue, &rows::completion_queue(queue, new.other)[..2]);
        let written = self.load(nic, registers::RESULT, 8);
        // The last entries of the old ring are on their way.
        self.command(nic, command_op::DRAIN, 0, 0);
        while u64::from(self.queues[nic][queue].taken) != written {
            let Some(words) = self.queues[nic][queue].take(queue, &mut self.memories[nic])? else {
                self.faults.push(format!("NIC {nic} has not written {written} entries to queue {queue}"));
                break;
            };
            self.entry(nic, queue, words);
        }
        self.queues[nic][queue] = Consumer { stores: self.queues[nic][queue].stores, ..new };
        Ok(())
    }

    fn clear_ring(&mut self, nic: usize, queue: usize, other: bool) -> io::Result<()> {
        let bytes = ENTRY_BYTES << rows::cq_log2(queue, other);
        self.memories[nic].write_arena(rows::cq_ring(queue, other), &vec![0; bytes as usize])
    }

    /// Looks which descriptors of an end are complete.
    fn look(&mut self, end: End) -> io::Result<()> {
        let memory = &self.memories[self.nic(end)];
        for (receive, queue) in self.sides[end].queues.iter_mut().enumerate() {
            let mut gap = false;
            for posted in &mut queue.posted {
                if posted.complete {
                    continue;
                }
                let words = memory.read(end, posted.place + 16, 16)?;
                let word = |at: usize| {
                    words[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
                };
                let (immediate, length, status) = (word(4), word(8), word(12));
                if u64::from(status) << 32 | u64::from(length) == posted.before {
                    gap = true;
                    continue;
                }
                if gap {
                    self.faults
                        .push(format!("end {end}: operation {} is complete too early", posted.operation));
                }
                posted.complete = true;
                queue.complete += 1;
                let seen = self.at;
                let receive = receive == 1;
                let place = posted.place;
                let completion = Completion {
                    place,
                    seen,
                    end: end % 2,
                    receive,
                    operation: posted.operation,
                    length,
                    status,
                    immediate,
                };
                self.stories[end / 2].completions.push(completion);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Outcome> {
        if self.faults.is_empty() {
            self.settle()?;
        }
        for end in 0..self.sides.len() {
            let nic = self.nic(end);
            if self.sides[end].open && self.faults.is_empty() {
                self.command(nic, command_op::QUERY, table::VI_STATE, self.vi(end));
                let state = self.load(nic, registers::RESULT, 8);
                self.stories[end / 2].states[end % 2] = Some(state);
            }
            let mut slice = self.memories[nic].read(end, 0, crate::memory::SLICE as usize)?;
            for (_, at, length) in self.forgotten.iter().filter(|(of, ..)| *of == end) {
                let end = (at + length).min(crate::memory::SLICE);
                slice[*at as usize..end as usize].fill(0);
            }
            self.stories[end / 2].memories[end % 2] = slice;
        }
        for nic in 0..2 {
            let Self { net, faults, .. } = &mut self;
            faults.extend(net.violations(nic).iter().map(|violation| format!("NIC {nic}: {violation:?}")));
            let unsupported = net.counters(nic).0.unsupported;
            if unsupported != 0 {
                faults.push(format!("NIC {nic} reached {unsupported} times for what is not there"));
            }
            if !self.memories[nic].arena_is_whole()? {
                self.faults.push(format!("NIC {nic} wrote into the arena"));
            }
        }
        self.net.fabric_mut().finish_capture()?;
        let met = self.met.lock().map(|met| met.clone()).unwrap_or_default();
        Ok(Outcome { stories: self.stories, faults: self.faults, cycles: self.net.now(), met })
    }
}
