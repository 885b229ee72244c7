//! Many walks, on as many processors as there are.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use viaduct_sim::model::Mutant;
use viaduct_sim::setup::Kind;

use crate::judge::{walk, PAIRS};
use crate::program::Program;
use crate::shrink::shrink;
use crate::tally::Tally;
use crate::{evidence, generator};

/// Seeds to walk.
#[derive(Debug, Clone)]
pub enum Seeds {
    /// From this one on, so many.
    From(u64, u64),
    /// These.
    These(Vec<u64>),
}

impl Seeds {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).map_while(|number| self.get(number))
    }

    fn get(&self, number: u64) -> Option<u64> {
        match self {
            Self::From(first, count) => (number < *count).then(|| first.wrapping_add(number)),
            Self::These(seeds) => seeds.get(usize::try_from(number).ok()?).copied(),
        }
    }
}

/// What to walk.
#[derive(Debug, Clone)]
pub struct Soak {
    /// Seeds.
    pub seeds: Seeds,
    /// But no more when so long has passed.
    pub limit: Option<Duration>,
    /// NICs that are held against the model; of the mixed ones one after the other.
    pub model_only: bool,
    /// All root complexes are unkind, not only every second walk's.
    pub unkind: bool,
    /// What rule those models break, which are not the reference.
    pub mutant: Option<Mutant>,
    /// Where evidence goes.
    pub folder: PathBuf,
    /// After so many failed walks no other begins.
    pub most: u64,
    /// Attempts to make a failing program smaller.
    pub attempts: usize,
    /// Threads.
    pub threads: usize,
}

impl Soak {
    /// The pairs for a seed: two of the NICs under test, and for every second one a mixed pair.
    fn pairs(&self, seed: u64) -> Vec<[Kind; 2]> {
        match self.model_only {
            true => vec![[Kind::Model; 2]],
            false if seed % 2 == 0 => vec![PAIRS[0]],
            false => vec![PAIRS[0], PAIRS[1 + (seed / 2 % 2) as usize]],
        }
    }

    /// Walks. `report` hears of every walk that failed.
    pub fn run(&self, report: impl Fn(String) + Sync) -> io::Result<Tally> {
        let next = AtomicU64::new(0);
        let failed = AtomicU64::new(0);
        let tally = Mutex::new(Tally::default());
        let start = Instant::now();
        std::thread::scope(|scope| {
            let work = || -> io::Result<()> {
                let mut own = Tally::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let late = self.limit.is_some_and(|limit| start.elapsed() >= limit);
                    let enough = failed.load(Ordering::Relaxed) >= self.most;
                    let Some(seed) = self.seeds.get(number).filter(|_| !late && !enough) else { break };
                    let mut program = generator::program(seed);
                    if self.unkind {
                        program.conditions = program.conditions.unkind();
                    }
                    if let Some(text) = self.one(&program, &mut own)? {
                        failed.fetch_add(1, Ordering::Relaxed);
                        report(text);
                    }
                }
                if let Ok(mut tally) = tally.lock() {
                    tally.join(own);
                }
                Ok(())
            };
            let threads: Vec<_> = (0..self.threads.max(1)).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a walk has panicked")))
            })
        })?;
        let mut tally = tally.into_inner().map_err(|_| io::Error::other("a walk has panicked"))?;
        tally.failed.sort_unstable();
        Ok(tally)
    }

    /// One walk; what is to be said if it fails.
    fn one(&self, program: &Program, tally: &mut Tally) -> io::Result<Option<String>> {
        let pairs = self.pairs(program.seed);
        let start = Instant::now();
        let made = walk(program, &pairs, self.mutant, self.model_only)?;
        tally.count(program, &made);
        tally.time(program, start.elapsed());
        tally.pairs(&pairs);
        let Err(found) = made.verdict else { return Ok(None) };
        // The pair that was wrong, and no other, decides what is left out.
        let pairs = [found.kinds];
        let again = |program: &Program| walk(program, &pairs, self.mutant, self.model_only);
        let small = shrink(program, self.attempts, |program| {
            let verdict = again(program).map(|made| made.verdict);
            verdict.is_ok_and(|verdict| verdict.is_err_and(|other| other.nature == found.nature))
        });
        let found = again(&small)?.verdict.err().unwrap_or(found);
        let folder = evidence::leave(&self.folder, program, &small, &found, self.mutant)?;
        Ok(Some(format!(
            "seed {seed}: {:?}\n{}\n{small}evidence: {}\nTo the corpus, with its fix: a line `{seed} what it found` in \
             walk/src/corpus.txt\n",
            found.kinds,
            found.text,
            folder.display(),
            seed = program.seed
        )))
    }
}
