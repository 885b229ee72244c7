//! What an answer from the wire means for its VI.
//!
//! ```text
//!      load, row ──►┌───────┐──► taken, after
//! window, answer ──►│ Judge │──► moved, open, rests, refuses
//!      connected ──►└───────┘──► flight
//! ```
//! Contract: an answer is `taken` when its PSN is in flight. It then moves the window (`after`), and asks for at most one of: to
//! send again, to rest first, to break. Otherwise `after` is the window as it is; so it is when a VI that is not connected hears
//! a refusal behind a read.
//!
//! `answer` stands from the cycle of `load` on, in which `row` is the window as it comes from memory; `window` is the
//! same from the cycle behind on.
//!
//! Latency: 1 from `load`.
//!
//! Example: PSNs 10 to 14 are in flight and an ACK of 12 comes: `taken`, `moved` and `open` are high, and the oldest PSN of `after` is 13.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/refusals.rs`.

use super::window::Window;
use crate::bus::Acknowledged;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::wire::syndrome;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Judge {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// `row` is the VI's window in this cycle.
    pub load: Signal<In, bool>,
    /// The VI's window as the memory gives it, with `load`.
    pub row: Signal<In, Window>,
    /// The VI's window, from the cycle behind `load` on.
    pub window: Signal<In, Window>,
    /// The answer from the wire.
    pub answer: Signal<In, Acknowledged>,
    /// The VI is connected: only then the answer has consequences.
    pub connected: Signal<In, bool>,
    /// The answer's PSN is in flight: the answer counts.
    pub taken: Signal<Out, bool>,
    /// The window as the answer leaves it.
    pub after: Signal<Out, Window>,
    /// The answer acknowledges packets: the window's oldest PSN is a later one.
    pub moved: Signal<Out, bool>,
    /// Packets are still in flight behind the answer.
    pub open: Signal<Out, bool>,
    /// The peer has no receive: the VI sends again from there after a while.
    pub rests: Signal<Out, bool>,
    /// The peer refuses the message for good.
    pub refuses: Signal<Out, bool>,
    /// Number of packets in flight at `load`.
    pub flight: Signal<Out, Bits<24>>,
    /// Packets from the window's oldest to the answer's.
    distance: DFF<Bits<24>>,
    /// `flight`, a cycle later.
    loaded_flight: DFF<Bits<24>>,
    syndrome: Signal<Local, Bits<8>>,
    /// Class of the syndrome: bits 6:5.
    group: Signal<Local, Bits<2>>,
    /// The syndrome is a NAK.
    nak: Signal<Local, bool>,
    is_taken: Signal<Local, bool>,
    /// The answer moves the window.
    moves: Signal<Local, bool>,
    later: Signal<Local, bool>,
    refused: Signal<Local, bool>,
    rested: Signal<Local, bool>,
    refusal: Signal<Local, Bits<3>>,
    /// The syndrome is one of `crate::bus::local`.
    inner: Signal<Local, bool>,
    reached: DFF<Bits<24>>,
    sequence_nak: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
}

// The classes below are bits 6:5 of the syndrome.
const _: () =
    assert!(syndrome::ACK >> 5 == 0 && syndrome::RNR_NAK >> 5 == 1 && syndrome::NAK_SEQUENCE >> 5 == 3);

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, distance, loaded_flight, reached);
        if self.load.val() {
            self.distance.d.next = self.answer.val().psn - self.row.val().oldest;
            self.loaded_flight.d.next = self.row.val().fresh - self.row.val().oldest;
        }
        self.flight.next = self.loaded_flight.q.val();
        self.syndrome.next = self.answer.val().syndrome;
        self.group.next = self.syndrome.val().get_bits::<2>(5);
        self.nak.next = self.group.val() == bits::<2>(3);
        // Class 2 does not come from the wire: `receive/reads` drops it there.
        self.inner.next = self.group.val() == bits::<2>(2);
        // REQ-2: an answer to no PSN in flight is a ghost.
        self.is_taken.next = self.distance.q.val() < self.loaded_flight.q.val();
        self.taken.next = self.is_taken.val();
        // REQ-2: an ACK acknowledges its own PSN, too. REQ-4, REQ-6: no NAK does.
        // A NAK acknowledges what is before its PSN.
        self.reached.d.next = self.answer.val().psn;
        if !self.group.val().any() {
            self.reached.d.next = self.answer.val().psn + 1;
        }
        self.later.next = self.reached.q.val() != self.window.val().oldest;
        // A refusal behind a read acknowledges what is before it, but not the read. A window that will not be refused any more could not
        // tell them apart.
        self.moves.next = self.is_taken.val() & (self.connected.val() | !self.inner.val());
        self.moved.next = self.moves.val() & self.later.val();
        self.open.next = self.reached.q.val() != self.window.val().fresh;
        // REQ-4: every NAK but NAK_SEQUENCE refuses a message.
        self.refused.next =
            (self.nak.val() & (self.syndrome.val() != self.sequence_nak.val())) | self.inner.val();
        self.refusal.next = bit_cast::<3, 2>(self.syndrome.val().get_bits::<2>(0));
        if self.inner.val() {
            self.refusal.next = self.syndrome.val().get_bits::<3>(0);
        }
        self.refuses.next = self.is_taken.val() & self.connected.val() & self.refused.val();
        // REQ-6: an RNR_NAK that moves nothing leaves the time of the one before.
        self.rested.next = (self.group.val() == bits::<2>(1))
            & (!self.window.val().resting | self.later.val())
            & self.connected.val();
        self.rests.next = self.is_taken.val() & self.rested.val();

        self.after.next = self.window.val();
        if self.moves.val() {
            self.after.next.oldest = self.reached.q.val();
            // REQ-6: progress ends that time.
            if self.later.val() {
                self.after.next.resting = false;
            }
            // REQ-4: NAK_SEQUENCE sends again. REQ-6: not while the receiver's time runs.
            if (self.syndrome.val() == self.sequence_nak.val()) & self.connected.val() {
                self.after.next.pending = !self.window.val().resting | self.later.val();
            }
            if self.rested.val() {
                self.after.next.resting = true;
                self.after.next.pending = false;
            }
            if self.refused.val() & self.connected.val() {
                self.after.next.refusal = self.refusal.val();
            }
        }
    }
}
