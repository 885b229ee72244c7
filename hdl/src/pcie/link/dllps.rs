//! Reads the DLLPs that come.
//!
//! ```text
//!  begins ──►┌───────┐
//!   piece ──►│ Dllps │──► heard
//!  ending ──►└───────┘
//! ```
//! Contract: a DLLP of six bytes with a right CRC gives one `heard`. One that is damaged, of another length or ended by EDB gives nothing.
//! Of a type that is unknown, or means nothing to an endpoint, no flag is high. Reserved bits are ignored.
//!
//! Latency: 2 cycles from `ending`.
//!
//! Example: the words 0000 FF0F A825 and END give `heard` with `ack` and the number 4095.
//!
//! Tests: `tests/pcie/link/checks.rs`, and with the whole.

use super::dllp_crc::{DllpCrc, RESIDUE};
use super::packet::{Ending, Heard, Piece};
use crate::prims::Number;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Dllps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is heard.
    pub reset: Signal<In, bool>,
    /// A packet begins; from `Deframe`, as all inputs.
    pub begins: Signal<In, bool>,
    /// A word of a packet.
    pub piece: FlowSink<Piece>,
    /// A packet has ended.
    pub ending: FlowSink<Ending>,
    /// A DLLP has come.
    pub heard: FlowSource<Heard>,
    crc: DllpCrc,
    /// Words so far; 4 is too many.
    count: DFF<Bits<3>>,
    first: DFF<Bits<16>>,
    second: DFF<Bits<16>>,
    /// A DLLP of the right length has ended, and whether its CRC was right.
    whole: DFF<bool>,
    right: DFF<bool>,
    word: Signal<Local, Bits<16>>,
    kind: Signal<Local, Bits<8>>,
    family: Signal<Local, Bits<2>>,
    sort: Signal<Local, Bits<2>>,
    /// A flow control DLLP of virtual channel 0.
    flow: Signal<Local, bool>,
    byte1: Signal<Local, Bits<8>>,
    byte2: Signal<Local, Bits<8>>,
    byte3: Signal<Local, Bits<8>>,
    upper: Signal<Local, Bits<6>>,
    lower: Signal<Local, Bits<2>>,
    nibble: Signal<Local, Bits<4>>,
    told: DFF<bool>,
    tell: DFF<Heard>,
    residue: Number<16, RESIDUE>,
    ack: Number<8, 0x00>,
    nak: Number<8, 0x10>,
    request_ack: Number<8, 0x24>,
}

impl Logic for Dllps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count, first, second, whole, right, told, tell);
        clock!(self, clock, crc);
        drive!(self, begins => crc.start; piece.data.val().data => word, crc.sink.data;
            piece.valid => crc.sink.valid);
        if self.piece.valid.val() {
            if self.count.q.val() != bits::<3>(4) {
                self.count.d.next = self.count.q.val() + 1;
            }
            if self.count.q.val() == bits::<3>(0) {
                self.first.d.next = self.word.val();
            }
            if self.count.q.val() == bits::<3>(1) {
                self.second.d.next = self.word.val();
            }
        }
        if self.begins.val() {
            self.count.d.next = bits::<3>(0);
        }
        self.whole.d.next = self.ending.valid.val()
            & !self.ending.data.val().tlp
            & !self.ending.data.val().edb
            & (self.count.q.val() == bits::<3>(3));
        self.right.d.next = self.crc.value.val() == self.residue.val();

        self.kind.next = self.first.q.val().get_bits::<8>(0);
        self.byte1.next = self.first.q.val().get_bits::<8>(8);
        self.byte2.next = self.second.q.val().get_bits::<8>(0);
        self.byte3.next = self.second.q.val().get_bits::<8>(8);
        self.family.next = self.kind.val().get_bits::<2>(6);
        self.sort.next = self.kind.val().get_bits::<2>(4);
        self.flow.next =
            (self.kind.val().get_bits::<4>(0) == bits::<4>(0)) & (self.sort.val() != bits::<2>(3));
        self.upper.next = self.byte1.val().get_bits::<6>(0);
        self.lower.next = self.byte2.val().get_bits::<2>(6);
        self.nibble.next = self.byte2.val().get_bits::<4>(0);
        self.told.d.next = self.whole.q.val() & self.right.q.val();
        self.tell.d.next.ack = self.kind.val() == self.ack.val();
        self.tell.d.next.nak = self.kind.val() == self.nak.val();
        self.tell.d.next.request_ack = self.kind.val() == self.request_ack.val();
        self.tell.d.next.init1 = self.flow.val() & (self.family.val() == bits::<2>(1));
        self.tell.d.next.init2 = self.flow.val() & (self.family.val() == bits::<2>(3));
        self.tell.d.next.update = self.flow.val() & (self.family.val() == bits::<2>(2));
        self.tell.d.next.class = self.sort.val();
        self.tell.d.next.headers =
            (bit_cast::<8, 6>(self.upper.val()) << 2) | bit_cast::<8, 2>(self.lower.val());
        self.tell.d.next.number =
            (bit_cast::<12, 4>(self.nibble.val()) << 8) | bit_cast::<12, 8>(self.byte3.val());
        drive!(self, told.q => heard.valid; tell.q => heard.data);
        if self.reset.val() {
            drive!(self, false => whole.d, told.d);
        }
    }
}
