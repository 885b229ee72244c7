//! Two hosts with their NICs on a network, that go through a program.

mod agent;
mod user;
mod watch;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use viaduct_driver::device::Bar;
use viaduct_sim::model::Choices;
use viaduct_sim::network::{Activity, Network};
use viaduct_sim::root_complex::Access;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::tables::vi_states;

use crate::consumer::Consumer;
use crate::fault_injection::{KeyedFaults, Met};
use crate::memory::{Memory, SLOTS};
use crate::operation::{End, Operation, Registration};
use crate::outcome::{Completion, Event, Outcome};
use crate::program::Program;
use crate::rows;
use crate::trace::{Recorder, Trace};

/// Busy cycles after which a program is taken to hang.
const PATIENCE: u64 = 3_000_000;

/// Cycles between two looks whether a load is answered.
const LOOK: u64 = 8;
/// The command register of configuration space with Memory Enable and Bus Master.
const ENABLED: [u8; 2] = [6, 0];

/// What goes through a program, and what is kept of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// What each NIC is.
    pub kinds: [Kind; 2],
    /// What the models among them make of what the specification leaves open.
    pub choices: [Choices; 2],
    /// Capture.
    pub pcap: Option<PathBuf>,
    /// Waveforms.
    pub waves: Option<PathBuf>,
}

impl Run {
    /// With nothing kept but the traces.
    pub fn of(kinds: [Kind; 2], choices: [Choices; 2]) -> Self {
        Self { kinds, choices, pcap: None, waves: None }
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
    completions: Vec<Completion>,
    events: Vec<Event>,
    faults: Vec<String>,
    /// Number of the operation.
    at: usize,
    met: Met,
    /// Completion queues of each NIC.
    queues: [[Consumer; rows::CQS]; 2],
    /// Each end's interrupts. None if no consumer asks for any.
    interrupts: Vec<File>,
    recorders: [Recorder; 2],
    traces: [Trace; 2],
}

/// Goes through a program.
pub fn run(program: &Program, run: &Run) -> io::Result<Outcome> {
    let mut machine = Machine::new(program, run)?;
    for at in 0..program.operations.len() {
        machine.at = at;
        machine.operate(&program.operations[at])?;
        if !machine.faults.is_empty() {
            break;
        }
    }
    machine.finish()
}

impl<'a> Machine<'a> {
    fn new(program: &'a Program, run: &Run) -> io::Result<Self> {
        let conditions = &program.conditions;
        let setup = Setup {
            kinds: run.kinds.to_vec(),
            choices: run.choices.to_vec(),
            seed: conditions.seed,
            network: conditions.options(),
            pcap: run.pcap.clone(),
            trace: run.waves.clone(),
            ..Setup::default()
        };
        let mut net = setup.build().map_err(io::Error::other)?;
        let met = Met::default();
        net.fabric_mut().set_fault_injector(Box::new(KeyedFaults::new(
            conditions.seed,
            conditions.rates,
            met.clone(),
        )));
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
            completions: Vec::new(),
            events: Vec::new(),
            faults: Vec::new(),
            at: 0,
            met,
            queues: Default::default(),
            interrupts: Vec::new(),
            recorders: Default::default(),
            traces: Default::default(),
        };
        for nic in 0..2 {
            let Machine { memories, net, recorders, traces, .. } = &mut machine;
            memories[nic].map(net.memory(nic))?;
            net.watch(nic, recorders[nic].watcher());
            traces[nic].memory = memories[nic].record(recorders[nic].clone())?;
            machine.net.config_write(nic, 4, &ENABLED);
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
            Operation::Reset(nic, how) => self.reset(*nic, *how)?,
            Operation::Resize(nic, number) if self.needed(*nic).contains(&(1 + number)) => {
                self.resize(*nic, 1 + number)?;
            }
            Operation::Resize(..) => {}
        }
        Ok(())
    }

    fn arrive(&mut self) {
        while (0..2).any(|nic| self.net.backlog(nic) != 0) {
            self.net.step(16);
        }
    }

    fn pause(&mut self, frames: u32) {
        let until = self.net.fabric().counters().frames + u64::from(frames);
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
        self.count_interrupts();
        (0..self.sides.len()).try_for_each(|end| self.look(end))
    }
}
