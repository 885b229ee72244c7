//! Makes one stream of transaction layer packets (TLPs) out of four sources, as far as the link partner's credits go.
//!
//! ```text
//!         posted, message ──►┌─────────────┐──► tx
//!   nonposted, completion ──►│ TlpTransmit │
//!      credit, bus_master ──►│             │──► settled
//! hold, mute, max_payload ──►└─────────────┘
//! ```
//! Contract: packets leave whole, and in order within a source. Registers say which source has the turn and whether it may start a packet.
//! After each packet, and when the source has no packet or no credits for it, the turn goes round robin to another source that has both. So
//! no class ever waits for the credits of another, and no source's path goes through another's. Interrupts (`message`) are posted, as
//! memory writes are; one may be withdrawn (`message.valid` falls) until its first beat is taken. The order on `tx` is the order on the
//! link: a block that must know that its write is ahead of something else waits until `tx` took it.
//! With Bus Master off, or under `hold`, no posted or non-posted packet starts, and under `mute` no completion. Under `hold`, `settled`
//! says that no packet is half taken; under `mute` too, that all packets have left.
//!
//! Credits are what may be sent now, in headers and in units of 16 bytes. A packet starts when there is room for the
//! largest of its class. For a posted packet that is `max_payload`, by which its source has cut it; the block does not look at the packet's
//! length, and loses nothing by that, because the specification makes every receiver offer at least that much. For a completion it is one
//! unit, which holds our 8 bytes. A packet on its way is not counted yet, so until it has left the block asks for twice as much, and
//! takes the larger size of both packets if `max_payload` has changed between them.
//! That is enough if the source of the credits has counted a packet in the cycle after its last beat was taken.
//!
//! Latency: 1 cycle, 1 more if another source had the turn; throughput: one beat every cycle. Outputs come from registers, which hold two beats,
//! and `tx.ready` reaches no `ready` of a source in the same cycle.
//!
//! Example: `posted` and `nonposted` each offer a packet, and `posted` has the turn: its packet leaves whole, then the turn goes to
//! `nonposted`. If there are no credits for non-posted packets, the turn stays with sources that have credits.
//!
//! Tests: `tests/tlp/transmit/`.

use super::{TlpCredits, TlpTx};
use crate::bus::TlpBeat;
use crate::prims::{Cast, Number, Skid, Successor};
use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::class;

/// A beat and its class on the way out.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Outgoing {
    data: Bits<64>,
    keep: Bits<2>,
    last: bool,
    class: Bits<2>,
}

