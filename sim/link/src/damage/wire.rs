//! One direction of a lane between two ports, with damage on it.
//!
//! It keeps a few symbols, as the elastic buffer below the seam does. Where it has too many or too few
//! it makes SKP ordered sets shorter or longer, as rate matching does.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Damage;
use crate::ordered_set::MAX_SKP;
use crate::seam::{Heard, Sent};
use crate::symbol::Symbol;

/// Symbols that it keeps on average.
const MIDDLE: usize = 12;
/// It corrects itself when it is so many away from that.
const SLACK: usize = 2;
/// It cannot keep more.
const FULL: usize = 24;
/// An edge of electrical idle is never contradicted longer than this: 7 cycles.
const GLITCH: u32 = 7;

/// What is on the wire in a symbol time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Silence,
    Symbol(Symbol),
    Error,
}

/// The place in a SKP ordered set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skips {
    None,
    AfterCom,
    /// The set has been made as long as it shall be.
    Made,
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Wire {
    damage: Damage,
    random: ChaCha8Rng,
    slots: VecDeque<Slot>,
    skips: Skips,
    /// Symbols until something happens to one.
    until: u64,
    /// Cycles of silence that are left.
    silence: u64,
    /// Cycles for which the level lies.
    lie: u32,
    /// Cycles in a row in which nothing was sent.
    still: usize,
}

impl Wire {
    /// In electrical idle.
    pub fn new(damage: Damage, seed: u64) -> Self {
        let length = MIDDLE + usize::from(damage.odd);
        let mut wire = Self {
            damage,
            random: ChaCha8Rng::seed_from_u64(seed),
            slots: vec![Slot::Silence; length].into(),
            skips: Skips::None,
            until: 0,
            silence: 0,
            lie: 0,
            still: 0,
        };
        wire.until = wire.next();
        wire
    }

    /// Other damage from now on. Where COM begins stays.
    pub fn set(&mut self, damage: Damage) {
        self.damage = damage;
        self.until = self.next();
    }

    /// Electrical idle for so many cycles, whatever is sent.
    pub fn silence(&mut self, cycles: u64) {
        self.silence = cycles;
    }

    /// Most cycles that a symbol is under way.
    pub const DELAY: u64 = FULL as u64 / 2 + 1;

    /// A cycle of the sender's passes.
    pub fn enter(&mut self, sent: Sent) {
        let silent = sent.idle || self.silence > 0;
        self.silence = self.silence.saturating_sub(1);
        self.still = if silent { self.still.saturating_add(1) } else { 0 };
        if self.is_still() {
            return;
        }
        for symbol in sent.symbols {
            if silent {
                self.push_silence();
            } else {
                self.push(symbol);
            }
        }
    }

    /// A cycle of the receiver's passes. `invert` is what it asks for.
    pub fn leave(&mut self, invert: bool) -> Heard {
        if self.is_still() {
            return Heard { idle: !self.lies(), ..Heard::SILENCE };
        }
        let mut slots = [Slot::Error; 2];
        for slot in &mut slots {
            *slot = self.slots.pop_front().unwrap_or(Slot::Error);
        }
        let inverted = invert != self.damage.inverted;
        let symbols = slots.map(|slot| match slot {
            Slot::Symbol(symbol) if inverted => Some(symbol.inverted()),
            Slot::Symbol(symbol) => Some(symbol),
            Slot::Silence | Slot::Error => None,
        });
        let idle = slots.contains(&Slot::Silence);
        Heard { symbols, idle: idle != self.lies() }
    }

    /// Nothing is on it any more, and it is in its middle.
    fn is_still(&self) -> bool {
        self.still > 2 * FULL
    }

    /// The level lies in this cycle.
    fn lies(&mut self) -> bool {
        if self.lie > 0 {
            self.lie -= 1;
            // It tells the truth for a cycle at least before it lies again.
            return self.lie > 0;
        }
        if self.damage.glitches != 0 && self.random.random_range(0..1_000_000) < self.damage.glitches {
            self.lie = self.random.random_range(1..=GLITCH);
        }
        self.lie > 0
    }

    /// Symbols to the next damage.
    fn next(&mut self) -> u64 {
        let rate: u32 = self.damage.symbols().iter().sum();
        match rate {
            0 => u64::MAX,
            _ => self.random.random_range(1..=2_000_000 / u64::from(rate.min(1_000_000))),
        }
    }

    fn add(&mut self, slot: Slot) {
        if self.slots.len() < FULL {
            self.slots.push_back(slot);
        }
    }

    /// In silence the wire goes back to its middle by whole cycles.
    fn push_silence(&mut self) {
        self.skips = Skips::None;
        match self.slots.len() {
            MIDDLE.. if self.slots.len() > MIDDLE + SLACK => {}
            length if length + SLACK < MIDDLE => {
                self.add(Slot::Silence);
                self.add(Slot::Silence);
            }
            _ => self.add(Slot::Silence),
        }
    }

    fn push(&mut self, symbol: Symbol) {
        match (symbol, self.skips) {
            (Symbol::COM, _) => self.skips = Skips::AfterCom,
            (Symbol::SKP, Skips::AfterCom) => {
                self.skips = Skips::Made;
                for _ in 0..self.skp_count() {
                    self.damaged(Symbol::SKP);
                }
                return;
            }
            (Symbol::SKP, Skips::Made) => return,
            _ => self.skips = Skips::None,
        }
        self.damaged(symbol);
    }

