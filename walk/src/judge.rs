//! Holds NICs against the model.
//!
//! The model goes through a program in several schedules: other latencies, other speeds, pauses of other lengths. A
//! connection of which all tell the same story is *free of races*, and every NIC must tell that one. The others are
//! *raced*: the model is sent through more and more schedules until it tells what the NIC told; what it never tells,
//! it does not allow.

use std::io;

use viaduct_sim::model::Mutant;
use viaduct_sim::setup::Kind;

use crate::ability::Abilities;
use crate::conditions::{Schedule, LATENCIES};
use crate::machine::{run, Run};
use crate::outcome::{Outcome, Story};
use crate::program::Program;

/// Schedules in which the model goes through every program.
const FIRST: u64 = 4;
/// Schedules in which it is sent after a story that it has not told yet.
const MOST: u64 = 40;
/// Turns that are tried for each stretch of a program.
const TURNS: u64 = 30;

/// The pairs of NICs that are held against the model.
pub const PAIRS: [[Kind; 2]; 3] =
    [[Kind::Rtl, Kind::Rtl], [Kind::Rtl, Kind::Model], [Kind::Model, Kind::Rtl]];

/// What the model tells of a program.
#[derive(Debug)]
pub struct Reference<'a> {
    program: &'a Program,
    abilities: Abilities,
    told: Vec<Outcome>,
    next: u64,
}

/// What is wrong.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// Which NICs.
    pub kinds: [Kind; 2],
    /// In which schedule the models among them were.
    pub schedule: Schedule,
    /// The connection, if it is one's.
    pub connection: Option<usize>,
    /// What they do that the model does not.
    pub text: String,
    /// Of what nature it is: a smaller program that fails otherwise shows something else.
    pub nature: String,
}

/// How many connections were compared in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Free of races.
    pub exact: u64,
    /// Raced.
    pub followed: u64,
    /// Raced, and told in a schedule that was looked for.
    pub searched: u64,
    /// Raced, and told in none of those that were looked for as a whole, but each completion, entry, event, state and
    /// byte of memory in one of them.
    pub parts: u64,
}

impl Agreement {
    /// Whether so much was judged as a whole that the rest says little: told in parts is at most one story in 20.
    pub fn is_firm(&self) -> bool {
        self.parts * 20 <= self.exact + self.followed + self.searched + self.parts
    }
}

/// Of what nature faults are: the first one, but for numbers.
fn nature(faults: &[String]) -> String {
    faults.iter().take(1).flat_map(|fault| fault.chars()).filter(|letter| !letter.is_ascii_digit()).collect()
}

impl<'a> Reference<'a> {
    /// Sends the model through a program.
    pub fn new(program: &'a Program, abilities: Abilities) -> io::Result<Self> {
        let mut reference = Self { program, abilities, told: Vec::new(), next: 0 };
        for _ in 0..FIRST {
            reference.tell(Schedule::number(reference.next))?;
        }
        for connection in 0..program.connections.len() {
            let first = &reference.told[0].stories[connection];
            if let Some(told) = reference.told.iter().find(|told| told.stories[connection] != *first) {
                let difference = told.stories[connection].difference(first);
                tracing::debug!("seed {}: connection {connection} is raced:\n{difference}", program.seed);
            }
        }
        Ok(reference)
    }

    /// One more schedule.
    fn tell(&mut self, schedule: Schedule) -> io::Result<()> {
        self.next += 1;
        self.told.push(run(self.program, &Run::of([Kind::Model; 2], schedule), self.abilities)?);
        Ok(())
    }

    /// Lets the model follow a story, stretch by stretch: of each the first turn in which it tells the same.
    fn follow(&mut self, connection: usize, story: &Story, latency: Option<u64>) -> io::Result<()> {
        let operations = &self.program.operations;
        let rests = operations.iter().enumerate().filter(|(_, operation)| operation.is_rest());
        let ends: Vec<usize> = rests.map(|(at, _)| at).chain([usize::MAX]).collect();
        let mut schedule = Schedule { latency, ..Schedule::default() };
        for end in ends {
            let mut found = false;
            for turn in 0..TURNS {
                schedule.turns.push(turn);
                let whole = run(self.program, &Run::of([Kind::Model; 2], schedule.clone()), self.abilities)?;
                found = whole.stories[connection].begins_like(story, end);
                let same = whole.stories[connection] == *story;
                if found && (same || end == usize::MAX) || turn + 1 == TURNS {
                    self.told.push(whole);
                }
                if same {
                    return Ok(());
                }
                if found {
                    break;
                }
                schedule.turns.pop();
            }
            if !found {
                break;
            }
        }
        Ok(())
    }

