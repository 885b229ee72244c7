//! What a side makes of the symbols that it receives: ordered sets, and descrambled symbols outside
//! them.

use crate::recogniser::{Event, Recogniser};
use crate::scrambler::Scrambler;
use crate::symbol::Symbol;

/// What a received symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// An ordered set has ended with it, or just before it.
    pub event: Option<Event>,
    /// It is outside ordered sets: descrambled, or a code error.
    pub outside: Option<Option<Symbol>>,
}

/// The receiver.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    recogniser: Recogniser,
    scrambler: Scrambler,
}

impl Receiver {
    /// Takes a symbol; `None` is a code error. `scrambled` is what both sides agreed on.
    pub fn push(&mut self, symbol: Option<Symbol>, scrambled: bool) -> Seen {
        let recognised = self.recogniser.push(symbol);
        self.scrambler.enabled = scrambled;
        let plain = match symbol {
            Some(symbol) => Some(self.scrambler.pass(symbol, recognised.inside)),
            None => {
                self.scrambler.skip();
                None
            }
        };
        Seen { event: recognised.event, outside: (!recognised.inside).then_some(plain) }
    }
}
