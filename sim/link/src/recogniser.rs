//! Recognises ordered sets symbol by symbol, before descrambling.

use crate::ordered_set::{Kind, TrainingSet, MAX_SKP, TRAINING_SYMBOLS};
use crate::symbol::Symbol;

/// What a symbol completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A training set.
    Training {
        /// As it was sent.
        set: TrainingSet,
        /// The lane is inverted.
        inverted: bool,
    },
    /// A SKP ordered set of so many SKP symbols. It is known at the symbol that follows it.
    Skp(u8),
    /// The electrical idle ordered set. Two of its IDL are enough.
    ElectricalIdle,
    /// A set that began and is none.
    Broken,
}

/// Where in a set the recogniser is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Behind COM.
    Begun,
    /// So many SKP have come.
    Skp(u8),
    /// So many IDL have come.
    Idl(u8),
    /// So many symbols of a training set have come.
    Training(usize),
}

/// What the recogniser says of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recognised {
    /// What it completes, or ends.
    pub event: Option<Event>,
    /// It belongs to an ordered set.
    pub inside: bool,
}

/// Recognises ordered sets in a lane's symbols, before descrambling.
#[derive(Debug, Clone)]
pub struct Recogniser {
    place: Place,
    fields: [Symbol; 6],
    first: Symbol,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self { place: Place::Outside, fields: [Symbol::IDLE; 6], first: Symbol::IDLE }
    }
}

impl Recogniser {
    /// The data of the next symbol is a training set's.
    pub fn in_training(&self) -> bool {
        matches!(self.place, Place::Begun | Place::Training(_))
    }

    /// Takes a symbol; `None` is one that could not be decoded.
    pub fn push(&mut self, symbol: Option<Symbol>) -> Recognised {
        let Some(symbol) = symbol else {
            let event = self.leave(Place::Outside);
            return Recognised { event, inside: false };
        };
        if symbol == Symbol::COM {
            let event = self.leave(Place::Begun);
            return Recognised { event, inside: true };
        }
        let (place, event) = match (self.place, symbol) {
            (Place::Outside, _) => return Recognised { event: None, inside: false },
            (Place::Begun, Symbol::SKP) => (Place::Skp(1), None),
            (Place::Skp(count), Symbol::SKP) if count < MAX_SKP => (Place::Skp(count + 1), None),
            (Place::Begun, Symbol::IDL) => (Place::Idl(1), None),
            (Place::Idl(1), Symbol::IDL) => (Place::Idl(2), Some(Event::ElectricalIdle)),
            (Place::Idl(_), Symbol::IDL) => (Place::Outside, None),
            (Place::Begun, _) if !symbol.k || symbol == Symbol::PAD => {
                self.fields[1] = symbol;
                (Place::Training(2), None)
            }
            (Place::Training(count), _) => match self.training(count, symbol) {
                Some(step) => step,
                None => (Place::Outside, Some(Event::Broken)),
            },
            _ => {
                let event = self.leave(Place::Outside);
                return Recognised { event, inside: false };
            }
        };
        self.place = place;
        Recognised { event, inside: event != Some(Event::Broken) }
    }

    /// Leaves a set at a symbol that is no part of it.
    fn leave(&mut self, to: Place) -> Option<Event> {
        let from = std::mem::replace(&mut self.place, to);
        match from {
            Place::Outside | Place::Idl(2..) => None,
            Place::Skp(count) => Some(Event::Skp(count)),
            Place::Begun | Place::Idl(_) | Place::Training(_) => Some(Event::Broken),
        }
    }

    /// The next symbol of a training set of which `count` have come.
    fn training(&mut self, count: usize, symbol: Symbol) -> Option<(Place, Option<Event>)> {
        let fits = match count {
            2 => !symbol.k || symbol == Symbol::PAD,
            3..=5 => !symbol.k,
            6 => Kind::of(symbol).is_some(),
            _ => symbol == self.first,
        };
        if !fits {
            return None;
        }
        match count {
            0..=5 => self.fields[count] = symbol,
            6 => self.first = symbol,
            _ => {}
        }
        if count + 1 < TRAINING_SYMBOLS {
            return Some((Place::Training(count + 1), None));
        }
        let (kind, inverted) = Kind::of(self.first)?;
        let field = |index: usize| {
            let symbol = self.fields[index];
            if inverted {
                symbol.inverted()
            } else {
                symbol
            }
        };
        let number = |index: usize| Some(field(index)).filter(|symbol| !symbol.k).map(|symbol| symbol.value);
        let set = TrainingSet {
            kind,
            link: number(1),
            lane: number(2),
            n_fts: field(3).value,
            rate: field(4).value,
            control: field(5).value,
        };
        Some((Place::Outside, Some(Event::Training { set, inverted })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered_set::{EIOS, HOT_RESET, SKP_SET};

    fn events(symbols: &[Symbol]) -> Vec<Event> {
        let mut recogniser = Recogniser::default();
        symbols.iter().filter_map(|symbol| recogniser.push(Some(*symbol)).event).collect()
    }

    #[test]
    fn training_sets_are_recognised_as_they_are_and_inverted() {
        for kind in [Kind::Ts1, Kind::Ts2] {
            for (link, lane) in [(None, None), (Some(3), None), (Some(7), Some(0))] {
                let set = TrainingSet { control: HOT_RESET, n_fts: 9, ..TrainingSet::new(kind, link, lane) };
                let symbols = set.encode();
                assert_eq!(events(&symbols), [Event::Training { set, inverted: false }]);
                let other = symbols.map(Symbol::inverted);
                assert_eq!(events(&other), [Event::Training { set, inverted: true }]);
            }
        }
    }

    #[test]
    fn skp_sets_of_one_to_five_are_taken() {
        for count in 1..=5 {
            let mut symbols = vec![Symbol::COM];
            symbols.extend(vec![Symbol::SKP; count]);
            symbols.push(Symbol::data(0x17));
            assert_eq!(events(&symbols), [Event::Skp(count as u8)]);
        }
        let long = [&[Symbol::COM][..], &[Symbol::SKP; 6]].concat();
        assert_eq!(events(&long), [Event::Skp(5)], "the sixth is outside");
    }

    #[test]
    fn one_set_may_follow_another_at_once() {
        let set = TrainingSet::new(Kind::Ts2, None, None);
        let symbols = [&SKP_SET[..], &set.encode(), &EIOS, &SKP_SET[..1]].concat();
        let expected = [Event::Skp(3), Event::Training { set, inverted: false }, Event::ElectricalIdle];
        assert_eq!(events(&symbols), expected);
    }

    #[test]
    fn a_damaged_set_is_broken_wherever_the_damage_is() {
        let good = TrainingSet::new(Kind::Ts1, Some(0), Some(0)).encode();
        for at in 1..good.len() {
            let mut symbols = good;
            symbols[at] = Symbol::STP;
            assert_eq!(events(&symbols), [Event::Broken], "{at}");
            let mut recogniser = Recogniser::default();
            let found: Vec<_> = (0..good.len())
                .filter_map(|index| recogniser.push((index != at).then_some(good[index])).event)
                .collect();
            assert_eq!(found, [Event::Broken], "{at}");
        }
        assert_eq!(events(&[&good[..5], &good[..]].concat()).len(), 2, "cut, then whole");
    }
}
