//! Asks the link partner for L1, or for L2/L3 Ready.
//!
//! ```text
//! enter_l1, enter_l23 ──►┌───────┐──► ask_l1, ask_l23
//! heard, settled      ──►│ Power │──► blocked, mute
//! offers, rests       ──►│       │──► sleep, wake
//! in_l0               ──►└───────┘
//! ```
//! Contract: the wish is asked for when all is acknowledged (`settled`), nothing is offered, and the link has been `quiet`: then a partner
//! that woke the link has had time to send. From then on no TLP begins, until PM_Request_Ack comes. Then nothing is made any more, and when
//! what was made has left, `sleep` is high until L0 is left. In L1 `wake` is high when a TLP is offered, until L0 is back. When L0 is left
//! meanwhile, the wish begins anew.
//!
//! Latency: 1 cycle.
//!
//! Example: `enter_l1` is high on a quiet link: PM_Enter_L1 is sent over and over; PM_Request_Ack comes: `sleep`; L0 ends.
//!
//! Tests: `tests/pcie/link/power.rs`.

use super::packet::Heard;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Awake,
    /// PM DLLPs are sent.
    Asks,
    /// PM_Request_Ack has come.
    Agreed,
    /// L0 is left.
    Sleeps,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Power {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is asked for.
    pub reset: Signal<In, bool>,
    /// The link is in L0, from `mac`.
    pub in_l0: Signal<In, bool>,
    /// L1 is wished for; from `transaction`.
    pub enter_l1: Signal<In, bool>,
    /// L2/L3 Ready is wished for; from `transaction`.
    pub enter_l23: Signal<In, bool>,
    /// A DLLP; from `Dllps`.
    pub heard: FlowSink<Heard>,
    /// The link is active, and no TLP waits or is unacknowledged; from `Activity`, `Credits` and `Replay`.
    pub settled: Signal<In, bool>,
    /// A TLP is offered; from `transaction`.
    pub offers: Signal<In, bool>,
    /// No TLP has come for some time; from `Grant`.
    pub quiet: Signal<In, bool>,
    /// No DLLP waits, and nothing is under way; from `DllpSender` and `Frame`.
    pub rests: Signal<In, bool>,
    /// PM_Enter_L1 is to be sent.
    pub ask_l1: Signal<Out, bool>,
    /// PM_Enter_L23 is to be sent.
    pub ask_l23: Signal<Out, bool>,
    /// No TLP may begin.
    pub blocked: Signal<Out, bool>,
    /// No DLLP may be made.
    pub mute: Signal<Out, bool>,
    /// Go to L1.
    pub sleep: Signal<Out, bool>,
    /// Leave L1.
    pub wake: Signal<Out, bool>,
    state: DFF<State>,
    /// L2/L3 Ready is what is asked for.
    deep: DFF<bool>,
    sleeps: DFF<bool>,
    wakes: DFF<bool>,
}

impl Logic for Power {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, deep, sleeps, wakes);
        drive!(self, sleeps.q => sleep; wakes.q => wake);
        self.ask_l1.next = (self.state.q.val() == State::Asks) & !self.deep.q.val();
        self.ask_l23.next = (self.state.q.val() == State::Asks) & self.deep.q.val();
        self.mute.next = self.state.q.val() == State::Agreed;
        self.blocked.next = self.state.q.val() != State::Awake;
        self.sleeps.d.next = false;
        self.wakes.d.next = false;
        match self.state.q.val() {
            State::Awake => {
                self.deep.d.next = self.enter_l23.val();
                if (self.enter_l1.val() | self.enter_l23.val())
                    & self.settled.val()
                    & self.quiet.val()
                    & !self.offers.val()
                    & self.in_l0.val()
                {
                    self.state.d.next = State::Asks;
                }
            }
            State::Asks => {
                if self.heard.valid.val() & self.heard.data.val().request_ack {
                    self.state.d.next = State::Agreed;
                }
                if !self.in_l0.val() {
                    self.state.d.next = State::Awake;
                }
            }
            State::Agreed => {
                self.sleeps.d.next = self.sleeps.q.val() | self.rests.val();
                if !self.in_l0.val() {
                    self.sleeps.d.next = false;
                    self.state.d.next = State::Sleeps;
                }
            }
            State::Sleeps => {
                self.wakes.d.next = self.wakes.q.val() | self.offers.val();
                if self.in_l0.val() {
                    self.wakes.d.next = false;
                    self.state.d.next = State::Awake;
                }
            }
        }
        if self.reset.val() {
            self.state.d.next = State::Awake;
            drive!(self, false => sleeps.d, wakes.d);
        }
    }
}
