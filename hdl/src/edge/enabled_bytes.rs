//! Finds from a load's byte enables which bytes it asks for: a completion has to repeat that.
//!
//! ```text
//!  first, last ──►┌──────────────┐──► first_byte
//!         pair ──►│ EnabledBytes │──► count
//!                 └──────────────┘
//! ```
//! Contract: the load is of one double word, or with `pair` of two. `first_byte` is the place of the first enabled byte of the first double
//! word, and `count` the number of bytes from there to the last enabled one of the last double word, the bytes between them included. A
//! double word without enables counts as if its lowest byte were enabled.
//!
//! Latency: none, no state.
//!
//! Example: a pair with first enables 1100 and last enables 0011: the first byte is in place 2, and `count` is 4.
//!
//! Tests: `tests/tlp/enabled_bytes.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EnabledBytes {
    /// Byte enables of the first double word; `TlpReceive` drives the inputs.
    pub first: Signal<In, Bits<4>>,
    /// Byte enables of the last double word; they count with `pair`.
    pub last: Signal<In, Bits<4>>,
    /// The load is of two double words.
    pub pair: Signal<In, bool>,
    /// Place of the first byte, 0 to 3; `TlpReceive` puts this and `count` into the load.
    pub first_byte: Signal<Out, Bits<3>>,
    /// Bytes from the first to the last one, 1 to 8.
    pub count: Signal<Out, Bits<4>>,
    lowest: Signal<Local, Bits<3>>,
    last_in_word: Signal<Local, Bits<4>>,
    last_byte: Signal<Local, Bits<3>>,
    span: Signal<Local, Bits<3>>,
}

impl Logic for EnabledBytes {
    #[hdl_gen]
    fn update(&mut self) {
        self.lowest.next = bits::<3>(0);
        if !self.first.val().get_bit(0) {
            if self.first.val().get_bit(1) {
                self.lowest.next = bits::<3>(1);
            } else if self.first.val().get_bit(2) {
                self.lowest.next = bits::<3>(2);
            } else if self.first.val().get_bit(3) {
                self.lowest.next = bits::<3>(3);
            }
        }
        self.last_in_word.next = self.first.val();
        self.last_byte.next = bits::<3>(0);
        if self.pair.val() {
            self.last_in_word.next = self.last.val();
            self.last_byte.next = bits::<3>(4);
        }
        if self.last_in_word.val().get_bit(3) {
            self.last_byte.next = self.last_byte.val() | bits::<3>(3);
        } else if self.last_in_word.val().get_bit(2) {
            self.last_byte.next = self.last_byte.val() | bits::<3>(2);
        } else if self.last_in_word.val().get_bit(1) {
            self.last_byte.next = self.last_byte.val() | bits::<3>(1);
        }
        self.span.next = self.last_byte.val() - self.lowest.val();
        self.count.next = bit_cast::<4, 3>(self.span.val()) + 1;
        self.first_byte.next = self.lowest.val();
    }
}
