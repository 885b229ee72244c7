//! The memory of the slots: puts the data of completions into it, double word by double word.
//!
//! ```text
//! start, slot, word ──►┌────────────┐──► fill
//!              more ──►│ ReadMemory │
//!   data, low, high ──►│            │
//!          read_row ──►└────────────┘──► read_data   (next cycle)
//! ```
//! Contract: slot t holds 512 bytes, 128 double words. With `start` the high half of `data` is a packet's first double word, and belongs to
//! place `word` of `slot`. With `more` both halves are the packet's next ones. `high` and `low` say which halves are written. `fill` is the
//! row of 8 bytes behind the last one whose halves have both come, as long as all of them are written.
//!
//! Latency: none; what is written in one cycle can be read in the next.
//!
//! How: two banks of double words. Bank 0 has the even addresses, so it takes the low half of a beat if the packet began at an odd one, and
//! the high half otherwise. Then bank 1 takes the low half, for the row of the beat before.
//!
//! Example: a packet of 3 double words begins at word 6 of slot 2, which is row 3. `start` writes its first one into bank 0, row 3. `more`
//! writes the second into bank 1, row 3, and the third into bank 0, row 4. Then `fill` is 4.
//!
//! Tests: `tests/tlp/read_memory.rs`.

use crate::bus::ReadTag;
use crate::prims::Ram;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::READ_TAGS_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadMemory {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A packet's first double word is in the high half of `data`; `ReadSlots` drives this and the inputs up to `high`.
    pub start: Signal<In, bool>,
    /// With `start`: the slot of the packet.
    pub slot: Signal<In, ReadTag>,
    /// With `start`: place in the slot of the packet's first double word.
    pub word: Signal<In, Bits<7>>,
    /// The next two double words of the packet are in `data`.
    pub more: Signal<In, bool>,
    /// Two double words, the earlier in bits 31:0.
    pub data: Signal<In, Bits<64>>,
    /// The low half of `data` is written.
    pub low: Signal<In, bool>,
    /// The high half of `data` is written.
    pub high: Signal<In, bool>,
    /// The rows of the slot below this one are in the memory; `ReadSlots` hands this and `read_data` on.
    pub fill: Signal<Out, Bits<6>>,
    /// The row to read: {slot, 8 bytes in it}; from `ReadDrain`.
    pub read_row: Signal<In, Bits<10>>,
    /// The 8 bytes of the `read_row` of the cycle before.
    pub read_data: Signal<Out, Bits<64>>,

    /// The double words with even addresses.
    bank0: Ram<Bits<32>, 10>,
    /// The double words with odd addresses.
    bank1: Ram<Bits<32>, 10>,
    /// The slot of the packet under way.
    held: DFF<ReadTag>,
    /// The packet's first double word has an odd address.
    odd: DFF<bool>,
    /// The row that the next beat goes to.
    row: DFF<Bits<6>>,
    /// The row that the beat before went to.
    row_before: DFF<Bits<6>>,
    /// `fill`.
    filled: DFF<Bits<6>>,

    now_slot: Signal<Local, ReadTag>,
    now_row: Signal<Local, Bits<6>>,
    now_odd: Signal<Local, bool>,
    now_fill: Signal<Local, Bits<6>>,
    target: Signal<Local, Bits<10>>,
    half0: Signal<Local, Bits<32>>,
    half1: Signal<Local, Bits<32>>,
}

impl Logic for ReadMemory {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, odd, row, row_before, filled);
        clock!(self, clock, bank0, bank1);

        // Where this beat goes.
        drive!(self, held.q => now_slot; row.q => now_row; odd.q => now_odd);
        if self.start.val() {
            self.now_slot.next = self.slot.val();
            self.now_row.next = self.word.val().get_bits::<6>(1);
            self.now_odd.next = self.word.val().get_bit(0);
            self.held.d.next = self.slot.val();
            self.odd.d.next = self.word.val().get_bit(0);
        }
        self.now_fill.next = self.now_row.val();
        if self.now_odd.val() {
            self.now_fill.next = self.now_row.val() + 1;
        }
        if self.start.val() | self.more.val() {
            self.row_before.d.next = self.now_row.val();
            self.row.d.next = self.now_row.val() + 1;
            self.filled.d.next = self.now_fill.val();
        }
        self.fill.next = self.filled.q.val();

        self.half0.next = self.data.val().get_bits::<32>(0);
        self.half1.next = self.data.val().get_bits::<32>(32);
        self.target.next = (bit_cast::<10, READ_TAGS_LOG2>(self.now_slot.val()) << 6)
            | bit_cast::<10, 6>(self.now_row.val());
        self.bank0.write_address.next = self.target.val();
        if self.now_odd.val() {
            drive!(self, half0 => bank0.write_data; low => bank0.write_enable; target => bank1.write_address;
                half1 => bank1.write_data; high => bank1.write_enable);
        } else {
            self.bank0.write_data.next = self.half1.val();
            self.bank0.write_enable.next = self.high.val();
            self.bank1.write_address.next = (bit_cast::<10, READ_TAGS_LOG2>(self.held.q.val()) << 6)
                | bit_cast::<10, 6>(self.row_before.q.val());
            self.bank1.write_data.next = self.half0.val();
            self.bank1.write_enable.next = self.low.val();
        }

        drive!(self, read_row => bank0.read_address, bank1.read_address);
        self.read_data.next = (bit_cast::<64, 32>(self.bank1.read_data.val()) << 32)
            | bit_cast::<64, 32>(self.bank0.read_data.val());
    }
}
