//! A timer for each VI: it says when packets are to be sent again, how often, and how long a peer that has no receive is left in peace.
//!
//! ```text
//! command, settings ──►┌────────┐──► expired
//!          time_now ──►│ Timers │──► deadline
//!                      └────────┘──► busy
//! ```
//! Contract: `set` keeps the settings of a TRANSMIT row and stops the timer. Any other command starts it anew (`run`: TIMEOUT from now,
//! none if that is 0; `rest`: the time of `code` from now) or stops it; `clear` forgets the retries. A timer that ends is `expired` and
//! runs on; when it has ended RETRIES times already since the last `clear` it `gives_up` and stands still. A `rest` that is one too many
//! does so at once. `deadline` is not later than the end of any timer. Commands are taken within 8 cycles, whether or not `expired` is.
//!
//! Latency: a command 5 cycles. A timer ends within two walks over all VIs, 4 cycles each, of its tick.
//!
//! How: one memory ([`TimerRows`]), three rows for each VI; it is walked when `deadline` has come, which leaves the earliest end as
//! the next deadline. What is started meanwhile counts.
//!
//! Example: TIMEOUT is 100 and RETRIES 2. `run` comes at time 50, and no answer: the timer is `expired` soon after 150 and 250, and
//! soon after 350 with `gives_up`.
//!
//! Tests: `tests/complete/timers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod delays;
mod earliest;
mod rows;
mod start;

use delays::Delays;
use earliest::Earliest;
use rows::{kind, LimitsRow, TimerRow, TimerRows, UsedRow};
use start::TimerStart;

use crate::arithmetic::Distance;
use crate::bus::{Commit, Vi};
use crate::prims::{Number, Unpack};
use crate::rows::tables::TransmitRow;
use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// A command for a VI's timer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerCommand {
    /// The VI whose timer it is.
    pub vi: Vi,
    /// Take its settings from `settings`.
    pub set: bool,
    /// Start the timer, for TIMEOUT.
    pub run: bool,
    /// Start it for the time of `code`, and count.
    pub rest: bool,
    /// Forget the tries and rests that were used.
    pub clear: bool,
    /// Low 5 bits of a receiver-not-ready answer.
    pub code: Bits<5>,
}

/// A timer has ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerEnd {
    /// The VI whose timer has ended.
    pub vi: Vi,
    /// The timer has ended once too often: it stands still.
    pub gives_up: bool,
    /// The timer had timed a rest.
    pub rested: bool,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Stop the timers, one after the other.
    Clear,
    /// Take a command, or go on with the walk.
    Idle,
    /// The VI's limits come.
    Limits,
    /// The tries and rests that it has used come from memory.
    Used,
    /// Write the row of the timer.
    Start,
    /// Write what has been used.
    Count,
    /// The timer that the walk stands at comes.
    Row,
    /// Look whether it has ended.
    Check,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Timers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Stops all timers.
    pub reset: Signal<In, bool>,
    /// Device time, ticks of 1.024 us, from [`Sends`](super::Sends).
    pub time_now: Signal<In, Bits<32>>,
    /// A command for the timer of a VI, from [`Sends`](super::Sends), which drives `settings` too.
    pub command: Sink<TimerCommand>,
    /// The TRANSMIT row that a command with `set` takes its settings from.
    pub settings: Signal<In, Commit>,
    /// The timer that has ended.
    pub expired: Source<TimerEnd>,
    /// A time before which no timer ends; given while a timer runs.
    pub deadline: FlowSource<Bits<32>>,
    /// A walk is due or under way, or `expired` is not taken.
    pub busy: Signal<Out, bool>,
    /// The timers, their limits, and what has been used of them.
    rows: TimerRows,
    earliest: Earliest,
    /// Works out the new row of the timer of the command at hand.
    start: TimerStart,
    /// The times of the timer codes.
    delays: Delays,
    /// How long the answer at hand asks to rest, in ticks.
    ticks: DFF<Bits<20>>,
    step: DFF<Step>,
    /// The command at hand.
    at: DFF<TimerCommand>,
    /// The command at hand is a timer that has ended.
    ended: DFF<bool>,
    /// The memory is being walked.
    walking: DFF<bool>,
    /// The VI that the walk stands at.
    walk: DFF<Vi>,
    /// Its timer.
    timer: DFF<TimerRow>,
    /// The limits of the command's VI.
    limits: DFF<LimitsRow>,
    /// How many tries and rests it has used.
    used: DFF<UsedRow>,
    /// `tells` is on show at `expired`.
    told: DFF<bool>,
    /// The timer's end on show.
    tells: DFF<TimerEnd>,
    /// `deadline` has come: a walk is due.
    due: DFF<bool>,
    /// Time, from the end of the timer that the walk stands at.
    since: Distance<32>,
    /// The timer that the walk stands at has ended.
    over: Signal<Local, bool>,
    next_walk: Signal<Local, bool>,
    transmit: Unpack<Commit, TransmitRow>,
    timer_kind: Number<2, { kind::TIMER }>,
    limits_kind: Number<2, { kind::LIMITS }>,
    used_kind: Number<2, { kind::USED }>,
    last_vi: Number<VI_LOG2, { (1 << VI_LOG2) - 1 }>,
}

