//! Somebody else than a root port: it sends what no root port would.

use std::collections::VecDeque;

use viaduct_link::ordered_set::TrainingSet;
use viaduct_link::scrambler::Scrambler;
use viaduct_link::seam::{FromEndpoint, Heard, ToEndpoint};
use viaduct_link::symbol::Symbol;

/// What a symbol belongs to: data of training sets is not scrambled.
type Of = bool;
const TRAINING: Of = true;
const DATA: Of = false;

/// What somebody else than a root port sends: symbols, and then something over and over.
#[derive(Default)]
pub struct Script {
    symbols: VecDeque<(Symbol, Of)>,
    over: Vec<(Symbol, Of)>,
    /// Idle, scrambled, and not `over`.
    idle: bool,
    scrambler: Scrambler,
}

impl Script {
    /// Logical idle.
    pub fn idle() -> Self {
        Self { idle: true, ..Self::default() }
    }

    /// Sets over and over.
    pub fn over(over: Vec<Symbol>) -> Self {
        Self { over: over.into_iter().map(|symbol| (symbol, TRAINING)).collect(), ..Self::default() }
    }

    /// Data over and over.
    pub fn data(over: Vec<Symbol>) -> Self {
        Self { over: over.into_iter().map(|symbol| (symbol, DATA)).collect(), ..Self::default() }
    }

    /// A training set over and over.
    pub fn sets(set: TrainingSet) -> Self {
        Self::over(set.encode().to_vec())
    }

    /// So many sets before it.
    pub fn first(mut self, count: usize, set: TrainingSet) -> Self {
        (0..count).for_each(|_| self.symbols.extend(set.encode().map(|symbol| (symbol, TRAINING))));
        self
    }

    /// A cycle: it has a receiver, and hears nothing.
    pub fn cycle(&mut self, from: FromEndpoint) -> ToEndpoint {
        let symbols = [0; 2].map(|_| {
            if self.symbols.is_empty() && !self.idle {
                self.symbols.extend(self.over.iter().copied());
            }
            match self.symbols.pop_front() {
                Some((symbol, of)) => Some(self.scrambler.pass(symbol, of)),
                None => self.idle.then(|| self.scrambler.pass(Symbol::IDLE, false)),
            }
        });
        let to = ToEndpoint {
            detect_done: from.detect_request,
            detect_present: from.detect_request,
            ..ToEndpoint::default()
        };
        to.carry(Heard { symbols, idle: symbols == [None; 2] }, Symbol::IDLE)
    }
}
