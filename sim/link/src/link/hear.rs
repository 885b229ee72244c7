//! What the data link layer does with the frames that it hears.

use super::credit::Cost;
use super::dllp::{Dllp, Flow, Power};
use super::frame::Frame;
use super::inbound::Verdict;
use super::replay::Answer;
use super::{Activity, DataLink, Rest};
use crate::ltssm::Role;
use crate::tlp::{from_bytes, Class};

impl DataLink {
    /// A frame has come.
    pub fn heard(&mut self, frame: Frame) {
        if self.activity == Activity::Inactive {
            return;
        }
        match frame {
            Frame::Dllp(bytes) => match Dllp::decode(bytes) {
                Ok(dllp) => self.heard_dllp(dllp),
                Err(_) => self.counters.bad_dllps += 1,
            },
            Frame::BadDllp => self.counters.bad_dllps += 1,
            Frame::Nullified => self.counters.nullified += 1,
            // A TLP before the credits are known was not allowed for.
            Frame::Tlp(..) | Frame::BadTlp if self.activity == Activity::Init1 => {}
            Frame::Tlp(sequence, bytes) => self.heard_tlp(sequence, &bytes),
            Frame::BadTlp => {
                self.counters.bad_tlps += 1;
                self.inbound.bad();
            }
        }
    }

    fn heard_tlp(&mut self, sequence: u16, bytes: &[u8]) {
        self.other_side_is_ready();
        let ack_at = self.now + u64::from(self.trouble.within(self.options.ack_delay));
        match self.inbound.tlp(sequence, self.now, ack_at) {
            Verdict::Duplicate => self.counters.duplicates += 1,
            Verdict::Missing => self.counters.missing += 1,
            Verdict::Taken => match from_bytes(bytes) {
                Some(tlp) => {
                    let cost = Cost::of(tlp.first().copied().unwrap_or(0));
                    let granted = self.grants[cost.class.index()].receive(cost);
                    self.counters.overflows += u64::from(!granted);
                    self.counters.received += 1;
                    self.received.push_back((self.epoch, tlp));
                }
                None => self.counters.malformed += 1,
            },
        }
    }

    fn heard_dllp(&mut self, dllp: Dllp) {
        match dllp {
            Dllp::Ack(sequence) => self.answered(sequence, false),
            Dllp::Nak(sequence) => self.answered(sequence, true),
            Dllp::Credit { flow, class, header, data } => self.heard_credit(flow, class, header, data),
            Dllp::Power(power) => self.heard_power(power),
            Dllp::Feature | Dllp::Vendor(_) => {}
        }
    }

    fn answered(&mut self, sequence: u16, nak: bool) {
        if matches!(self.activity, Activity::Init1 | Activity::Init2 { .. }) {
            return;
        }
        self.counters.naks += u64::from(nak);
        if self.replay.answer(sequence, nak, self.now) == Answer::Impossible {
            self.counters.impossible += 1;
        }
    }

    fn heard_credit(&mut self, flow: Flow, class: Class, header: u16, data: u16) {
        match (self.activity, flow) {
            (Activity::Init1, Flow::Init1 | Flow::Init2) => self.allowance.init(class, header, data),
            (Activity::Init2 { .. }, Flow::Init2) => self.other_side_is_ready(),
            (Activity::Init2 { .. } | Activity::Active, Flow::Update) => {
                self.other_side_is_ready();
                self.allowance.update(class, header, data);
            }
            _ => {}
        }
    }

    /// FI2: InitFC2, UpdateFC or a TLP has come.
    fn other_side_is_ready(&mut self) {
        if self.activity == (Activity::Init2 { left: None }) {
            self.activity = Activity::Init2 { left: Some(self.options.init_sets) };
        }
    }

    fn heard_power(&mut self, power: Power) {
        match (power, self.options.role) {
            // L2/L3 Ready is the same to a port whose power stays on.
            (Power::EnterL1 | Power::EnterL23, Role::Downstream) if self.is_active() => {
                self.rest = Rest::Answers;
            }
            (Power::RequestAck, Role::Upstream) if matches!(self.rest, Rest::Asks(_)) => {
                self.rest = Rest::Agreed;
            }
            _ => {}
        }
    }
}
