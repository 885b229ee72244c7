//! Tells the counters what came of each order.
//!
//! ```text
//!       closes ──►┌────────────────┐
//!  order, came ──►│ DeliveryCounts │──► events
//!                 └────────────────┘◄── dropped, strays
//! ```
//! Contract: the block reports an order once, when it `closes`, by what came of it. It reports `dropped` and `strays` when they come.
//!
//! Example: an order closes with the situation Placed, and its frame ends a message: `message` of `events` is high in the next cycle.
//!
//! Latency: 1 cycle. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/raw.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::FrameInfo;
use crate::receive::contexts::Peer;
use crate::receive::judge::Verdict;
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What is counted in a cycle, each by a counter of its own.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DeliveryEvents {
    /// A message was delivered.
    pub message: bool,
    /// A raw frame was delivered.
    pub raw: bool,
    /// A raw frame found no receive descriptor, or no VI.
    pub raw_dropped: bool,
    /// An answer was to nothing that waits.
    pub response: bool,
    /// A frame was for no VI.
    pub no_vi: bool,
    /// A frame was a duplicate that the VI answers again.
    pub duplicate: bool,
    /// A frame was any other duplicate, or came behind a gap.
    pub psn: bool,
    /// A message found no receive descriptor.
    pub no_receive: bool,
    /// A frame belonged to no message that can still be whole.
    pub partial: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DeliveryCounts {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, nothing is counted.
    pub reset: Signal<In, bool>,
    /// Pulses when an order closes; `Delivery` drives this and the other inputs.
    pub closes: Signal<In, bool>,
    /// The order.
    pub order: Signal<In, Order>,
    /// With `closes`: what came of the order.
    pub came: Signal<In, Came>,
    /// Pulses when a raw frame finds no receive.
    pub dropped: Signal<In, bool>,
    /// Pulses when an answer was to nothing that waits.
    pub strays: Signal<In, bool>,
    /// What is counted now, for `admin/counters`.
    pub events: Signal<Out, DeliveryEvents>,
    counted: DFF<DeliveryEvents>,
    situation: Signal<Local, Situation>,
    peer: Signal<Local, Peer>,
    packet: Signal<Local, FrameInfo>,
    reliable: Signal<Local, bool>,
    raw: Signal<Local, bool>,
    /// An order closes, and there is no reset.
    counts: Signal<Local, bool>,
}

impl Logic for DeliveryCounts {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, counted);
        drive!(self, counted.q => events; came.val().situation => situation; order.val().peer => peer;
            order.val().packet => packet; peer.val().reliable => reliable; packet.val().raw => raw);
        self.counts.next = self.closes.val() & !self.reset.val();

        self.counted.d.next.message = false;
        self.counted.d.next.raw = false;
        self.counted.d.next.raw_dropped = self.dropped.val() & !self.reset.val();
        self.counted.d.next.response = self.strays.val() & !self.reset.val();
        self.counted.d.next.no_vi = false;
        self.counted.d.next.duplicate = false;
        self.counted.d.next.psn = false;
        self.counted.d.next.no_receive = false;
        self.counted.d.next.partial = false;
        match self.situation.val() {
            Situation::Placed => {
                // RAW-5: raw frames have a counter of their own.
                self.counted.d.next.message = self.counts.val() & self.order.val().ends & !self.raw.val();
                self.counted.d.next.raw = self.counts.val() & self.raw.val();
            }
            Situation::Read => {
                self.counted.d.next.duplicate =
                    self.counts.val() & (self.order.val().verdict == Verdict::Behind);
            }
            Situation::Unread => {
                self.counted.d.next.psn = self.counts.val();
            }
            Situation::Over => {
                self.counted.d.next.no_vi = self.counts.val();
            }
            Situation::Behind => {
                self.counted.d.next.duplicate = self.counts.val() & self.reliable.val();
                self.counted.d.next.psn = self.counts.val() & !self.reliable.val();
            }
            Situation::Gap => {
                self.counted.d.next.psn = self.counts.val();
            }
            Situation::NotReady => {
                self.counted.d.next.no_receive = self.counts.val() & self.came.val().fails;
            }
            Situation::Lost => {
                self.counted.d.next.no_receive = self.counts.val() & !self.raw.val();
                self.counted.d.next.raw_dropped = self.counts.val() & self.raw.val();
            }
            Situation::Nothing => {
                if self.order.val().verdict == Verdict::Unknown {
                    self.counted.d.next.no_vi = self.counts.val() & !self.raw.val();
                    self.counted.d.next.raw_dropped = self.counts.val() & self.raw.val();
                }
                if (self.order.val().verdict == Verdict::Stray) | (self.order.val().verdict == Verdict::Early)
                {
                    self.counted.d.next.partial = self.counts.val();
                }
            }
            _ => {}
        }
    }
}