impl Logic for Timers {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, at, ended, walking, walk, timer, limits, used, told, tells, due, ticks);
        clock!(self, clock, rows, earliest);
        self.transmit.from.next = self.settings.val();

        // The memory: read and written as the step says.
        self.rows.read_at.next.vi = self.at.q.val().vi;
        self.rows.read_at.next.kind = self.limits_kind.val();
        self.rows.write.next = false;
        self.rows.write_at.next.vi = self.at.q.val().vi;
        self.rows.write_at.next.kind = self.timer_kind.val();
        self.rows.new_timer.next = self.start.timer.val();
        fill!(self, rows.new_limits, transmit.to.val().timeout => timeout;
            transmit.to.val().retries => retries; transmit.to.val().rnr_retries => rests);
        self.rows.new_used.next = self.used.q.val();

        drive!(self, at.q.val().code => delays.code; time_now => start.time_now; at.q => start.command;
            ended.q => start.ended; limits.q => start.limits; used.q => start.used; ticks.q => start.rest);
        self.ticks.d.next = self.delays.ticks.val();

        drive!(self, time_now => since.number, earliest.time_now; timer.q.val().end => since.from;
            reset => earliest.reset; told.q => expired.valid; tells.q => expired.data);
        self.over.next = self.timer.q.val().runs & !self.since.behind.val();
        drive!(self, false => earliest.considers, earliest.restarts; timer.q.val().end => earliest.stop);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.earliest.deadline);
        self.due.d.next = self.earliest.over.val() & !self.walking.q.val();
        self.next_walk.next = false;
        self.command.ready.next = false;
        if self.expired.ready.val() {
            self.told.d.next = false;
        }

        match self.step.q.val() {
            Step::Clear => {
                self.rows.write.next = true;
                self.rows.write_at.next.vi = self.walk.q.val();
                self.rows.new_timer.next.runs = false;
                self.next_walk.next = true;
                if self.walk.q.val() == self.last_vi.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Idle => {
                self.ended.d.next = false;
                self.at.d.next = self.command.data.val();
                self.command.ready.next = true;
                if self.command.valid.val() {
                    self.rows.read_at.next.vi = self.command.data.val().vi;
                    self.rows.write.next = self.command.data.val().set;
                    self.rows.write_at.next.vi = self.command.data.val().vi;
                    self.rows.write_at.next.kind = self.limits_kind.val();
                    self.step.d.next = Step::Limits;
                } else if self.walking.q.val() {
                    self.rows.read_at.next.vi = self.walk.q.val();
                    self.rows.read_at.next.kind = self.timer_kind.val();
                    if !self.told.q.val() {
                        self.step.d.next = Step::Row;
                    }
                } else if self.due.q.val() {
                    self.due.d.next = false;
                    self.walking.d.next = true;
                    self.walk.d.next = bits::<VI_LOG2>(0);
                    self.earliest.restarts.next = true;
                }
            }
            Step::Limits => {
                self.limits.d.next = self.rows.limits.val();
                self.rows.read_at.next.kind = self.used_kind.val();
                self.step.d.next = Step::Used;
            }
            Step::Used => {
                self.used.d.next = self.rows.used.val();
                if self.at.q.val().clear {
                    self.used.d.next.retries = bits::<8>(0);
                    self.used.d.next.rests = bits::<8>(0);
                }
                self.step.d.next = Step::Start;
            }
            Step::Start => {
                self.rows.write.next = true;
                self.earliest.stop.next = self.start.timer.val().end;
                self.earliest.considers.next = self.start.timer.val().runs;
                self.used.d.next = self.start.after.val();
                if self.ended.q.val() {
                    self.told.d.next = true;
                    self.tells.d.next.vi = self.at.q.val().vi;
                    self.tells.d.next.gives_up = self.start.exhausted.val();
                    self.tells.d.next.rested = false;
                }
                self.step.d.next = Step::Count;
            }
            Step::Count => {
                self.rows.write.next = true;
                self.rows.write_at.next.kind = self.used_kind.val();
                self.step.d.next = Step::Idle;
            }
            Step::Row => {
                self.timer.d.next = self.rows.timer.val();
                self.step.d.next = Step::Check;
            }
            Step::Check => {
                self.step.d.next = Step::Idle;
                self.next_walk.next = true;
                self.at.d.next.vi = self.walk.q.val();
                self.at.d.next.set = false;
                self.at.d.next.run = true;
                self.at.d.next.rest = false;
                self.at.d.next.clear = false;
                self.rows.read_at.next.vi = self.walk.q.val();
                self.earliest.considers.next = self.timer.q.val().runs & self.since.behind.val();
                if self.over.val() {
                    // The timer has ended. Behind a rest the timer runs for TIMEOUT.
                    self.tells.d.next.vi = self.walk.q.val();
                    self.tells.d.next.gives_up = self.timer.q.val().gives_up;
                    self.tells.d.next.rested = true;
                    self.told.d.next = self.timer.q.val().rests;
                    self.ended.d.next = !self.timer.q.val().rests;
                    self.at.d.next.run = !self.timer.q.val().gives_up;
                    self.step.d.next = Step::Limits;
                }
            }
        }
        if self.next_walk.val() {
            self.walk.d.next = self.walk.q.val() + 1;
            if self.walk.q.val() == self.last_vi.val() {
                self.walking.d.next = false;
            }
        }
        self.busy.next = (self.step.q.val() != Step::Idle)
            | self.walking.q.val()
            | self.due.q.val()
            | self.told.q.val()
            | self.earliest.busy.val();
        if self.reset.val() {
            self.step.d.next = Step::Clear;
            self.walk.d.next = bits::<VI_LOG2>(0);
            self.walking.d.next = false;
            self.told.d.next = false;
            self.due.d.next = false;
            self.ended.d.next = false;
        }
    }
}
