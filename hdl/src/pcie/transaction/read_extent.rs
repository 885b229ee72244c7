//! Says which bytes a request asks for, as the completion without data says it.
//!
//! ```text
//!       word ──►┌────────────┐──► byte_count
//!   at, take ──►│ ReadExtent │──► lower_address
//!               └────────────┘
//! ```
//! Contract (PCI Express Base, "Completion Rules", Byte Count and Lower Address): a memory read goes from the first byte that is enabled
//! to the last one; a read without any enabled byte, which is a flush, has one byte. Every other request has 4 bytes from address 0 on.
//!
//! Latency: 2 cycles behind word 7 of the request.
//!
//! Example: a read of two double words from 0x10 on with First BE 1000 and Last BE 0001: `byte_count` is 2, `lower_address` 0x13.
//!
//! Tests: `tests/pcie/transaction/read_extent.rs`.

use crate::prims::{Cast, Number, Unpack, WireOrder};
use crate::rows::tlp::{FirstWordLow, RequestWordLow, TlpKind};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::packet_type;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadExtent {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Two bytes of the request, the first in the low half; this and the next two are from `Completer`.
    pub word: Signal<In, Bits<16>>,
    /// The word's number.
    pub at: Signal<In, Bits<3>>,
    /// The word counts. Words 0 to 7 come in order.
    pub take: Signal<In, bool>,
    /// Byte Count, 0 for 4096; to `Completer`.
    pub byte_count: Signal<Out, Bits<12>>,
    /// Lower Address; to `Completer`.
    pub lower_address: Signal<Out, Bits<7>>,
    /// The word as a number: its first byte is the high one.
    value: WireOrder<16>,
    /// The word, as each half of the header's double words that it may be. The kind is the first byte.
    kind: Unpack<Bits<16>, TlpKind>,
    first_low: Cast<Bits<16>, FirstWordLow>,
    request_low: Cast<Bits<16>, RequestWordLow>,
    packet_type: Signal<Local, Bits<5>>,
    /// The request is a memory read.
    reads_memory: DFF<bool>,
    /// Its header has 4 double words.
    long: DFF<bool>,
    /// In double words, 0 for 1024.
    length: DFF<Bits<10>>,
    /// The enabled bytes of the first double word.
    first_enables: DFF<Bits<4>>,
    /// The enabled bytes of the last double word; none if there is one double word.
    last_enables: DFF<Bits<4>>,
    /// Bits 6:2 of the address.
    address: DFF<Bits<5>>,
    /// The enabled bytes of the double word where the read ends.
    ending: Signal<Local, Bits<4>>,
    /// Bytes of the first double word before the read.
    bytes_before: Signal<Local, Bits<2>>,
    /// Bytes of the last double word behind the read.
    bytes_behind: Signal<Local, Bits<2>>,
    count: DFF<Bits<12>>,
    lower: DFF<Bits<7>>,
    memory_pair: Number<4, { packet_type::MEMORY as u64 / 2 }>,
}

impl Logic for ReadExtent {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            reads_memory,
            long,
            length,
            first_enables,
            last_enables,
            address,
            count,
            lower
        );
        drive!(self, count.q => byte_count; lower.q => lower_address);

        // The header.
        drive!(self, word => kind.from, value.from; value.to => first_low.from, request_low.from);
        self.packet_type.next = self.kind.to.val().packet_type;
        if self.take.val() {
            match self.at.val().index() {
                0 => {
                    self.reads_memory.d.next = !self.kind.to.val().with_data
                        & (self.packet_type.val().get_bits::<4>(1) == self.memory_pair.val());
                    self.long.d.next = self.kind.to.val().long;
                }
                1 => {
                    self.length.d.next = self.first_low.to.val().length;
                }
                3 => {
                    self.first_enables.d.next = self.request_low.to.val().first_be;
                    self.last_enables.d.next = self.request_low.to.val().last_be;
                }
                5 => {
                    self.address.d.next = bit_cast::<5, 16>(self.value.to.val() >> 2);
                }
                7 => {
                    if self.long.q.val() {
                        self.address.d.next = bit_cast::<5, 16>(self.value.to.val() >> 2);
                    }
                }
                _ => {}
            }
        }

        // The bytes.
        self.bytes_before.next = bits::<2>(0);
        if self.first_enables.q.val().any() & !self.first_enables.q.val().get_bit(0) {
            self.bytes_before.next = bits::<2>(1);
            if !self.first_enables.q.val().get_bit(1) {
                self.bytes_before.next = bits::<2>(2);
                if !self.first_enables.q.val().get_bit(2) {
                    self.bytes_before.next = bits::<2>(3);
                }
            }
        }
        self.ending.next = self.last_enables.q.val();
        if !self.last_enables.q.val().any() {
            self.ending.next = self.first_enables.q.val();
        }
        self.bytes_behind.next = bits::<2>(0);
        if !self.ending.val().get_bit(3) {
            self.bytes_behind.next = bits::<2>(1);
            if !self.ending.val().get_bit(2) {
                self.bytes_behind.next = bits::<2>(2);
                if !self.ending.val().get_bit(1) {
                    self.bytes_behind.next = bits::<2>(3);
                }
            }
        }
        self.count.d.next = bits::<12>(4);
        self.lower.d.next = bits::<7>(0);
        if self.reads_memory.q.val() {
            self.count.d.next = (bit_cast::<12, 10>(self.length.q.val()) << 2)
                - bit_cast::<12, 2>(self.bytes_before.val())
                - bit_cast::<12, 2>(self.bytes_behind.val());
            self.lower.d.next =
                (bit_cast::<7, 5>(self.address.q.val()) << 2) | bit_cast::<7, 2>(self.bytes_before.val());
        }
    }
}
