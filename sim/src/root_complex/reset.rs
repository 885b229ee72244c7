//! Resets of the NIC.
//!
//! Of the function: configuration space is new at once, and the NIC is asked by `cfg_function_reset` until it says
//! `function_reset_done`. The link lives: what has left the NIC takes place, its reads are answered, and credits come back. Of the host's
//! accesses those on their way are lost, and later ones wait.
//!
//! With the link: the NIC is told by `link_down`, and what is half over the edge in either direction ends where it is. Writes that
//! had come whole take place; nothing else does, and no completion of before comes after.

use super::requests::Arrival;
use super::{Credits, Kind, RootComplex};
use crate::clock::Cycle;
use crate::nic::{NicIn, NicOut};
use crate::tlp::Tlp;

/// Cycles for which the host's accesses wait after a reset.
const PAUSE: u64 = 16;
/// Cycles after which a NIC has failed that has not said that its function is reset: 60 ms. A read may take 50.3 ms.
const PATIENCE: u64 = 7_500_000;
/// Packets that may begin at `tlp_tx` after a function reset has been asked for: they were on their way inside.
pub const LAST_PACKETS: u32 = 2;

/// How far a reset is.
#[derive(Debug, Default)]
pub struct Resetting {
    /// The function's reset has been asked for since then.
    asked: Option<Cycle>,
    /// Packets that have begun since.
    begun: u32,
    /// The link is down until then.
    down_until: Cycle,
    /// The host's accesses wait until then.
    pause_until: Cycle,
    /// What left the NIC before may still be on its way to memory.
    arriving: bool,
}

impl Resetting {
    /// The host's accesses have to wait.
    pub fn holds(&self, now: Cycle) -> bool {
        self.asked.is_some() || now < self.pause_until || self.is_down(now)
    }

    /// The function's reset has been asked for, and is not done.
    pub fn is_of_function(&self) -> bool {
        self.asked.is_some()
    }

    /// The link is down.
    pub fn is_down(&self, now: Cycle) -> bool {
        now < self.down_until
    }
}

impl RootComplex {
    /// Function-level reset. Then the vectors are set up again, as Linux restores them.
    pub fn reset(&mut self, now: Cycle) {
        self.config.reset();
        self.settings.master_off = false;
        self.give_answers();
        // Whoever could answer them may be waiting for us.
        for request in self.messages.drop_reads() {
            self.complete(now, &request, None, None);
        }
        self.delayed.retain(|_, outgoing| matches!(outgoing.kind, Kind::Completion { .. }));
        self.arrived.retain(|outgoing| matches!(outgoing.kind, Kind::Completion { .. }));
        self.loads.give_up();
        self.resetting.asked = self.resetting.asked.or(Some(now));
        self.resetting.begun = 0;
        self.restore_vectors(now);
    }

    /// The link goes down for so many cycles, or is in hot reset.
    pub fn link_down(&mut self, now: Cycle, cycles: u64) {
        self.config.reset();
        self.settings.master_off = false;
        while let Some((_, packet)) = self.up.pop_front() {
            if matches!(packet, Tlp::Write(..)) {
                self.arrive(now, packet);
            }
        }
        self.give_answers();
        self.messages.drop_reads();
        self.messages.forget_credits();
        self.arrivals.retain(|arrival| matches!(arrival, Arrival::Write(..)));
        for arrival in &mut self.arrivals {
            if let Arrival::Write(_, _, cost) = arrival {
                *cost = Default::default();
            }
        }
        self.passed.clear();
        self.pieces.clear();
        self.delayed.clear();
        self.arrived.clear();
        self.sending = None;
        self.receiving.clear();
        self.credits = Credits::new(self.options.conditions.credits);
        self.loads.reset();
        self.tags.clear();
        self.resetting =
            Resetting { down_until: now + cycles, pause_until: now + cycles + PAUSE, ..Resetting::default() };
        self.restore_vectors(now);
    }

    fn restore_vectors(&mut self, now: Cycle) {
        self.config.enable_msix(self.interrupts.enabled());
        for (access, value) in self.interrupts.restore() {
            self.post(now, access, value);
        }
    }

    /// A reset is not over: something of before may still reach memory.
    pub fn is_resetting(&self, now: Cycle) -> bool {
        self.resetting.holds(now) || self.resetting.arriving
    }

    pub(super) fn drive_resets(&mut self, now: Cycle, input: &mut NicIn) {
        input.cfg_function_reset = self.resetting.asked.is_some();
        input.link_down = self.resetting.is_down(now);
        // What waits for a client is not waited for: the client may be waiting for us.
        let served = self.arrivals.is_empty() || self.messages.writing();
        if self.resetting.arriving && self.up.is_empty() && self.passed.is_empty() && served {
            self.resetting.arriving = false;
            self.loads.forget();
        }
    }

    /// `false`: the link is down, and what the NIC shows is nothing.
    pub(super) fn observe_resets(&mut self, now: Cycle, input: &NicIn, output: &NicOut) -> bool {
        if input.link_down {
            return false;
        }
        let Some(since) = self.resetting.asked.filter(|_| input.cfg_function_reset) else { return true };
        if output.tlp_tx_valid && input.tlp_tx_ready && self.receiving.is_empty() {
            self.resetting.begun += 1;
            let begun = self.resetting.begun;
            // Behind a link any number is on its way, and the core's edge is watched.
            let few = begun <= LAST_PACKETS || self.options.latency > 0;
            self.rules.check(now, few, || "a packet begins in a function reset".into());
        }
        let late = now - since > PATIENCE;
        self.rules.check(now, !late, || "the function's reset does not end".into());
        if output.function_reset_done || late {
            let half = !self.receiving.is_empty() || output.tlp_tx_valid;
            self.rules.check(now, !half, || "half a packet is out when the function's reset is done".into());
            self.resetting.asked = None;
            self.resetting.pause_until = now + PAUSE;
            self.resetting.arriving = true;
            self.tags.clear();
        }
        true
    }
}
