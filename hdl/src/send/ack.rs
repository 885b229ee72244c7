//! Acknowledgements wait here until the writes before them are out, and until they can be sent.
//!
//! ```text
//!   request, request_mark ──►┌──────────────────────────────┐
//!                 retired ──►│ queue ─► per-VI row ─► offer │──► ack
//!                            └──────────────────────────────┘──► busy
//! ```
//! Contract: the oldest request waits until `retired` has reached its mark (both count modulo 256; no more than 127
//! writes are in between). Then it becomes its VI's row: a newer one that comes before the row is sent takes its
//! place, except that an ACK of a lower PSN does not displace a NAK. VIs are served in turn. What is offered is no
//! longer coalesced.
//!
//! Latency: 7 cycles from a request whose mark is reached to `ack`. Throughput: one request every 3 cycles.
//!
//! Tests: `tests/send/ack.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;

use crate::bus::{AckRequest, Vi};
use crate::literal::Literal;
use crate::prims::{LutRam, Ram, RamFifo, RunQueue};

/// VIs and one more, for the run queue.
const VI_LOG2_PLUS_1: usize = VI_LOG2 + 1;

/// A request that waits for its mark.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Waiting {
    request: Bits<56>,
    vi: Vi,
    mark: Bits<8>,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Store,
    Offer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ack {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// An acknowledgement to send.
    pub request_valid: Signal<In, bool>,
    /// The acknowledgement.
    pub request: Signal<In, AckRequest>,
    /// Write commands that must have retired before, modulo 256.
    pub request_mark: Signal<In, Bits<8>>,
    /// It is taken.
    pub request_ready: Signal<Out, bool>,
    /// Write commands retired, modulo 256.
    pub retired: Signal<In, Bits<8>>,
    /// An acknowledgement may be sent.
    pub ack_valid: Signal<Out, bool>,
    /// The acknowledgement.
    pub ack: Signal<Out, AckRequest>,
    /// It is taken.
    pub ack_ready: Signal<In, bool>,
    /// Something waits.
    pub busy: Signal<Out, bool>,
    queue: RamFifo<Waiting, 5, 6>,
    rows: Ram<Bits<56>, { VI_LOG2 }>,
    /// The VI's row has not been sent; all cleared after reset, while `turns` clears itself.
    waiting: LutRam<bool, { VI_LOG2 }>,
    sweep: DFF<Vi>,
    turns: RunQueue<{ VI_LOG2 }, { VI_LOG2_PLUS_1 }>,
    step: DFF<State>,
    offered: DFF<bool>,
    offer: DFF<Bits<56>>,
    offer_vi: DFF<Vi>,
    newest: Signal<Local, Bits<56>>,
    head: Signal<Local, Bits<56>>,
    vi: Signal<Local, Vi>,
    ahead: Signal<Local, Bits<8>>,
    released: Signal<Local, bool>,
    row: Signal<Local, Bits<56>>,
    distance: Signal<Local, Bits<24>>,
    keeps: Signal<Local, bool>,
    takes: Signal<Local, bool>,
    positive: Literal<2, 0>,
}

impl Logic for Ack {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, sweep, step, offered, offer, offer_vi);
        clock!(self, clock, queue, rows, waiting, turns);
        self.queue.reset.next = self.reset.val();
        self.turns.reset.next = self.reset.val();

        // A row: PSN in bits 23:0, MSN in 47:24, syndrome in 55:48.
        self.newest.next = bit_cast::<56, 24>(self.request.val().psn)
            | (bit_cast::<56, 24>(self.request.val().msn) << 24)
            | (bit_cast::<56, 8>(self.request.val().syndrome) << 48);
        self.queue.in_valid.next = self.request_valid.val();
        self.queue.in_data.next.request = self.newest.val();
        self.queue.in_data.next.vi = self.request.val().vi;
        self.queue.in_data.next.mark = self.request_mark.val();
        self.request_ready.next = self.queue.in_ready.val();
        self.head.next = self.queue.out_data.val().request;
        self.vi.next = self.queue.out_data.val().vi;
        self.ahead.next = self.retired.val() - self.queue.out_data.val().mark;
        self.released.next =
            self.queue.out_valid.val() & !self.ahead.val().get_bit(7) & !self.turns.busy.val();

        // An ACK (syndrome bits 6:5 zero) does not displace a NAK of a higher PSN.
        self.row.next = self.rows.read_data.val();
        self.distance.next =
            self.head.val().get_bits::<24>(0) - self.row.val().get_bits::<24>(0);
        self.waiting.read_address.next = self.vi.val();
        self.keeps.next = self.waiting.read_data.val()
            & (self.row.val().get_bits::<2>(53) != self.positive.val())
            & (self.head.val().get_bits::<2>(53) == self.positive.val())
            & self.distance.val().get_bit(23);

        self.takes.next = !self.offered.q.val() & self.turns.pop_valid.val();
        self.queue.out_ready.next = false;
        self.turns.push_valid.next = false;
        self.turns.push_id.next = self.vi.val();
        self.turns.pop_ready.next = false;
        self.rows.read_address.next = self.vi.val();
        self.rows.write_enable.next = false;
        self.rows.write_address.next = self.vi.val();
        self.rows.write_data.next = self.head.val();
        self.waiting.write_enable.next = false;
        self.waiting.write_address.next = self.vi.val();
        self.waiting.write_data.next = true;
        match self.step.q.val() {
            State::Idle => {
                if self.takes.val() {
                    self.rows.read_address.next = self.turns.pop_id.val();
                    self.offer_vi.d.next = self.turns.pop_id.val();
                    self.turns.pop_ready.next = true;
                    self.waiting.write_enable.next = true;
                    self.waiting.write_address.next = self.turns.pop_id.val();
                    self.waiting.write_data.next = false;
                    self.step.d.next = State::Offer;
                } else if self.released.val() {
                    self.step.d.next = State::Store;
                }
            }
            State::Store => {
                self.rows.write_enable.next = !self.keeps.val();
                // The row is not looked at in the cycle in which it is written.
                self.rows.read_address.next = self.offer_vi.q.val();
                self.waiting.write_enable.next = true;
                self.turns.push_valid.next = true;
                self.queue.out_ready.next = true;
                self.step.d.next = State::Idle;
            }
            State::Offer => {
                self.offer.d.next = self.row.val();
                self.offered.d.next = true;
                self.step.d.next = State::Idle;
            }
            _ => {}
        }
        if self.turns.busy.val() {
            self.sweep.d.next = self.sweep.q.val() + 1;
            self.waiting.write_enable.next = true;
            self.waiting.write_address.next = self.sweep.q.val();
            self.waiting.write_data.next = false;
        }
        self.ack_valid.next = self.offered.q.val();
        self.ack.next.vi = self.offer_vi.q.val();
        self.ack.next.psn = self.offer.q.val().get_bits::<24>(0);
        self.ack.next.msn = self.offer.q.val().get_bits::<24>(24);
        self.ack.next.syndrome = self.offer.q.val().get_bits::<8>(48);
        if self.offered.q.val() & self.ack_ready.val() {
            self.offered.d.next = false;
        }
        self.busy.next = self.queue.out_valid.val()
            | self.turns.pop_valid.val()
            | self.offered.q.val()
            | (self.step.q.val() != State::Idle);
        if self.reset.val() {
            self.step.d.next = State::Idle;
            self.offered.d.next = false;
        }
    }
}
