//! The data link layer: sequence numbers, Ack and Nak, replay, credits (chapter 3, section 2.6).
//!
//! Its time is counted in symbols of 4 ns and passes in L0 only, so every timer is held in Recovery.

pub mod crc;
pub mod credit;
pub mod dllp;
pub mod frame;
pub mod inbound;
pub mod limits;
pub mod queue;
pub mod replay;

mod hear;
mod options;
mod speak;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use options::{Counters, LinkOptions, Refused};
pub use speak::{Packet, What};

use crate::damage::Trouble;
use crate::ltssm::{LowPower, Role};
use crate::tlp::{header_dw, payload_dw, total_dw, Tlp, MIN_DW};
use credit::{Allowance, Cost, Grant};
use dllp::Power;
use inbound::Inbound;
use limits::{ack_limit, replay_limit};
use queue::Queue;
use replay::Replay;

/// The data link control and management state machine (section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// DL_Inactive: the link is down.
    Inactive,
    /// DL_Init, FC_INIT1.
    Init1,
    /// DL_Init, FC_INIT2. The flag FI2 and how many sets are still sent after it.
    Init2 {
        /// Sets that are still to be sent; `None` before FI2.
        left: Option<u32>,
    },
    /// DL_Active.
    Active,
}

/// What the data link layer does about L1 (section 5.3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing.
    None,
    /// An upstream port sends PM_Enter_L1 or PM_Enter_L23 once all is acknowledged.
    Asks(Power),
    /// PM_Request_Ack has come.
    Agreed,
    /// A downstream port sends PM_Request_Ack once all is acknowledged.
    Answers,
}

/// The data link layer of one side.
#[derive(Debug, Clone)]
pub struct DataLink {
    options: LinkOptions,
    trouble: Trouble,
    /// Symbol times in L0.
    now: u64,
    activity: Activity,
    /// Place in the three InitFC of a set.
    step: usize,
    rest: Rest,
    queue: Queue,
    allowance: Allowance,
    replay: Replay,
    /// When REPLAY_TIMER ends this time.
    replay_limit: u64,
    inbound: Inbound,
    grants: [Grant; 3],
    received: VecDeque<(u64, Tlp)>,
    /// How often the link came up: credits of an earlier time are not returned.
    epoch: u64,
    /// Credits that are kept back until a time.
    withheld: Vec<(u64, Cost)>,
    counters: Counters,
}

impl DataLink {
    /// The link is down.
    pub fn new(options: LinkOptions, trouble: Trouble) -> Self {
        Self {
            trouble,
            now: 0,
            activity: Activity::Inactive,
            step: 0,
            rest: Rest::None,
            queue: Queue::default(),
            allowance: Allowance::default(),
            replay: Replay::default(),
            replay_limit: u64::from(options.replay),
            inbound: Inbound::default(),
            grants: options.advertised.map(Grant::new),
            received: VecDeque::new(),
            epoch: 0,
            withheld: Vec::new(),
            counters: Counters::default(),
            options,
        }
    }

