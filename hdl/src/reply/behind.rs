//! Tells which requests of a VI come behind another one.
//!
//! ```text
//!  slot, oldest ──►┌────────┐──► behind
//!                  └────────┘
//! ```
//! Contract: slots are used in turn, so in the order of the requests they are `oldest`, `oldest` + 1, ..., `oldest` - 1. `behind` has a
//! bit for each slot, and those between `slot` and the end of that order are set.
//!
//! Example: `oldest` is 1, so the order is 1, 2, 3, 0. Behind `slot` 2 come 3 and 0: `behind` is 1001.
//!
//! Latency: none, no state. Tests: with the whole, `tests/reply/requests/`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Behind {
    /// The slot that is looked at, 0 to 3; `Requests` drives it.
    pub slot: Signal<In, Bits<2>>,
    /// The slot of the VI's oldest request, which its next new request will use.
    pub oldest: Signal<In, Bits<2>>,
    /// A bit for each slot: its request came later than that in `slot`.
    pub behind: Signal<Out, Bits<4>>,
}

impl Logic for Behind {
    #[hdl_gen]
    fn update(&mut self) {
        self.behind.next = bits::<4>(0);
        match self.slot.val().index() {
            0 => match self.oldest.val().index() {
                1 => {
                    self.behind.next = bits::<4>(0);
                }
                2 => {
                    self.behind.next = bits::<4>(2);
                }
                3 => {
                    self.behind.next = bits::<4>(6);
                }
                _ => {
                    self.behind.next = bits::<4>(14);
                }
            },
            1 => match self.oldest.val().index() {
                2 => {
                    self.behind.next = bits::<4>(0);
                }
                3 => {
                    self.behind.next = bits::<4>(4);
                }
                0 => {
                    self.behind.next = bits::<4>(12);
                }
                _ => {
                    self.behind.next = bits::<4>(13);
                }
            },
            2 => match self.oldest.val().index() {
                3 => {
                    self.behind.next = bits::<4>(0);
                }
                0 => {
                    self.behind.next = bits::<4>(8);
                }
                1 => {
                    self.behind.next = bits::<4>(9);
                }
                _ => {
                    self.behind.next = bits::<4>(11);
                }
            },
            _ => match self.oldest.val().index() {
                0 => {
                    self.behind.next = bits::<4>(0);
                }
                1 => {
                    self.behind.next = bits::<4>(1);
                }
                2 => {
                    self.behind.next = bits::<4>(3);
                }
                _ => {
                    self.behind.next = bits::<4>(7);
                }
            },
        }
    }
}
