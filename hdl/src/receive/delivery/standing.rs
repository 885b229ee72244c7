//! Works out where a VI stands behind an order.
//!
//! ```text
//!     order, came ──►┌──────────┐──► saved
//!          ending ──►│ Standing │──► next_msn
//!  answer_packets ──►└──────────┘
//! ```
//! Contract: `saved` is what is kept of the VI when the order closes with what `came` says. The message ends when its receive is consumed
//! or when it is lost. `next_msn` is the number of the message that ends now.
//!
//! Example: a reliable VI expects PSN 100 and has completed 7 messages. A SEND Only with PSN 100 is placed: `saved` expects PSN 101,
//! and `next_msn` is 8.
//!
//! Latency: none, no state. Tests: with `Receive`, `tests/receive/path/`, `tests/receive/write/`.

use super::outcome::Ending;
use crate::bus::{FrameInfo, Position};
use crate::receive::contexts::{Message, Saved};
use crate::receive::judge::Verdict;
use crate::receive::order::{Came, Order, Situation};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Standing {
    /// The order; `Delivery` drives this and the other inputs.
    pub order: Signal<In, Order>,
    /// What came of the order.
    pub came: Signal<In, Came>,
    /// How the order ends, from `Outcome`.
    pub ending: Signal<In, Ending>,
    /// Of a read request: how many PSNs its answer takes, as `reply/requests` says.
    pub answer_packets: Signal<In, Bits<24>>,
    /// Where the VI stands after the order; `Delivery` saves it.
    pub saved: Signal<Out, Saved>,
    /// Messages completed, modulo 2^24, with the one that ends now.
    pub next_msn: Signal<Out, Bits<24>>,
    after: Signal<Local, Message>,
    next_position: Signal<Local, Position>,
    situation: Signal<Local, Situation>,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    one_more: Signal<Local, Bits<1>>,
    msn: Signal<Local, Bits<24>>,
    packets: Signal<Local, Bits<24>>,
    /// Bytes that the packet has brought.
    brought: Signal<Local, Bits<32>>,
    next_psn: Signal<Local, Bits<24>>,
}

impl Logic for Standing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, came.val().situation => situation; order.val().message => message;
            order.val().packet => packet);
        // A read that comes again is no new message, so the number stays.
        self.one_more.next = bits::<1>(1);
        if self.order.val().verdict == Verdict::Behind {
            self.one_more.next = bits::<1>(0);
        }
        self.msn.next = self.message.val().msn + bit_cast::<24, 1>(self.one_more.val());
        self.next_msn.next = self.msn.val();
        self.packets.next = bits::<24>(1);
        if self.order.val().reads {
            self.packets.next = self.answer_packets.val();
        }
        self.next_psn.next = self.packet.val().psn + self.packets.val();

        // What brings nothing brings 0 bytes, so the sums need no choice behind them.
        self.brought.next = bits::<32>(0);
        if self.situation.val() == Situation::Placed {
            self.brought.next = bit_cast::<32, 13>(self.packet.val().length);
        }

        self.after.next = self.message.val();
        self.after.next.received = self.message.val().received + self.brought.val();
        self.after.next.left = self.message.val().left - self.brought.val();
        self.after.next.refused = self.message.val().refused | self.ending.val().refuses;
        if self.ending.val().loses {
            self.after.next.active = false;
            self.after.next.broken = self.ending.val().breaks;
        }
        match self.situation.val() {
            Situation::Placed => {
                self.after.next.refused = false;
                self.after.next.active = !self.order.val().ends;
                self.after.next.writing = self.order.val().writes;
                if self.order.val().ends {
                    self.after.next.msn = self.msn.val();
                }
            }
            Situation::Partial => {
                self.after.next.active = false;
            }
            // The message ends with its receive.
            Situation::Flush => {
                self.after.next.active = false;
            }
            Situation::Read => {
                if self.order.val().verdict == Verdict::Read {
                    self.after.next.msn = self.msn.val();
                    self.after.next.refused = false;
                }
            }
            _ => {}
        }
        if self.came.val().advances {
            self.after.next.psn = self.next_psn.val();
        }
        self.next_position.next = self.order.val().consumed + 1;
        fill!(self, saved, order.val().vi => vi; after => message; order.val().consumed => consumed);
        if self.ending.val().consume {
            self.saved.next.consumed = self.next_position.val();
        }
    }
}
