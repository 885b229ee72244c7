//! What the monitor makes of the items of both sides together.

use crate::generation::Generation;

use super::check::{dllp_is_good, lcrc, Lcrc};
use super::grant::{Cost, Flow, Grants};
use super::lane::{Fault, Item, Training};
use super::rule::{Party, Rule};
use super::{Answer, Monitor, Sequence};

/// Control bits that end the link: Hot Reset, Disable Link.
const ENDS: u8 = 3;

/// Most symbols of a packet with this Max_Payload_Size: framing, number, header, digest, LCRC.
pub(super) const fn longest(max_payload: u32) -> u64 {
    max_payload as u64 + 2 + 2 + 16 + 4 + 4
}

/// Table 3-5 for an x1 link.
const fn ack_limit(max_payload: u32) -> u64 {
    match max_payload {
        128 => 237,
        256 => 416,
        512 => 559,
        other => other as u64 + 47,
    }
}

/// Shortest and longest REPLAY_TIMER.
fn replay_limits(generation: Generation, max_payload: u32) -> (u64, u64) {
    let first = 3 * ack_limit(max_payload);
    generation
        .replay_limits()
        .map_or((first, 2 * first), |(shortest, longest)| (shortest.into(), longest.into()))
}

impl Monitor {
    /// An item of a side's.
    pub(super) fn item(&mut self, party: Party, item: &Item, faults: &mut Vec<Fault>) {
        let symbols = 2 * self.cycle;
        if matches!(item, Item::Training(_) | Item::Silence) {
            self.of(party).left = false;
        }
        match item {
            Item::Dllp(_) | Item::Tlp { .. } if self.of(party).left => {}
            Item::Training(set) => self.training(party, set, symbols),
            Item::Silence | Item::Idle => {
                let begins = self.of(party).phases.begins_idle();
                let other = &mut self.of(party.other()).phases;
                other.other_rests();
                if begins {
                    other.is_counted();
                }
            }
            Item::Start => {
                let observed = self.of(party);
                observed.began = observed.time;
                observed.sequence.begins();
            }
            Item::Broken => self.disturb(party.other()),
            Item::Dllp(bytes) => {
                self.dllp(party, bytes, faults);
                self.ends(party);
            }
            Item::Tlp { bytes, edb } => {
                self.tlp(party, bytes, *edb, faults);
                self.ends(party);
            }
            Item::Sound | Item::Skp(_) | Item::Eios => {}
        }
    }

    /// A packet has ended.
    fn ends(&mut self, party: Party) {
        let observed = self.of(party);
        observed.ended = observed.time;
    }

    /// A side may have seen a damaged TLP.
    fn disturb(&mut self, party: Party) {
        let observed = self.of(party);
        observed.answer.disturbed(observed.time);
    }

    fn training(&mut self, party: Party, set: &Training, symbols: u64) {
        let payload = self.options.max_payload;
        let other_talks = self.of(party.other()).phases.is_data();
        let observed = self.of(party);
        observed.sequence.retrained(observed.time);
        if other_talks {
            // What comes meanwhile it may miss.
            observed.answer.left(observed.time, longest(payload));
        }
        self.of(party.other()).phases.other_trains(symbols);
        let unnamed = set.link.is_none() && set.lane.is_none();
        // Only a root port in Polling names neither; an endpoint does so in Configuration too.
        let ends = unnamed || set.control & ENDS != 0;
        // A wire may have put it into one set. An endpoint believes two in a row, too (4.2.6).
        if party == Party::Root && ends && self.root.phases.repeats() {
            self.endpoint.left = self.endpoint.phases.is_data();
            for observed in [&mut self.endpoint, &mut self.root] {
                observed.sequence = Sequence::default();
                observed.answer = Answer::default();
                observed.grants = Grants::new(observed.time);
            }
        }
    }

    fn dllp(&mut self, party: Party, bytes: &[u8], faults: &mut Vec<Fault>) {
        let Ok(bytes) = <[u8; 6]>::try_from(bytes) else {
            faults.push((Rule::DllpMalformed, format!("{} bytes", bytes.len())));
            return self.disturb(party.other());
        };
        if !dllp_is_good(&bytes) {
            return faults.push((Rule::DllpCrc, format!("{bytes:02X?}")));
        }
        let [kind, a, b, c, ..] = bytes;
        let flow = match kind & 0xCF {
            0x40 => Some(Flow::Init1),
            0xC0 => Some(Flow::Init2),
            0x80 => Some(Flow::Update),
            _ => None,
        };
        let class = usize::from(kind >> 4 & 3);
        let low = u16::from(b & 0xF) << 8 | u16::from(c);
        let reserved = match (kind, flow) {
            (0x00 | 0x10, _) => u16::from(a) | u16::from(b & 0xF0),
            (_, Some(_)) => u16::from(a & 0xC0) | u16::from(b & 0x30),
            (0x20 | 0x21 | 0x23 | 0x24, _) => u16::from(a) | u16::from(b) | u16::from(c),
            (0x02, _) if self.of(party).generation == Generation::Fifth => 0,
            (0x30, _) => 0,
            _ => 1,
        };
        if reserved != 0 || flow.is_some() && class == 3 {
            return faults.push((Rule::DllpMalformed, format!("{bytes:02X?}")));
        }
        let time = self.of(party).time;
        if let Some(flow) = flow {
            let observed = self.of(party);
            if flow == Flow::Update && !observed.grants.is_initialised() {
                faults.push((Rule::BeforeInit, "UpdateFC before InitFC2".into()));
            }
            let header = u16::from(a & 0x3F) << 2 | u16::from(b >> 6);
            let blind = observed.answer.is_blind();
            return observed.grants.dllp(flow, class, [header, low], (time, blind), faults);
        }
        if matches!(kind, 0x00 | 0x10) {
            let nak = kind == 0x10;
            let (payload, time) = (self.options.max_payload, self.of(party).time);
            let named = 2 * (ack_limit(payload) + longest(payload));
            let observed = self.of(party);
            let was_blind = observed.answer.is_blind();
            if observed.answer.names(low, nak, (time, named), faults) {
                self.told(party, low);
            } else if was_blind && !observed.answer.is_blind() {
                observed.grants.judge(faults);
            }
            let limit = replay_limits(self.of(party.other()).generation, payload).0;
            let (speaks, astray) = (self.of(party).phases.clone(), self.of(party).lane.astray);
            let other = self.of(party.other());
            let heard = other.phases.is_in_l0(&speaks) && !astray;
            let now = other.time;
            other.sequence.answered(low, nak, heard, now, limit);
        }
    }