    /// How many SKP come for the three of a set. Two of them pass anyway in two symbol times.
    fn skp_count(&mut self) -> u8 {
        let length = self.slots.len();
        if length > MIDDLE + SLACK {
            self.random.random_range(1..=2)
        } else if length + SLACK < MIDDLE {
            self.random.random_range(4..=MAX_SKP)
        } else if self.damage.skp {
            self.random.random_range(1..=MAX_SKP)
        } else {
            3
        }
    }

    fn damaged(&mut self, symbol: Symbol) {
        self.until = self.until.saturating_sub(1);
        if self.until > 0 {
            return self.add(Slot::Symbol(symbol));
        }
        self.until = self.next();
        let rates = self.damage.symbols();
        let mut choice = self.random.random_range(0..rates.iter().sum::<u32>().max(1));
        let kind = rates.iter().position(|rate| {
            let here = choice < *rate;
            choice = choice.saturating_sub(*rate);
            here
        });
        match kind {
            Some(0) => self.add(Slot::Error),
            Some(1) => {
                let other = self.other(symbol);
                self.add(Slot::Symbol(other));
            }
            Some(2) => {}
            Some(3) => {
                self.add(Slot::Symbol(symbol));
                self.add(Slot::Symbol(symbol));
            }
            _ => self.add(Slot::Symbol(symbol)),
        }
    }

    /// Another valid symbol: mostly data with other bits, now and then a control symbol.
    fn other(&mut self, symbol: Symbol) -> Symbol {
        loop {
            let other = if self.random.random_ratio(1, 4) {
                Symbol::CONTROLS[self.random.random_range(0..Symbol::CONTROLS.len())]
            } else {
                Symbol::data(symbol.value ^ self.random.random_range(1..=255_u8))
            };
            if other != symbol {
                return other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered_set::{Kind, TrainingSet, SKP_SET};
    use crate::recogniser::{Event, Recogniser};

    /// A cycle of both ends passes.
    fn carry(wire: &mut Wire, sent: Sent) -> Heard {
        wire.enter(sent);
        wire.leave(false)
    }

    /// Sends TS1 and SKP ordered sets, and counts what comes.
    fn through(damage: Damage, cycles: u64) -> (u64, u64, u64, Vec<u8>) {
        let mut wire = Wire::new(damage, 7);
        let mut recogniser = Recogniser::default();
        let mut line = VecDeque::new();
        let (mut sent, mut whole, mut broken, mut skips) = (0, 0, 0, vec![]);
        for _ in 0..cycles {
            while line.len() < 2 {
                line.extend(TrainingSet::new(Kind::Ts1, Some(0), Some(0)).encode());
                sent += 1;
                if sent % 20 == 0 {
                    line.extend(SKP_SET);
                }
            }
            let symbols = [0; 2].map(|_| line.pop_front().unwrap_or(Symbol::IDLE));
            let heard = carry(&mut wire, Sent { symbols, idle: false });
            for symbol in heard.symbols {
                match recogniser.push(symbol).event {
                    Some(Event::Training { inverted, .. }) => {
                        assert_eq!(inverted, damage.inverted);
                        whole += 1;
                    }
                    Some(Event::Skp(count)) => skips.push(count),
                    Some(Event::Broken) => broken += 1,
                    _ => {}
                }
            }
        }
        (sent, whole, broken, skips)
    }

    #[test]
    fn a_good_wire_only_delays() {
        let (sent, whole, broken, skips) = through(Damage::default(), 100_000);
        assert!(whole + 2 >= sent && broken == 0);
        assert!(skips.iter().all(|count| *count == 3));
    }

    #[test]
    fn skp_sets_come_in_all_sizes_and_nothing_else_is_lost() {
        for odd in [false, true] {
            let damage = Damage { skp: true, odd, inverted: true, ..Damage::default() };
            let (sent, whole, broken, skips) = through(damage, 100_000);
            assert!(whole + 3 >= sent && broken == 0, "{sent} {whole} {broken}");
            for count in 1..=5 {
                assert!(skips.contains(&count), "{count}");
            }
        }
    }

    #[test]
    fn lost_and_doubled_symbols_never_empty_or_fill_it() {
        for damage in
            [Damage { lost: 500, ..Damage::default() }, Damage { doubled: 500, ..Damage::default() }]
        {
            let (sent, whole, broken, _) = through(damage, 1_000_000);
            assert!(broken > 100, "{broken}");
            assert!(sent < whole + 3 * broken, "{sent} {whole} {broken}");
        }
    }

    #[test]
    fn the_level_lies_for_seven_cycles_at_most() {
        let mut wire = Wire::new(Damage { glitches: 100_000, ..Damage::default() }, 3);
        let (mut lies, mut run) = (0, 0);
        for _ in 0..100_000 {
            run = if carry(&mut wire, Sent::SILENCE).idle { 0 } else { run + 1 };
            lies += u64::from(run > 0);
            assert!(run <= 7);
        }
        assert!(lies > 1000);
    }

    #[test]
    fn silence_covers_what_is_sent() {
        let mut wire = Wire::new(Damage::default(), 1);
        let sent = Sent { symbols: [Symbol::COM; 2], idle: false };
        wire.silence(100);
        let heard: Vec<_> = (0..120).map(|_| carry(&mut wire, sent)).collect();
        assert!(heard[..100].iter().all(|heard| *heard == Heard::SILENCE));
        assert!(heard[115].symbols == [Some(Symbol::COM); 2] && !heard[115].idle);
    }
}
