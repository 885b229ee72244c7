//! Credits of virtual channel 0: what may be sent, and what is granted (section 2.6.1).

use crate::tlp::{data_credits, Class};

/// A credit counter's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Width(u16);

const HEADER: Width = Width(8);
const DATA: Width = Width(12);

impl Width {
    const fn wrap(self, value: u16) -> u16 {
        value & ((1 << self.0) - 1)
    }

    /// `used` has not gone beyond `limit`, modulo the width.
    const fn holds(self, limit: u16, used: u16) -> bool {
        self.wrap(limit.wrapping_sub(used)) <= 1 << (self.0 - 1)
    }
}

/// Credits of a type as they are advertised; `None` is infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertised {
    /// Headers, at most 127.
    pub header: Option<u16>,
    /// Units of 16 bytes of data, at most 2047.
    pub data: Option<u16>,
}

impl Advertised {
    /// Infinite.
    pub const INFINITE: Self = Self { header: None, data: None };

    /// Of a number each.
    pub const fn finite(header: u16, data: u16) -> Self {
        Self { header: Some(header), data: Some(data) }
    }

    /// UpdateFC is due now and then.
    pub const fn is_finite(self) -> bool {
        self.header.is_some() || self.data.is_some()
    }
}

/// What a TLP costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Which credits.
    pub class: Class,
    /// Of data; of headers it is one.
    pub data: u16,
}

impl Cost {
    /// By the first double word.
    pub const fn of(first: u32) -> Self {
        Self { class: Class::of(first), data: data_credits(first) }
    }
}

/// One counter at the transmitter.
#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    /// `None` is infinite.
    limit: Option<u16>,
    used: u16,
}

impl Counter {
    fn allows(&self, width: Width, cost: u16) -> bool {
        self.limit.is_none_or(|limit| width.holds(limit, self.used.wrapping_add(cost)))
    }

    fn left(&self, width: Width) -> Option<u16> {
        self.limit.map(|limit| width.wrap(limit.wrapping_sub(self.used)))
    }
}

/// What the other side allows.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    counters: [Option<[Counter; 2]>; 3],
}

impl Allowance {
    /// InitFC: only the first one of a class counts. A value of 0 is infinite.
    pub fn init(&mut self, class: Class, header: u16, data: u16) {
        let counter = |value: u16| Counter { limit: (value != 0).then_some(value), used: 0 };
        self.counters[class.index()].get_or_insert([counter(header), counter(data)]);
    }

    /// No class has been initialised.
    pub fn is_unknown(&self) -> bool {
        self.counters.iter().all(Option::is_none)
    }

    /// All classes have been initialised.
    pub fn is_complete(&self) -> bool {
        self.counters.iter().all(Option::is_some)
    }

    /// UpdateFC. Infinite credits stay infinite.
    pub fn update(&mut self, class: Class, header: u16, data: u16) {
        if let Some([headers, units]) = &mut self.counters[class.index()] {
            headers.limit = headers.limit.map(|_| header);
            units.limit = units.limit.map(|_| data);
        }
    }

    /// A TLP may be sent.
    pub fn allows(&self, cost: Cost) -> bool {
        self.counters[cost.class.index()]
            .is_some_and(|[headers, units]| headers.allows(HEADER, 1) && units.allows(DATA, cost.data))
    }

    /// It is sent.
    pub fn take(&mut self, cost: Cost) {
        if let Some([headers, units]) = &mut self.counters[cost.class.index()] {
            headers.used = HEADER.wrap(headers.used + 1);
            units.used = DATA.wrap(units.used + cost.data);
        }
    }

    /// Headers and data that are left; `None` is infinite.
    pub fn left(&self, class: Class) -> (Option<u16>, Option<u16>) {
        let [headers, units] = self.counters[class.index()].unwrap_or_default();
        (headers.left(HEADER), units.left(DATA))
    }
}

/// What is granted to the other side for one class.
#[derive(Debug, Clone)]
pub struct Grant {
    advertised: Advertised,
    /// CREDITS_ALLOCATED: headers, data.
    allocated: [u16; 2],
    /// CREDITS_RECEIVED.
    received: [u16; 2],
    /// When UpdateFC was sent, in symbol times.
    updated: u64,
    changed: bool,
}

