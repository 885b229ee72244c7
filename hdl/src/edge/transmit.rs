//! One stream of transaction layer packets out of four sources, as far as the link partner's credits go.
//!
//! ```text
//!         posted, message ──►┌─────────────┐──► tx, tx_class
//!   nonposted, completion ──►│ TlpTransmit │
//!      credit, bus_master ──►│             │──► settled
//! hold, mute, max_payload ──►└─────────────┘
//! ```
//! Contract: packets leave whole, in order within a source, and whose turn it is stands in a register, and so does whether it may go: behind each packet, and
//! when the source has none or no credits for it, the turn goes round robin to another one that has both. So no
//! class ever waits for the credits of another, and no source's path goes through another's. Interrupts (`message`) are posted, as memory
//! writes are; one may be withdrawn (`message.valid` falls) until its first beat is taken. The order on `tx` is the order on the
//! link: a block that must know its write to be ahead of something else waits until `tx` took it.
//! With Bus Master off no posted or non-posted packet starts, nor under `hold`, and under `mute` no completion. `settled` says under
//! `hold` that no packet is half taken, and under `mute` that all have left, too.
//!
//! Credits are what may be sent now, by header and by 16 bytes. A packet starts when there is room for the
//! largest of its class: for a posted one `max_payload`, by which its source has cut it (its length is not looked at, and nothing is lost:
//! the specification makes every receiver offer at least that much), for a completion one unit, which
//! holds our 8 bytes. What is on its way is not counted yet, so until it has left twice as much is asked for.
//! That is enough if the source of the credits has counted a packet in the cycle after its last beat was taken.
//!
//! Latency: 1 cycle, 1 more if the turn was another's; throughput: one beat every cycle. Outputs are those of a queue of two beats,
//! and `tx.ready` reaches no input of this block in the same cycle.
//!
//! Example: posted and nonposted each offer a packet and it is posted's turn: its packet leaves whole, then the turn goes to nonposted. Without
//! credits for non-posted packets the turn stays with those that have some.
//!
//! Tests: `tests/tlp/transmit`.

use super::Credits;
use crate::bus::TlpBeat;
use crate::prims::{Fifo, Successor};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;

/// A beat and its class on the way out.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Outgoing {
    data: Bits<64>,
    keep: Bits<2>,
    last: bool,
    class: Bits<2>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpTransmit {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is under way.
    pub reset: Signal<In, bool>,
    /// The memory writes, from the write engine.
    pub posted: Sink<TlpBeat>,
    /// The memory reads, from the read engine.
    pub nonposted: Sink<TlpBeat>,
    /// The completions, from `edge/complete`.
    pub completion: Sink<TlpBeat>,
    /// The interrupts, from `interrupt/vectors`: posted, too.
    pub message: Sink<TlpBeat>,
    /// What may be sent to the host now, by the link partner's credits.
    pub credit: Credits,
    /// The function may send memory requests.
    pub bus_master: Signal<In, bool>,
    /// No posted or non-posted packet may start: a reset is to come.
    pub hold: Signal<In, bool>,
    /// No completion may start.
    pub mute: Signal<In, bool>,
    /// `hold` has been high for a cycle, and no packet is half out.
    pub settled: Signal<Out, bool>,
    /// Largest payload of a posted packet: 128 << n bytes.
    pub max_payload: Signal<In, Bits<3>>,
    /// The packets, to the host.
    pub tx: Source<TlpBeat>,
    /// Class of the packet whose beat is on show: `viaduct_spec::tlp::class`.
    pub tx_class: Signal<Out, Bits<2>>,

    successor: Successor,
    out: Fifo<Outgoing, 1, 2>,
    /// Whose turn it is: a class, or 3 for interrupts.
    turn: DFF<Bits<2>>,
    /// The source that has the turn is in the middle of a packet.
    active: DFF<bool>,
    /// Which sources have the credits for a packet.
    allowed: DFF<Bits<4>>,
    /// The source whose beat is taken if there is room, one-hot: the one that has the turn, if a packet is under way or it may start one.
    ready: DFF<Bits<4>>,
    /// Nothing is under way that the credits may not count yet.
    exact: DFF<bool>,
    /// `hold`, a cycle later.
    held: DFF<bool>,
    /// `mute`, a cycle later.
    muted: DFF<bool>,

    units: Signal<Local, Bits<12>>,
    header_p: Signal<Local, bool>,
    header_n: Signal<Local, bool>,
    header_c: Signal<Local, bool>,
    data_p: Signal<Local, bool>,
    data_c: Signal<Local, bool>,
    waiting: Signal<Local, Bits<4>>,
    /// The turn, one-hot.
    whose: Signal<Local, Bits<4>>,
    next_one: Signal<Local, Bits<4>>,
    room: Signal<Local, bool>,
    passes: Signal<Local, bool>,
    offered: Signal<Local, bool>,
    moved: Signal<Local, bool>,
    beat: Signal<Local, TlpBeat>,
    lasts: Signal<Local, Bits<4>>,
    last: Signal<Local, bool>,
    on_show: Signal<Local, Outgoing>,
}

