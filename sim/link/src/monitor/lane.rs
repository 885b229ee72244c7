//! One direction of the seam, taken apart: ordered sets, packets, idle.

use super::rule::Rule;
use crate::generation::Generation;
use crate::scrambler::Scrambler;
use crate::symbol::Symbol;

/// Longest packet that is collected, in bytes.
const LONGEST: usize = 4200;

/// A training set as the monitor reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Training {
    /// TS2; otherwise TS1.
    pub second: bool,
    /// Link number.
    pub link: Option<u8>,
    /// Lane number.
    pub lane: Option<u8>,
    /// Control bits.
    pub control: u8,
}

/// What a symbol completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Electrical idle begins.
    Silence,
    /// It ends.
    Sound,
    /// A SKP ordered set with so many SKP has ended.
    Skp(u8),
    /// A training set.
    Training(Training),
    /// EIOS.
    Eios,
    /// A logical idle symbol.
    Idle,
    /// A packet begins.
    Start,
    /// The bytes between SDP and END.
    Dllp(Vec<u8>),
    /// The bytes between STP and END, or EDB.
    Tlp {
        /// The bytes.
        bytes: Vec<u8>,
        /// It ended with EDB.
        edb: bool,
    },
    /// Something was damaged: what came is not known.
    Broken,
}

/// A rule that the lane itself breaks.
pub type Fault = (Rule, String);

/// Where the lane is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Silent,
    Between,
    /// Behind EIOS: what comes until electrical idle, or a COM, means nothing.
    Closed,
    Com,
    Skp(u8),
    Idl(u8),
    Training(Vec<Symbol>),
    Dllp(Vec<u8>),
    Tlp(Vec<u8>),
}

/// The lane.
#[derive(Debug, Clone)]
pub struct Lane {
    /// Of the side that sends.
    generation: Generation,
    scrambler: Scrambler,
    place: Place,
    /// A SKP outside a set has come since the last COM. Behind it nobody knows where the other's scrambler is: one that takes it for
    /// damaged data has moved on, and one that takes it for SKP has not.
    pub astray: bool,
    /// What this symbol gave.
    pub items: Vec<Item>,
    /// What this symbol broke.
    pub faults: Vec<Fault>,
}

impl Lane {
    /// The silent lane of a side.
    pub fn new(generation: Generation) -> Self {
        Self {
            generation,
            scrambler: Scrambler::default(),
            place: Place::Silent,
            astray: false,
            items: vec![],
            faults: vec![],
        }
    }

    /// Scrambling is on, as both sides agreed.
    pub fn set_scrambled(&mut self, scrambled: bool) {
        self.scrambler.enabled = scrambled;
    }

    /// The polarity changes in the middle of what is being received: that means nothing.
    pub fn restart(&mut self) {
        if self.place != Place::Silent {
            self.place = Place::Closed;
        }
    }

    /// A symbol time of electrical idle.
    pub fn silence(&mut self) {
        self.scrambler.skip();
        let place = std::mem::replace(&mut self.place, Place::Silent);
        match place {
            Place::Silent => return,
            Place::Between | Place::Closed => {}
            Place::Skp(count) => self.items.push(Item::Skp(count)),
            place => self.cut(&place, "electrical idle"),
        }
        self.items.push(Item::Silence);
    }

