//! Counts what comes of frames.
//!
//! ```text
//!               closes ──►┌───────┐
//!   situation, verdict ──►│ Tally │──► count_*
//!  raw, reliable, ends ──►└───────┘
//! ```
//! Contract: an order that `closes` is counted once, by what came of it. `dropped` and `strays` are counted when they are found.
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
    /// Nothing is counted.
    pub reset: Signal<In, bool>,
    /// An order closes.
    pub closes: Signal<In, bool>,
    /// What came of it.
    pub situation: Signal<In, Situation>,
    /// What the frame was to the VI.
    pub verdict: Signal<In, Verdict>,
    /// The frame is the raw channel's.
    pub raw: Signal<In, bool>,
    /// The VI's service is reliable.
    pub reliable: Signal<In, bool>,
    /// The frame ends a message.
    pub ends: Signal<In, bool>,
    /// The message is lost.
    pub loses: Signal<In, bool>,
    /// A raw frame finds no receive.
    pub dropped: Signal<In, bool>,
    /// An answer was to nothing that waits.
    pub strays: Signal<In, bool>,
    /// A message was delivered.
    pub count_message: Pulse,
    /// A raw frame was delivered.
    pub count_raw: Pulse,
    /// A raw frame found no receive descriptor.
    pub count_raw_dropped: Pulse,
    /// An answer was to nothing that waits.
    pub count_response: Pulse,
    /// A frame was for no VI.
    pub count_no_vi: Pulse,
    /// A frame was a duplicate, and answered again.
    pub count_duplicate: Pulse,
    /// A frame was another duplicate, or behind a gap.
    pub count_psn: Pulse,
    /// A message found no receive descriptor.
    pub count_no_receive: Pulse,
    /// A frame belonged to no message that can still be whole.
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
