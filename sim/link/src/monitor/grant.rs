//! What a side grants: InitFC and UpdateFC, and what the other one uses of it.

use super::lane::Fault;
use super::rule::Rule;

/// Most headers and units of data that may be on offer.
const MOST: [u16; 2] = [127, 2047];
/// The widths of the counters, as masks.
const MASK: [u16; 2] = [0xFF, 0xFFF];
/// InitFC comes within 34 us, in symbol times.
const INIT: u64 = 8500;
/// UpdateFC comes within 30 us and 50 %, in symbol times.
const UPDATE: u64 = 7500 * 3 / 2;
/// Symbol times that the seam may be away from the timers.
const SLACK: u64 = 64;

/// Credits of a class: headers, data.
#[derive(Debug, Clone, Copy)]
struct Credits {
    initial: [u16; 2],
    limit: [u16; 2],
    used: [u16; 2],
    updated: u64,
}

/// Which of the flow control DLLPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// InitFC1.
    Init1,
    /// InitFC2.
    Init2,
    /// UpdateFC.
    Update,
}

/// What a side grants.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    classes: [Option<Credits>; 3],
    /// The class of the next InitFC.
    turn: usize,
    second: bool,
    /// When it last sent InitFC, or came up.
    said: u64,
}

impl Grants {
    /// Nothing is granted; the link comes up after this time.
    pub fn new(now: u64) -> Self {
        Self { said: now, ..Self::default() }
    }

    /// InitFC2 has been sent.
    pub fn is_initialised(&self) -> bool {
        self.second
    }

    /// A flow control DLLP was sent.
    pub fn dllp(&mut self, flow: Flow, class: usize, values: [u16; 2], now: u64, faults: &mut Vec<Fault>) {
        if flow == Flow::Update {
            return self.update(class, values, now, faults);
        }
        self.said = now;
        if class != self.turn || flow == Flow::Init1 && self.second {
            faults.push((Rule::InitOrder, format!("{flow:?} of class {class}, {} was due", self.turn)));
        }
        self.turn = (class + 1) % 3;
        self.second |= flow == Flow::Init2;
        let fresh = Credits { initial: values, limit: values, used: [0; 2], updated: now };
        let credits = self.classes[class].get_or_insert(fresh);
        credits.updated = now;
        if credits.initial != values {
            faults.push((Rule::InitOrder, format!("{values:?} after {:?}", credits.initial)));
        }
        if (0..2).any(|kind| values[kind] > MOST[kind]) {
            faults.push((Rule::CreditRange, format!("{values:?} on offer")));
        }
    }

    fn update(&mut self, class: usize, values: [u16; 2], now: u64, faults: &mut Vec<Fault>) {
        let Some(credits) = &mut self.classes[class] else { return };
        credits.updated = now;
        for kind in 0..2 {
            let finite = credits.initial[kind] != 0;
            let offered = values[kind].wrapping_sub(credits.used[kind]) & MASK[kind];
            let forward = values[kind].wrapping_sub(credits.limit[kind]) & MASK[kind];
            let right =
                if finite { offered <= MOST[kind] && forward <= MOST[kind] } else { values[kind] == 0 };
            if !right {
                let Credits { limit, used, .. } = credits;
                let what = format!("class {class}: {values:?} after {limit:?}, {used:?} are used");
                faults.push((Rule::CreditRange, what));
                return;
            }
        }
        credits.limit = values;
    }

    /// The other side sends a new TLP with so many units of data. Says whether that was granted.
    pub fn takes(&mut self, class: usize, data: u16) -> bool {
        let Some(credits) = &mut self.classes[class] else { return false };
        let cost = [1, data];
        let mut granted = true;
        for kind in 0..2 {
            credits.used[kind] = credits.used[kind].wrapping_add(cost[kind]) & MASK[kind];
            let left = credits.limit[kind].wrapping_sub(credits.used[kind]) & MASK[kind];
            granted &= credits.initial[kind] == 0 || left <= MASK[kind] / 2 + 1;
        }
        granted
    }

    /// InitFC is overdue.
    pub fn init_is_late(&mut self, now: u64, packet: u64) -> bool {
        let late = !self.second && now > self.said + INIT + packet + SLACK;
        if late {
            self.said = now;
        }
        late
    }

    /// The class whose UpdateFC is overdue.
    pub fn late(&mut self, now: u64, packet: u64) -> Option<usize> {
        let overdue =
            |credits: &Credits| credits.initial != [0; 2] && now > credits.updated + UPDATE + packet + SLACK;
        let class = self.classes.iter().position(|credits| credits.as_ref().is_some_and(overdue))?;
        if let Some(credits) = &mut self.classes[class] {
            credits.updated = now;
        }
        Some(class)
    }
}