    /// What the model itself does that no program allows.
    pub fn fault(&self) -> Option<Disagreement> {
        let told = self.told.iter().zip(0..).find(|(told, _)| !told.faults.is_empty());
        told.map(|(told, number)| Disagreement {
            kinds: [Kind::Model; 2],
            schedule: Schedule::number(number),
            connection: None,
            text: told.faults.join("\n"),
            nature: nature(&told.faults),
        })
    }

    /// What it tells as the program says.
    pub fn plain(&self) -> &Outcome {
        &self.told[0]
    }

    fn tells(&self, connection: usize, story: &Story) -> bool {
        self.told.iter().any(|told| told.stories.get(connection) == Some(story))
    }

    /// Whether the schedules so far tell different stories of a connection.
    fn races(&self, connection: usize) -> bool {
        self.told.iter().any(|told| told.stories[connection] != self.told[0].stories[connection])
    }

    /// Holds what NICs told against it.
    pub fn judge(&mut self, run: &Run, outcome: &Outcome) -> io::Result<Result<Agreement, Disagreement>> {
        let disagree = |connection, text, nature| {
            let schedule = run.schedule.clone();
            Ok(Err(Disagreement { kinds: run.kinds, schedule, connection, text, nature }))
        };
        if !outcome.faults.is_empty() {
            return disagree(None, outcome.faults.join("\n"), nature(&outcome.faults));
        }
        let mut agreement = Agreement::default();
        for (connection, story) in outcome.stories.iter().enumerate() {
            if self.tells(connection, story) {
                match self.races(connection) {
                    true => agreement.followed += 1,
                    false => agreement.exact += 1,
                }
                continue;
            }
            while self.next < MOST && !self.tells(connection, story) {
                self.tell(Schedule::number(self.next))?;
            }
            for latency in LATENCIES {
                if !self.tells(connection, story) && self.races(connection) {
                    self.follow(connection, story, latency)?;
                }
            }
            if self.tells(connection, story) {
                agreement.searched += 1;
                continue;
            }
            let told: Vec<&Story> = self.told.iter().map(|told| &told.stories[connection]).collect();
            let (how, text) = match self.races(connection) {
                true => ("what no story of the model has", story.untold(&told)),
                false => ("against the one story of the model", story.difference(told[0])),
            };
            if text.is_empty() {
                agreement.parts += 1;
                continue;
            }
            let nearest = told.into_iter().min_by_key(|told| story.difference(told).len());
            let nature = nearest.map_or_else(String::new, |told| story.nature(told));
            return disagree(Some(connection), format!("connection {connection}, {how}:\n{text}"), nature);
        }
        Ok(Ok(agreement))
    }
}

/// What came of a walk: which operations it had is the program's to say.
#[derive(Debug)]
pub struct Walk {
    /// What the model told as the program says.
    pub plain: Outcome,
    /// Cycles that the NICs under test took.
    pub cycles: u64,
    /// How it was compared, or what was wrong first.
    pub verdict: Result<Agreement, Disagreement>,
}

/// Sends NICs of these kinds through a program, the models among them with this mutant's rule.
pub fn walk(
    program: &Program,
    pairs: &[[Kind; 2]],
    mutant: Option<Mutant>,
    abilities: Abilities,
) -> io::Result<Walk> {
    let mut reference = Reference::new(program, abilities)?;
    let mut agreement = Agreement::default();
    let mut cycles = 0;
    let mut verdict = reference.fault().map_or(Ok(()), Err);
    for kinds in pairs {
        if verdict.is_err() {
            break;
        }
        let with = Run::of(*kinds, Schedule { mutant, ..Schedule::default() });
        let outcome = run(program, &with, abilities)?;
        cycles += outcome.cycles;
        match reference.judge(&with, &outcome)? {
            Ok(more) => {
                agreement.exact += more.exact;
                agreement.followed += more.followed;
                agreement.searched += more.searched;
                agreement.parts += more.parts;
            }
            Err(disagreement) => verdict = Err(disagreement),
        }
    }
    Ok(Walk { cycles, plain: reference.told.swap_remove(0), verdict: verdict.map(|()| agreement) })
}
