//! What waits for `complete/sends`, and which of it comes next.
//!
//! ```text
//!                sent ──►┌────────────┐──► shows, vi
//!        acknowledged ──►│            │──► arrival, answer
//!        state, again ──►│ SendIntake │──► busy
//!  timeout, committed ──►│            │
//!             settled ──►│            │
//!    free, hold, take ──►└────────────┘
//! ```
//! Contract: `shows` says what comes next, for `vi`; with `take` the owner takes it. Ends
//! of timers go first; then, when `free`, what has left, answers, tables, and last the VIs that want to be looked at: those that broke, and
//! those of `again`. So an answer is never shown before the packet that it answers, and what has left is always taken after a while. `hold`
//! keeps back the VIs that want to be looked at. While a table row waits, nothing more comes in: the row goes when everything that came
//! before it has gone, and when its VI is `settled`.
//!
//! Latency: 1 cycle, 2 for a VI that is to be looked at.
//!
//! Example: `sent` and `acknowledged` both bring something of VI 4 in cycle 0: `shows` is Sent in cycle 1, and Answer when the owner has
//! taken that.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use super::steps::SendCause;
use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

use crate::bus::{Acknowledged, Sent, StateWrite, Vi};
use crate::prims::{Fifo, Number, RunQueue};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SendIntake {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what waits.
    pub reset: Signal<In, bool>,
    /// A packet that has left, or a message that has ended, from transmit.
    pub sent: Sink<Sent>,
    /// An answer from the wire, from receive.
    pub acknowledged: Sink<Acknowledged>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI whose timer has ended; [`Sends`](super::Sends), the owner, drives this and the inputs below.
    pub timeout: FlowSink<Vi>,
    /// The VI of the TRANSMIT row that is on the commit port.
    pub committed: FlowSink<Vi>,
    /// Nothing of the table row's VI is on its way out.
    pub settled: Signal<In, bool>,
    /// A VI that wants to be looked at again.
    pub again: Sink<Vi>,
    /// The owner takes any kind; otherwise only ends of timers.
    pub free: Signal<In, bool>,
    /// The owner takes no VI that wants to be looked at.
    pub hold: Signal<In, bool>,
    /// The owner takes what is on show.
    pub take: Signal<In, bool>,
    /// The kind of the thing that comes next.
    pub shows: Signal<Out, SendCause>,
    /// The VI that it is about.
    pub vi: Signal<Out, Vi>,
    /// The oldest packet that has left, or message that has ended.
    pub arrival: Signal<Out, Sent>,
    /// The oldest answer from the wire.
    pub answer: Signal<Out, Acknowledged>,
    /// Something waits here; ends of timers and table rows do not count.
    pub busy: Signal<Out, bool>,
    /// The packets and messages that wait.
    arrivals: Fifo<Sent, 2, 3>,
    /// The answers that wait.
    answers: Fifo<Acknowledged, 3, 4>,
    /// The VIs that want to be looked at.
    attention: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    /// A table row has been waiting since the cycle before.
    committing: DFF<bool>,
    /// A VI has broken in this cycle.
    broke: Signal<Local, bool>,
    /// No timer's end waits, and the owner is free.
    first: Signal<Local, bool>,
    /// With `first`: nothing that has left waits.
    second: Signal<Local, bool>,
    /// With `second`: no answer waits.
    third: Signal<Local, bool>,
    /// With `third`: no table row waits, and the owner looks at VIs.
    last: Signal<Local, bool>,
    error_state: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for SendIntake {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, committing);
        clock!(self, clock, arrivals, answers, attention);
        drive!(self, reset => arrivals.reset, answers.reset, attention.reset; sent.data => arrivals.sink.data;
            acknowledged.data => answers.sink.data; arrivals.source.data => arrival;
            answers.source.data => answer);
        self.committing.d.next = self.committed.valid.val();
        self.arrivals.sink.valid.next = self.sent.valid.val() & !self.committing.q.val();
        self.sent.ready.next = self.arrivals.sink.ready.val() & !self.committing.q.val();
        self.answers.sink.valid.next = self.acknowledged.valid.val() & !self.committing.q.val();
        self.acknowledged.ready.next = self.answers.sink.ready.val() & !self.committing.q.val();

        // One thing is shown, in the order of the contract.
        self.first.next = self.free.val() & !self.timeout.valid.val();
        self.second.next = self.first.val() & !self.arrivals.source.valid.val();
        self.third.next = self.second.val() & !self.answers.source.valid.val();
        self.last.next = self.third.val() & !self.committed.valid.val() & !self.hold.val();
        self.shows.next = SendCause::Nothing;
        if self.last.val() & self.attention.pop.valid.val() {
            self.shows.next = SendCause::Attention;
        }
        // LIFE-2: a TRANSMIT row goes behind all of the old life that has come in.
        if self.third.val() & self.committed.valid.val() & self.committing.q.val() & self.settled.val() {
            self.shows.next = SendCause::Row;
        }
        if self.second.val() & self.answers.source.valid.val() {
            self.shows.next = SendCause::Answer;
        }
        if self.first.val() & self.arrivals.source.valid.val() {
            self.shows.next = SendCause::Sent;
        }
        if self.timeout.valid.val() {
            self.shows.next = SendCause::Expired;
        }
        self.arrivals.source.ready.next = self.take.val() & self.first.val();
        self.answers.source.ready.next = self.take.val() & self.second.val();
        self.attention.pop.ready.next = self.take.val() & self.last.val();

        // The VI does not depend on `free`, because it is the address at which the window is read.
        self.vi.next = self.attention.pop.data.val();
        if self.committed.valid.val() {
            self.vi.next = self.committed.data.val();
        }
        if self.answers.source.valid.val() {
            self.vi.next = self.answers.source.data.val().vi;
        }
        if self.arrivals.source.valid.val() {
            self.vi.next = self.arrivals.source.data.val().vi;
        }
        if self.timeout.valid.val() {
            self.vi.next = self.timeout.data.val();
        }

        // The news of a VI that broke is a pulse and goes first; `again` can wait.
        self.broke.next = self.state.valid.val() & (self.state.data.val().state == self.error_state.val());
        self.attention.push.valid.next = self.broke.val() | self.again.valid.val();
        self.attention.push.data.next = self.again.data.val();
        if self.broke.val() {
            self.attention.push.data.next = self.state.data.val().vi;
        }
        self.again.ready.next = !self.broke.val();

        self.busy.next = self.arrivals.source.valid.val()
            | self.answers.source.valid.val()
            | self.attention.held.val()
            | self.attention.busy.val();
        if self.reset.val() {
            self.committing.d.next = false;
        }
    }
}
