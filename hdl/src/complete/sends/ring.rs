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
//! Example: `vi` is 3, `position` 17 and `write` high in cycle 0, and so they are but for `write` in cycle 1. In cycle 2 `message` is the record of
//! cycle 0.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

use super::window::SentMessage;
use crate::bus::{Position, Vi};
use crate::prims::Ram;
use rust_hdl::prelude::*;
use viaduct_spec::profile::{SEND_WINDOW_LOG2, VI_LOG2};

/// log2 of the messages of all rings.
const MESSAGE_LOG2: usize = VI_LOG2 + SEND_WINDOW_LOG2;
// A shift in RustHDL is a plain number: `<< 4` below; and `Window::known` holds at most 16.
const _: () = assert!(SEND_WINDOW_LOG2 == 4);

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
    slot: Signal<Local, Bits<SEND_WINDOW_LOG2>>,
    row: Signal<Local, Bits<MESSAGE_LOG2>>,
}

impl Logic for MessageRing {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, messages);
        self.here.next = self.position.val();
        self.slot.next = self.here.val().get_bits::<SEND_WINDOW_LOG2>(0);
        self.row.next = (bit_cast::<MESSAGE_LOG2, VI_LOG2>(self.vi.val()) << 4)
            | bit_cast::<MESSAGE_LOG2, SEND_WINDOW_LOG2>(self.slot.val());
        self.messages.read_address.next = self.row.val();
        self.messages.write_address.next = self.row.val();
        self.messages.write_enable.next = self.write.val();
        self.messages.write_data.next = self.record.val();
        self.message.next = self.messages.read_data.val();
    }
}