/// One bit for each source of packets. The first three have the places of their classes, `viaduct_spec::tlp::class`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct BySource {
    /// The memory writes.
    pub posted: bool,
    /// The memory reads.
    pub nonposted: bool,
    /// The completions.
    pub completion: bool,
    /// The interrupts.
    pub message: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpTransmit {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is under way.
    pub reset: Signal<In, bool>,
    /// The memory writes, from `dma/write`.
    pub posted: Sink<TlpBeat>,
    /// The memory reads, from `dma/read`.
    pub nonposted: Sink<TlpBeat>,
    /// The completions, from `edge/complete`.
    pub completion: Sink<TlpBeat>,
    /// The interrupts, from `interrupt/vectors`: posted, too.
    pub message: Sink<TlpBeat>,
    /// What may be sent to the host now, by the link partner's credits; the PCIe endpoint drives this.
    pub credit: TlpCredits,
    /// The function may send memory requests: the Bus Master bit, from its configuration space.
    pub bus_master: Signal<In, bool>,
    /// No posted or non-posted packet may start, because a reset is to come; the NIC's `Reset` drives this.
    pub hold: Signal<In, bool>,
    /// No completion may start, because a function-level reset is to come; from the configuration space.
    pub mute: Signal<In, bool>,
    /// `hold` has been high for a cycle, and no packet is half out; `Reset` waits for it.
    pub settled: Signal<Out, bool>,
    /// Largest payload of a posted packet: 128 << n bytes; `cut` of `dma/write`.
    pub max_payload: Signal<In, Bits<3>>,
    /// The packets, to the host.
    pub tx: TlpTx,

    successor: Successor,
    out: Skid<Outgoing>,
    /// Whose turn it is: a class, or INTERRUPTS.
    turn: DFF<Bits<2>>,
    /// The source that has the turn is in the middle of a packet.
    active: DFF<bool>,
    /// Which sources have the credits for a packet.
    allowed: DFF<BySource>,
    /// The source whose beat is taken if there is room, one-hot: the one that has the turn, if a packet is under way or it may start one.
    ready: DFF<BySource>,
    /// Nothing is under way that the credits may not count yet.
    exact: DFF<bool>,
    /// At least the largest `max_payload` by which anything was cut that is under way.
    cut: DFF<Bits<3>>,
    /// `hold`, a cycle later.
    held: DFF<bool>,
    /// `mute`, a cycle later.
    muted: DFF<bool>,

    largest: Signal<Local, Bits<3>>,
    units: Signal<Local, Bits<12>>,
    header_p: Signal<Local, bool>,
    header_n: Signal<Local, bool>,
    header_c: Signal<Local, bool>,
    data_p: Signal<Local, bool>,
    data_c: Signal<Local, bool>,
    /// The turn, one bit high.
    whose: Signal<Local, BySource>,
    whose_bits: Cast<BySource, Bits<4>>,
    request: Signal<Local, BySource>,
    request_bits: Cast<BySource, Bits<4>>,
    grant: Cast<Bits<4>, BySource>,
    next_one: Signal<Local, BySource>,
    may_p: Signal<Local, bool>,
    room: Signal<Local, bool>,
    passes: Signal<Local, bool>,
    offered: Signal<Local, bool>,
    moved: Signal<Local, bool>,
    beat: Signal<Local, TlpBeat>,
    last: Signal<Local, bool>,
    on_show: Signal<Local, Outgoing>,
    posted_class: Number<2, { class::POSTED as u64 }>,
    nonposted_class: Number<2, { class::NON_POSTED as u64 }>,
    completion_class: Number<2, { class::COMPLETION as u64 }>,
    interrupts: Number<2, INTERRUPTS>,
}

/// The source of interrupts, beside the classes.
const INTERRUPTS: u64 = 3;

// The places of `BySource`.
const _: () = assert!(class::POSTED == 0 && class::NON_POSTED == 1 && class::COMPLETION == 2);