    /// This side has taken all up to this number, and some of them it alone has read.
    fn told(&mut self, party: Party, number: u16) {
        let payload = self.options.max_payload;
        for cost in self.of(party.other()).sequence.told(number) {
            let grants = &mut self.of(party).grants;
            match cost {
                Some(cost) if !grants.takes(cost) => {
                    self.report(party.other(), Rule::CreditExceeded, format!("{cost:?}, up to TLP {number}"));
                }
                Some(_) => {}
                None => grants.takes_unread(payload),
            }
        }
    }

    fn tlp(&mut self, party: Party, bytes: &[u8], edb: bool, faults: &mut Vec<Fault>) {
        let other = party.other();
        let now = self.of(other).time;
        let check = lcrc(bytes);
        let whole = bytes.len() >= 2 + 12 + 4 && check == if edb { Lcrc::Complemented } else { Lcrc::Good };
        if !whole {
            faults.push((Rule::Lcrc, format!("{} bytes, {check:?}", bytes.len())));
            if self.of(party).lane.astray {
                return;
            }
            return self.of(other).answer.damaged(now);
        }
        let number = u16::from_be_bytes([bytes[0] & 0xF, bytes[1]]);
        if edb {
            return self.of(party).sequence.nullified(number, faults);
        }
        let first = u32::from_be_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
        let data = self.header(bytes.len() - 6, first, faults);
        if bytes[0] & 0xF0 != 0 {
            faults.push((Rule::TlpMalformed, "reserved bits above the sequence number".into()));
        }
        let payload = self.options.max_payload;
        let observed = self.of(party);
        let limits = (replay_limits(observed.generation, payload).0, longest(payload));
        if !observed.grants.is_initialised() {
            faults.push((Rule::BeforeInit, format!("TLP {number} before InitFC2")));
        }
        let times = (observed.began, observed.time);
        let class = match first >> 24 & 0x1F {
            0 if first >> 30 & 1 == 1 => 0,
            16..=23 => 0,
            10 | 11 => 2,
            _ => 1,
        };
        let cost = Cost { class, data: data.div_ceil(4) };
        let new = observed.sequence.tlp(number, cost, times, limits, faults);
        let astray = self.of(party).lane.astray;
        let receiver = self.of(other);
        receiver.answer.tlp(number, now, limits.1, astray || !receiver.phases.is_data());
        if new && !receiver.grants.takes(cost) {
            faults.push((Rule::CreditExceeded, format!("TLP {number}, class {class}, {data} double words")));
        }
    }

    /// Checks a TLP of so many bytes against its first double word; returns its payload in double words.
    fn header(&self, bytes: usize, first: u32, faults: &mut Vec<Fault>) -> u16 {
        let length = match first & 0x3FF {
            0 => 1024,
            length => length,
        };
        let data = if first >> 30 & 1 == 1 { length } else { 0 };
        let all = 3 + (first >> 29 & 1) + data + (first >> 15 & 1);
        if bytes != 4 * all as usize || first >> 31 != 0 {
            faults.push((Rule::TlpMalformed, format!("{bytes} bytes, {all} double words by the header")));
        }
        if 4 * data > self.options.max_payload {
            faults.push((Rule::MaxPayload, format!("{} bytes of payload", 4 * data)));
        }
        data as u16
    }

    /// What is overdue.
    pub(super) fn deadlines(&mut self) {
        let (payload, symbols) = (self.options.max_payload, 2 * self.cycle);
        let (ack, packet) = (ack_limit(payload), longest(payload));
        for party in [Party::Endpoint, Party::Root] {
            let observed = self.of(party);
            let now = observed.time;
            let mut late = vec![];
            if observed.phases.ignores_training(symbols) {
                late.push((Rule::TrainingIgnored, "no training set came back".to_owned()));
            }
            if observed.answer.ack_is_late(now, ack + packet) {
                late.push((Rule::AckLate, "no Ack".to_owned()));
            }
            if observed.answer.nak_is_late(now, ack + packet) {
                late.push((Rule::NakMissing, "no Nak".to_owned()));
            }
            if observed.sequence.is_late(now, replay_limits(observed.generation, payload).1, packet) {
                late.push((Rule::ReplayLate, "no replay".to_owned()));
            }
            if observed.grants.init_is_late(now, packet) {
                late.push((Rule::InitLate, "no InitFC".to_owned()));
            }
            if let Some(class) = observed.grants.late(now, packet) {
                late.push((Rule::UpdateLate, format!("no UpdateFC of class {class}")));
            }
            late.into_iter().for_each(|(rule, what)| self.report(party, rule, what));
        }
    }
}
