//! The messages of all VIs that have left and are not complete: a ring of SEND_WINDOW for each VI.
//!
//! ```text
//!  vi, position ──►┌─────────────┐──► message
//! write, record ──►│ MessageRing │
//!                  └─────────────┘
//! ```
//! Contract: `message` is what was recorded at `position` of `vi`, named in the cycle before; `write` records there.
//!
//! Latency: 1.
//!
//! Example: `vi` is 3, `position` 17 and `write` high in cycle 0, and so they are but for `write` in cycle 1. In cycle 2 `message` is the
//! record of cycle 0.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::window::SentMessage;
use crate::bus::{Position, Vi};
use crate::prims::{Cast, Ram};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{SEND_WINDOW_LOG2, VI_LOG2};

/// log2 of the messages of all rings.
const MESSAGE_LOG2: usize = VI_LOG2 + SEND_WINDOW_LOG2;
/// Which message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct MessageAddress {
    /// The low bits of its position.
    slot: Bits<SEND_WINDOW_LOG2>,
    /// The VI.
    vi: Vi,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct MessageRing {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI at hand; [`Sends`](super::Sends) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// Position of the message at hand.
    pub position: Signal<In, Position>,
    /// Pulse: `record` is written at `position`.
    pub write: Signal<In, bool>,
    /// The message to write.
    pub record: Signal<In, SentMessage>,
    /// The message at the `position` of the cycle before.
    pub message: Signal<Out, SentMessage>,
    messages: Ram<SentMessage, MESSAGE_LOG2>,
    here: Signal<Local, Position>,
    address: Cast<MessageAddress, Bits<MESSAGE_LOG2>>,
}

impl Logic for MessageRing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, messages);
        drive!(self, position => here; address.to => messages.read_address, messages.write_address;
            write => messages.write_enable; record => messages.write_data; messages.read_data => message);
        self.address.from.next.slot = self.here.val().get_bits::<SEND_WINDOW_LOG2>(0);
        self.address.from.next.vi = self.vi.val();
    }
}
