//! Sends bytes on a serial line: a start bit, eight bits, a stop bit.
//!
//! ```text
//!           ┌──────────────┐
//!  bytes ──►│ SerialSender │──► line
//!           └──────────────┘
//! ```
//! Contract: the lowest bit goes first; `line` is high while nothing is sent. A byte takes ten bits' time.
//!
//! Latency: 1 cycle to the start bit, if none is under way.
//!
//! Example: 0x41 at 1085 cycles a bit (115 200 baud at 125 MHz): low, then 1 0 0 0 0 0 1 0, then high.
//!
//! Tests: `tests/pcie/trace.rs`.

use crate::stream::Sink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct SerialSender {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// What to send, from `Printer`.
    pub bytes: Sink<Bits<8>>,
    /// The line.
    pub line: Signal<Out, bool>,
    /// Bits that remain, the next one lowest.
    bits: DFF<Bits<10>>,
    /// How many remain.
    bits_left: DFF<Bits<4>>,
    /// Cycles that remain of the bit.
    cycles_left: DFF<Bits<12>>,
    /// The opposite of the line, so that it is high at power-up.
    low: DFF<bool>,
    whole: Constant<Bits<12>>,
    framed: Signal<Local, Bits<10>>,
}

impl SerialSender {
    /// A line of so many cycles a bit, at most 4096.
    pub fn new(cycles: u64) -> Self {
        Self {
            clock: Default::default(),
            bytes: Default::default(),
            line: Default::default(),
            bits: Default::default(),
            bits_left: Default::default(),
            cycles_left: Default::default(),
            low: Default::default(),
            whole: Constant::new((cycles - 1).to_bits()),
            framed: Default::default(),
        }
    }
}

impl Logic for SerialSender {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, bits, bits_left, cycles_left, low);
        self.framed.next = (bit_cast::<10, 8>(self.bytes.data.val()) << 1) | bits::<10>(0x200);
        self.bytes.ready.next = self.bits_left.q.val() == bits::<4>(0);
        self.line.next = !self.low.q.val();
        self.low.d.next = false;
        if self.bits_left.q.val() != bits::<4>(0) {
            self.low.d.next = !self.bits.q.val().get_bit(0);
            self.cycles_left.d.next = self.cycles_left.q.val() - 1;
            if self.cycles_left.q.val() == bits::<12>(0) {
                self.cycles_left.d.next = self.whole.val();
                self.bits.d.next = self.bits.q.val() >> 1;
                self.bits_left.d.next = self.bits_left.q.val() - 1;
            }
        } else if self.bytes.valid.val() {
            self.bits.d.next = self.framed.val();
            self.bits_left.d.next = bits::<4>(10);
            self.cycles_left.d.next = self.whole.val();
        }
    }
}
