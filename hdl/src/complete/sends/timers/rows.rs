//! The memory of the timers: three rows for each VI.
//!
//! ```text
//!           read_at ──►┌───────────┐──► timer, limits, used
//!   write, write_at ──►│ TimerRows │
//!             new_* ──►└───────────┘
//! ```
//! Contract: `timer`, `limits` and `used` are three views of the row that `read_at` named in the cycle before: the one of its kind
//! counts. With `write` the row of `write_at` becomes the one of `new_timer`, `new_limits` and `new_used` that is of its kind.
//!
//! Latency: 1 cycle.
//!
//! Example: `read_at` names the limits of VI 3 in cycle 0: in cycle 1 `limits` has its TIMEOUT and how often it is to try again.
//!
//! Tests: with the timers, `tests/complete/timers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Vi;
use crate::prims::{Cast, Number, Ram};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// log2 of the rows of all VIs, four each.
const ROWS_LOG2: usize = VI_LOG2 + 2;

/// The kinds of rows.
pub mod kind {
    /// A [`TimerRow`](super::TimerRow).
    pub const TIMER: u64 = 0;
    /// A [`LimitsRow`](super::LimitsRow).
    pub const LIMITS: u64 = 1;
    /// A [`UsedRow`](super::UsedRow).
    pub const USED: u64 = 2;
}

/// Which row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerAddress {
    /// Kind of the row: see [`kind`].
    pub kind: Bits<2>,
    /// The VI whose row it is.
    pub vi: Vi,
}

/// A timer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TimerRow {
    /// When it ends, in ticks of device time.
    pub end: Bits<32>,
    /// The timer runs.
    pub runs: bool,
    /// The timer times a rest.
    pub rests: bool,
    /// The rest was one too many: when it ends, the timer gives up.
    pub gives_up: bool,
}

/// The limits that a TRANSMIT row sets for a VI's timer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LimitsRow {
    /// TIMEOUT, in ticks; 0: none.
    pub timeout: Bits<20>,
    /// RETRIES: how often the timer may end in a row.
    pub retries: Bits<8>,
    /// RNR_RETRIES: how often the VI may rest in a row; 255: without end.
    pub rests: Bits<8>,
}

/// How many tries and rests a VI has used.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct UsedRow {
    /// How often the timer has ended since the last progress.
    pub retries: Bits<8>,
    /// How often the VI has rested since the last progress.
    pub rests: Bits<8>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TimerRows {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The row to read; [`Timers`](super::Timers) drives this and the other inputs.
    pub read_at: Signal<In, TimerAddress>,
    /// The row, if it is a timer.
    pub timer: Signal<Out, TimerRow>,
    /// The row, if it is limits.
    pub limits: Signal<Out, LimitsRow>,
    /// The row, if it is of tries and rests used.
    pub used: Signal<Out, UsedRow>,
    /// Pulse: a row is written.
    pub write: Signal<In, bool>,
    /// The row to write.
    pub write_at: Signal<In, TimerAddress>,
    /// The new row, if it is a timer.
    pub new_timer: Signal<In, TimerRow>,
    /// The new row, if it is limits.
    pub new_limits: Signal<In, LimitsRow>,
    /// The new row, if it is of tries and rests used.
    pub new_used: Signal<In, UsedRow>,
    rows: Ram<Bits<36>, ROWS_LOG2>,
    read_row: Cast<TimerAddress, Bits<ROWS_LOG2>>,
    write_row: Cast<TimerAddress, Bits<ROWS_LOG2>>,
    as_timer: Cast<Bits<35>, TimerRow>,
    as_limits: Cast<Bits<36>, LimitsRow>,
    as_used: Cast<Bits<16>, UsedRow>,
    from_timer: Cast<TimerRow, Bits<35>>,
    from_limits: Cast<LimitsRow, Bits<36>>,
    from_used: Cast<UsedRow, Bits<16>>,
    limits_kind: Number<2, { kind::LIMITS }>,
    used_kind: Number<2, { kind::USED }>,
}

impl Logic for TimerRows {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        drive!(self, read_at => read_row.from; read_row.to => rows.read_address;
            rows.read_data => as_limits.from; as_timer.to => timer; as_limits.to => limits;
            as_used.to => used);
        self.as_timer.from.next = bit_cast::<35, 36>(self.rows.read_data.val());
        self.as_used.from.next = bit_cast::<16, 36>(self.rows.read_data.val());

        drive!(self, new_timer => from_timer.from; new_limits => from_limits.from; new_used => from_used.from;
            write_at => write_row.from; write_row.to => rows.write_address; write => rows.write_enable);
        self.rows.write_data.next = bit_cast::<36, 35>(self.from_timer.to.val());
        if self.write_at.val().kind == self.limits_kind.val() {
            self.rows.write_data.next = self.from_limits.to.val();
        }
        if self.write_at.val().kind == self.used_kind.val() {
            self.rows.write_data.next = bit_cast::<36, 16>(self.from_used.to.val());
        }
    }
}
