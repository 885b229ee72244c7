//! Divides a number of bytes into packets.
//!
//! ```text
//!  load, bytes, some, mtu ──►┌───────────────┐──► done, packets
//!                            │ PacketDivider │
//!                            └───────────────┘
//! ```
//! Contract: when `done`, `packets` is `bytes` divided by 256 << `mtu`, rounded up; of no bytes with `some` it is 1. `some` is low with
//! any other number.
//!
//! Example: 4097 bytes with `mtu` 4 (4096 bytes a packet) are 2 packets, 5 cycles after `load`.
//!
//! Latency: 1 + `mtu` cycles from `load`: a shift in each. Tests: `tests/reply/packet_divider.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketDivider {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Pulse: a new count begins with `bytes`, `some` and `mtu`; [`AnswerSize`](super::answer_size::AnswerSize) drives this and the other
    /// inputs.
    pub load: Signal<In, bool>,
    /// Bytes to divide into packets.
    pub bytes: Signal<In, Bits<32>>,
    /// No bytes count as one packet.
    pub some: Signal<In, bool>,
    /// Path MTU: a packet has 256 << `mtu` bytes.
    pub mtu: Signal<In, Bits<3>>,
    /// The count is over, and `packets` is valid.
    pub done: Signal<Out, bool>,
    /// How many packets the bytes need.
    pub packets: Signal<Out, Bits<24>>,
    /// The bytes, divided by 256, and by 2 for each shift.
    scaled: DFF<Bits<24>>,
    /// Shifts to come.
    shifts: DFF<Bits<3>>,
    /// Something was shifted out.
    sticky: DFF<bool>,
    length: Signal<Local, Bits<32>>,
    round_up: Signal<Local, Bits<1>>,
}

impl Logic for PacketDivider {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, scaled, shifts, sticky);
        self.length.next = self.bytes.val();
        self.done.next = !self.shifts.q.val().any();
        self.round_up.next = bits::<1>(0);
        if self.sticky.q.val() {
            self.round_up.next = bits::<1>(1);
        }
        self.packets.next = self.scaled.q.val() + bit_cast::<24, 1>(self.round_up.val());
        if self.shifts.q.val().any() {
            self.scaled.d.next = self.scaled.q.val() >> 1;
            self.sticky.d.next = self.sticky.q.val() | self.scaled.q.val().get_bit(0);
            self.shifts.d.next = self.shifts.q.val() - 1;
        }
        if self.load.val() {
            self.scaled.d.next = self.length.val().get_bits::<24>(8);
            self.sticky.d.next = self.length.val().get_bits::<8>(0).any() | self.some.val();
            self.shifts.d.next = self.mtu.val();
        }
    }
}
