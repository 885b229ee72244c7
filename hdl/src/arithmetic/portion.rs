//! Tells how many of the bytes go into a limited room: the lesser of two numbers, and which of them it is.
//!
//! ```text
//!  bytes ──►┌─────────┐──► portion
//!   room ──►│ Portion │──► ends_bytes, ends_room
//!           └─────────┘
//! ```
//! Contract: `portion` is the lesser of `bytes` and `room`. `ends_bytes` says that it is all of the bytes, `ends_room` that it fills the
//! room; both are high if the two numbers are equal.
//!
//! Example: 1500 bytes of a message are left, and the path MTU gives room for 1024. `portion` is 1024, and `ends_room` alone is high. Then
//! 476 bytes are left: `portion` is 476, and `ends_bytes` alone is high.
//!
//! Latency: none, no state. How: the numbers are compared in 13 bits, so the carry chain is that long and not 32 bits; the high bits of
//! `bytes` are gates beside it. Tests: `tests/arithmetic/bytes.rs`; proof: `formal/portion.sv`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Portion {
    /// Bytes that are to be moved.
    pub bytes: Signal<In, Bits<32>>,
    /// Bytes for which there is room.
    pub room: Signal<In, Bits<13>>,
    /// Bytes that go into the room.
    pub portion: Signal<Out, Bits<13>>,
    /// All bytes go into the room.
    pub ends_bytes: Signal<Out, bool>,
    /// The bytes fill the room.
    pub ends_room: Signal<Out, bool>,
    low: Signal<Local, Bits<13>>,
    /// There are more bytes than 13 bits can count.
    many: Signal<Local, bool>,
    fits: Signal<Local, bool>,
}

impl Logic for Portion {
    #[hdl_gen]
    fn update(&mut self) {
        self.low.next = self.bytes.val().get_bits::<13>(0);
        self.many.next = self.bytes.val().get_bits::<19>(13).any();
        self.fits.next = !self.many.val() & (self.low.val() <= self.room.val());
        self.ends_bytes.next = self.fits.val();
        self.ends_room.next = !self.fits.val() | (self.low.val() == self.room.val());
        self.portion.next = self.room.val();
        if self.fits.val() {
            self.portion.next = self.low.val();
        }
    }
}
