//! A timer for each VI: when to send again, how often, and how long to leave a peer in peace that has no receive.
//!
//! ```text
//! command, settings ──►┌────────┐──► expired
//!          time_now ──►│ Timers │──► deadline
//!                      └────────┘──► busy
//! ```
//! Contract: `set` keeps the settings of a TRANSMIT row and stops the timer. Any other command starts it anew (`run`: TIMEOUT
//! from now, none if that is 0; `rest`: the time of `code` from now) or stops it; `clear` forgets the retries.
//! A timer that ends is `expired` and runs on; when it has ended RETRIES times already since the last `clear` it `gives_up` and stands
//! still. So does, at once, a `rest` that is one too many. `deadline` is not later than the end of any timer.
//! Commands are taken within 8 cycles, whether or not `expired` is.
//!
//! Latency: a command 5 cycles. A timer ends within two walks over all VIs, 4 cycles each, of its tick.
//!
//! How: one memory, four rows for each VI; it is walked when `deadline` has come, which leaves the earliest end as
//! the next deadline. What is started meanwhile counts.
//!
//! Example: TIMEOUT is 100 and RETRIES 2. `run` comes at time 50, and no answer: the timer is `expired` soon after 150 and 250, and
//! soon after 350 with `gives_up`.
//!
//! Tests: `tests/complete/timers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::transmit;

use super::delays::Delays;
use crate::bus::{Commit, Vi};
use crate::prims::{Number, Ram};

/// log2 of the memory's rows.
const MEMORY_LOG2: usize = VI_LOG2 + 2;

// The slices below are the specification's.
const _: () = {
    const fn at(field: viaduct_spec::layout::Field, lo: usize, width: usize) -> bool {
        field.lo == lo && field.width == width
    }
    assert!(at(transmit::TIMEOUT, 32, 20) && at(transmit::RETRIES, 64, 8));
    assert!(at(transmit::RNR_RETRIES, 72, 8));
};

/// What to do with a VI's timer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerCommand {
    /// The VI.
    pub vi: Vi,
    /// Take its settings from `settings`.
    pub set: bool,
    /// Start it.
    pub run: bool,
    /// Start it for the time of `code`, and count.
    pub rest: bool,
    /// Forget the retries.
    pub clear: bool,
    /// Low 5 bits of a receiver-not-ready answer.
    pub code: Bits<5>,
}

/// A timer has ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerEnd {
    /// The VI.
    pub vi: Vi,
    /// The timer has ended once too often: it stands still.
    pub gives_up: bool,
    /// The timer had timed a rest.
    pub rested: bool,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Clear,
    Idle,
    Settings,
    Used,
    Start,
    Count,
    Row,
    Check,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Timers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Stops all timers.
    pub reset: Signal<In, bool>,
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// What to do with the timer of a VI.
    pub command: Sink<TimerCommand>,
    /// The TRANSMIT row that a command with `set` takes its settings from.
    pub settings: Signal<In, Commit>,
    /// The timer that has ended.
    pub expired: Source<TimerEnd>,
    /// A time before which no timer ends; given while a timer runs.
    pub deadline: FlowSource<Bits<32>>,
    /// A walk is due or under way, or `expired` is not taken.
    pub busy: Signal<Out, bool>,
    /// For each VI: {exhausted, rest, running, end}; {RNR_RETRIES, RETRIES, TIMEOUT}; {rests, retries}.
    rows: Ram<Bits<36>, MEMORY_LOG2>,
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
    /// The VI's first row: its timer.
    row: DFF<Bits<36>>,
    /// The VI's second row: its settings.
    limits: DFF<Bits<36>>,
    /// The VI's third row: rests and retries used.
    used: DFF<Bits<16>>,
    /// The walk has found a timer that runs.
    some: DFF<bool>,
    /// The earliest end found.
    earliest: DFF<Bits<32>>,
    /// `tells` is on show at `expired`.
    told: DFF<bool>,
    /// The timer's end on show.
    tells: DFF<TimerEnd>,
    /// `deadline` has come: a walk is due.
    due: DFF<bool>,
    /// An end that may be the earliest: it is compared in the cycle behind the one that found it.
    considered: DFF<bool>,
    candidate: DFF<Bits<32>>,
    running: Signal<Local, bool>,
    walk_row: Signal<Local, Bits<MEMORY_LOG2>>,
    command_row: Signal<Local, Bits<MEMORY_LOG2>>,
    at_row: Signal<Local, Bits<MEMORY_LOG2>>,
    word0: Signal<Local, Bits<64>>,
    word1: Signal<Local, Bits<64>>,
    timeout: Signal<Local, Bits<20>>,
    retries: Signal<Local, Bits<8>>,
    rests: Signal<Local, Bits<8>>,
    retries_used: Signal<Local, Bits<8>>,
    rests_used: Signal<Local, Bits<8>>,
    retries_more: Signal<Local, Bits<8>>,
    rests_more: Signal<Local, Bits<8>>,
    delay: Signal<Local, Bits<20>>,
    stop: Signal<Local, Bits<32>>,
    since: Signal<Local, Bits<32>>,
    past: Signal<Local, Bits<32>>,
    lead: Signal<Local, Bits<32>>,
    considers: Signal<Local, bool>,
    exhausted: Signal<Local, bool>,
    next_walk: Signal<Local, bool>,
    runs: Number<36, { 1 << 32 }>,
    rests_now: Number<36, { 3 << 32 }>,
    gives_up: Number<36, { 7 << 32 }>,
    settings_row: Number<MEMORY_LOG2, 1>,
    used_row: Number<MEMORY_LOG2, 2>,
    last_vi: Number<VI_LOG2, { (1 << VI_LOG2) - 1 }>,
}