impl Grant {
    /// After link-up.
    pub fn new(advertised: Advertised) -> Self {
        let Advertised { header, data } = advertised;
        let allocated = [header.unwrap_or(0), data.unwrap_or(0)];
        Self { advertised, allocated, received: [0; 2], updated: 0, changed: false }
    }

    /// The fields of a flow control DLLP. Infinite is 0.
    pub fn fields(&self) -> (u16, u16) {
        let Advertised { header, data } = self.advertised;
        (header.map_or(0, |_| self.allocated[0]), data.map_or(0, |_| self.allocated[1]))
    }

    /// A TLP has come. Says whether it was within what is granted.
    pub fn receive(&mut self, cost: Cost) -> bool {
        self.received[0] = HEADER.wrap(self.received[0] + 1);
        self.received[1] = DATA.wrap(self.received[1] + cost.data);
        let Advertised { header, data } = self.advertised;
        (header.is_none() || HEADER.holds(self.allocated[0], self.received[0]))
            && (data.is_none() || DATA.holds(self.allocated[1], self.received[1]))
    }

    /// Its place is free again.
    pub fn release(&mut self, cost: Cost) {
        self.allocated[0] = HEADER.wrap(self.allocated[0] + 1);
        self.allocated[1] = DATA.wrap(self.allocated[1] + cost.data);
        self.changed = self.advertised.is_finite();
    }

    /// When UpdateFC is due: soon after a change, otherwise now and then.
    pub fn due(&self, soon: u64, interval: u64) -> Option<u64> {
        let wait = if self.changed { soon } else { interval };
        self.advertised.is_finite().then_some(self.updated + wait)
    }

    /// UpdateFC, or InitFC, is sent.
    pub fn sent(&mut self, now: u64) {
        self.updated = now;
        self.changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: Cost = Cost { class: Class::Posted, data: 4 };

    #[test]
    fn a_tlp_takes_a_header_and_its_data() {
        let mut allowance = Allowance::default();
        assert!(!allowance.allows(WRITE), "before InitFC");
        allowance.init(Class::Posted, 2, 6);
        allowance.init(Class::Posted, 9, 9);
        assert_eq!(allowance.left(Class::Posted), (Some(2), Some(6)), "the first one counts");
        assert!(allowance.allows(WRITE));
        allowance.take(WRITE);
        assert!(!allowance.allows(WRITE), "data for two only");
        assert!(allowance.allows(Cost { data: 2, ..WRITE }));
        allowance.update(Class::Posted, 3, 8);
        assert!(allowance.allows(WRITE));
    }

    #[test]
    fn counters_wrap_and_infinite_ones_never_end() {
        let mut allowance = Allowance::default();
        allowance.init(Class::Posted, 127, 2047);
        let mut grant = Grant::new(Advertised::finite(127, 2047));
        for _ in 0..10_000 {
            assert!(allowance.allows(WRITE));
            allowance.take(WRITE);
            assert!(grant.receive(WRITE));
            grant.release(WRITE);
            let (header, data) = grant.fields();
            allowance.update(Class::Posted, header, data);
        }
        allowance.init(Class::Completion, 0, 0);
        let completion = Cost { class: Class::Completion, data: 32 };
        for _ in 0..1000 {
            assert!(allowance.allows(completion));
            allowance.take(completion);
        }
        allowance.update(Class::Completion, 0, 0);
        assert!(allowance.allows(completion));
        assert!(!allowance.is_complete());
    }

    #[test]
    fn more_than_was_granted_is_seen() {
        let mut grant = Grant::new(Advertised { header: Some(1), data: None });
        assert!(grant.receive(WRITE));
        assert!(!grant.receive(WRITE));
        assert_eq!(grant.fields(), (1, 0));
        assert_eq!(grant.due(5, 7500), Some(7500));
        grant.release(WRITE);
        assert_eq!(grant.due(5, 7500), Some(5));
        assert_eq!(Grant::new(Advertised::INFINITE).due(5, 7500), None);
    }
}
