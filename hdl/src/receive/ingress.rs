//! Lets frames in: an elastic queue behind the MAC, the loopback join, and the end of a VLAN tag.
//!
//! ```text
//!         rx ──►┌─────────┐──► frame, frame_tagged   (tag dropped, whole frames)
//!   loopback ──►│         │──► word                  (as it came)
//!    enabled ──►│ Ingress │──► pause
//! store_level ─►│         │──► count_frame, count_overflow
//!               └─────────┘
//! ```
//! Contract: the MAC's beats are taken whenever they come, and go on as they come: past the queue when it is empty.
//! A frame that finds no room is taken back whole (the write position returns to where it began) and counted in
//! `count_overflow`; if its first beats have left already, so that the whole queue is full of it, it ends there, as if
//! the MAC had found it damaged, and is counted as such a frame is. The words of each frame that goes on are shown in `word`, tag and
//! all, once each and a cycle before the beat of `frame` they become, or earlier. Loopback frames join between frames, in turn with those
//! of the MAC that wait. If `enabled` is low when a frame starts to leave, the whole frame is swallowed and not counted. `count_frame`
//! counts each other frame when its last beat leaves.
//!
//! `pause` asks the peer to stop sending. From then on the MAC gives at most two largest frames (two times 528 beats of 8 bytes) or as much
//! of smaller ones, with their gaps on the wire, and all of that finds room. While `pause` is high no loopback frame starts. It is high
//!
//! - while `level + store_level > 3070 - 1056 - 528 - 16`: the queue has room for 1023 beats (and one for the end of a frame that is cut)
//!   and the store for 2047 words; 528 are for the rest of a loopback frame that has started, 16 for the beats between queue and store and
//!   those that `level` is late.
//! - while 128 beats wait in the queue: a loopback frame that passes holds up those of the MAC, and may find no more than 128 of them
//!   waiting.
//!
//! Example: a frame of 64 bytes comes with `rx` while the queue is empty: eight beats, the first in cycle 0. The first one is in
//! `frame` in cycle 2; with the last one `count_frame` counts the frame.
//!
//! Latency: a beat shows 2 cycles after it came, 4 if there were others, a loopback frame's 3. Throughput: one beat every cycle.
//!
//! How: the queue's level is known a cycle late, so the block errs on the safe side. `waiting` may be high when nothing waits any more: the
//! beat that comes then takes the way through the queue. `crowded` comes early by as many beats as may come meanwhile.
//!
//! Tests: `tests/receive/ingress/`.

