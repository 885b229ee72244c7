//! What a side may send when: training, idle, packets, SKP.

use super::lane::{Fault, Item, Training};
use super::rule::Rule;

/// Fewest and most symbols between SKP ordered sets.
const SKP: (u64, u64) = (1180, 1538);
/// Idle symbols, and TS2, that are sent at least.
const ANSWERS: u32 = 16;
/// Symbol times in which training sets are answered, in L0: the packet under way and some.
const REACTION: u64 = 2000;

/// The phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Silent,
    Training,
    /// So many idle symbols after training.
    Idle(u32),
}

/// One side's phase.
#[derive(Debug, Clone)]
pub struct Phases {
    phase: Phase,
    /// TS1 that Polling.Active has to send.
    polling_sets: u32,
    /// Symbols by which a wire may move SKP sets, and whether it may resize them.
    wire: u64,
    polling_ts1: u32,
    ts2: u32,
    eios: bool,
    /// Disable Scrambling in its last two TS2.
    pub no_scrambling: bool,
    /// Its last training set, if nothing was damaged since, and whether the one before said the same.
    last: Option<Training>,
    repeats: bool,
    /// Symbols since electrical idle, where the last SKP set began, and how many there were.
    symbols: u64,
    last_skp: u64,
    skps: u64,
    /// Idle symbols in a row since training, and whether there were eight.
    run: u32,
    seen_idle: bool,
    /// It has sent a packet since training: it is in L0.
    spoke: bool,
    /// Training sets of the other side in a row, and since when.
    unanswered: Option<u64>,
}

impl Phases {
    /// In electrical idle.
    pub fn new(polling_sets: u32, wire: u64) -> Self {
        Self {
            phase: Phase::Silent,
            polling_sets,
            wire,
            polling_ts1: 0,
            ts2: 0,
            eios: false,
            no_scrambling: false,
            last: None,
            repeats: false,
            symbols: 0,
            last_skp: 0,
            skps: 0,
            run: 0,
            seen_idle: false,
            spoke: false,
            unanswered: None,
        }
    }

    /// It has sent enough idle symbols to be in L0.
    pub fn is_data(&self) -> bool {
        matches!(self.phase, Phase::Idle(ANSWERS..))
    }

    /// It is in L0 for sure: it sends packets or has seen idle, and the other side does not train.
    pub fn is_in_l0(&self, other: &Self) -> bool {
        self.is_data() && (self.spoke || other.seen_idle) && other.phase != Phase::Training
    }

    /// Its last two training sets said the same: what they say is no damage of a wire's.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// It has just begun to send idle: from now on it counts the other side's.
    pub fn begins_idle(&self) -> bool {
        self.phase == Phase::Idle(1)
    }

    /// The other side begins to count its idle symbols.
    pub fn is_counted(&mut self) {
        (self.run, self.seen_idle) = (0, false);
    }

    /// A symbol passes, in electrical idle or not.
    pub fn symbol(&mut self) {
        self.symbols += u64::from(self.phase != Phase::Silent);
    }

    /// An item of its own.
    pub fn item(&mut self, item: &Item, faults: &mut Vec<Fault>) {
        let mut fault = |rule, what: String| faults.push((rule, what));
        match item {
            Item::Silence => {
                if self.is_data() && !self.eios {
                    fault(Rule::SilenceUnannounced, "electrical idle without EIOS".into());
                }
                *self = Self { no_scrambling: self.no_scrambling, ..Self::new(self.polling_sets, self.wire) };
            }
            Item::Sound => {
                self.phase = Phase::Training;
                (self.symbols, self.last_skp, self.skps) = (0, 0, 0);
            }
            Item::Skp(count) => self.skp(*count, &mut fault),
            Item::Training(set) => {
                self.training(set, &mut fault);
                self.late(15, &mut fault);
            }
            Item::Eios => self.eios = true,
            Item::Idle => self.idle(&mut fault),
            Item::Start => {
                if !self.is_data() {
                    fault(Rule::PacketOutsideL0, format!("a packet in {:?}", self.phase));
                }
                (self.run, self.eios, self.spoke) = (0, false, true);
                self.late(0, &mut fault);
            }
            Item::Dllp(_) | Item::Tlp { .. } => {}
            Item::Broken => (self.run, self.last) = (0, None),
        }
    }

