//! Moderates interrupts: after an interrupt its vector rests for a time.
//!
//! ```text
//!           left ──►┌─────────┐──► resting
//!         commit ──►│ Holdoff │──► deadline
//! look, time_now ──►└─────────┘
//! ```
//! Contract:
//! - A commit of MODERATION says for how many ticks a vector rests; it takes effect from the vector's next interrupt on.
//! - `left`: an interrupt of the vector leaves. From the next cycle but one the vector is in `resting`, until the time base has moved
//!   on by its ticks. A vector with 0 ticks never rests.
//! - `look` goes round: the rest of the vector that it names ends if its time has come. `deadline` is when the first rest ends. It is found
//!   within two rounds, and may be early. A simulator that lets time jump does not jump over it, so 16 bits of time are enough.
//! - After `reset` no vector rests.
//!
//! Latency: from the end of a rest at most a round and a cycle.
//!
//! Example: MODERATION of vector 2 is 10 ticks. Its interrupt leaves at time 100, so vector 2 rests; its rest ends in the first round at
//! time 110 or later.
//!
//! Tests: `tests/interrupt/moderation.rs`.

use crate::bus::{Commit, Vector};
use crate::prims::{LutRam, Number, Unpack};
use crate::rows::tables::ModerationRow;
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{VECTORS, VECTOR_LOG2};
use viaduct_spec::tables::moderation;

// Half of the 16 bits of time are the past.
const _: () = assert!(moderation::HOLDOFF.width == 15);

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Holdoff {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// No vector rests any more; commits clear the ticks.
    pub reset: Signal<In, bool>,
    /// A row of MODERATION, from `admin/broadcast`: for how many ticks a vector rests.
    pub commit: Sink<Commit>,
    /// The vector whose interrupt leaves in this cycle; from [`Vectors`](super::Vectors).
    pub left: FlowSink<Vector>,
    /// The vector that is looked at in this cycle; [`Vectors`](super::Vectors) goes round.
    pub look: Signal<In, Vector>,
    /// Device time, ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// One bit for each vector that rests: no interrupt of it may leave; for `Vectors`.
    pub resting: Signal<Out, Bits<VECTORS>>,
    /// The time at which the first rest may end, given while a vector rests; a simulator reads it.
    pub deadline: FlowSource<Bits<32>>,
    row: Unpack<Commit, ModerationRow>,
    /// For how long each vector rests.
    ticks: LutRam<Bits<15>, VECTOR_LOG2>,
    /// When the rest of each vector ends, low 16 bits.
    ends: LutRam<Bits<16>, VECTOR_LOG2>,
    /// The vectors that rest.
    rests: DFF<Bits<VECTORS>>,
    /// An interrupt has left in the cycle before.
    leaving: DFF<bool>,
    /// The vector of that interrupt.
    leaver: DFF<Vector>,
    /// A vector has been found in this round that rests.
    some: DFF<bool>,
    /// The earliest end found in this round so far.
    soonest: DFF<Bits<16>>,
    /// A vector was found in the round before that rests.
    found: DFF<bool>,
    /// The earliest end found in the round before.
    first: DFF<Bits<16>>,
    /// `first` as a time of 32 bits.
    awaited: DFF<Bits<32>>,
    now: Signal<Local, Bits<16>>,
    ending: Signal<Local, Bits<16>>,
    turn: Signal<Local, Bits<VECTORS>>,
    which: Signal<Local, Bits<VECTORS>>,
    past: Signal<Local, Bits<16>>,
    waits: Signal<Local, bool>,
    earlier: Signal<Local, Bits<16>>,
    ahead: Signal<Local, Bits<16>>,
    one: Number<VECTORS, 1>,
}

impl Logic for Holdoff {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, rests, leaving, leaver, some, soonest, found, first, awaited);
        clock!(self, clock, ticks, ends);
        self.now.next = bit_cast::<16, 32>(self.time_now.val());

        drive!(self, commit.valid => ticks.write_enable, commit.ready; commit.data => row.from;
            row.to.val().holdoff => ticks.write_data);
        self.ticks.write_address.next = bit_cast::<VECTOR_LOG2, 16>(self.commit.data.val().row);

        // Is the time of this vector past, and which is the first?
        self.turn.next = self.one.val() << self.look.val();
        drive!(self, look => ends.read_address; ends.read_data => ending; found.q => deadline.valid;
            awaited.q => deadline.data);
        self.past.next = self.now.val() - self.ending.val();
        self.waits.next = (self.rests.q.val() & self.turn.val()).any() & self.past.val().get_bit(15);
        if !self.past.val().get_bit(15) {
            self.rests.d.next = self.rests.q.val() & !self.turn.val();
        }
        self.earlier.next = self.ending.val() - self.soonest.q.val();
        if !self.look.val().any() {
            self.found.d.next = self.some.q.val();
            self.first.d.next = self.soonest.q.val();
            self.some.d.next = self.waits.val();
            self.soonest.d.next = self.ending.val();
        } else if self.waits.val() & (!self.some.q.val() | self.earlier.val().get_bit(15)) {
            self.some.d.next = true;
            self.soonest.d.next = self.ending.val();
        }
        self.ahead.next = self.first.q.val() - self.now.val();
        self.awaited.d.next = self.time_now.val() + bit_cast::<32, 16>(self.ahead.val());
        if self.ahead.val().get_bit(15) {
            self.awaited.d.next = self.time_now.val();
        }

        // The vector whose interrupt has left rests, even if its last rest ends in this cycle.
        self.leaving.d.next = self.left.valid.val();
        self.leaver.d.next = self.left.data.val();
        drive!(self, leaver.q => ticks.read_address, ends.write_address; leaving.q => ends.write_enable;
            rests.q => resting);
        self.which.next = self.one.val() << self.leaver.q.val();
        self.ends.write_data.next = self.now.val() + bit_cast::<16, 15>(self.ticks.read_data.val());
        if self.leaving.q.val() & self.ticks.read_data.val().any() {
            self.rests.d.next = self.rests.d.val() | self.which.val();
        }

        if self.reset.val() {
            self.rests.d.next = bits::<VECTORS>(0);
            self.leaving.d.next = false;
            self.some.d.next = false;
            self.found.d.next = false;
        }
    }
}
