//! Turns the number of lanes of a beat that hold a byte into a mask, and back.
//!
//! ```text
//!   count 4 ──► [ Keep ] ──► keep 8        keep 8 ──► [ LaneCount ] ──► count 4
//! ```
//! Contract: `keep` has the lowest `count` bits set. `count` is 1 to 8; a mask without its lowest bit counts as 1.
//!
//! Latency: none; logic alone.
//!
//! Example: 5 is `00011111`.
//!
//! Tests: `tests/prims/lanes.rs`.

use super::Number;
use rust_hdl::prelude::*;

/// From a count to a mask.
#[derive(LogicBlock, Default)]
pub struct Keep {
    /// Number of lanes that hold a byte, 1 to 8.
    pub count: Signal<In, Bits<4>>,
    /// One bit for each lane that holds a byte, from the lowest on.
    pub keep: Signal<Out, Bits<8>>,
    /// Lanes that hold none.
    missing: Signal<Local, Bits<4>>,
    eight: Number<4, 8>,
    all: Number<8, 0xff>,
}

impl Logic for Keep {
    #[hdl_gen]
    fn update(&mut self) {
        self.missing.next = self.eight.val() - self.count.val();
        self.keep.next = self.all.val() >> self.missing.val();
    }
}

/// From a mask to a count.
#[derive(LogicBlock, Default)]
pub struct LaneCount {
    /// One bit for each lane that holds a byte, from the lowest on.
    pub keep: Signal<In, Bits<8>>,
    /// Number of lanes that hold a byte, 1 to 8.
    pub count: Signal<Out, Bits<4>>,
    eight: Number<4, 8>,
}

impl Logic for LaneCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.count.next = self.eight.val();
        if !self.keep.val().get_bit(7) {
            self.count.next = bits::<4>(7);
        }
        if !self.keep.val().get_bit(6) {
            self.count.next = bits::<4>(6);
        }
        if !self.keep.val().get_bit(5) {
            self.count.next = bits::<4>(5);
        }
        if !self.keep.val().get_bit(4) {
            self.count.next = bits::<4>(4);
        }
        if !self.keep.val().get_bit(3) {
            self.count.next = bits::<4>(3);
        }
        if !self.keep.val().get_bit(2) {
            self.count.next = bits::<4>(2);
        }
        if !self.keep.val().get_bit(1) {
            self.count.next = bits::<4>(1);
        }
    }
}
