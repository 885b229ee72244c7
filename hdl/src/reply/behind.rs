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
//! Latency: none, no state. Tests: `tests/reply/behind.rs`, all cases.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Behind {
    /// The slot that is looked at, 0 to 3; [`ReadQueues`](super::queues::ReadQueues) drives this and `oldest`.
    pub slot: Signal<In, Bits<2>>,
    /// The slot of the VI's oldest request, which its next new request will use.
    pub oldest: Signal<In, Bits<2>>,
    /// A bit for each slot: its request came later than that in `slot`.
    pub behind: Signal<Out, Bits<4>>,
    /// How many requests come before that in `slot`.
    rank: Signal<Local, Bits<2>>,
    /// Those behind it, in the order of the requests.
    later: Signal<Local, Bits<4>>,
    /// The same, turned so that the oldest is in its slot.
    turned: Signal<Local, Bits<8>>,
}

impl Logic for Behind {
    #[hdl_gen]
    fn update(&mut self) {
        self.rank.next = self.slot.val() - self.oldest.val();
        self.later.next = bits::<4>(14) << self.rank.val();
        self.turned.next = bit_cast::<8, 4>(self.later.val()) << self.oldest.val();
        self.behind.next = self.turned.val().get_bits::<4>(0) | self.turned.val().get_bits::<4>(4);
    }
}
