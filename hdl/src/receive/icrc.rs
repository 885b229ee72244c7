//! Checks the invariant CRC of a RoCEv2 frame as its beats go by.
//!
//! ```text
//!  in_valid ──►┌──────┐
//!  in_index ──►│      │
//!   in_data ──►│ Icrc │──► good
//!   in_half ──►└──────┘
//! ```
//! Contract: the beats of an untagged frame come in order, `in_index` counting from 0 (7 stands for every later
//! one). The beat that holds the last byte of the ICRC is the last one given; `in_half` comes with it if that byte is
//! the beat's byte 1 and not its byte 5. `good` is right from the next cycle on, until the next frame's first beat.
//!
//! What is summed (InfiniBand Architecture, annex A17): eight bytes ff, then the frame from the IP header on, with
//! type of service, time to live, IP and UDP checksum and the BTH's byte 4 as ff. The eight bytes ff take the place
//! of frame bytes 6 to 13, so the sum runs over words that begin at byte 6 of each beat; the first of them is
//! constant, and the sum simply starts behind it. An IP packet is a multiple of four bytes long, so the sum ends
//! with half a word or a whole one. Run over the ICRC too, it leaves a constant.
//!
//! Latency: 1 cycle. Throughput: one beat every cycle.
//!
//! Tests: `tests/receive/parse.rs`, on frames that Linux made.

use crate::prims::{Crc32, Number};
use rust_hdl::prelude::*;
use viaduct_spec::wire::ICRC_RESIDUE;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Icrc {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the sum.
    pub reset: Signal<In, bool>,
    /// A beat is given.
    pub in_valid: Signal<In, bool>,
    /// Its number, 7 for every later one.
    pub in_index: Signal<In, Bits<3>>,
    /// Eight bytes, the first in bits 7:0.
    pub in_data: Signal<In, Bits<64>>,
    /// The ICRC ends with byte 1 of this beat.
    pub in_half: Signal<In, bool>,
    /// The sum is that of an undamaged frame.
    pub good: Signal<Out, bool>,
    crc: Crc32,
    /// The last two bytes of the beat before.
    carried: DFF<Bits<16>>,
    word: Signal<Local, Bits<64>>,
    mask: Signal<Local, Bits<64>>,
    start: Number<32, { start() }>,
    residue: Number<32, { ICRC_RESIDUE as u64 }>,
    no_mask: Number<64, 0>,
    /// Word of bytes 14 to 21: type of service (15).
    mask_2: Number<64, 0x0000_0000_0000_ff00>,
    /// Word of bytes 22 to 29: time to live (22), IP checksum (24, 25).
    mask_3: Number<64, 0x0000_0000_ffff_00ff>,
    /// Word of bytes 38 to 45: UDP checksum (40, 41).
    mask_5: Number<64, 0x0000_0000_ffff_0000>,
    /// Word of bytes 46 to 53: byte 4 of the BTH (46).
    mask_6: Number<64, 0x0000_0000_0000_00ff>,
}

/// The state of the CRC (reflected, from all ones) after eight bytes ff.
const fn start() -> u64 {
    let mut state = 0xffff_ffffu32;
    let mut bit = 0;
    while bit < 64 {
        let feedback = (state ^ 1) & 1;
        state = (state >> 1) ^ (0xedb8_8320 & feedback.wrapping_neg());
        bit += 1;
    }
    state as u64
}

impl Logic for Icrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, carried);
        clock!(self, clock, crc);
        self.crc.reset.next = self.reset.val();
        self.mask.next = self.no_mask.val();
        if self.in_index.val() == bits::<3>(2) {
            self.mask.next = self.mask_2.val();
        }
        if self.in_index.val() == bits::<3>(3) {
            self.mask.next = self.mask_3.val();
        }
        if self.in_index.val() == bits::<3>(5) {
            self.mask.next = self.mask_5.val();
        }
        if self.in_index.val() == bits::<3>(6) {
            self.mask.next = self.mask_6.val();
        }
        self.word.next = (self.in_data.val() << 16) | bit_cast::<64, 16>(self.carried.q.val());
        if self.in_valid.val() {
            self.carried.d.next = self.in_data.val().get_bits::<16>(48);
        }
        // Beat 0 loads the state behind the bytes ff, which beat 1 ends.
        self.crc.in_valid.next = self.in_valid.val() & (self.in_index.val() > bits::<3>(1));
        self.crc.in_data.next = self.word.val() | self.mask.val();
        self.crc.in_half.next = self.in_half.val();
        self.crc.preset.next = self.in_valid.val() & (self.in_index.val() == bits::<3>(0));
        self.crc.preset_value.next = self.start.val();
        self.good.next = self.crc.value.val() == self.residue.val();
    }
}
