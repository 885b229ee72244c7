//! Makes the DLLPs to send, the most urgent one first.
//!
//! ```text
//!      init1, init2, sort ──►┌────────────┐──► init_said
//!        nak_due, ack_due ──►│            │──► nak_said, ack_said
//! update_due, headers, .. ──►│ DllpSender │──► update_said
//!         ask_l1, ask_l23 ──►└────────────┘──► dllp
//! ```
//! Contract: the order is Nak, Ack, InitFC, UpdateFC, PM. A `_said` pulse comes in the cycle in which the block takes over what the DLLP says. A DLLP is
//! its four bytes without the check sum, byte 0 lowest. A PM DLLP that waits is taken back if its wish falls. While `mute` nothing new is
//! made.
//!
//! Latency: 1 cycle; the next DLLP is made when this one has been taken.
//!
//! Example: `ack_due` and `number` 4095 give 00 00 0F FF at `dllp`.
//!
//! Tests: with the whole, `tests/pcie/link/`.

use crate::prims::{Cast, Number};
use crate::rows::pcie_link::{Dllp, FlowKind};
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::pcie_link::{dllp_kind, flow_family};
use viaduct_spec::tlp::class;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DllpSender {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing waits.
    pub reset: Signal<In, bool>,
    /// InitFC1 is due; from `Activity`, as `init2` and `sort`.
    pub init1: Signal<In, bool>,
    /// InitFC2 is due.
    pub init2: Signal<In, bool>,
    /// The class of InitFC.
    pub sort: Signal<In, Bits<2>>,
    /// An InitFC is made.
    pub init_said: Signal<Out, bool>,
    /// A Nak is due; from `Acks`, as `ack_due` and `number`.
    pub nak_due: Signal<In, bool>,
    /// An Ack is due.
    pub ack_due: Signal<In, bool>,
    /// The sequence number that the Nak or the Ack names.
    pub number: Signal<In, Bits<12>>,
    /// The Nak is made.
    pub nak_said: Signal<Out, bool>,
    /// The Ack is made.
    pub ack_said: Signal<Out, bool>,
    /// UpdateFC is due; from `Grant`, as `headers` and `data`.
    pub update_due: Signal<In, bool>,
    /// Non-posted headers that are granted.
    pub headers: Signal<In, Bits<8>>,
    /// Non-posted data that is granted.
    pub data: Signal<In, Bits<12>>,
    /// UpdateFC is made.
    pub update_said: Signal<Out, bool>,
    /// PM_Enter_L1 is to be sent, over and over; from `Power`, as the two below.
    pub ask_l1: Signal<In, bool>,
    /// PM_Enter_L23 is to be sent.
    pub ask_l23: Signal<In, bool>,
    /// Nothing is to be sent any more.
    pub mute: Signal<In, bool>,
    /// The DLLP; to `Frame`.
    pub dllp: Source<Bits<32>>,
    waits: DFF<bool>,
    /// The DLLP that waits is a PM DLLP.
    power: DFF<bool>,
    /// The DLLP that waits.
    made: DFF<Dllp>,
    made_bits: Cast<Dllp, Bits<32>>,
    flow_kind: Cast<FlowKind, Bits<8>>,
    inits: Signal<Local, bool>,
    asks: Signal<Local, bool>,
    free: Signal<Local, bool>,
    is_answer: Signal<Local, bool>,
    value: Signal<Local, Bits<12>>,
    ack: Number<8, { dllp_kind::ACK as u64 }>,
    nak: Number<8, { dllp_kind::NAK as u64 }>,
    enter_l1: Number<8, { dllp_kind::ENTER_L1 as u64 }>,
    enter_l23: Number<8, { dllp_kind::ENTER_L23 as u64 }>,
    family_init1: Number<2, { flow_family::INIT1 as u64 }>,
    family_init2: Number<2, { flow_family::INIT2 as u64 }>,
    family_update: Number<2, { flow_family::UPDATE as u64 }>,
    non_posted: Number<2, { class::NON_POSTED as u64 }>,
    first_headers: Number<8, 8>,
    first_data: Number<12, 8>,
    count: Signal<Local, Bits<8>>,
}

impl Logic for DllpSender {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waits, power, made);
        drive!(self, waits.q => dllp.valid; made.q => made_bits.from; made_bits.to => dllp.data);

        // What is due.
        drive!(self, false => nak_said, ack_said, init_said, update_said);
        self.free.next = !self.waits.q.val() & !self.mute.val();
        self.inits.next = self.init1.val() | self.init2.val();
        self.asks.next = self.ask_l1.val() | self.ask_l23.val();
        self.is_answer.next = (self.nak_due.val() | self.ack_due.val()) & !self.init1.val();
        self.nak_said.next = self.free.val() & self.nak_due.val() & !self.init1.val();
        self.ack_said.next = self.free.val() & self.ack_due.val() & !self.nak_due.val() & !self.init1.val();
        self.init_said.next = self.free.val() & !self.is_answer.val() & self.inits.val();
        self.update_said.next =
            self.free.val() & !self.is_answer.val() & !self.inits.val() & self.update_due.val();

        // What the DLLP says.
        drive!(self, headers => count; data => value);
        if self.inits.val() {
            self.count.next = bits::<8>(0);
            self.value.next = bits::<12>(0);
            if self.sort.val() == self.non_posted.val() {
                self.count.next = self.first_headers.val();
                self.value.next = self.first_data.val();
            }
        }
        if self.is_answer.val() {
            self.count.next = bits::<8>(0);
            self.value.next = self.number.val();
        } else if !self.inits.val() & !self.update_due.val() {
            self.count.next = bits::<8>(0);
            self.value.next = bits::<12>(0);
        }
        self.flow_kind.from.next.channel = bits::<4>(0);
        fill!(self, flow_kind.from, sort => class; family_init1 => family);
        if self.init2.val() {
            self.flow_kind.from.next.family = self.family_init2.val();
        }
        if !self.inits.val() {
            self.flow_kind.from.next.class = self.non_posted.val();
            self.flow_kind.from.next.family = self.family_update.val();
        }
        if self.free.val() {
            self.made.d.next.headers_high = bit_cast::<6, 8>(self.count.val() >> 2);
            self.made.d.next.headers_low = bit_cast::<2, 8>(self.count.val());
            self.made.d.next.number_high = bit_cast::<4, 12>(self.value.val() >> 8);
            self.made.d.next.number_low = bit_cast::<8, 12>(self.value.val());
            self.made.d.next.reserved_14 = bits::<2>(0);
            self.made.d.next.reserved_20 = bits::<2>(0);
            self.waits.d.next =
                self.is_answer.val() | self.inits.val() | self.update_due.val() | self.asks.val();
            self.power.d.next = !self.is_answer.val() & !self.inits.val() & !self.update_due.val();
            if self.nak_due.val() & self.is_answer.val() {
                self.made.d.next.kind = self.nak.val();
            } else if self.is_answer.val() {
                self.made.d.next.kind = self.ack.val();
            } else if self.inits.val() | self.update_due.val() {
                self.made.d.next.kind = self.flow_kind.to.val();
            } else if self.ask_l23.val() {
                self.made.d.next.kind = self.enter_l23.val();
            } else {
                self.made.d.next.kind = self.enter_l1.val();
            }
        }
        if self.waits.q.val() & (self.dllp.ready.val() | (self.power.q.val() & !self.asks.val())) {
            self.waits.d.next = false;
        }
        if self.reset.val() {
            drive!(self, false => waits.d, power.d);
        }
    }
}
