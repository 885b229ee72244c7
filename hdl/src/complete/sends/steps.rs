//! The steps in which [`Sends`](super::Sends) serves a VI.
//!
//! ```text
//!   shows, effect, empty ──►┌───────────┐──► step, cause
//!  stays, breaks, broken ─►│ SendSteps │
//!     completing, timing ──►│           │
//!         woken, put_off ──►└───────────┘
//! ```
//! Contract: in Idle the block takes what the intake `shows`, in each other step it goes on as the effect says and the neighbours let it:
//!
//! ```text
//!  Idle ─► Load ─► Apply ─► (Fetch ─► Compare) ─► Look ─► (Read ─► Take) ─► Decide ─► Settle ─► (Write) ─► Idle
//!                                                  ▲                          │
//!                                                  ├── Break ◄────────────────┤
//!                                                  └── Again ◄─ Emit ◄────────┘
//!  Idle ─► Commit ─► Committed ─► Idle
//! ```
//! Fetch and Compare are for a message that is known. The oldest message is asked for in the step before Look, and there in Look. When
//! something has left, the ring may be written in Look, and the oldest message may be what it is written with: then it is asked for in
//! Read, and there in Take. From Apply it goes straight to Settle, if the oldest message `stays` as it was. A window without messages goes from Look to Settle, or to Break. In Decide and
//! Settle the VI may be put off (`queues`): then it is looked at again later.
//!
//! Latency: 1 cycle a step; Break, Emit, Again and Committed last until what they give is taken.
//!
//! Example: the ACK of a VI's only message comes: Idle, Load, Apply, Look, Decide, Emit, Again, Look, Settle, Idle. Another message leaves
//! while one is in flight: Idle, Load, Apply, Settle, Idle.
//!
//! Tests: with the whole, `tests/complete/sends.rs`.

use super::effect::Effect;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Why a VI is looked at.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum SendCause {
    /// Nothing waits.
    Nothing,
    /// Something has left.
    Sent,
    /// An answer has come.
    Answer,
    /// A timer has ended.
    Expired,
    /// The VI broke, or waits for something.
    Attention,
    /// A TRANSMIT row has come.
    Row,
}

/// A step; the drawing has their order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum SendStep {
    /// Take what comes next.
    Idle,
    /// The window comes from memory.
    Load,
    /// Decide what has come.
    Apply,
    /// The known message comes from memory.
    Fetch,
    /// Decide what the known message is.
    Compare,
    /// Write the window; the oldest message comes.
    Look,
    /// The oldest message is asked for: the ring was being written before.
    Read,
    /// The oldest message comes.
    Take,
    /// Decide what becomes of the oldest message.
    Decide,
    /// Break the VI; then look again.
    Break,
    /// Show the completion, and move the window on.
    Emit,
    /// Have doorbell put the send queue into its run queue; then look again.
    Again,
    /// Decide whether the VI is sent again; write the window.
    Settle,
    /// Write the window.
    Write,
    /// Begin a new life.
    Commit,
    /// Write its window, and let the row go when the timers have its settings.
    Committed,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SendSteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Goes to Idle.
    pub reset: Signal<In, bool>,
    /// What comes next, from the intake; [`Sends`](super::Sends) drives this and the other inputs.
    pub shows: Signal<In, SendCause>,
    /// The effect of this step.
    pub effect: Signal<In, Effect>,
    /// In Apply: what has come cannot end the oldest message.
    pub stays: Signal<In, bool>,
    /// The window has no message.
    pub empty: Signal<In, bool>,
    /// The VI is to break.
    pub breaks: Signal<In, bool>,
    /// The VI's break is taken, or it is not connected any more.
    pub broken: Signal<In, bool>,
    /// A completion waits for the writer.
    pub completing: Signal<In, bool>,
    /// Doorbell takes the VI whose send queue has room again.
    pub woken: Signal<In, bool>,
    /// The intake takes the VI that is to be looked at again.
    pub put_off: Signal<In, bool>,
    /// A command waits for the timers.
    pub timing: Signal<In, bool>,
    /// The step of this cycle.
    pub step: Signal<Out, SendStep>,
    /// Why the VI at hand is looked at.
    pub cause: Signal<Out, SendCause>,
    at: DFF<SendStep>,
    /// The oldest message was asked for in the step before.
    asked: DFF<bool>,
    reason: DFF<SendCause>,
}

impl Logic for SendSteps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, asked, reason);
        self.asked.d.next = true;
        drive!(self, at.q => step; reason.q => cause);
        match self.at.q.val() {
            SendStep::Idle => {
                self.reason.d.next = self.shows.val();
                match self.shows.val() {
                    SendCause::Nothing => {}
                    SendCause::Row => {
                        self.at.d.next = SendStep::Commit;
                    }
                    _ => {
                        self.at.d.next = SendStep::Load;
                    }
                }
            }
            SendStep::Load => {
                self.at.d.next = SendStep::Apply;
            }
            SendStep::Apply => {
                self.at.d.next = SendStep::Look;
                self.asked.d.next = self.reason.q.val() != SendCause::Sent;
                if self.stays.val() {
                    self.at.d.next = SendStep::Settle;
                } else if self.effect.val().compares {
                    self.at.d.next = SendStep::Fetch;
                }
            }
            SendStep::Fetch => {
                self.at.d.next = SendStep::Compare;
            }
            SendStep::Compare => {
                self.asked.d.next = false;
                self.at.d.next = SendStep::Look;
            }
            SendStep::Look => {
                self.at.d.next = SendStep::Read;
                if self.asked.q.val() {
                    self.at.d.next = SendStep::Decide;
                }
                if self.empty.val() {
                    self.at.d.next = SendStep::Settle;
                    if self.breaks.val() {
                        self.at.d.next = SendStep::Break;
                    }
                }
            }
            SendStep::Read => {
                self.at.d.next = SendStep::Take;
            }
            SendStep::Take => {
                self.at.d.next = SendStep::Decide;
            }
            SendStep::Decide => {
                self.at.d.next = SendStep::Settle;
                if self.effect.val().completes {
                    self.at.d.next = SendStep::Emit;
                }
                if self.effect.val().ends {
                    self.at.d.next = SendStep::Break;
                }
                if self.effect.val().queues {
                    self.at.d.next = SendStep::Decide;
                    if self.put_off.val() {
                        self.at.d.next = SendStep::Idle;
                    }
                }
            }
            SendStep::Break => {
                // Break first: whoever sees the completion finds the VI in Error.
                if self.broken.val() {
                    self.at.d.next = SendStep::Look;
                }
            }
            SendStep::Emit => {
                if !self.completing.val() {
                    self.at.d.next = SendStep::Again;
                }
            }
            SendStep::Again => {
                if self.woken.val() {
                    self.at.d.next = SendStep::Look;
                }
            }
            SendStep::Settle => {
                self.at.d.next = SendStep::Idle;
                if self.effect.val().turns | self.effect.val().drops {
                    self.at.d.next = SendStep::Write;
                }
                if self.effect.val().queues & !self.put_off.val() {
                    self.at.d.next = SendStep::Settle;
                }
            }
            SendStep::Write => {
                self.at.d.next = SendStep::Idle;
            }
            SendStep::Commit => {
                self.at.d.next = SendStep::Committed;
            }
            SendStep::Committed => {
                if !self.timing.val() {
                    self.at.d.next = SendStep::Idle;
                }
            }
        }
        if self.reset.val() {
            self.at.d.next = SendStep::Idle;
        }
    }
}