    fn skp(&mut self, count: u8, fault: &mut impl FnMut(Rule, String)) {
        let right = if self.wire == 0 { count == 3 } else { (1..=5).contains(&count) };
        if !right {
            fault(Rule::SetMalformed, format!("a SKP ordered set with {count} SKP"));
        }
        self.skps += 1;
        // The symbol behind the set has been counted.
        self.last_skp = self.symbols.saturating_sub(u64::from(count) + 2);
        if self.skps > 1 + (self.symbols + self.wire) / SKP.0 {
            fault(Rule::SkpEarly, format!("{} in {} symbols", self.skps, self.symbols));
        }
    }

    /// Something else than a SKP set has begun, so many symbols ago.
    fn late(&mut self, ago: u64, fault: &mut impl FnMut(Rule, String)) {
        // Counted from the first symbol of the last set to the first one of what has begun.
        let gap = self.symbols.saturating_sub(1 + ago + self.last_skp);
        if gap > SKP.1 + self.wire {
            fault(Rule::SkpLate, format!("{gap} symbols after the last one"));
            self.last_skp = self.symbols;
        }
        // Those that were owed have followed the packet before.
        let owed = self.symbols.saturating_sub(self.wire) / SKP.1;
        if self.skps + 1 < owed {
            fault(Rule::SkpLate, format!("{} in {} symbols", self.skps, self.symbols));
            self.skps = owed;
        }
    }

    fn training(&mut self, set: &Training, fault: &mut impl FnMut(Rule, String)) {
        self.repeats = self.last.replace(*set) == Some(*set);
        let unnamed = set.link.is_none() && set.lane.is_none();
        match (set.second, unnamed) {
            (false, true) => self.polling_ts1 += 1,
            // A receiver that inverts the lane tears a set or two.
            (true, true)
                if self.ts2 == 0 && self.polling_ts1 + 2 * u32::from(self.wire > 0) < self.polling_sets =>
            {
                fault(Rule::TooFewTs1, format!("{} TS1", self.polling_ts1));
            }
            _ => {}
        }
        if set.second {
            self.ts2 += 1;
            if self.repeats {
                self.no_scrambling = set.control & 8 != 0;
            }
        } else {
            self.ts2 = 0;
        }
        (self.phase, self.run, self.seen_idle, self.eios) = (Phase::Training, 0, false, false);
        (self.unanswered, self.spoke) = (None, false);
    }

    fn idle(&mut self, fault: &mut impl FnMut(Rule, String)) {
        self.run += 1;
        self.seen_idle |= self.run >= 8;
        self.phase = match self.phase {
            Phase::Silent => Phase::Silent,
            Phase::Training => {
                if self.ts2 < ANSWERS && !self.eios {
                    fault(Rule::TooFewTs2, format!("{} TS2 before idle", self.ts2));
                }
                self.ts2 = 0;
                Phase::Idle(1)
            }
            Phase::Idle(count) => Phase::Idle(count.saturating_add(1)),
        };
        self.late(0, fault);
    }

    /// The other side has sent a training set, at this time.
    pub fn other_trains(&mut self, now: u64) {
        if self.is_data() {
            self.unanswered.get_or_insert(now);
        }
    }

    /// The other side has gone on, or went silent.
    pub fn other_rests(&mut self) {
        self.unanswered = None;
    }

    /// The other side's training sets wait for an answer for too long.
    pub fn ignores_training(&mut self, now: u64) -> bool {
        self.unanswered.take_if(|since| now > *since + REACTION).is_some()
    }
}
