//! Counts what comes of frames.
//!
//! ```text
//!               closes ──►┌───────┐
//!   situation, verdict ──►│ Tally │──► count_*
//!  raw, reliable, ends ──►└───────┘
//! ```
//! Contract: the block counts an order that `closes` once, by what came of it. It counts `dropped` and `strays` when they come.
//!
//! Example: an order closes with the situation Placed and `ends`: `count_message` is high in the next cycle.
//!
//! Latency: 1. Tests: with the path, `tests/receive/path/`, `tests/receive/raw.rs`.

use super::judge::Verdict;
use super::outcome::Situation;
use crate::stream::Pulse;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Tally {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, nothing is counted.
    pub reset: Signal<In, bool>,
    /// Pulses when an order closes; `Delivery` drives this and the other inputs.
    pub closes: Signal<In, bool>,
    /// With `closes`: what came of the order.
    pub situation: Signal<In, Situation>,
    /// What the frame was to the VI.
    pub verdict: Signal<In, Verdict>,
    /// The frame is the raw channel's.
    pub raw: Signal<In, bool>,
    /// The VI's service is one of the reliable ones.
    pub reliable: Signal<In, bool>,
    /// The frame ends a message.
    pub ends: Signal<In, bool>,
    /// The message is lost by what came of the order.
    pub loses: Signal<In, bool>,
    /// Pulses when a raw frame finds no receive.
    pub dropped: Signal<In, bool>,
    /// Pulses when an answer was to nothing that waits.
    pub strays: Signal<In, bool>,
    /// Pulses when a message was delivered.
    pub count_message: Pulse,
    /// Pulses when a raw frame was delivered.
    pub count_raw: Pulse,
    /// Pulses when a raw frame found no receive descriptor.
    pub count_raw_dropped: Pulse,
    /// Pulses when an answer was to nothing that waits.
    pub count_response: Pulse,
    /// Pulses when a frame was for no VI.
    pub count_no_vi: Pulse,
    /// Pulses when a frame was a duplicate that the VI answers again.
    pub count_duplicate: Pulse,
    /// Pulses when a frame was any other duplicate, or came behind a gap.
    pub count_psn: Pulse,
    /// Pulses when a message found no receive descriptor.
    pub count_no_receive: Pulse,
    /// Pulses when a frame belonged to no message that can still be whole.
    pub count_partial: Pulse,
    message: DFF<bool>,
    raws: DFF<bool>,
    raw_dropped: DFF<bool>,
    response: DFF<bool>,
    no_vi: DFF<bool>,
    duplicate: DFF<bool>,
    psn: DFF<bool>,
    no_receive: DFF<bool>,
    partial: DFF<bool>,
}

impl Logic for Tally {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, message, raws, raw_dropped, response, no_vi, duplicate, psn, no_receive);
        dff_setup!(self, clock, partial);
        self.count_message.next = self.message.q.val();
        self.count_raw.next = self.raws.q.val();
        self.count_raw_dropped.next = self.raw_dropped.q.val();
        self.count_response.next = self.response.q.val();
        self.count_no_vi.next = self.no_vi.q.val();
        self.count_duplicate.next = self.duplicate.q.val();
        self.count_psn.next = self.psn.q.val();
        self.count_no_receive.next = self.no_receive.q.val();
        self.count_partial.next = self.partial.q.val();

        self.message.d.next = false;
        self.raws.d.next = false;
        self.raw_dropped.d.next = self.dropped.val();
        self.response.d.next = self.strays.val();
        self.no_vi.d.next = false;
        self.duplicate.d.next = false;
        self.psn.d.next = false;
        self.no_receive.d.next = false;
        self.partial.d.next = false;
        match self.situation.val() {
            Situation::Placed => {
                // RAW-5: raw frames have a counter of their own.
                self.message.d.next = self.closes.val() & self.ends.val() & !self.raw.val();
                self.raws.d.next = self.closes.val() & self.raw.val();
            }
            Situation::Read => {
                self.duplicate.d.next = self.closes.val() & (self.verdict.val() == Verdict::Behind);
            }
            Situation::Unread => {
                self.psn.d.next = self.closes.val();
            }
            Situation::Over => {
                self.no_vi.d.next = self.closes.val();
            }
            Situation::Behind => {
                self.duplicate.d.next = self.closes.val() & self.reliable.val();
                self.psn.d.next = self.closes.val() & !self.reliable.val();
            }
            Situation::Gap => {
                self.psn.d.next = self.closes.val();
            }
            Situation::NotReady => {
                self.no_receive.d.next = self.closes.val() & self.loses.val();
            }
            Situation::Lost => {
                self.no_receive.d.next = self.closes.val() & !self.raw.val();
                self.raw_dropped.d.next = self.closes.val() & self.raw.val();
            }
            Situation::Nothing => {
                if self.verdict.val() == Verdict::Unknown {
                    self.no_vi.d.next = self.closes.val() & !self.raw.val();
                    self.raw_dropped.d.next = self.closes.val() & self.raw.val();
                }
                if (self.verdict.val() == Verdict::Stray) | (self.verdict.val() == Verdict::Early) {
                    self.partial.d.next = self.closes.val();
                }
            }
            _ => {}
        }
        if self.reset.val() {
            self.message.d.next = false;
            self.raws.d.next = false;
            self.raw_dropped.d.next = false;
            self.response.d.next = false;
            self.no_vi.d.next = false;
            self.duplicate.d.next = false;
            self.psn.d.next = false;
            self.no_receive.d.next = false;
            self.partial.d.next = false;
        }
    }
}
