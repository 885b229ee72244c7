//! What a side grants: InitFC and UpdateFC, and what the other one uses of it.

use super::lane::Fault;
use super::rule::Rule;

/// Most headers and units of data that may be on offer.
const MOST: [u16; 2] = [127, 2047];
/// The widths of the counters, as masks.
const MASK: [u16; 2] = [0xFF, 0xFFF];
/// Bytes in a unit of data.
const UNIT: u32 = 16;
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
    /// What was granted since the link came up, of which DLLPs have the low bits.
    limit: [u64; 2],
    /// What the TLPs that were read have used.
    used: [u64; 2],
    /// What all of them may have used, with those that the receiver alone has read.
    most: [u64; 2],
    updated: u64,
}

impl Credits {
    /// So much more may be used, though never more than is granted: the sender answers for that.
    fn may_use(&mut self, kind: usize, cost: u16) {
        let most = self.most[kind] + u64::from(cost);
        self.most[kind] = most.min(self.limit[kind].max(self.used[kind]));
    }

    /// By so much is more on offer than may be.
    fn excess(&self, kind: usize) -> u64 {
        self.limit[kind].saturating_sub(self.most[kind] + u64::from(MOST[kind]))
    }
}

/// What a TLP uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Its class.
    pub class: usize,
    /// Units of data, besides its header.
    pub data: u16,
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

    /// A flow control DLLP was sent. The monitor may be blind: then it does not know which TLPs this side has taken.
    pub fn dllp(
        &mut self,
        flow: Flow,
        class: usize,
        values: [u16; 2],
        (now, blind): (u64, bool),
        faults: &mut Vec<Fault>,
    ) {
        if flow == Flow::Update {
            return self.update(class, values, (now, blind), faults);
        }
        self.said = now;
        if class != self.turn || flow == Flow::Init1 && self.second {
            faults.push((Rule::InitOrder, format!("{flow:?} of class {class}, {} was due", self.turn)));
        }
        self.turn = (class + 1) % 3;
        self.second |= flow == Flow::Init2;
        let limit = values.map(u64::from);
        let fresh = Credits { initial: values, limit, used: [0; 2], most: [0; 2], updated: now };
        let credits = self.classes[class].get_or_insert(fresh);
        credits.updated = now;
        if credits.initial != values {
            faults.push((Rule::InitOrder, format!("{values:?} after {:?}", credits.initial)));
        }
        if (0..2).any(|kind| values[kind] > MOST[kind]) {
            faults.push((Rule::CreditRange, format!("{values:?} on offer")));
        }
    }

    fn update(&mut self, class: usize, values: [u16; 2], (now, blind): (u64, bool), faults: &mut Vec<Fault>) {
        let Some(credits) = &mut self.classes[class] else { return };
        credits.updated = now;
        let mut fresh = *credits;
        for kind in 0..2 {
            let forward = values[kind].wrapping_sub(credits.limit[kind] as u16) & MASK[kind];
            fresh.limit[kind] += u64::from(forward);
            // What is on offer depends on what was taken, and is judged when that is known.
            let right = if credits.initial[kind] != 0 {
                forward <= MOST[kind] && (blind || fresh.excess(kind) == 0)
            } else {
                values[kind] == 0
            };
            if !right {
                let Credits { limit, most, .. } = credits;
                let what = format!("class {class}: {values:?} after {limit:?}, {most:?} may be used");
                faults.push((Rule::CreditRange, what));
                return;
            }
        }
        *credits = fresh;
    }

    /// The other side sends a new TLP. Says whether that was granted.
    pub fn takes(&mut self, cost: Cost) -> bool {
        let Some(credits) = &mut self.classes[cost.class] else { return false };
        let mut granted = true;
        for (kind, cost) in [1, cost.data].into_iter().enumerate() {
            credits.used[kind] += u64::from(cost);
            credits.may_use(kind, cost);
            granted &= credits.initial[kind] == 0 || credits.used[kind] <= credits.limit[kind];
        }
        granted
    }

    /// This side alone has read a TLP: of any class, and with as much as this of payload.
    pub fn takes_unread(&mut self, max_payload: u32) {
        for credits in self.classes.iter_mut().flatten() {
            credits.may_use(0, 1);
            credits.may_use(1, max_payload.div_ceil(UNIT) as u16);
        }
    }

    /// It is known again what this side has taken: judges what it offered meanwhile.
    pub fn judge(&self, faults: &mut Vec<Fault>) {
        for (class, credits) in self.classes.iter().enumerate() {
            let Some(credits) = credits else { continue };
            let excess = |kind: usize| credits.initial[kind] != 0 && credits.excess(kind) > 0;
            if excess(0) || excess(1) {
                let Credits { limit, most, .. } = credits;
                let what = format!("class {class}: {limit:?} are granted, {most:?} may be used");
                faults.push((Rule::CreditRange, what));
            }
        }
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