use super::Untag;
use crate::bus::FrameBeat;
use crate::prims::{Number, Ram, Skid};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ingress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block empties its queue.
    pub reset: Signal<In, bool>,
    /// A beat of a frame from the MAC, through `EthReceive`; the block cannot refuse it.
    pub rx: FlowSink<FrameBeat>,
    /// A beat of a frame that turns round inside the NIC, from egress.
    pub loopback: Sink<FrameBeat>,
    /// While low, frames are swallowed and not counted; the agent's control register drives it.
    pub enabled: Signal<In, bool>,
    /// Words in use in the store, or 2048, from `Store`: see its `level`.
    pub store_level: Signal<In, Bits<12>>,
    /// A beat of an untagged frame, for `Parse`.
    pub frame: Source<FrameBeat>,
    /// With the last beat of `frame`: the frame had a tag; `Parse` listens.
    pub frame_tagged: Signal<Out, bool>,
    /// A word of the frame as it came, tag and all, for `FrameDelay`.
    pub word: FlowSource<Bits<64>>,
    /// The peer is asked to hold its frames; the MAC listens.
    pub pause: Signal<Out, bool>,
    /// A frame, or a part of one, is in the block; `Receive` is busy then.
    pub busy: Signal<Out, bool>,
    /// Pulses when a frame has left.
    pub count_frame: Pulse,
    /// Pulses when a frame of the MAC found no room.
    pub count_overflow: Pulse,
    ram: Ram<FrameBeat, 10>,
    /// Cuts the path back to egress: whether a loopback frame may start is known late in the cycle.
    turned: Skid<FrameBeat>,
    /// Cuts the way from the RAM.
    skid: Skid<FrameBeat>,
    untag: Untag,
    /// Slot of the beat on show, with a wrap bit.
    head: DFF<Bits<11>>,
    /// Next slot to fill.
    tail: DFF<Bits<11>>,
    /// Behind the last beat of the last whole frame: where the one that comes in began.
    whole: DFF<Bits<11>>,
    /// Beats of the frame that comes in have left already.
    begun: DFF<bool>,
    /// The beat at `head` is in the RAM's output register.
    queued: DFF<bool>,
    /// The queue is not empty, or was not a cycle ago.
    waiting: DFF<bool>,
    /// The queue has room for one beat at most, or had not more a cycle ago.
    crowded: DFF<bool>,
    /// Beats in the queue a cycle ago.
    level: DFF<Bits<11>>,
    /// A beat of the frame coming in found no room: the rest of it is dropped.
    overflow: DFF<bool>,
    paused: DFF<bool>,
    counted_frame: DFF<bool>,
    counted_overflow: DFF<bool>,
    /// A frame is leaving.
    leaving: DFF<bool>,
    /// The frame that leaves is a loopback frame; between frames: the last one was.
    looped: DFF<bool>,
    /// The frame that leaves is swallowed.
    swallowed: DFF<bool>,
    now: Signal<Local, Bits<11>>,
    /// Slot behind `head`.
    following: Signal<Local, Bits<11>>,
    used: Signal<Local, Bits<13>>,
    /// A beat of a frame that is not dropped comes in.
    coming: Signal<Local, bool>,
    /// The beat that comes in can go past the queue.
    near: Signal<Local, bool>,
    /// The beat that comes in goes past the queue.
    direct: Signal<Local, bool>,
    /// The beat on show leaves the queue.
    popped: Signal<Local, bool>,
    stored: Signal<Local, bool>,
    stuck: Signal<Local, bool>,
    /// The first beat of the frame that comes in leaves the queue.
    starting: Signal<Local, bool>,
    gone: Signal<Local, bool>,
    fill: Signal<Local, FrameBeat>,
    tail_next: Signal<Local, Bits<11>>,
    shown: Signal<Local, Bits<11>>,
    offered: Signal<Local, bool>,
    from_loopback: Signal<Local, bool>,
    swallow: Signal<Local, bool>,
    beat: Signal<Local, FrameBeat>,
    beat_valid: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    pause_level: Number<13, { PAUSE_LEVEL }>,
}

/// Beats in the queue here, words in the store, two largest frames, the rest of a loopback frame, beats in between.
const PAUSE_LEVEL: u64 = 1023 + 2047 - 2 * 528 - 528 - 16;

