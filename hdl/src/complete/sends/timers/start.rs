//! What becomes of a VI's timer when it starts anew, or stops.
//!
//! ```text
//! command, ended ──►┌────────────┐──► timer
//!   limits, used ──►│ TimerStart │──► after, exhausted
//! time_now, rest ──►└────────────┘
//! ```
//! Contract: the block has no state. `timer` is the row to write, and `after` what has been used then:
//!
//! | start | the timer | what has been used |
//! |---|---|---|
//! | `command` runs | runs for TIMEOUT, or stands if that is 0 | |
//! | the same, of a timer that has `ended` | the same; if RETRIES are used up, it stands | one try more, if there is one |
//! | `command` rests | times a rest of `rest` ticks; if RNR_RETRIES are used up, it gives up at once | one rest more, if there is one; 255 are never used up |
//! | otherwise | stands | |
//!
//! `exhausted` says that tries or rests are used up. The tick that runs when a timer starts does not count.
//!
//! Latency: none.
//!
//! Example: it is 50 and TIMEOUT is 100: `timer` ends at 151.
//!
//! Tests: with the timers, `tests/complete/timers.rs`, `tests/complete/waits.rs`.

use super::rows::{LimitsRow, TimerRow, UsedRow};
use super::TimerCommand;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TimerStart {
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// The command; [`Timers`](super::Timers) drives this and the other inputs.
    pub command: Signal<In, TimerCommand>,
    /// The command comes of the timer's own end.
    pub ended: Signal<In, bool>,
    /// The VI's limits, from its row.
    pub limits: Signal<In, LimitsRow>,
    /// How many tries and rests have been used.
    pub used: Signal<In, UsedRow>,
    /// How long the receiver asks to wait, in ticks.
    pub rest: Signal<In, Bits<20>>,
    /// The new row of the timer.
    pub timer: Signal<Out, TimerRow>,
    /// How many tries and rests have been used then.
    pub after: Signal<Out, UsedRow>,
    /// Tries or rests are used up.
    pub exhausted: Signal<Out, bool>,
    delay: Signal<Local, Bits<20>>,
    stop: Signal<Local, Bits<32>>,
    spent: Signal<Local, bool>,
    runs: Signal<Local, bool>,
    one: Number<32, 1>,
}

impl Logic for TimerStart {
    #[hdl_gen]
    fn update(&mut self) {
        self.delay.next = self.limits.val().timeout;
        self.spent.next = self.used.val().retries == self.limits.val().retries;
        if self.command.val().rest {
            self.delay.next = self.rest.val();
            // REQ-6: RNR_WITHOUT_END. The count then begins again.
            self.spent.next =
                (self.used.val().rests == self.limits.val().rests) & !self.limits.val().rests.all();
        }
        self.exhausted.next = self.spent.val();
        self.stop.next = self.time_now.val() + bit_cast::<32, 20>(self.delay.val()) + self.one.val();
        if self.command.val().rest & self.spent.val() {
            self.stop.next = self.time_now.val();
        }

        // REQ-5: the timer runs for TIMEOUT from now. REQ-6: or for the time of the receiver's code.
        self.runs.next = self.command.val().rest | (self.command.val().run & self.limits.val().timeout.any());
        self.timer.next.end = self.stop.val();
        self.timer.next.runs = self.runs.val();
        // REQ-5: the timer has ended RETRIES times in a row.
        if self.ended.val() & self.spent.val() {
            self.timer.next.runs = false;
        }
        self.timer.next.rests = self.command.val().rest;
        // REQ-6: the VI has rested RNR_RETRIES times in a row.
        self.timer.next.gives_up = self.command.val().rest & self.spent.val();

        self.after.next = self.used.val();
        if !self.spent.val() {
            if self.command.val().rest {
                self.after.next.rests = self.used.val().rests + 1;
            }
            if self.ended.val() {
                self.after.next.retries = self.used.val().retries + 1;
            }
        }
    }
}
