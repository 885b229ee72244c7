//! Two hosts with their NICs on a network, that go through a program.

mod agent;
mod user;
mod watch;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_driver::device::Bar;
use viaduct_sim::network::{Activity, Network};
use viaduct_sim::root_complex::Access;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::tables::vi_states;

use crate::ability::{Abilities, Ability};
use crate::conditions::Schedule;
use crate::consumer::Consumer;
use crate::memory::{Memory, SLOTS};
use crate::operation::{End, Operation, Registration};
use crate::outcome::{Outcome, Story};
use crate::program::Program;
use crate::rows;
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
    /// A descriptor of it lies nowhere: how many are complete is not known.
    vague: bool,
}

/// An end of a connection.
#[derive(Debug, Default)]
struct Side {
    open: bool,
    queues: [Queue; 2],
    /// Registrations, and how many there have been in each slot.
    slots: [(Option<Registration>, u16); SLOTS],
    home: bool,
    /// Its consumer waits for an interrupt.
    armed: bool,
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
    slow: bool,
    /// Number of the operation.
    at: usize,
    met: Met,
    /// Completion queues of each NIC.
    queues: [[Consumer; rows::CQS]; 2],
    /// Each end's interrupts. None if no consumer asks for any.
    interrupts: Vec<File>,
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
            (machine.jitter, machine.slow) = (turn.jitter, turn.slow);
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
            slow: run.schedule.turn(0).slow,
            at: 0,
            met,
            queues: Default::default(),
            interrupts: Vec::new(),
        };
        for nic in 0..2 {
            let Machine { memories, net, .. } = &mut machine;
            memories[nic].map(net.memory(nic))?;
            // Memory Enable and Bus Master.
            machine.net.config_write(nic, 4, &[6, 0]);
            machine.set_up(nic)?;
        }
        if program.operations.iter().any(|operation| matches!(operation, Operation::Arm(..))) {
            machine.listen()?;
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
            Operation::Arm(end, receive) => self.arm(*end, *receive),
            Operation::Reset(nic) => self.reset(*nic)?,
            Operation::Resize(nic, number) if self.needed(*nic).contains(&(1 + number)) => {
                self.resize(*nic, 1 + number)?;
            }
            Operation::Resize(..) => {}
        }
        Ok(())
    }

    /// In schedules that differ from the program's, hosts are slow now and then.
    fn dawdle(&mut self) {
        if let Some(random) = self.jitter.as_mut().filter(|_| self.slow) {
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
        if let Some(random) = &mut self.jitter {
            let most = [0, 100, 1000, 4000][random.random_range(0..4)];
            let cycles = random.random_range(0..=most);
            self.net.step(cycles);
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
        self.stories.iter_mut().for_each(|story| story.stamp(self.at));
        self.count_interrupts();
        (0..self.sides.len()).try_for_each(|end| self.look(end))
    }
}