impl Logic for TlpTransmit {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, turn, active, allowed, ready, exact, cut, held, muted);
        clock!(self, clock, out);
        self.out.reset.next = self.reset.val();

        // Credits, twice as many while the last packet may not be counted.
        // Two codes ored are no less than either, and take fewer LUTs than the greater one.
        self.largest.next = self.max_payload.val() | self.cut.q.val();
        self.cut.d.next = self.largest.val();
        if self.exact.q.val() {
            self.cut.d.next = self.max_payload.val();
        }
        self.units.next = self.credit.pd.val() >> self.largest.val();
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
        self.may_p.next = self.bus_master.val() & self.header_p.val() & self.data_p.val() & !self.hold.val();
        self.allowed.d.next.posted = self.may_p.val();
        self.allowed.d.next.message = self.may_p.val();
        self.allowed.d.next.nonposted = self.bus_master.val() & self.header_n.val() & !self.hold.val();
        self.allowed.d.next.completion = self.header_c.val() & self.data_c.val() & !self.mute.val();

        self.held.d.next = self.hold.val();
        self.muted.d.next = self.mute.val();
        // No packet is half taken; under `mute` also none has waited to leave since a cycle ago.
        self.settled.next = self.held.q.val()
            & !self.active.q.val()
            & (!self.mute.val() | (self.muted.q.val() & self.exact.q.val()));

        // Whose turn it is, and its beat.
        self.room.next = self.out.sink.ready.val();
        self.posted.ready.next = self.room.val() & self.ready.q.val().posted;
        self.nonposted.ready.next = self.room.val() & self.ready.q.val().nonposted;
        self.completion.ready.next = self.room.val() & self.ready.q.val().completion;
        self.message.ready.next = self.room.val() & self.ready.q.val().message;
        self.offered.next = (self.posted.valid.val() & self.ready.q.val().posted)
            | (self.nonposted.valid.val() & self.ready.q.val().nonposted)
            | (self.completion.valid.val() & self.ready.q.val().completion)
            | (self.message.valid.val() & self.ready.q.val().message);
        fill!(self, whose, false => posted, nonposted, completion, message);
        if self.turn.q.val() == self.posted_class.val() {
            self.beat.next = self.posted.data.val();
            self.whose.next.posted = true;
        } else if self.turn.q.val() == self.nonposted_class.val() {
            self.beat.next = self.nonposted.data.val();
            self.whose.next.nonposted = true;
        } else if self.turn.q.val() == self.completion_class.val() {
            self.beat.next = self.completion.data.val();
            self.whose.next.completion = true;
        } else {
            self.beat.next = self.message.data.val();
            self.whose.next.message = true;
        }
        self.out.sink.valid.next = self.offered.val();
        fill!(self, out.sink.data, beat.val().data => data; beat.val().keep => keep; beat.val().last => last;
            turn.q => class);
        if self.turn.q.val() == self.interrupts.val() {
            self.out.sink.data.next.class = self.posted_class.val();
        }
        self.moved.next = self.offered.val() & self.out.sink.ready.val();
        // Whether the beat is a packet's last is found without waiting for the choice of its source.
        self.last.next = (self.posted.valid.val() & self.posted.data.val().last & self.ready.q.val().posted)
            | (self.nonposted.valid.val() & self.nonposted.data.val().last & self.ready.q.val().nonposted)
            | (self.completion.valid.val() & self.completion.data.val().last & self.ready.q.val().completion)
            | (self.message.valid.val() & self.message.data.val().last & self.ready.q.val().message);
        if self.moved.val() {
            self.active.d.next = !self.last.val();
        }
        self.passes.next =
            (self.moved.val() & self.last.val()) | (!self.offered.val() & !self.active.q.val());
        drive!(self, whose => whose_bits.from; whose_bits.to => successor.turn);
        self.request.next.posted = self.posted.valid.val() & self.allowed.q.val().posted;
        self.request.next.nonposted = self.nonposted.valid.val() & self.allowed.q.val().nonposted;
        self.request.next.completion = self.completion.valid.val() & self.allowed.q.val().completion;
        self.request.next.message = self.message.valid.val() & self.allowed.q.val().message;
        drive!(self, request => request_bits.from; request_bits.to => successor.request;
            successor.grant => grant.from; grant.to => next_one);
        self.ready.d.next.posted =
            self.whose.val().posted & (self.allowed.d.val().posted | self.active.d.val());
        self.ready.d.next.nonposted =
            self.whose.val().nonposted & (self.allowed.d.val().nonposted | self.active.d.val());
        self.ready.d.next.completion =
            self.whose.val().completion & (self.allowed.d.val().completion | self.active.d.val());
        self.ready.d.next.message =
            self.whose.val().message & (self.allowed.d.val().message | self.active.d.val());
        if self.passes.val() & self.successor.valid.val() {
            self.turn.d.next = self.posted_class.val();
            if self.next_one.val().nonposted {
                self.turn.d.next = self.nonposted_class.val();
            }
            if self.next_one.val().completion {
                self.turn.d.next = self.completion_class.val();
            }
            if self.next_one.val().message {
                self.turn.d.next = self.interrupts.val();
            }
            self.ready.d.next.posted = self.next_one.val().posted & self.allowed.d.val().posted;
            self.ready.d.next.nonposted = self.next_one.val().nonposted & self.allowed.d.val().nonposted;
            self.ready.d.next.completion = self.next_one.val().completion & self.allowed.d.val().completion;
            self.ready.d.next.message = self.next_one.val().message & self.allowed.d.val().message;
        }

        // The beat leaves.
        drive!(self, out.source.data => on_show; out.source.valid => tx.valid; on_show.val().data => tx.data;
            on_show.val().keep => tx.keep; on_show.val().last => tx.last; on_show.val().class => tx.class;
            tx.ready => out.source.ready);

        self.exact.d.next = !self.moved.val() & !self.active.q.val() & !self.out.source.valid.val();

        if self.reset.val() {
            self.turn.d.next = self.posted_class.val();
            self.active.d.next = false;
            self.allowed.d.next.posted = false;
            self.allowed.d.next.nonposted = false;
            self.allowed.d.next.completion = false;
            self.allowed.d.next.message = false;
            self.ready.d.next.posted = false;
            self.ready.d.next.nonposted = false;
            self.ready.d.next.completion = false;
            self.ready.d.next.message = false;
            self.exact.d.next = false;
            self.cut.d.next = bits::<3>(0);
            self.held.d.next = false;
            self.muted.d.next = false;
        }
    }
}
