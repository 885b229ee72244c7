//! Ordered sets and what they are made of (section 4.2.4).

use crate::generation::Generation;
use crate::symbol::Symbol;

/// Control bit 0 of a training set: Hot Reset.
pub const HOT_RESET: u8 = 1;
/// Control bit 1: Disable Link.
pub const DISABLE: u8 = 2;
/// Control bit 2: Loopback. Nothing here enters it.
pub const LOOPBACK: u8 = 4;
/// Control bit 3: Disable Scrambling.
pub const NO_SCRAMBLING: u8 = 8;
/// Symbols of a training set.
pub const TRAINING_SYMBOLS: usize = 16;
/// Most SKP symbols that a SKP ordered set may have at a receiver.
pub const MAX_SKP: u8 = 5;

/// Which of the two training sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// TS1.
    Ts1,
    /// TS2.
    Ts2,
}

impl Kind {
    /// Its identifier, of which there are ten.
    const fn identifier(self) -> u8 {
        match self {
            Self::Ts1 => 0x4A,
            Self::Ts2 => 0x45,
        }
    }

    /// The set that an identifier belongs to, and whether the lane is inverted.
    pub(crate) fn of(identifier: Symbol) -> Option<(Self, bool)> {
        [Self::Ts1, Self::Ts2].into_iter().find_map(|kind| {
            let own = Symbol::data(kind.identifier());
            let inverted = identifier == own.inverted();
            (identifier == own || inverted).then_some((kind, inverted))
        })
    }
}

/// A training set, TS1 or TS2 (tables 4-2 and 4-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingSet {
    /// Which of the two.
    pub kind: Kind,
    /// Link number; `None` is PAD.
    pub link: Option<u8>,
    /// Lane number; `None` is PAD.
    pub lane: Option<u8>,
    /// Fast training sequences that the sender's receiver needs.
    pub n_fts: u8,
    /// Data rate identifier.
    pub rate: u8,
    /// Training control bits.
    pub control: u8,
}

impl TrainingSet {
    /// A set for 2.5 GT/s with no control bit.
    pub const fn new(kind: Kind, link: Option<u8>, lane: Option<u8>) -> Self {
        Self { kind, link, lane, n_fts: 0xFF, rate: Generation::First.rate(), control: 0 }
    }

    /// Its symbols. The data among them is not scrambled.
    pub fn encode(&self) -> [Symbol; TRAINING_SYMBOLS] {
        let number = |number: Option<u8>| number.map_or(Symbol::PAD, Symbol::data);
        let mut symbols = [Symbol::data(self.kind.identifier()); TRAINING_SYMBOLS];
        symbols[0] = Symbol::COM;
        symbols[1] = number(self.link);
        symbols[2] = number(self.lane);
        symbols[3] = Symbol::data(self.n_fts);
        symbols[4] = Symbol::data(self.rate);
        symbols[5] = Symbol::data(self.control);
        symbols
    }
}

/// The SKP ordered set as it is sent.
pub const SKP_SET: [Symbol; 4] = [Symbol::COM, Symbol::SKP, Symbol::SKP, Symbol::SKP];
/// The electrical idle ordered set.
pub const EIOS: [Symbol; 4] = [Symbol::COM, Symbol::IDL, Symbol::IDL, Symbol::IDL];
