//! Which requests of a VI come behind another.
//!
//! ```text
//!  slot, oldest ──►┌────────┐──► behind
//!                  └────────┘
//! ```
//! Contract: slots are used in turn, so in the order of the requests they are `oldest`, `oldest` + 1, ..., `oldest` - 1. `behind` are
//! those between `slot` and the end: a bit each.
//!
//! Latency: none, no state. Tests: with the whole, `tests/reply/requests/`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Behind {
    /// The slot.
    pub slot: Signal<In, Bits<2>>,
    /// The VI's oldest: that of its next new request.
    pub oldest: Signal<In, Bits<2>>,
    /// Those behind it.
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
