//! Moves the payload of frames to host memory, behind the block that has it granted.
//!
//! ```text
//!   held ──►┌──────────────┐──► place, free   (the store's)
//!  grant ──►│ PayloadQueue │◄── payload
//!           │ PayloadStart │──► write
//!           │ PayloadMover │──► room, busy
//!           └──────────────┘
//! ```
//! Contract: a frame's steps come in this order: `held.payload_start` if its payload moves, a `grant` for each piece of it, and
//! `held.release`. A grant does not come in the cycle behind another step; the steps wait in a queue of 16, and one frame's are done before the
//! next one's begin. `room` says that four more find a place: whoever gives a step has looked at it since the step before.
//!
//! For `payload_start` the store is told to show the payload (`place`). For a grant so many bytes of it go to `write` ([`PayloadMover`]):
//! they are what the command of that access takes. For `release` the store takes back the frame's place (`free`), and what has not
//! moved of the payload stays where it is. So a grant that was given is used, and a frame stays in the store until its last granted byte
//! has left it.
//!
//! Example: a frame of 8 bytes is delivered: `payload_start`, a grant of 8, and `release`, within some cycles. The write engine still
//! writes a frame of 4096 bytes. When it has taken the last byte of that, the block shows the payload of 8 bytes, moves it, and frees
//! the frame.
//!
//! Latency: 1 cycle from a grant to its turn, and 2 from another step; 5 cycles from `payload_start` to the first beat at `write`, and 2 from a
//! grant. Throughput: one beat every cycle; 2 cycles between two grants, 5 between two frames.
//!
//! Tests: `tests/receive/payload/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod mover;
mod start;

pub use mover::PayloadMover;
pub use start::{PayloadPlace, PayloadStart};

use super::show::HeldSink;
use crate::bus::WriteBeat;
use crate::prims::{Fifo, Number};
use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What a step does.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Deed {
    /// Shows a payload.
    Show,
    /// Moves bytes of it.
    Move,
    /// Gives the frame's place back.
    Free,
}

/// A step of a frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct PayloadStep {
    deed: Deed,
    /// To show: where the payload begins. To free: the frame's place in the roster.
    word: Bits<11>,
    /// To show: lane of the payload's first byte.
    lane: Bits<3>,
    /// To show: bytes of the payload. To move: bytes to move.
    length: Bits<13>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PayloadQueue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, all steps are forgotten.
    pub reset: Signal<In, bool>,
    /// The frame in delivery: its payload is to move, or it is done with; from `Delivery`.
    pub held: HeldSink,
    /// So many more bytes of the payload are granted, at least 1; from `Scatter`.
    pub grant: FlowSink<Bits<13>>,
    /// Four more steps find a place; `Delivery` and `Scatter` listen.
    pub room: Signal<Out, bool>,
    /// The payload to show next, for the store.
    pub place: FlowSource<PayloadPlace>,
    /// Up to eight bytes of the payload that `place` has named, from the store.
    pub payload: Sink<WriteBeat>,
    /// Up to eight bytes for host memory, for the write engine.
    pub write: Source<WriteBeat>,
    /// The place in the roster of a frame that is done with, for the store; what is on show of its payload goes, too.
    pub free: Source<Bits<4>>,
    /// A step, or bytes wait; `Receive` is busy then.
    pub busy: Signal<Out, bool>,
    steps: Fifo<PayloadStep, 4, 5>,
    start: PayloadStart,
    mover: PayloadMover,
    now: Signal<Local, PayloadStep>,
    /// The step at hand may be done: no bytes are under way.
    may: Signal<Local, bool>,
    shows: Signal<Local, bool>,
    number: Signal<Local, Bits<11>>,
    /// A step of `held` came in the cycle before.
    comes: DFF<bool>,
    /// The step that came.
    coming: DFF<PayloadStep>,
    has_room: DFF<bool>,
    most: Number<5, 10>,
}

impl Logic for PayloadQueue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, has_room, comes, coming);
        clock!(self, clock, steps, mover);
        drive!(self, reset => steps.reset, mover.reset; held.frame => start.frame);

        // Steps come. Those of `held` are known late in their cycle: they wait for one in a register.
        self.comes.d.next = self.held.payload_start.val() | self.held.release.val();
        self.coming.d.next.deed = Deed::Show;
        fill!(self, coming.d, start.place.val().word => word; start.place.val().lane => lane;
            start.place.val().length => length);
        if self.held.release.val() {
            self.coming.d.next.deed = Deed::Free;
            self.coming.d.next.word = bit_cast::<11, 4>(self.held.frame.val().place);
        }
        self.steps.sink.valid.next = self.comes.q.val() | self.grant.valid.val();
        self.steps.sink.data.next = self.coming.q.val();
        if self.grant.valid.val() {
            self.steps.sink.data.next.deed = Deed::Move;
            self.steps.sink.data.next.length = self.grant.data.val();
        }
        // Two more may come in this cycle and from the register.
        self.has_room.d.next = self.steps.level.val() <= self.most.val();
        drive!(self, has_room.q => room);

        // Steps are done, one after the other.
        drive!(self, steps.source.data => now; now.val().word => number; now.val().length => mover.grant.data);
        self.may.next = self.steps.source.valid.val() & !self.mover.moving.val();
        self.shows.next = self.may.val() & (self.now.val().deed == Deed::Show);
        drive!(self, shows => place.valid, mover.begins);
        fill!(self, place.data, now.val().word => word; now.val().lane => lane; now.val().length => length);
        self.mover.grant.valid.next = self.may.val() & (self.now.val().deed == Deed::Move);
        self.free.valid.next = self.may.val() & (self.now.val().deed == Deed::Free);
        self.free.data.next = self.number.val().get_bits::<4>(0);
        self.steps.source.ready.next =
            self.may.val() & ((self.now.val().deed != Deed::Free) | self.free.ready.val());
        Sink::<WriteBeat>::link(&mut self.payload, &mut self.mover.payload);
        Source::<WriteBeat>::link(&mut self.write, &mut self.mover.write);
        self.busy.next = self.comes.q.val()
            | self.steps.source.valid.val()
            | self.mover.moving.val()
            | self.mover.waits.val();
        if self.reset.val() {
            self.has_room.d.next = false;
            self.comes.d.next = false;
        }
    }
}
