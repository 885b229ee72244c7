//! Gives each packet its PSN, and finds the next one.
//!
//! ```text
//!  packet, known ──►[ PsnCount ]──► psn, last, behind
//! ```
//! Contract: a packet has the VI's next PSN, unless it brings one. `last` is the last PSN that it takes, `behind` the one behind that: a
//! read takes as many as its answer has packets. The block has no state.
//!
//! Latency: none.
//!
//! Example: a read comes, `known` is 100, and its answer has 3 packets. `psn` is 100, `last` 102 and `behind` 103.
//!
//! Tests: `tests/send/transmit/judges.rs`.

use rust_hdl::prelude::*;

use crate::bus::Packet;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PsnCount {
    /// The packet at hand, from gather.
    pub packet: Signal<In, Packet>,
    /// The VI's next PSN, from the sender.
    pub known: Signal<In, Bits<24>>,
    /// PSN of the packet, for its frame.
    pub psn: Signal<Out, Bits<24>>,
    /// The last PSN that the packet takes, for the report.
    pub last: Signal<Out, Bits<24>>,
    /// The PSN behind the last one: the VI's next PSN, for the sender.
    pub behind: Signal<Out, Bits<24>>,
    own: Signal<Local, Bits<24>>,
    doubled: Signal<Local, Bits<25>>,
    beyond: Signal<Local, Bits<25>>,
    more: Signal<Local, Bits<25>>,
}

impl Logic for PsnCount {
    #[hdl_gen]
    fn update(&mut self) {
        self.own.next = self.known.val();
        if self.packet.val().restart | self.packet.val().reply {
            self.own.next = self.packet.val().psn;
        }
        self.psn.next = self.own.val();
        // WIRE-4: a PSN for each packet; a read takes those of its answer.
        self.last.next = self.own.val() + self.packet.val().beyond;
        // One adder does both: the added one is a carry from below.
        self.doubled.next = (bit_cast::<25, 24>(self.own.val()) << 1) | bits::<25>(1);
        self.beyond.next = (bit_cast::<25, 24>(self.packet.val().beyond) << 1) | bits::<25>(1);
        self.more.next = self.doubled.val() + self.beyond.val();
        self.behind.next = self.more.val().get_bits::<24>(1);
    }
}
