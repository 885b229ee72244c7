//! The messages of all VIs that have left and are not complete: a ring of SEND_WINDOW for each VI.
//!
//! ```text
//!         vi, position ──►┌─────────────┐──► message
//! write, place, record ──►│ MessageRing │
//!                         └─────────────┘
//! ```
//! Contract: `message` is what was recorded at `position` of `vi`, named in the cycle before. `write` records at `place` of `vi`. Who names
//! it two cycles later or later sees the record.
//!
//! Latency: 1 for a read. A write takes effect in the cycle after it: the rings are many block RAMs, and the wires to their write ports
//! have a cycle of their own.
//!
//! Example: `vi` is 3, `place` 17 and `write` high in cycle 0. With `position` 17 and `vi` 3 in cycle 2, `message` is the record in cycle 3.
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
    /// The VI at hand; `AtHand` drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// Position of the message to read.
    pub position: Signal<In, Position>,
    /// Pulse: `record` is written at `place`.
    pub write: Signal<In, bool>,
    /// Position of the message to write.
    pub place: Signal<In, Position>,
    /// The message to write.
    pub record: Signal<In, SentMessage>,
    /// The message at the `position` of the cycle before.
    pub message: Signal<Out, SentMessage>,
    messages: Ram<SentMessage, MESSAGE_LOG2>,
    here: Signal<Local, Position>,
    there: Signal<Local, Position>,
    address: Cast<MessageAddress, Bits<MESSAGE_LOG2>>,
    write_address: Cast<MessageAddress, Bits<MESSAGE_LOG2>>,
    writes: DFF<bool>,
    written_at: DFF<Bits<MESSAGE_LOG2>>,
    written: DFF<SentMessage>,
}

impl Logic for MessageRing {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, writes, written_at, written);
        clock!(self, clock, messages);
        drive!(self, position => here; place => there; address.to => messages.read_address;
            messages.read_data => message);
        self.address.from.next.slot = self.here.val().get_bits::<SEND_WINDOW_LOG2>(0);
        self.address.from.next.vi = self.vi.val();
        self.write_address.from.next.slot = self.there.val().get_bits::<SEND_WINDOW_LOG2>(0);
        self.write_address.from.next.vi = self.vi.val();
        drive!(self, write => writes.d; write_address.to => written_at.d; record => written.d;
            writes.q => messages.write_enable; written_at.q => messages.write_address;
            written.q => messages.write_data);
    }
}
