//! What an answer from the wire means for its VI.
//!
//! ```text
//!      load, row ──►┌──────────┐──► finding, taken
//! window, answer ──►│ Answered │──► progress, open, reached, refusal
//!      connected ──►└──────────┘──► flight
//! ```
//! Contract: an answer is `taken` when its PSN is in flight; otherwise it is a Ghost. One that is taken moves the window to `reached`,
//! and is one of Moves, Missing, Insists, NotReady and Refused; or it is Deaf, and moves nothing.
//!
//! `answer` stands from the cycle of `load` on, in which `row` is the window as it comes from memory; `window` is the
//! same from the cycle behind on.
//!
//! Latency: 1 from `load`.
//!
//! Example: PSNs 10 to 14 are in flight and an ACK of 12 comes: `finding` is Moves, `taken`, `progress` and `open` are high, and
//! `reached` is 13.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/refusals.rs`.

use super::finding::Finding;
use super::window::Window;
use crate::arithmetic::InFlight;
use crate::bus::{syndrome_class, Acknowledged, SyndromeParts};
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::syndrome;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Answered {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// `row` is the VI's window in this cycle.
    pub load: Signal<In, bool>,
    /// The VI's window as the memory gives it, with `load`; `Findings` drives this and the other inputs.
    pub row: Signal<In, Window>,
    /// The VI's window, from the cycle behind `load` on.
    pub window: Signal<In, Window>,
    /// The answer from the wire.
    pub answer: Signal<In, Acknowledged>,
    /// The VI is connected: only then the answer has consequences.
    pub connected: Signal<In, bool>,
    /// Ghost, Deaf, Moves, Missing, Insists, NotReady or Refused.
    pub finding: Signal<Out, Finding>,
    /// The answer's PSN is in flight: the answer counts.
    pub taken: Signal<Out, bool>,
    /// The answer acknowledges packets: the window's oldest PSN is a later one.
    pub progress: Signal<Out, bool>,
    /// Packets are still in flight behind the answer.
    pub open: Signal<Out, bool>,
    /// The oldest PSN that the answer does not acknowledge.
    pub reached: Signal<Out, Bits<24>>,
    /// With Refused: why the peer refuses; see [`refusal`](super::refusal).
    pub refusal: Signal<Out, Bits<3>>,
    /// Number of packets in flight at `load`.
    pub flight: Signal<Out, Bits<24>>,
    /// Whether the answer's PSN is in flight, and how many are.
    flown: InFlight<24>,
    parts: Cast<Bits<8>, SyndromeParts>,
    syndrome: Signal<Local, SyndromeParts>,
    /// The syndrome is a NAK.
    nak: Signal<Local, bool>,
    is_taken: Signal<Local, bool>,
    /// The VI hears the answer: it is connected, or the answer is no refusal from `crate::bus::local`.
    heard: Signal<Local, bool>,
    /// `reached` is another PSN than the window's oldest.
    later: Signal<Local, bool>,
    /// The answer refuses a message.
    refuses: Signal<Local, bool>,
    /// The answer says that something is missing.
    missing: Signal<Local, bool>,
    /// The receiver is not ready.
    not_ready: Signal<Local, bool>,
    /// The answer says more than the one whose receiver's time runs.
    says_more: Signal<Local, bool>,
    /// The syndrome is one of `crate::bus::local`.
    inner: Signal<Local, bool>,
    /// `reached`.
    behind: DFF<Bits<24>>,
    ack_class: Number<2, { syndrome_class::ACK }>,
    rnr_class: Number<2, { syndrome_class::RNR }>,
    inner_class: Number<2, { syndrome_class::RESERVED }>,
    nak_class: Number<2, { syndrome_class::NAK }>,
    sequence_nak: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
}

impl Logic for Answered {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, behind);
        clock!(self, clock, flown);
        drive!(self, load => flown.load; answer.val().psn => flown.number; row.val().oldest => flown.oldest;
            row.val().fresh => flown.fresh; flown.size => flight; answer.val().syndrome => parts.from;
            parts.to => syndrome);
        self.nak.next = self.syndrome.val().class == self.nak_class.val();
        // This class is the NIC's own: `receive/reads` drops it when it comes from the wire.
        self.inner.next = self.syndrome.val().class == self.inner_class.val();
        // REQ-2: an answer to no PSN in flight is a ghost.
        self.is_taken.next = self.flown.in_flight.val();
        self.taken.next = self.is_taken.val();
        // REQ-2: an ACK acknowledges its own PSN, too. REQ-4, REQ-6: no NAK does.
        // A NAK acknowledges the packets before its PSN.
        self.behind.d.next = self.answer.val().psn;
        if self.syndrome.val().class == self.ack_class.val() {
            self.behind.d.next = self.answer.val().psn + 1;
        }
        self.reached.next = self.behind.q.val();
        self.later.next = self.behind.q.val() != self.window.val().oldest;
        self.open.next = self.behind.q.val() != self.window.val().fresh;
        // Such a refusal behind a read acknowledges what is before it, but not the read. The window of a VI that is not connected takes
        // no refusal, so it could not tell the two apart, and the answer is not heard.
        self.heard.next = self.connected.val() | !self.inner.val();
        self.progress.next = self.is_taken.val() & self.heard.val() & self.later.val();
        self.missing.next = self.answer.val().syndrome == self.sequence_nak.val();
        self.not_ready.next = self.syndrome.val().class == self.rnr_class.val();
        // REQ-4: every NAK but NAK_SEQUENCE refuses a message.
        self.refuses.next = (self.nak.val() & !self.missing.val()) | self.inner.val();
        self.refusal.next = bit_cast::<3, 2>(bit_cast::<2, 5>(self.syndrome.val().value));
        if self.inner.val() {
            self.refusal.next = bit_cast::<3, 5>(self.syndrome.val().value);
        }
        // REQ-6: an RNR_NAK or NAK_SEQUENCE that moves nothing leaves the time of the one before.
        self.says_more.next = !self.window.val().resting | self.later.val();

        self.finding.next = Finding::Ghost;
        if self.is_taken.val() {
            self.finding.next = Finding::Moves;
            if self.connected.val() {
                if self.refuses.val() {
                    self.finding.next = Finding::Refused;
                }
                if self.missing.val() {
                    self.finding.next = Finding::Insists;
                    if self.says_more.val() {
                        self.finding.next = Finding::Missing;
                    }
                }
                if self.not_ready.val() & self.says_more.val() {
                    self.finding.next = Finding::NotReady;
                }
            } else if self.inner.val() {
                self.finding.next = Finding::Deaf;
            }
        }
    }
}