    /// A symbol; `None` is a code error.
    pub fn push(&mut self, symbol: Option<Symbol>) {
        if self.place == Place::Silent {
            self.items.push(Item::Sound);
            self.place = Place::Between;
        }
        let Some(symbol) = symbol else {
            self.scrambler.skip();
            self.faults.push((Rule::CodeError, "a code error".into()));
            self.items.push(Item::Broken);
            self.place = Place::Between;
            return;
        };
        let within = matches!(self.place, Place::Com | Place::Skp(_) | Place::Closed);
        self.astray = (self.astray || symbol == Symbol::SKP && !within) && symbol != Symbol::COM;
        let training = matches!(self.place, Place::Com | Place::Training(_));
        let plain = self.scrambler.pass(symbol, training);
        let place = std::mem::replace(&mut self.place, Place::Between);
        self.place = match (place, plain) {
            (Place::Closed, symbol) if symbol != Symbol::COM => Place::Closed,
            (Place::Com, Symbol::SKP) => Place::Skp(1),
            (Place::Com, Symbol::IDL) => Place::Idl(1),
            (Place::Com, symbol) if !symbol.k || symbol == Symbol::PAD => {
                Place::Training(vec![Symbol::COM, symbol])
            }
            (Place::Skp(count), Symbol::SKP) => Place::Skp(count.saturating_add(1)),
            (Place::Skp(count), symbol) => {
                self.items.push(Item::Skp(count));
                self.between(symbol)
            }
            (Place::Idl(2), Symbol::IDL) => {
                self.items.push(Item::Eios);
                Place::Closed
            }
            (Place::Idl(count), Symbol::IDL) => Place::Idl(count + 1),
            (Place::Training(mut symbols), symbol)
                if !symbol.k || symbol == Symbol::PAD && symbols.len() == 2 =>
            {
                symbols.push(symbol);
                self.training(symbols)
            }
            (Place::Dllp(mut bytes), Symbol { value, k: false }) if bytes.len() < LONGEST => {
                bytes.push(value);
                Place::Dllp(bytes)
            }
            (Place::Tlp(mut bytes), Symbol { value, k: false }) if bytes.len() < LONGEST => {
                bytes.push(value);
                Place::Tlp(bytes)
            }
            (Place::Dllp(bytes), Symbol::END) => {
                self.items.push(Item::Dllp(bytes));
                Place::Between
            }
            (Place::Tlp(bytes), end @ (Symbol::END | Symbol::EDB)) => {
                self.items.push(Item::Tlp { bytes, edb: end == Symbol::EDB });
                Place::Between
            }
            (Place::Between | Place::Closed, symbol) => self.between(symbol),
            (place, symbol) => {
                self.cut(&place, &format!("{symbol:?}"));
                match symbol {
                    Symbol::COM | Symbol::STP | Symbol::SDP => self.between(symbol),
                    _ => Place::Between,
                }
            }
        };
    }

    /// A symbol outside sets and packets.
    fn between(&mut self, symbol: Symbol) -> Place {
        match symbol {
            Symbol::COM => return Place::Com,
            Symbol::STP | Symbol::SDP => {
                self.items.push(Item::Start);
                let bytes = Vec::new();
                return if symbol == Symbol::STP { Place::Tlp(bytes) } else { Place::Dllp(bytes) };
            }
            Symbol::IDLE => self.items.push(Item::Idle),
            _ => {
                let rule = if symbol.k { Rule::StrayControl } else { Rule::Scrambling };
                self.faults.push((rule, format!("{symbol:?} outside sets and packets")));
                self.items.push(Item::Broken);
            }
        }
        Place::Between
    }

    /// A set or a packet ends before its end.
    fn cut(&mut self, place: &Place, by: &str) {
        let rule =
            if matches!(place, Place::Dllp(_) | Place::Tlp(_)) { Rule::PacketCut } else { Rule::SetCut };
        self.faults.push((rule, format!("{by} in {place:?}")));
        self.items.push(Item::Broken);
    }

    /// A training set has got another symbol.
    fn training(&mut self, symbols: Vec<Symbol>) -> Place {
        if symbols.len() < 16 {
            return Place::Training(symbols);
        }
        let identifier = symbols[6];
        let (second, inverted) = match identifier.value {
            0x4A => (false, false),
            0x45 => (true, false),
            0xB5 => (false, true),
            0xBA => (true, true),
            _ => return self.malformed(&symbols),
        };
        let field = |index: usize| if inverted { symbols[index].inverted() } else { symbols[index] };
        let number = |index: usize| (!field(index).k).then(|| field(index).value);
        let control = field(5).value;
        let well = symbols[6..].iter().all(|symbol| *symbol == identifier)
            && field(4).value == self.generation.rate()
            && control & 0xF0 & !self.generation.control() == 0
            && !field(3).k;
        if !well {
            return self.malformed(&symbols);
        }
        let (link, lane) = (number(1), number(2));
        self.items.push(Item::Training(Training { second, link, lane, control }));
        Place::Between
    }

    fn malformed(&mut self, symbols: &[Symbol]) -> Place {
        self.faults.push((Rule::SetMalformed, format!("{symbols:?}")));
        self.items.push(Item::Broken);
        Place::Between
    }
}
