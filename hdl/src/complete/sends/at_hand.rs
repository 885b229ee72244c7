//! Keeps the VI at hand: what has come for it, its window, and one of its messages; and the memories that they come from.
//!
//! ```text
//!              step, vi ──►┌───────────────┐──► hand
//!   sent, answer, ended ──►│    AtHand     │──► row, read_after
//!   state, after, place ──►│ (MessageRing) │──► flying
//!       records, record ──►└───────────────┘
//! ```
//! Contract: in Idle the block takes up what the intake shows, in Load its window (`row`), and in each later step it makes the window
//! what `after` says. In Fetch it takes up the message at `place` behind the oldest, in Look and Take the one that the step before asked
//! for: Apply asks for the one at `place`, any other step for the oldest. With `records` it keeps `record` at `place`, which may be asked for
//! two steps later. It writes the window in Look, Settle, Write and Committed.
//!
//! Latency: 1 cycle. `read_after` is of the message that is taken up, in the same cycle. `connected` in `hand`, and `flying`, are as of the
//! cycle before.
//!
//! Example: the intake shows an ACK of VI 3 in Idle: `hand` has VI 3 and the answer in Load, and its window in Apply.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::ring::MessageRing;
use super::steps::SendStep;
use super::timers::TimerEnd;
use super::window::{SentMessage, Window, COUNT_BITS};
use crate::bus::{Acknowledged, Position, Sent, StateWrite, Vi};
use crate::prims::{LutRam, Number, Ram};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

/// The VI at hand, with what has come for it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Hand {
    /// The VI at hand.
    pub vi: Vi,
    /// The VI is connected.
    pub connected: bool,
    /// The packet that has left, or the message that has ended, if that is the cause.
    pub sent: Sent,
    /// The answer, if that is the cause.
    pub answer: Acknowledged,
    /// The timer's end, if that is the cause.
    pub ended: TimerEnd,
    /// The VI's window.
    pub window: Window,
    /// One of the window's messages: the known one, or the oldest.
    pub message: SentMessage,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AtHand {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of [`Sends`](super::Sends), which drives this and the other inputs.
    pub step: Signal<In, SendStep>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI that the intake shows.
    pub vi: Signal<In, Vi>,
    /// The packet that has left, or the message that has ended, as the intake shows it.
    pub sent: Signal<In, Sent>,
    /// The answer that the intake shows.
    pub answer: Signal<In, Acknowledged>,
    /// The end of a timer that the timers show.
    pub ended: Signal<In, TimerEnd>,
    /// The window as the effect of this step leaves it.
    pub after: Signal<In, Window>,
    /// How many messages of the window come before the one that has come; 0, if none has.
    pub place: Signal<In, Bits<COUNT_BITS>>,
    /// Pulse: `record` is kept at `place`.
    pub records: Signal<In, bool>,
    /// The message to keep at `place`.
    pub record: Signal<In, SentMessage>,
    /// The VI, what has come for it, its window and one of its messages.
    pub hand: Signal<Out, Hand>,
    /// The window as it comes from memory, in Load.
    pub row: Signal<Out, Window>,
    /// PSN behind the message that comes from memory.
    pub read_after: Signal<Out, Bits<24>>,
    /// Packets of the VI are in flight.
    pub flying: Signal<Out, bool>,
    ring: MessageRing,
    /// State of each VI.
    states: LutRam<Bits<2>, VI_LOG2>,
    /// The window of each VI.
    windows: Ram<Window, VI_LOG2>,
    held_vi: DFF<Vi>,
    connected: DFF<bool>,
    held_sent: DFF<Sent>,
    held_answer: DFF<Acknowledged>,
    held_end: DFF<TimerEnd>,
    window: DFF<Window>,
    message: DFF<SentMessage>,
    flies: DFF<bool>,
    /// Position of the message at `place`.
    place_position: Signal<Local, Position>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
}

impl Logic for AtHand {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held_vi, connected, held_sent, held_answer, held_end, window, message, flies);
        clock!(self, clock, ring, states, windows);
        fill!(self, hand, held_vi.q => vi; connected.q => connected; held_sent.q => sent;
            held_answer.q => answer; held_end.q => ended; window.q => window; message.q => message);
        drive!(self, windows.read_data => row; ring.message.val().after => read_after; flies.q => flying);

        drive!(self, state.valid => states.write_enable; state.data.val().vi => states.write_address;
            state.data.val().state => states.write_data; held_vi.q => states.read_address);
        self.connected.d.next = self.states.read_data.val() == self.connected_state.val();
        self.flies.d.next = self.window.q.val().fresh != self.window.q.val().oldest;

        self.place_position.next =
            self.window.q.val().completed + bit_cast::<14, COUNT_BITS>(self.place.val());
        drive!(self, vi => windows.read_address; held_vi.q => windows.write_address, ring.vi;
            window.q => windows.write_data; records => ring.write; record => ring.record;
            place_position => ring.place);
        self.windows.write_enable.next = false;
        self.ring.position.next = self.window.q.val().completed;
        self.window.d.next = self.after.val();
        match self.step.val() {
            SendStep::Idle => {
                self.held_vi.d.next = self.vi.val();
                self.held_sent.d.next = self.sent.val();
                self.held_answer.d.next = self.answer.val();
                self.held_end.d.next = self.ended.val();
            }
            SendStep::Load => {
                self.window.d.next = self.windows.read_data.val();
            }
            SendStep::Apply => {
                self.ring.position.next = self.place_position.val();
            }
            SendStep::Fetch => {
                self.message.d.next = self.ring.message.val();
            }
            SendStep::Look => {
                self.windows.write_enable.next = true;
                self.message.d.next = self.ring.message.val();
            }
            SendStep::Take => {
                self.message.d.next = self.ring.message.val();
            }
            SendStep::Settle => {
                self.windows.write_enable.next = true;
            }
            SendStep::Write => {
                self.windows.write_enable.next = true;
            }
            SendStep::Committed => {
                self.windows.write_enable.next = true;
            }
            _ => {}
        }
    }
}
