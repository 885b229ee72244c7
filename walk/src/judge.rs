//! Holds NICs against the model: what each NIC under test was seen to do, one schedule of the model does, whole and in order
//! ([`follow`](crate::follow)).

use std::io;

use viaduct_sim::model::Mutant;
use viaduct_sim::setup::Kind;

use crate::conditions::choices;
use crate::follow::follow;
use crate::machine::{run, Run};
use crate::outcome::Outcome;
use crate::program::Program;

/// The pairs of NICs that are held against the model.
pub const PAIRS: [[Kind; 2]; 3] =
    [[Kind::Rtl, Kind::Rtl], [Kind::Rtl, Kind::Model], [Kind::Model, Kind::Rtl]];

/// What is wrong.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// Which NICs.
    pub kinds: [Kind; 2],
    /// The NIC that does what the model does not; none if it is what no program allows.
    pub nic: Option<usize>,
    /// What is wrong.
    pub text: String,
    /// Of what nature it is: a smaller program that fails otherwise shows something else.
    pub nature: String,
}

impl Disagreement {
    fn new(kinds: [Kind; 2], nic: Option<usize>, text: String) -> Self {
        let line = text.lines().find(|line| line.starts_with("  ")).or(text.lines().next()).unwrap_or("");
        // But for numbers.
        let words =
            line.split_whitespace().filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()));
        let nature = words.collect::<Vec<_>>().join(" ");
        Self { kinds, nic, text, nature }
    }
}

/// What came of a walk: which operations it had is the program's to say.
#[derive(Debug)]
pub struct Walk {
    /// What the first pair of NICs made of it.
    pub outcome: Outcome,
    /// Cycles that the NICs under test took.
    pub cycles: u64,
    /// How many traces were followed, or what was wrong first.
    pub verdict: Result<u64, Disagreement>,
}

/// Holds what came of a program against the model: how many traces were followed.
pub fn judge(
    program: &Program,
    kinds: [Kind; 2],
    models: bool,
    outcome: &Outcome,
) -> Result<u64, Disagreement> {
    if !outcome.faults.is_empty() {
        return Err(Disagreement::new(kinds, None, outcome.faults.join("\n")));
    }
    let mut followed = 0;
    for (nic, trace) in outcome.traces.iter().enumerate() {
        if kinds[nic] == Kind::Model && !models {
            continue;
        }
        follow(program, nic, trace)
            .map_err(|why| Disagreement::new(kinds, Some(nic), format!("NIC {nic}: {why}")))?;
        followed += 1;
    }
    Ok(followed)
}

/// Sends NICs of these kinds through a program, the models among them with this mutant's rule. `models`: they are under test, too.
pub fn walk(
    program: &Program,
    pairs: &[[Kind; 2]],
    mutant: Option<Mutant>,
    models: bool,
) -> io::Result<Walk> {
    let mut first = None;
    let mut cycles = 0;
    let mut verdict = Ok(0);
    for kinds in pairs {
        let choices = choices(program.seed, mutant);
        let mut outcome = run(program, &Run::of(*kinds, choices))?;
        cycles += outcome.cycles;
        let judged = judge(program, *kinds, models, &outcome);
        outcome.traces = Default::default();
        first.get_or_insert(outcome);
        verdict = match (verdict, judged) {
            (Ok(sum), Ok(more)) => Ok(sum + more),
            (_, Err(found)) => {
                verdict = Err(found);
                break;
            }
            (verdict, _) => verdict,
        };
    }
    Ok(Walk { outcome: first.unwrap_or_default(), cycles, verdict })
}