impl Logic for Ingress {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, tail, whole, begun, queued, overflow, paused);
        dff_setup!(self, clock, counted_frame, counted_overflow, waiting, crowded, level);
        dff_setup!(self, clock, leaving, looped, swallowed);
        clock!(self, clock, ram, turned, skid, untag);
        drive!(self, reset => turned.reset, skid.reset, untag.reset; paused.q => pause;
            counted_frame.q => count_frame; counted_overflow.q => count_overflow);
        self.busy.next = self.waiting.q.val()
            | self.leaving.q.val()
            | self.turned.source.valid.val()
            | self.skid.source.valid.val()
            | self.untag.busy.val();

        self.now.next = self.tail.q.val() - self.head.q.val();
        self.level.d.next = self.now.val();
        self.crowded.d.next = self.now.val().get_bit(10) | self.now.val().get_bits::<9>(1).all();
        self.used.next = bit_cast::<13, 11>(self.level.q.val()) + bit_cast::<13, 12>(self.store_level.val());
        self.paused.d.next =
            (self.used.val() > self.pause_level.val()) | self.level.q.val().get_bits::<4>(7).any();

        // Join: which frame starts when none is leaving.
        self.coming.next = self.rx.valid.val() & !self.overflow.q.val();
        self.near.next = self.coming.val() & !self.waiting.q.val() & !self.crowded.q.val();
        self.from_loopback.next = self.looped.q.val();
        self.swallow.next = self.swallowed.q.val();
        if !self.leaving.q.val() {
            self.from_loopback.next = self.turned.source.valid.val()
                & !self.paused.q.val()
                & (!self.queued.q.val() | !self.looped.q.val());
            // FRAME-1: a frame is swallowed and not counted.
            self.swallow.next = !self.enabled.val();
        }
        self.beat.next = self.ram.read_data.val();
        self.beat_valid.next = self.queued.q.val() | self.near.val();
        if !self.queued.q.val() {
            self.beat.next = self.rx.data.val();
        }
        if self.from_loopback.val() {
            self.beat.next = self.turned.source.data.val();
            self.beat_valid.next = self.turned.source.valid.val();
        }
        self.skid.sink.valid.next = self.beat_valid.val() & !self.swallow.val();
        self.skid.sink.data.next = self.beat.val();
        join!(self, Source<FrameBeat>, skid.source => untag.sink);
        self.offered.next = self.skid.sink.ready.val() | self.swallow.val();
        self.taken.next = self.beat_valid.val() & self.offered.val();
        Sink::<FrameBeat>::link(&mut self.loopback, &mut self.turned.sink);
        self.turned.source.ready.next = self.from_loopback.val() & self.offered.val();
        self.counted_frame.d.next = self.taken.val() & self.beat.val().last & !self.swallow.val();
        if self.taken.val() {
            self.leaving.d.next = !self.beat.val().last;
            self.looped.d.next = self.from_loopback.val();
            self.swallowed.d.next = self.swallow.val();
        }

        // Out of the queue: the slot on show is read again every cycle.
        self.direct.next = self.near.val() & !self.from_loopback.val() & self.offered.val();
        self.popped.next = self.queued.q.val() & !self.from_loopback.val() & self.offered.val();
        self.starting.next = self.popped.val() & (self.head.q.val() == self.whole.q.val());
        self.following.next = self.head.q.val() + 1;
        self.shown.next = self.head.q.val();
        self.queued.d.next = self.tail.q.val() != self.head.q.val();
        if self.popped.val() {
            self.shown.next = self.following.val();
            self.queued.d.next = self.tail.q.val() != self.following.val();
        }
        self.ram.read_address.next = bit_cast::<10, 11>(self.shown.val());
        self.head.d.next = self.shown.val();
        self.waiting.d.next =
            (self.tail.q.val() != self.head.q.val()) | (self.coming.val() & !self.direct.val());

        // Into the queue. The last slot is for the end of a frame that has to be cut.
        self.gone.next = self.begun.q.val() | self.starting.val();
        self.stored.next = self.coming.val() & !self.direct.val() & !self.crowded.q.val();
        self.stuck.next = self.coming.val() & self.crowded.q.val();
        self.fill.next = self.rx.data.val();
        if self.crowded.q.val() {
            self.fill.next.last = true;
            self.fill.next.bad = true;
        }
        self.ram.write_enable.next = self.stored.val() | (self.stuck.val() & self.gone.val());
        self.ram.write_address.next = bit_cast::<10, 11>(self.tail.q.val());
        self.ram.write_data.next = self.fill.val();
        self.tail_next.next = self.tail.q.val();
        if self.coming.val() & !self.direct.val() {
            self.tail_next.next = self.tail.q.val() + 1;
        }
        if self.stuck.val() & !self.gone.val() {
            self.tail_next.next = self.whole.q.val();
        }
        self.tail.d.next = self.tail_next.val();
        self.counted_overflow.d.next = self.stuck.val() & !self.gone.val();
        if self.stuck.val() & !self.gone.val() {
            // What is on show may be taken back with the rest.
            self.queued.d.next = false;
        }
        if self.starting.val() | self.direct.val() {
            self.begun.d.next = true;
        }
        if self.stuck.val() {
            self.overflow.d.next = true;
        }
        if self.stuck.val() | (self.coming.val() & self.rx.data.val().last) {
            self.whole.d.next = self.tail_next.val();
            self.begun.d.next = false;
        }
        if self.rx.valid.val() & self.rx.data.val().last {
            self.overflow.d.next = false;
        }

        Source::<FrameBeat>::link(&mut self.frame, &mut self.untag.source);
        drive!(self, untag.out_tagged => frame_tagged; skid.source.data.val().data => word.data);
        self.word.valid.next = self.skid.source.valid.val() & self.untag.sink.ready.val();
        if self.reset.val() {
            self.head.d.next = bits::<11>(0);
            self.waiting.d.next = false;
            self.crowded.d.next = false;
            self.tail.d.next = bits::<11>(0);
            self.whole.d.next = bits::<11>(0);
            self.begun.d.next = false;
            self.queued.d.next = false;
            self.overflow.d.next = false;
            self.leaving.d.next = false;
            self.looped.d.next = false;
            self.counted_frame.d.next = false;
            self.counted_overflow.d.next = false;
            self.paused.d.next = false;
        }
    }
}
