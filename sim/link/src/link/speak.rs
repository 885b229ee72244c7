//! What the data link layer sends next (section 3.5.2.1 names the order).

use super::dllp::{Dllp, Flow, Power};
use super::frame::{frame_dllp, frame_tlp};
use super::replay::Numbered;
use super::{Activity, DataLink, Rest};
use crate::generation::Generation;
use crate::symbol::Symbol;
use crate::tlp::{to_bytes, Class};

/// What a packet is, for when it has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A DLLP, or a nullified TLP.
    Passing,
    /// A TLP that is kept for replay.
    Tlp {
        /// It is the first one of a replay.
        begins_replay: bool,
    },
}

/// A packet, framed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// From STP or SDP to END or EDB.
    pub symbols: Vec<Symbol>,
    /// What it is.
    pub what: What,
}

impl Packet {
    fn dllp(dllp: Dllp) -> Self {
        Self { symbols: frame_dllp(dllp), what: What::Passing }
    }

    fn tlp(tlp: &Numbered) -> Self {
        let symbols = frame_tlp(tlp.sequence, &tlp.bytes, false);
        Self { symbols, what: What::Tlp { begins_replay: tlp.begins_replay } }
    }
}

impl DataLink {
    /// The next packet, in L0.
    pub fn speak(&mut self) -> Option<Packet> {
        match self.activity {
            Activity::Inactive => None,
            // The other side's InitFC1 says that it has no Data Link Feature.
            Activity::Init1
                if self.options.generation == Generation::Fifth && self.allowance.is_unknown() =>
            {
                Some(Packet::dllp(Dllp::Feature))
            }
            Activity::Init1 => Some(self.init(Flow::Init1)),
            Activity::Init2 { .. } => self.acknowledge().or_else(|| Some(self.init(Flow::Init2))),
            Activity::Active if self.rest == Rest::Agreed => None,
            Activity::Active => {
                self.acknowledge().or_else(|| self.update()).or_else(|| self.tlp()).or_else(|| self.power())
            }
        }
    }

    /// The last symbol of a packet has been sent.
    pub fn spoken(&mut self, what: What) {
        if let What::Tlp { begins_replay } = what {
            self.replay.finished(self.now, begins_replay);
            self.draw_replay_limit();
        }
    }

    /// The next InitFC: one set of three follows another at once, so 34 us never pass (section 3.3.1). A set
    /// is never left unfinished.
    fn init(&mut self, flow: Flow) -> Packet {
        let class = Class::ALL[self.step % 3];
        let packet = Packet::dllp(self.credit(flow, class));
        self.step = (self.step + 1) % 3;
        if self.step == 0 {
            self.activity = match self.activity {
                Activity::Init1 if self.allowance.is_complete() => Activity::Init2 { left: None },
                Activity::Init2 { left: Some(0) } => Activity::Active,
                Activity::Init2 { left: Some(left) } => Activity::Init2 { left: Some(left - 1) },
                same => same,
            };
        }
        packet
    }

    fn credit(&mut self, flow: Flow, class: Class) -> Dllp {
        let grant = &mut self.grants[class.index()];
        grant.sent(self.now);
        let (header, data) = grant.fields();
        Dllp::Credit { flow, class, header, data }
    }

    fn acknowledge(&mut self) -> Option<Packet> {
        let dllp = self.inbound.due(self.now)?;
        (!self.trouble.loses_ack()).then(|| Packet::dllp(dllp))
    }

    fn update(&mut self) -> Option<Packet> {
        let (soon, interval) = (self.options.update_delay, self.options.update_interval);
        let due = Class::ALL.into_iter().find(|class| {
            let due = self.grants[class.index()].due(u64::from(soon), u64::from(interval));
            due.is_some_and(|due| due <= self.now)
        })?;
        let dllp = self.credit(Flow::Update, due);
        (!self.trouble.loses_update()).then(|| Packet::dllp(dllp))
    }

    fn tlp(&mut self) -> Option<Packet> {
        if let Some(tlp) = self.replay.again() {
            self.counters.replayed += 1;
            return Some(Packet::tlp(&tlp));
        }
        if self.queue.is_empty() || self.rest != Rest::None || !self.replay.has_room(self.options.window) {
            return None;
        }
        if self.trouble.nullifies() {
            let other = vec![0; 12];
            let symbols = frame_tlp(self.replay.next_sequence(), &other, true);
            return Some(Packet { symbols, what: What::Passing });
        }
        let (cost, tlp) = self.queue.pop(&self.allowance)?;
        self.allowance.take(cost);
        self.counters.sent += 1;
        Some(Packet::tlp(&self.replay.push(to_bytes(&tlp))))
    }

    /// Power management, once all TLPs are acknowledged.
    fn power(&mut self) -> Option<Packet> {
        let power = match self.rest {
            Rest::Asks(power) => power,
            Rest::Answers => Power::RequestAck,
            Rest::None | Rest::Agreed => return None,
        };
        self.replay.is_empty().then(|| Packet::dllp(Dllp::Power(power)))
    }
}
