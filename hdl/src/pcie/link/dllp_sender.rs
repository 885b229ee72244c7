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

use crate::prims::Number;
use crate::stream::Source;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

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
    kind: DFF<Bits<8>>,
    header_byte: DFF<Bits<8>>,
    third: DFF<Bits<8>>,
    fourth: DFF<Bits<8>>,
    inits: Signal<Local, bool>,
    asks: Signal<Local, bool>,
    free: Signal<Local, bool>,
    is_answer: Signal<Local, bool>,
    upper: Signal<Local, Bits<6>>,
    lower: Signal<Local, Bits<2>>,
    value: Signal<Local, Bits<12>>,
    value_high: Signal<Local, Bits<4>>,
    nak: Number<8, 0x10>,
    init1_kind: Number<8, 0x40>,
    init2_kind: Number<8, 0xc0>,
    update_kind: Number<8, 0x90>,
    enter_l1: Number<8, 0x20>,
    enter_l23: Number<8, 0x21>,
    first_headers: Number<8, 8>,
    first_data: Number<12, 8>,
    count: Signal<Local, Bits<8>>,
}

impl Logic for DllpSender {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waits, power, kind, header_byte, third, fourth);
        drive!(self, waits.q => dllp.valid);
        self.dllp.data.next = (bit_cast::<32, 8>(self.fourth.q.val()) << 24)
            | (bit_cast::<32, 8>(self.third.q.val()) << 16)
            | (bit_cast::<32, 8>(self.header_byte.q.val()) << 8)
            | bit_cast::<32, 8>(self.kind.q.val());

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

        // Its bytes.
        drive!(self, headers => count; data => value);
        if self.inits.val() {
            self.count.next = bits::<8>(0);
            self.value.next = bits::<12>(0);
            if self.sort.val() == bits::<2>(1) {
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
        self.upper.next = self.count.val().get_bits::<6>(2);
        self.lower.next = self.count.val().get_bits::<2>(0);
        self.value_high.next = self.value.val().get_bits::<4>(8);
        if self.free.val() {
            self.header_byte.d.next = bit_cast::<8, 6>(self.upper.val());
            self.third.d.next =
                (bit_cast::<8, 2>(self.lower.val()) << 6) | bit_cast::<8, 4>(self.value_high.val());
            self.fourth.d.next = self.value.val().get_bits::<8>(0);
            self.waits.d.next =
                self.is_answer.val() | self.inits.val() | self.update_due.val() | self.asks.val();
            self.power.d.next = !self.is_answer.val() & !self.inits.val() & !self.update_due.val();
            if self.nak_due.val() & self.is_answer.val() {
                self.kind.d.next = self.nak.val();
            } else if self.is_answer.val() {
                self.kind.d.next = bits::<8>(0);
            } else if self.init1.val() {
                self.kind.d.next = self.init1_kind.val() | (bit_cast::<8, 2>(self.sort.val()) << 4);
            } else if self.init2.val() {
                self.kind.d.next = self.init2_kind.val() | (bit_cast::<8, 2>(self.sort.val()) << 4);
            } else if self.update_due.val() {
                self.kind.d.next = self.update_kind.val();
            } else if self.ask_l23.val() {
                self.kind.d.next = self.enter_l23.val();
            } else {
                self.kind.d.next = self.enter_l1.val();
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
