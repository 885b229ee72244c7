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
use super::packet::{Heard, PacketEnding, Piece};
use crate::prims::{Cast, Number};
use crate::rows::pcie_link::{Dllp, FlowKind};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::pcie_link::{dllp_kind, flow_family};

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
    pub ending: FlowSink<PacketEnding>,
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
    /// Its first two words.
    dllp: Cast<Bits<32>, Dllp>,
    kind: Signal<Local, Bits<8>>,
    flow_kind: Cast<Bits<8>, FlowKind>,
    /// A flow control DLLP of virtual channel 0.
    flow: Signal<Local, bool>,
    told: DFF<bool>,
    tell: DFF<Heard>,
    residue: Number<16, RESIDUE>,
    ack: Number<8, { dllp_kind::ACK as u64 }>,
    nak: Number<8, { dllp_kind::NAK as u64 }>,
    request_ack: Number<8, { dllp_kind::REQUEST_ACK as u64 }>,
    init1: Number<2, { flow_family::INIT1 as u64 }>,
    init2: Number<2, { flow_family::INIT2 as u64 }>,
    update: Number<2, { flow_family::UPDATE as u64 }>,
    no_class: Number<2, 3>,
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

        self.dllp.from.next =
            bit_cast::<32, 16>(self.first.q.val()) | (bit_cast::<32, 16>(self.second.q.val()) << 16);
        drive!(self, dllp.to.val().kind => kind, flow_kind.from);
        self.flow.next = (self.flow_kind.to.val().channel == bits::<4>(0))
            & (self.flow_kind.to.val().class != self.no_class.val());
        self.told.d.next = self.whole.q.val() & self.right.q.val();
        self.tell.d.next.ack = self.kind.val() == self.ack.val();
        self.tell.d.next.nak = self.kind.val() == self.nak.val();
        self.tell.d.next.request_ack = self.kind.val() == self.request_ack.val();
        self.tell.d.next.init1 = self.flow.val() & (self.flow_kind.to.val().family == self.init1.val());
        self.tell.d.next.init2 = self.flow.val() & (self.flow_kind.to.val().family == self.init2.val());
        self.tell.d.next.update = self.flow.val() & (self.flow_kind.to.val().family == self.update.val());
        self.tell.d.next.class = self.flow_kind.to.val().class;
        self.tell.d.next.headers = (bit_cast::<8, 6>(self.dllp.to.val().headers_high) << 2)
            | bit_cast::<8, 2>(self.dllp.to.val().headers_low);
        self.tell.d.next.number = (bit_cast::<12, 4>(self.dllp.to.val().number_high) << 8)
            | bit_cast::<12, 8>(self.dllp.to.val().number_low);
        drive!(self, told.q => heard.valid; tell.q => heard.data);
        if self.reset.val() {
            drive!(self, false => whole.d, told.d);
        }
    }
}