impl Logic for Timers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, at, ended, walking, walk, row, limits, used, some, earliest, told);
        dff_setup!(self, clock, tells, due, considered, candidate, ticks);
        clock!(self, clock, rows);

        self.command_row.next = bit_cast::<MEMORY_LOG2, VI_LOG2>(self.command.data.val().vi) << 2;
        self.at_row.next = bit_cast::<MEMORY_LOG2, VI_LOG2>(self.at.q.val().vi) << 2;
        self.walk_row.next = bit_cast::<MEMORY_LOG2, VI_LOG2>(self.walk.q.val()) << 2;
        self.word0.next = self.settings.val().word0;
        self.word1.next = self.settings.val().word1;
        self.rows.read_address.next = self.at_row.val() | self.settings_row.val();
        self.rows.write_enable.next = false;
        self.rows.write_address.next = self.at_row.val();
        self.rows.write_data.next = bits::<36>(0);

        self.timeout.next = self.limits.q.val().get_bits::<20>(0);
        self.retries.next = self.limits.q.val().get_bits::<8>(20);
        self.rests.next = self.limits.q.val().get_bits::<8>(28);
        self.retries_used.next = self.used.q.val().get_bits::<8>(0);
        self.rests_used.next = self.used.q.val().get_bits::<8>(8);
        self.retries_more.next = self.retries_used.val() + 1;
        self.rests_more.next = self.rests_used.val() + 1;
        self.delays.code.next = self.at.q.val().code;
        self.ticks.d.next = self.delays.ticks.val();
        self.delay.next = self.timeout.val();
        self.exhausted.next = self.retries_used.val() == self.retries.val();
        if self.at.q.val().rest {
            self.delay.next = self.ticks.q.val();
            self.exhausted.next = self.rests_used.val() == self.rests.val();
        }
        // The tick that runs does not count.
        self.stop.next = self.time_now.val() + bit_cast::<32, 20>(self.delay.val()) + bits::<32>(1);
        if self.at.q.val().rest & self.exhausted.val() {
            self.stop.next = self.time_now.val();
        }

        self.running.next = self.row.q.val().get_bit(32);
        self.since.next = self.time_now.val() - self.row.q.val().get_bits::<32>(0);
        self.past.next = self.time_now.val() - self.earliest.q.val();
        self.due.d.next = self.some.q.val() & !self.past.val().get_bit(31) & !self.walking.q.val();
        self.considers.next = false;
        self.candidate.d.next = self.stop.val();
        self.next_walk.next = false;
        self.command.ready.next = false;
        if self.expired.ready.val() {
            self.told.d.next = false;
        }

        match self.step.q.val() {
            Step::Clear => {
                self.rows.write_enable.next = true;
                self.rows.write_address.next = self.walk_row.val();
                self.walk.d.next = self.walk.q.val() + 1;
                if self.walk.q.val() == self.last_vi.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Idle => {
                self.ended.d.next = false;
                self.at.d.next = self.command.data.val();
                self.command.ready.next = true;
                if self.command.valid.val() {
                    self.rows.read_address.next = self.command_row.val() | self.settings_row.val();
                    self.rows.write_enable.next = self.command.data.val().set;
                    self.rows.write_address.next = self.command_row.val() | self.settings_row.val();
                    self.rows.write_data.next = bit_cast::<36, 20>(self.word0.val().get_bits::<20>(32))
                        | (bit_cast::<36, 16>(self.word1.val().get_bits::<16>(0)) << 20);
                    self.step.d.next = Step::Settings;
                } else if self.walking.q.val() {
                    self.rows.read_address.next = self.walk_row.val();
                    if !self.told.q.val() {
                        self.step.d.next = Step::Row;
                    }
                } else if self.due.q.val() {
                    self.due.d.next = false;
                    self.walking.d.next = true;
                    self.walk.d.next = bits::<VI_LOG2>(0);
                    self.some.d.next = false;
                }
            }
            Step::Settings => {
                self.limits.d.next = self.rows.read_data.val();
                self.rows.read_address.next = self.at_row.val() | self.used_row.val();
                self.step.d.next = Step::Used;
            }
            Step::Used => {
                self.used.d.next = bit_cast::<16, 36>(self.rows.read_data.val());
                if self.at.q.val().clear {
                    self.used.d.next = bits::<16>(0);
                }
                self.step.d.next = Step::Start;
            }
            Step::Start => {
                // The timer itself.
                self.rows.write_enable.next = true;
                // REQ-5: TIMEOUT from now. REQ-6: or the time of the receiver's code.
                if self.at.q.val().rest | (self.at.q.val().run & self.timeout.val().any()) {
                    self.rows.write_data.next = bit_cast::<36, 32>(self.stop.val()) | self.runs.val();
                    self.considers.next = true;
                }
                if self.at.q.val().rest {
                    self.rows.write_data.next = bit_cast::<36, 32>(self.stop.val()) | self.rests_now.val();
                    if !self.exhausted.val() {
                        self.used.d.next = (bit_cast::<16, 8>(self.rests_more.val()) << 8)
                            | bit_cast::<16, 8>(self.retries_used.val());
                    }
                    // REQ-6: RNR_RETRIES in a row.
                    if self.exhausted.val() {
                        self.rows.write_data.next = bit_cast::<36, 32>(self.stop.val()) | self.gives_up.val();
                    }
                }
                if self.ended.q.val() {
                    self.told.d.next = true;
                    self.tells.d.next.vi = self.at.q.val().vi;
                    self.tells.d.next.gives_up = self.exhausted.val();
                    self.tells.d.next.rested = false;
                    if !self.exhausted.val() {
                        self.used.d.next = (bit_cast::<16, 8>(self.rests_used.val()) << 8)
                            | bit_cast::<16, 8>(self.retries_more.val());
                    }
                    // REQ-5: RETRIES in a row.
                    if self.exhausted.val() {
                        self.rows.write_data.next = bits::<36>(0);
                        self.considers.next = false;
                    }
                }
                self.step.d.next = Step::Count;
            }
            Step::Count => {
                self.rows.write_enable.next = true;
                self.rows.write_address.next = self.at_row.val() | self.used_row.val();
                self.rows.write_data.next = bit_cast::<36, 16>(self.used.q.val());
                self.step.d.next = Step::Idle;
            }
            Step::Row => {
                self.row.d.next = self.rows.read_data.val();
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
                self.rows.read_address.next = self.walk_row.val() | self.settings_row.val();
                self.candidate.d.next = self.row.q.val().get_bits::<32>(0);
                self.considers.next = self.running.val() & self.since.val().get_bit(31);
                if self.running.val() & !self.since.val().get_bit(31) {
                    // The timer has ended. A rest is followed by a timer.
                    self.tells.d.next.vi = self.walk.q.val();
                    self.tells.d.next.gives_up = self.row.q.val().get_bit(34);
                    self.tells.d.next.rested = true;
                    self.told.d.next = self.row.q.val().get_bit(33);
                    self.ended.d.next = !self.row.q.val().get_bit(33);
                    self.at.d.next.run = !self.row.q.val().get_bit(34);
                    self.step.d.next = Step::Settings;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.next_walk.val() {
            self.walk.d.next = self.walk.q.val() + 1;
            if self.walk.q.val() == self.last_vi.val() {
                self.walking.d.next = false;
            }
        }
        self.considered.d.next = self.considers.val();
        self.lead.next = self.candidate.q.val() - self.earliest.q.val();
        if self.considered.q.val() {
            self.some.d.next = true;
            if !self.some.q.val() | self.lead.val().get_bit(31) {
                self.earliest.d.next = self.candidate.q.val();
            }
        }

        self.expired.valid.next = self.told.q.val();
        self.expired.data.next = self.tells.q.val();
        self.deadline.valid.next = self.some.q.val();
        self.deadline.data.next = self.earliest.q.val();
        self.busy.next = (self.step.q.val() != Step::Idle)
            | self.walking.q.val()
            | self.due.q.val()
            | self.told.q.val()
            | self.considered.q.val();
        if self.reset.val() {
            self.step.d.next = Step::Clear;
            self.walk.d.next = bits::<VI_LOG2>(0);
            self.walking.d.next = false;
            self.some.d.next = false;
            self.told.d.next = false;
            self.due.d.next = false;
            self.considered.d.next = false;
            self.ended.d.next = false;
        }
    }
}
