//! Makes the accesses of fetch: a descriptor, or a line of a ring.
//!
//! ```text
//!                   read ──►┌─────────┐──► free
//!   line, filled, tokens ──►│ Request │
//!                    row ──►└─────────┘──► access
//! ```
//! Contract: `read` or `line` comes only while `free`, never both; the access then waits in a register until it is taken. `row`
//! and `filled` have been there for two cycles before `line`. A descriptor is read by offset with the tag of the VI,
//! clipped at the region's end; a line with the ring's system tag. Bit 0 of `user` says line.
//!
//! Example: a ring of 16 slots lies at offset 4096 of its region. `line` comes with `filled` 22 and `tokens` 2: slot 6. The access
//! reads 16 bytes at offset 4144.
//!
//! Latency: 1 cycle; an access every 2 cycles. Tests: with `Fetch`, `tests/queues/fetch/`.

use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

use super::{DescriptorRead, WorkQueue};
use crate::arithmetic::RingSlot;
use crate::bus::{Access, Position};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Request {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the access that waits.
    pub reset: Signal<In, bool>,
    /// No access waits, so `read` or `line` may come.
    pub free: Signal<Out, bool>,
    /// The descriptor whose first 64 bytes, or 48, are to be read, from `Turn`: only its place and size count.
    pub read: FlowSink<DescriptorRead>,
    /// Pulse from `Turn`: read `tokens` tokens of the ring, from position `filled` on.
    pub line: Signal<In, bool>,
    /// Position of the first token to read, from `Turn`.
    pub filled: Signal<In, Position>,
    /// How many tokens to read, from `Turn`; they lie within one 64-byte line.
    pub tokens: Signal<In, Bits<4>>,
    /// Row of the queue, from `Turn`: where the ring lies, and the tags.
    pub row: Signal<In, WorkQueue>,
    /// An access to memory, which `protect` checks: the descriptor, or the line.
    pub access: Source<Access>,

    /// `held` waits to be taken.
    waits: DFF<bool>,
    held: DFF<Access>,
    /// Offset of the token's 64-byte line, and the token's place in it: kept apart, because both in one cycle would be two adders.
    start: DFF<Bits<35>>,
    slot_in_line: DFF<Bits<3>>,

    ring: RingSlot<14, 4>,
    slot: Signal<Local, Bits<14>>,
    line_address: Signal<Local, Bits<64>>,
    next_access: Signal<Local, Access>,
}

impl Logic for Request {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waits, held, start, slot_in_line);

        drive!(self, filled => ring.position; row.val().ring_log2 => ring.log2; ring.slot => slot);
        self.start.d.next = bit_cast::<35, 34>(self.row.val().ring_offset)
            + bit_cast::<35, 14>(self.slot.val() >> bits::<2>(3));
        self.slot_in_line.d.next = self.slot.val().get_bits::<3>(0);
        self.line_address.next = (bit_cast::<64, 35>(self.start.q.val()) << bits::<3>(6))
            | (bit_cast::<64, 3>(self.slot_in_line.q.val()) << bits::<3>(3));

        self.next_access.next.address = bit_cast::<64, 34>(self.read.data.val().offset) << bits::<3>(6);
        self.next_access.next.span = bits::<32>(64);
        self.next_access.next.length = bits::<13>(64);
        if self.read.data.val().short {
            self.next_access.next.span = bits::<32>(48);
            self.next_access.next.length = bits::<13>(48);
        }
        self.next_access.next.region = self.read.data.val().region;
        self.next_access.next.key = bits::<16>(0);
        fill!(self, next_access, row.val().tag => tag; true => by_offset, clip; false => system, write);
        self.next_access.next.remote = bits::<2>(0);
        self.next_access.next.user = bits::<8>(0);
        if self.line.val() {
            self.next_access.next.address = self.line_address.val();
            self.next_access.next.span = bit_cast::<32, 4>(self.tokens.val()) << bits::<2>(3);
            self.next_access.next.length = bit_cast::<13, 4>(self.tokens.val()) << bits::<2>(3);
            self.next_access.next.region = bit_cast::<16, REGION_LOG2>(self.row.val().ring_region);
            fill!(self, next_access, row.val().system_tag => tag; true => system; false => clip);
            self.next_access.next.user = bits::<8>(1);
        }

        if self.access.ready.val() {
            self.waits.d.next = false;
        }
        if self.read.valid.val() | self.line.val() {
            self.waits.d.next = true;
            self.held.d.next = self.next_access.val();
        }
        self.free.next = !self.waits.q.val();
        drive!(self, waits.q => access.valid; held.q => access.data);

        if self.reset.val() {
            self.waits.d.next = false;
        }
    }
}
