//! Says which number a code of [`EventCode`](super::EventCode) is.
//!
//! ```text
//!    code ──►[ EventNumber ]──► number
//! ```
//! Contract: the code is 0 for no event; with each event it shifts up by one, and bit 0 becomes high if bits 4 and 2 were equal. `number`
//! says how many shifts it is from 0. The block has no state.
//!
//! Latency: none.
//!
//! Example: 14 is the code behind 0, 1, 3 and 7: `number` is 4.
//!
//! Tests: with the whole, `tests/admin/counters.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EventNumber {
    /// A code of `EventCode`; `Counters`, which owns this block, drives it.
    pub code: Signal<In, Bits<5>>,
    /// The number of events that `code` means.
    pub number: Signal<Out, Bits<5>>,
}

impl Logic for EventNumber {
    #[hdl_gen]
    fn update(&mut self) {
        self.number.next = bits::<5>(0);
        match self.code.val().index() {
            1 => {
                self.number.next = bits::<5>(1);
            }
            3 => {
                self.number.next = bits::<5>(2);
            }
            7 => {
                self.number.next = bits::<5>(3);
            }
            14 => {
                self.number.next = bits::<5>(4);
            }
            28 => {
                self.number.next = bits::<5>(5);
            }
            25 => {
                self.number.next = bits::<5>(6);
            }
            18 => {
                self.number.next = bits::<5>(7);
            }
            4 => {
                self.number.next = bits::<5>(8);
            }
            8 => {
                self.number.next = bits::<5>(9);
            }
            17 => {
                self.number.next = bits::<5>(10);
            }
            2 => {
                self.number.next = bits::<5>(11);
            }
            5 => {
                self.number.next = bits::<5>(12);
            }
            10 => {
                self.number.next = bits::<5>(13);
            }
            21 => {
                self.number.next = bits::<5>(14);
            }
            11 => {
                self.number.next = bits::<5>(15);
            }
            23 => {
                self.number.next = bits::<5>(16);
            }
            15 => {
                self.number.next = bits::<5>(17);
            }
            30 => {
                self.number.next = bits::<5>(18);
            }
            29 => {
                self.number.next = bits::<5>(19);
            }
            27 => {
                self.number.next = bits::<5>(20);
            }
            22 => {
                self.number.next = bits::<5>(21);
            }
            13 => {
                self.number.next = bits::<5>(22);
            }
            26 => {
                self.number.next = bits::<5>(23);
            }
            20 => {
                self.number.next = bits::<5>(24);
            }
            9 => {
                self.number.next = bits::<5>(25);
            }
            19 => {
                self.number.next = bits::<5>(26);
            }
            6 => {
                self.number.next = bits::<5>(27);
            }
            12 => {
                self.number.next = bits::<5>(28);
            }
            24 => {
                self.number.next = bits::<5>(29);
            }
            16 => {
                self.number.next = bits::<5>(30);
            }
            _ => {}
        }
    }
}