    /// What it does.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// DL_Active.
    pub fn is_active(&self) -> bool {
        self.activity == Activity::Active
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What the other side still allows.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Its mischief.
    pub fn trouble(&mut self) -> &mut Trouble {
        &mut self.trouble
    }

    /// Max_Payload_Size in bytes from now on, and the times that follow from it.
    pub fn set_max_payload(&mut self, bytes: u32) {
        self.options.max_payload = bytes;
        self.options.ack_delay = (0, ack_limit(bytes) / 2);
        self.options.replay = replay_limit(bytes) * 3 / 2;
        self.options.set_generation(self.options.generation);
        self.replay_limit = u64::from(self.options.replay);
    }

    /// A TLP to send. It goes when there are credits. While the link is down it is dropped, as the
    /// transaction layer does (section 2.9).
    pub fn send(&mut self, tlp: Tlp) -> Result<(), Refused> {
        let first = *tlp.first().ok_or(Refused::Length)?;
        if tlp.len() < MIN_DW || tlp.len() != total_dw(first) || tlp.len() < header_dw(first) {
            return Err(Refused::Length);
        }
        if payload_dw(first) * 4 > self.options.max_payload as usize {
            return Err(Refused::Payload);
        }
        if self.activity == Activity::Inactive {
            return Err(Refused::Down);
        }
        self.queue.push(tlp);
        Ok(())
    }

    /// Takes a received TLP; its credits are returned.
    pub fn receive(&mut self) -> Option<Tlp> {
        let (epoch, tlp) = self.received.pop_front()?;
        if epoch == self.epoch {
            let cost = Cost::of(tlp.first().copied().unwrap_or(0));
            match self.trouble.withholds() {
                0 => self.grants[cost.class.index()].release(cost),
                time => self.withheld.push((self.now + time, cost)),
            }
        }
        Some(tlp)
    }

    /// TLPs that wait to be sent, or to be acknowledged.
    pub fn backlog(&self) -> usize {
        self.queue.len() + self.replay.len()
    }

    /// An upstream port wants L1, with PM_Enter_L1, or L2/L3 Ready, with PM_Enter_L23.
    pub fn ask_for(&mut self, power: Power) {
        if self.options.role == Role::Upstream && self.is_active() && self.rest == Rest::None {
            self.rest = Rest::Asks(power);
        }
    }

    /// What the LTSSM has to know about L1.
    pub fn low_power(&self) -> LowPower {
        match self.rest {
            Rest::None | Rest::Asks(_) => LowPower::None,
            Rest::Agreed => LowPower::Agreed,
            Rest::Answers => LowPower::Expected,
        }
    }

    /// The LTSSM is in L0 again.
    pub fn resumed(&mut self) {
        if matches!(self.rest, Rest::Agreed | Rest::Answers) {
            self.rest = Rest::None;
        }
        self.counters.retrains += u64::from(self.replay.wants_recovery());
        self.counters.recoveries += u64::from(self.is_active());
        self.replay.recovered();
    }

    /// LinkUp: initialisation begins, or all is forgotten but what was received.
    pub fn set_up(&mut self, up: bool) {
        let was_up = self.activity != Activity::Inactive;
        if up == was_up {
            return;
        }
        let fresh = Self::new(self.options.clone(), self.trouble.clone());
        let old = std::mem::replace(self, fresh);
        self.received = old.received;
        self.counters = old.counters;
        self.now = old.now;
        self.epoch = old.epoch + 1;
        self.activity = if up { Activity::Init1 } else { Activity::Inactive };
    }

    /// Two symbol times pass in L0. Says whether the link has to be retrained.
    pub fn tick(&mut self) -> bool {
        self.now += 2;
        if self.activity == Activity::Inactive {
            return false;
        }
        let (now, grants) = (self.now, &mut self.grants);
        self.withheld.retain(|(at, cost)| {
            let keep = *at > now;
            if !keep {
                grants[cost.class.index()].release(*cost);
            }
            keep
        });
        if self.is_active() && self.rest != Rest::Agreed && self.trouble.naks() {
            self.inbound.force_nak();
        }
        if self.replay.tick(self.now, self.replay_limit) {
            self.counters.timeouts += 1;
        }
        self.replay.wants_recovery()
    }

    fn draw_replay_limit(&mut self) {
        self.replay_limit = self.trouble.replay(u64::from(self.options.replay));
    }

    /// Nothing but UpdateFC is due, and after how many symbol times that is. A Nak without a reason may wait as long as anybody likes.
    pub fn idle_for(&self) -> Option<u64> {
        let idle = self.is_active()
            && self.rest == Rest::None
            && self.queue.is_empty()
            && self.replay.is_empty()
            && !self.inbound.is_pending()
            && self.withheld.is_empty();
        let due = self.grants.iter().filter_map(|grant| {
            grant.due(u64::from(self.options.update_delay), u64::from(self.options.update_interval))
        });
        idle.then(|| due.min().map_or(u64::MAX, |due| due.saturating_sub(self.now)))
    }

    /// It has TLPs to send.
    pub fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }
}
