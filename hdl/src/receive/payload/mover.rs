//! Lets a packet's payload go to memory, as many bytes of it as are granted.
//!
//! ```text
//!    grant ──►┌──────────────┐──► write
//!  payload ──►│ PayloadMover │
//!   begins ──►└──────────────┘──► moving, waits
//! ```
//! Contract: `grant` lets that many more bytes go. `payload` beats are passed on to `write` as far as they are granted, and cut where a
//! grant ends: what is left of the beat stays on show, and goes with the next grant. `moving` is high from the cycle after `grant` until
//! the last byte granted has been taken; no other grant comes meanwhile. With `begins` the next payload begins with a new beat.
//!
//! Example: a grant of 6 bytes comes, and a beat of 8 bytes is on show: `write` gives its first 6, and the beat stays. With a grant of
//! 2 bytes `write` gives the other two, and the beat is taken.
//!
//! Latency: 1 cycle from payload to write. Throughput: one beat every cycle. Tests: `tests/receive/payload/mover.rs`.

use crate::bus::WriteBeat;
use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PayloadMover {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, nothing is granted, and nothing waits.
    pub reset: Signal<In, bool>,
    /// No payload is under way: the next one begins with a new beat. `PayloadQueue` drives this and `grant`.
    pub begins: Signal<In, bool>,
    /// How many more bytes may go, at least 1.
    pub grant: FlowSink<Bits<13>>,
    /// Up to eight bytes of the frame's payload, from the store.
    pub payload: Sink<WriteBeat>,
    /// Up to eight bytes for host memory, for the write engine.
    pub write: Source<WriteBeat>,
    /// Bytes are granted that have not moved yet; `PayloadQueue` listens to this and `waits`.
    pub moving: Signal<Out, bool>,
    /// Bytes wait to be taken by the write engine.
    pub waits: Signal<Out, bool>,
    granted: DFF<bool>,
    /// Where the granted bytes end, in bytes from the first one of the payload beat on show.
    reach: DFF<Bits<13>>,
    /// `reach` is less than 16.
    near: DFF<bool>,
    /// Lanes of the payload beat on show that have moved.
    used: DFF<Bits<3>>,
    out_valid: DFF<bool>,
    out: DFF<WriteBeat>,
    beat: Signal<Local, WriteBeat>,
    beat_end: Signal<Local, Bits<4>>,
    reach_low: Signal<Local, Bits<4>>,
    /// `reach` for the next beat.
    reach_on: Signal<Local, Bits<13>>,
    /// `reach` of a new grant.
    reach_first: Signal<Local, Bits<13>>,
    /// The granted bytes end within the payload beat on show.
    cut: Signal<Local, bool>,
    lanes: Signal<Local, Bits<4>>,
    moves: Signal<Local, bool>,
}

impl Logic for PayloadMover {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, granted, reach, near, used, out_valid, out);
        drive!(self, payload.data => beat; out_valid.q => write.valid, waits; out.q => write.data;
            granted.q => moving);
        self.reach_low.next = self.reach.q.val().get_bits::<4>(0);
        self.cut.next = self.near.q.val() & (self.reach_low.val() < self.beat.val().count);
        self.reach_on.next = self.reach.q.val() - bit_cast::<13, 4>(self.beat.val().count);
        self.reach_first.next = self.grant.data.val() + bit_cast::<13, 3>(self.used.q.val());
        self.beat_end.next = self.beat.val().count;
        if self.cut.val() {
            self.beat_end.next = self.reach_low.val();
        }
        self.lanes.next = self.beat_end.val() - bit_cast::<4, 3>(self.used.q.val());
        self.moves.next = self.payload.valid.val()
            & self.granted.q.val()
            & (!self.out_valid.q.val() | self.write.ready.val());
        self.payload.ready.next = self.moves.val() & !self.cut.val();
        if self.write.ready.val() {
            self.out_valid.d.next = false;
        }
        if self.moves.val() {
            self.out_valid.d.next = true;
            self.out.d.next.data = self.beat.val().data;
            self.out.d.next.start = self.beat.val().start + self.used.q.val();
            self.out.d.next.count = self.lanes.val();
            self.granted.d.next = self.reach.q.val() != bit_cast::<13, 4>(self.beat.val().count);
            self.reach.d.next = self.reach_on.val();
            self.near.d.next = !self.reach_on.val().get_bits::<9>(4).any();
            self.used.d.next = bits::<3>(0);
            if self.cut.val() {
                self.granted.d.next = false;
                self.used.d.next = self.reach.q.val().get_bits::<3>(0);
            }
        }
        if self.begins.val() {
            self.used.d.next = bits::<3>(0);
        }
        if self.grant.valid.val() {
            self.granted.d.next = true;
            self.reach.d.next = self.reach_first.val();
            self.near.d.next = !self.reach_first.val().get_bits::<9>(4).any();
        }
        if self.reset.val() {
            self.granted.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
