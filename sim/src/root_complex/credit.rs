//! Flow control: what the NIC may send now, and what it has sent that has not been taken away yet.

use std::collections::VecDeque;

use super::conditions::Limits;
use crate::clock::Cycle;
use crate::nic::NicIn;
use crate::tlp::Tlp;

/// What a packet costs: headers and data units of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    posted: u16,
    posted_data: u16,
    nonposted: u16,
    completion: u16,
    completion_data: u16,
}

impl Cost {
    /// Of this packet.
    pub fn of(packet: &Tlp) -> Self {
        let units = |data: &[u32]| data.len().div_ceil(4) as u16;
        match packet {
            Tlp::Write(_, data) => Self { posted: 1, posted_data: units(data), ..Self::default() },
            Tlp::Read(_) => Self { nonposted: 1, ..Self::default() },
            Tlp::Completion(c) => Self { completion: 1, completion_data: units(&c.data), ..Self::default() },
        }
    }

    fn apply(&mut self, other: Self, change: impl Fn(u16, u16) -> u16) {
        self.posted = change(self.posted, other.posted);
        self.posted_data = change(self.posted_data, other.posted_data);
        self.nonposted = change(self.nonposted, other.nonposted);
        self.completion = change(self.completion, other.completion);
        self.completion_data = change(self.completion_data, other.completion_data);
    }
}

/// The credits of one link.
#[derive(Debug)]
pub struct Credits {
    limits: Limits,
    used: Cost,
    /// Costs on their way back.
    returning: VecDeque<(Cycle, Cost)>,
}

fn left8(limit: Option<u8>, used: u16) -> u8 {
    limit.map_or(u8::MAX, |limit| u16::from(limit).saturating_sub(used) as u8)
}

fn left12(limit: Option<u16>, used: u16) -> u16 {
    limit.map_or(0xFFF, |limit| limit.min(0xFFF).saturating_sub(used))
}

impl Credits {
    /// All credits free.
    pub fn new(limits: Limits) -> Self {
        Self { limits, used: Cost::default(), returning: VecDeque::new() }
    }

    /// Charges a packet that the NIC sends. `false`: it had no credit for it.
    pub fn charge(&mut self, packet: &Tlp) -> bool {
        let cost = Cost::of(packet);
        let limits = self.limits;
        self.used.apply(cost, u16::saturating_add);
        let within = |limit: Option<u16>, used| limit.is_none_or(|limit| used <= limit);
        within(limits.posted.map(u16::from), self.used.posted)
            && within(limits.posted_data, self.used.posted_data)
            && within(limits.nonposted.map(u16::from), self.used.nonposted)
            && within(limits.completion.map(u16::from), self.used.completion)
            && within(limits.completion_data, self.used.completion_data)
    }

    /// Gives a packet's credits back; the NIC sees them at `when`.
    pub fn release(&mut self, cost: Cost, when: Cycle) {
        self.returning.push_back((when, cost));
    }

    /// Shows the NIC what it may send in this cycle.
    pub fn drive(&mut self, now: Cycle, input: &mut NicIn) {
        while let Some(&(_, cost)) = self.returning.front().filter(|(when, _)| *when <= now) {
            self.returning.pop_front();
            self.used.apply(cost, u16::saturating_sub);
        }
        input.credit_ph = left8(self.limits.posted, self.used.posted);
        input.credit_pd = left12(self.limits.posted_data, self.used.posted_data);
        input.credit_nph = left8(self.limits.nonposted, self.used.nonposted);
        input.credit_ch = left8(self.limits.completion, self.used.completion);
        input.credit_cd = left12(self.limits.completion_data, self.used.completion_data);
    }

    /// Everything has come back.
    pub fn is_settled(&self) -> bool {
        self.returning.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::Request;

    fn write(bytes: usize) -> Tlp {
        let request = Request::new(0x1000, bytes, 0, 0);
        Tlp::Write(request, vec![0; request.length])
    }

    #[test]
    fn credits_go_and_come_back() {
        let limits = Limits { posted: Some(2), posted_data: Some(9), ..Limits::default() };
        let (mut credits, mut input) = (Credits::new(limits), NicIn::default());
        credits.drive(0, &mut input);
        assert_eq!((input.credit_ph, input.credit_pd), (2, 9));
        assert_eq!((input.credit_ch, input.credit_cd), (255, 4095), "no limit");
        assert!(credits.charge(&write(68)), "five units");
        credits.drive(1, &mut input);
        assert_eq!((input.credit_ph, input.credit_pd), (1, 4));
        credits.release(Cost::of(&write(68)), 40);
        credits.drive(39, &mut input);
        assert_eq!((input.credit_ph, input.credit_pd), (1, 4));
        credits.drive(40, &mut input);
        assert_eq!((input.credit_ph, input.credit_pd), (2, 9));
        assert!(credits.is_settled());
    }

    #[test]
    fn sending_without_credit_is_seen() {
        let limits =
            Limits { posted: Some(8), posted_data: Some(3), nonposted: Some(1), ..Limits::default() };
        let mut credits = Credits::new(limits);
        assert!(!credits.charge(&write(64)));
        let read = Tlp::Read(Request::new(0, 4, 0, 0));
        assert!(!credits.charge(&read), "the write still weighs");
        let mut credits = Credits::new(limits);
        assert!(credits.charge(&read));
        assert!(!credits.charge(&read));
    }
}
