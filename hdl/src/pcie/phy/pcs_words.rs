//! Between the DCU's words of 24 bits and the symbols of the seam.
//!
//! ```text
//!  received ──►┌──────────┐──► rx_data, rx_k, rx_error
//!      sent ◄──│ PcsWords │◄── tx_data, tx_k, tx_idle
//!      idle ◄──│          │──► bad
//!              └──────────┘◄── ready
//! ```
//! Contract: a word has two symbols, in bits 8:0 and 20:12; the low one is first, the highest bit of each is K. What comes with it in bits 11:9
//! and 23:21 is a status as PIPE has it: 100 to 111 are symbols that are damaged. A symbol that is none comes as K 0xEE, too. While `ready`
//! is low every symbol is damaged. On the way out these bits are 0; `idle` goes with its word.
//!
//! Latency: one cycle each way.
//!
//! Example: COM and a D0.0 come in the word 0x000_1BC: `rx_data` is 0x00BC, `rx_k` 01, `rx_error` 00.
//!
//! Tests: `tests/pcie/phy/pcs_words.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PcsWords {
    /// Rising edge; `pclk`.
    pub clock: Signal<In, Clock>,
    /// A word of the DCU's.
    pub received: Signal<In, Bits<24>>,
    /// The receive side runs, from `RxStart`.
    pub ready: Signal<In, bool>,
    /// Two symbols received.
    pub rx_data: Signal<Out, Bits<16>>,
    /// Which of them are K.
    pub rx_k: Signal<Out, Bits<2>>,
    /// Which of them are damaged.
    pub rx_error: Signal<Out, Bits<2>>,
    /// One of them is damaged, whether the receive side is ready or not.
    pub bad: Signal<Out, bool>,
    /// Two symbols to send, from the seam.
    pub tx_data: Signal<In, Bits<16>>,
    /// Which symbols of `tx_data` are K, from the seam.
    pub tx_k: Signal<In, Bits<2>>,
    /// Electrical idle in place of both symbols of `tx_data`, from the seam.
    pub tx_idle: Signal<In, bool>,
    /// A word for the DCU.
    pub sent: Signal<Out, Bits<24>>,
    /// Electrical idle in place of that word.
    pub idle: Signal<Out, bool>,
    came: DFF<Bits<24>>,
    goes: DFF<Bits<24>>,
    is_idle: DFF<bool>,
    none: Number<9, 0x1ee>,
    low: Signal<Local, Bits<9>>,
    high: Signal<Local, Bits<9>>,
    low_status: Signal<Local, bool>,
    high_status: Signal<Local, bool>,
    low_bad: Signal<Local, bool>,
    high_bad: Signal<Local, bool>,
    word: Signal<Local, Bits<24>>,
    low_out: Signal<Local, Bits<8>>,
    high_out: Signal<Local, Bits<8>>,
    errors: Signal<Local, Bits<2>>,
    kinds: Signal<Local, Bits<2>>,
    low_byte: Signal<Local, Bits<8>>,
    high_byte: Signal<Local, Bits<8>>,
}

impl Logic for PcsWords {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, came, goes, is_idle);
        // In.
        drive!(self, received => came.d);
        self.low.next = self.came.q.val().get_bits::<9>(0);
        self.high.next = self.came.q.val().get_bits::<9>(12);
        self.low_status.next = self.came.q.val().get_bit(11);
        self.high_status.next = self.came.q.val().get_bit(23);
        self.low_bad.next = self.low_status.val() | (self.low.val() == self.none.val());
        self.high_bad.next = self.high_status.val() | (self.high.val() == self.none.val());
        self.bad.next = self.low_bad.val() | self.high_bad.val();
        self.errors.next = bits::<2>(0);
        if self.low_bad.val() | !self.ready.val() {
            self.errors.next = bits::<2>(1);
        }
        if self.high_bad.val() | !self.ready.val() {
            self.errors.next = self.errors.val() | bits::<2>(2);
        }
        drive!(self, errors => rx_error);
        self.kinds.next = bits::<2>(0);
        if self.low.val().get_bit(8) {
            self.kinds.next = bits::<2>(1);
        }
        if self.high.val().get_bit(8) {
            self.kinds.next = self.kinds.val() | bits::<2>(2);
        }
        drive!(self, kinds => rx_k);
        self.low_byte.next = self.low.val().get_bits::<8>(0);
        self.high_byte.next = self.high.val().get_bits::<8>(0);
        self.rx_data.next =
            bit_cast::<16, 8>(self.low_byte.val()) | (bit_cast::<16, 8>(self.high_byte.val()) << 8);

        // Out.
        self.low_out.next = self.tx_data.val().get_bits::<8>(0);
        self.high_out.next = self.tx_data.val().get_bits::<8>(8);
        self.word.next =
            bit_cast::<24, 8>(self.low_out.val()) | (bit_cast::<24, 8>(self.high_out.val()) << 12);
        if self.tx_k.val().get_bit(0) {
            self.word.next = self.word.val() | bits::<24>(0x100);
        }
        if self.tx_k.val().get_bit(1) {
            self.word.next = self.word.val() | bits::<24>(0x10_0000);
        }
        drive!(self, word => goes.d; goes.q => sent; tx_idle => is_idle.d; is_idle.q => idle);
    }
}
