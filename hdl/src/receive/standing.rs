//! Works out where a VI stands behind an order.
//!
//! ```text
//!  situation, verdict, ending ──►┌──────────┐──► after
//!             message, packet ──►│ Standing │──► next_msn
//!    writes, ends, reads, ... ──►└──────────┘
//! ```
//! Contract: `after` is what is saved of the VI when an order that came to `situation` closes. `advances` (the packet's PSN is done
//! with) comes beside the situation: all of the next PSN depends on it, and goes into block RAM. What is consumed or lost ends
//! the message. `next_msn` is the number of the message that ends now.
//!
//! Example: a reliable VI expects PSN 100 and has completed 7 messages. A SEND Only with PSN 100 is placed: `after` expects PSN 101,
//! and `next_msn` is 8.
//!
//! Latency: none, no state. Tests: with the path, `tests/receive/path/`, `tests/receive/write/`.

use super::contexts::Message;
use super::judge::Verdict;
use super::outcome::{Ending, Situation};
use crate::bus::FrameInfo;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Standing {
    /// What came of the order; `Delivery` drives this and the other inputs.
    pub situation: Signal<In, Situation>,
    /// What the frame was to the VI.
    pub verdict: Signal<In, Verdict>,
    /// The PSN of the packet is done with.
    pub advances: Signal<In, bool>,
    /// How the order ends, from `Outcome`.
    pub ending: Signal<In, Ending>,
    /// Where the VI stood before the order.
    pub message: Signal<In, Message>,
    /// The frame of the order.
    pub packet: Signal<In, FrameInfo>,
    /// The frame ends a message.
    pub ends: Signal<In, bool>,
    /// The frame is of an RDMA write.
    pub writes: Signal<In, bool>,
    /// The frame is an RDMA read request.
    pub reads: Signal<In, bool>,
    /// With `reads`: how many PSNs the answer to the request takes.
    pub request_packets: Signal<In, Bits<24>>,
    /// Where the VI stands behind the order.
    pub after: Signal<Out, Message>,
    /// Messages completed, modulo 2^24, with the one that ends now.
    pub next_msn: Signal<Out, Bits<24>>,
    one_more: Signal<Local, Bits<1>>,
    msn: Signal<Local, Bits<24>>,
    packets: Signal<Local, Bits<24>>,
    next_psn: Signal<Local, Bits<24>>,
}

impl Logic for Standing {
    #[hdl_gen]
    fn update(&mut self) {
        // A read that comes again is no new message, and leaves the number.
        self.one_more.next = bits::<1>(1);
        if self.verdict.val() == Verdict::Behind {
            self.one_more.next = bits::<1>(0);
        }
        self.msn.next = self.message.val().msn + bit_cast::<24, 1>(self.one_more.val());
        self.next_msn.next = self.msn.val();
        self.packets.next = bits::<24>(1);
        if self.reads.val() {
            self.packets.next = self.request_packets.val();
        }
        self.next_psn.next = self.packet.val().psn + self.packets.val();

        self.after.next = self.message.val();
        self.after.next.refused = self.message.val().refused | self.ending.val().refuses;
        if self.ending.val().loses {
            self.after.next.active = false;
            self.after.next.broken = self.ending.val().breaks;
        }
        match self.situation.val() {
            Situation::Placed => {
                self.after.next.received =
                    self.message.val().received + bit_cast::<32, 13>(self.packet.val().length);
                self.after.next.left = self.message.val().left - bit_cast::<32, 13>(self.packet.val().length);
                self.after.next.refused = false;
                self.after.next.active = !self.ends.val();
                self.after.next.writing = self.writes.val();
                if self.ends.val() {
                    self.after.next.msn = self.msn.val();
                }
            }
            Situation::Partial => {
                self.after.next.active = false;
            }
            // With its receive goes the message.
            Situation::Flush => {
                self.after.next.active = false;
            }
            Situation::Read => {
                if self.verdict.val() == Verdict::Read {
                    self.after.next.msn = self.msn.val();
                    self.after.next.refused = false;
                }
            }
            _ => {}
        }
        if self.advances.val() {
            self.after.next.psn = self.next_psn.val();
        }
    }
}