impl Logic for TlpTransmit {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, turn, active, allowed, ready, exact, held, muted);
        clock!(self, clock, out);
        self.out.reset.next = self.reset.val();

        // Credits, twice as many while the last packet may not be counted.
        self.units.next = self.credit.pd.val() >> self.max_payload.val();
        self.header_p.next = self.credit.ph.val().get_bits::<7>(1).any()
            | (self.exact.q.val() & self.credit.ph.val().get_bit(0));
        self.header_n.next = self.credit.nph.val().get_bits::<7>(1).any()
            | (self.exact.q.val() & self.credit.nph.val().get_bit(0));
        self.header_c.next = self.credit.ch.val().get_bits::<7>(1).any()
            | (self.exact.q.val() & self.credit.ch.val().get_bit(0));
        self.data_p.next =
            self.units.val().get_bits::<8>(4).any() | (self.exact.q.val() & self.units.val().get_bit(3));
        self.data_c.next = self.credit.cd.val().get_bits::<11>(1).any()
            | (self.exact.q.val() & self.credit.cd.val().get_bit(0));
        self.allowed.d.next = bits::<4>(0);
        if self.bus_master.val() & self.header_p.val() & self.data_p.val() & !self.hold.val() {
            self.allowed.d.next = self.allowed.d.val() | bits::<4>(9);
        }
        if self.bus_master.val() & self.header_n.val() & !self.hold.val() {
            self.allowed.d.next = self.allowed.d.val() | bits::<4>(2);
        }
        if self.header_c.val() & self.data_c.val() & !self.mute.val() {
            self.allowed.d.next = self.allowed.d.val() | bits::<4>(4);
        }

        self.held.d.next = self.hold.val();
        self.muted.d.next = self.mute.val();
        // A cycle ago nothing was half taken, and nothing waited to leave.
        self.settled.next = self.held.q.val()
            & !self.active.q.val()
            & (!self.mute.val() | (self.muted.q.val() & self.exact.q.val()));

        // The sources that could send.
        self.waiting.next = bits::<4>(0);
        if self.posted.valid.val() {
            self.waiting.next = self.waiting.val() | bits::<4>(1);
        }
        if self.nonposted.valid.val() {
            self.waiting.next = self.waiting.val() | bits::<4>(2);
        }
        if self.completion.valid.val() {
            self.waiting.next = self.waiting.val() | bits::<4>(4);
        }
        if self.message.valid.val() {
            self.waiting.next = self.waiting.val() | bits::<4>(8);
        }
        // Whose turn it is, and its beat.
        self.room.next = self.out.sink.ready.val();
        self.posted.ready.next = self.room.val() & self.ready.q.val().get_bit(0);
        self.nonposted.ready.next = self.room.val() & self.ready.q.val().get_bit(1);
        self.completion.ready.next = self.room.val() & self.ready.q.val().get_bit(2);
        self.message.ready.next = self.room.val() & self.ready.q.val().get_bit(3);
        self.offered.next = (self.waiting.val() & self.ready.q.val()).any();
        if self.turn.q.val() == bits::<2>(0) {
            self.beat.next = self.posted.data.val();
            self.whose.next = bits::<4>(1);
        } else if self.turn.q.val() == bits::<2>(1) {
            self.beat.next = self.nonposted.data.val();
            self.whose.next = bits::<4>(2);
        } else if self.turn.q.val() == bits::<2>(2) {
            self.beat.next = self.completion.data.val();
            self.whose.next = bits::<4>(4);
        } else {
            self.beat.next = self.message.data.val();
            self.whose.next = bits::<4>(8);
        }
        self.out.sink.valid.next = self.offered.val();
        self.out.sink.data.next.data = self.beat.val().data;
        self.out.sink.data.next.keep = self.beat.val().keep;
        self.out.sink.data.next.last = self.beat.val().last;
        self.out.sink.data.next.class = self.turn.q.val();
        if self.turn.q.val().all() {
            self.out.sink.data.next.class = bits::<2>(0);
        }
        self.moved.next = self.offered.val() & self.out.sink.ready.val();
        // Whether it is a packet's last, without a look at whose it is.
        self.lasts.next = bits::<4>(0);
        if self.posted.valid.val() & self.posted.data.val().last {
            self.lasts.next = self.lasts.val() | bits::<4>(1);
        }
        if self.nonposted.valid.val() & self.nonposted.data.val().last {
            self.lasts.next = self.lasts.val() | bits::<4>(2);
        }
        if self.completion.valid.val() & self.completion.data.val().last {
            self.lasts.next = self.lasts.val() | bits::<4>(4);
        }
        if self.message.valid.val() & self.message.data.val().last {
            self.lasts.next = self.lasts.val() | bits::<4>(8);
        }
        self.last.next = (self.lasts.val() & self.ready.q.val()).any();
        if self.moved.val() {
            self.active.d.next = !self.last.val();
        }
        self.passes.next =
            (self.moved.val() & self.last.val()) | (!self.offered.val() & !self.active.q.val());
        self.successor.turn.next = self.whose.val();
        self.successor.request.next = self.waiting.val() & self.allowed.q.val();
        self.next_one.next = self.successor.grant.val();
        self.ready.d.next = self.whose.val() & self.allowed.d.val();
        if self.active.d.val() {
            self.ready.d.next = self.whose.val();
        }
        if self.passes.val() & self.successor.valid.val() {
            self.turn.d.next = bits::<2>(0);
            if self.next_one.val().get_bit(1) {
                self.turn.d.next = bits::<2>(1);
            }
            if self.next_one.val().get_bit(2) {
                self.turn.d.next = bits::<2>(2);
            }
            if self.next_one.val().get_bit(3) {
                self.turn.d.next = bits::<2>(3);
            }
            self.ready.d.next = self.next_one.val() & self.allowed.d.val();
        }

        // The beat leaves.
        self.on_show.next = self.out.source.data.val();
        self.tx.valid.next = self.out.source.valid.val();
        self.tx.data.next.data = self.on_show.val().data;
        self.tx.data.next.keep = self.on_show.val().keep;
        self.tx.data.next.last = self.on_show.val().last;
        self.tx_class.next = self.on_show.val().class;
        self.out.source.ready.next = self.tx.ready.val();

        self.exact.d.next = !self.moved.val() & !self.active.q.val() & !self.out.source.valid.val();

        if self.reset.val() {
            self.turn.d.next = bits::<2>(0);
            self.active.d.next = false;
            self.allowed.d.next = bits::<4>(0);
            self.ready.d.next = bits::<4>(0);
            self.exact.d.next = false;
            self.held.d.next = false;
            self.muted.d.next = false;
        }
    }
}
