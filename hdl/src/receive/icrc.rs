//! Checks the invariant CRC of a RoCEv2 frame as its beats go by.
//!
//! ```text
//!      sink ──►┌──────┐
//!  in_index ──►│ Icrc │──► good
//!   in_half ──►└──────┘
//! ```
//! Contract: the beats of an untagged frame come in order, `in_index` counting from 0 (7 stands for every later
//! one). The beat that holds the last byte of the ICRC is the last one given; `in_half` comes with it if that byte is
//! the beat's byte 1 and not its byte 5. `good` is right two cycles later, until the next frame's third beat.
//!
//! What is summed (InfiniBand Architecture, annex A17): eight bytes ff, then the frame from the IP header on, with
//! type of service, time to live, IP and UDP checksum and the BTH's byte 4 as ff. The eight bytes ff take the place
//! of frame bytes 6 to 13, so the sum runs over words that begin at byte 6 of each beat; the first of them is
//! constant, and the sum simply starts behind it. An IP packet is a multiple of four bytes long, so the sum ends
//! with half a word or a whole one. Run over the ICRC too, it leaves a constant; half a word is filled up with zeros,
//! which leaves another.
//!
//! How: the sum is linear. The state after a word is the state before, moved on by 64 bits, plus what the word alone
//! would give. The word's part is worked out first and waits in a register, so that it is not in the loop of the state.
//!
//! To move on by one bit is to multiply by x in the field of 2^32 elements, and so a word's 64 bits are x^64, for which each bit of the
//! state would be the parity of some 16. But 64 is a power of 2, and in this field (a + b)^64 = a^64 + b^64. So the block keeps the 64th
//! root of the state instead, which is as good to compare, and a word moves that on by x alone: a shift.
//!
//! Example: a frame of 66 bytes is 54 of headers, 8 of payload and 4 of ICRC. Its last byte is number 65, byte 1 of beat 8. So beat 8
//! comes last, with `in_index` 7 and `in_half`; two cycles later `good` says whether the ICRC fits.
//!
//! Latency: 2 cycles. Throughput: one beat every cycle.
//!
//! Tests: `tests/receive/parse/`, on frames that Linux made.

use crate::prims::{crc32_steps, Number, ParityMatrix, ICRC_START, POLYNOMIAL};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_spec::wire::ICRC_RESIDUE;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Icrc {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the beat under way.
    pub reset: Signal<In, bool>,
    /// A beat of an untagged frame: eight bytes, the first in bits 7:0. `Parse` drives this and the other inputs.
    pub sink: FlowSink<Bits<64>>,
    /// Number of the beat in its frame, 7 for every later one.
    pub in_index: Signal<In, Bits<3>>,
    /// The ICRC ends with byte 1 of this beat, not with byte 5.
    pub in_half: Signal<In, bool>,
    /// The ICRC is that of an undamaged frame; `Parse` listens.
    pub good: Signal<Out, bool>,
    /// The last two bytes of the beat before.
    carried: DFF<Bits<16>>,
    /// What the word by itself adds to the sum.
    part: DFF<Bits<32>>,
    part_valid: DFF<bool>,
    /// `part` is of the frame's first word.
    part_first: DFF<bool>,
    /// `part` is of half a word.
    part_half: DFF<bool>,
    /// The 64th root of the state.
    state: DFF<Bits<32>>,
    /// The sum ended with half a word.
    half: DFF<bool>,
    word: Signal<Local, Bits<64>>,
    mask: Signal<Local, Bits<64>>,
    /// What the word alone gives.
    from_word: ParityMatrix<64>,
    /// The state, moved on by a word of zeros.
    moved: Signal<Local, Bits<32>>,
    /// The state after the eight bytes ff, moved on by a word.
    start: Number<32, { crc32_steps(root(ICRC_START), 1) as u64 }>,
    residue: Number<32, { root(ICRC_RESIDUE) as u64 }>,
    half_residue: Number<32, { root(crc32_steps(ICRC_RESIDUE, 32)) as u64 }>,
    polynomial: Number<32, { POLYNOMIAL as u64 }>,
    no_mask: Number<64, 0>,
    half_mask: Number<64, 0xffff_ffff>,
    /// Word of bytes 14 to 21: type of service (15).
    mask_2: Number<64, 0x0000_0000_0000_ff00>,
    /// Word of bytes 22 to 29: time to live (22), IP checksum (24, 25).
    mask_3: Number<64, 0x0000_0000_ffff_00ff>,
    /// Word of bytes 38 to 45: UDP checksum (40, 41).
    mask_5: Number<64, 0x0000_0000_ffff_0000>,
    /// Word of bytes 46 to 53: byte 4 of the BTH (46).
    mask_6: Number<64, 0x0000_0000_0000_00ff>,
}

/// The product of two elements of the field: bit 31 - i of an element stands with x^i.
const fn product(mut left: u32, right: u32) -> u32 {
    let (mut sum, mut power) = (0, 0);
    while power < 32 {
        if right >> (31 - power) & 1 == 1 {
            sum ^= left;
        }
        left = crc32_steps(left, 1);
        power += 1;
    }
    sum
}

/// The 64th root: the element whose 64th power is `state`. The 2^32nd power of an element is the element itself, so it is the 2^26th.
const fn root(state: u32) -> u32 {
    let (mut power, mut doubled) = (state, 0);
    while doubled < 32 - 6 {
        power = product(power, power);
        doubled += 1;
    }
    power
}

impl Default for Icrc {
    fn default() -> Self {
        let half = |half| crc32_steps(half, 32);
        let word = |word: u64| half(half(word as u32) ^ (word >> 32) as u32);
        Self {
            clock: Default::default(),
            reset: Default::default(),
            sink: Default::default(),
            in_index: Default::default(),
            in_half: Default::default(),
            good: Default::default(),
            carried: Default::default(),
            part: Default::default(),
            part_valid: Default::default(),
            part_first: Default::default(),
            part_half: Default::default(),
            state: Default::default(),
            half: Default::default(),
            word: Default::default(),
            mask: Default::default(),
            from_word: ParityMatrix::new(|bytes| root(word(bytes))),
            moved: Default::default(),
            start: Default::default(),
            residue: Default::default(),
            half_residue: Default::default(),
            polynomial: Default::default(),
            no_mask: Default::default(),
            half_mask: Default::default(),
            mask_2: Default::default(),
            mask_3: Default::default(),
            mask_5: Default::default(),
            mask_6: Default::default(),
        }
    }
}

impl Logic for Icrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, carried, part, part_valid, part_first, part_half, state, half);
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
        self.word.next = (self.sink.data.val() << bits::<5>(16))
            | bit_cast::<64, 16>(self.carried.q.val())
            | self.mask.val();
        if self.in_half.val() {
            self.word.next = ((self.sink.data.val() << bits::<5>(16))
                | bit_cast::<64, 16>(self.carried.q.val())
                | self.mask.val())
                & self.half_mask.val();
        }
        if self.sink.valid.val() {
            self.carried.d.next = self.sink.data.val().get_bits::<16>(48);
        }

        // What the word alone gives. The frame's first two beats count as bytes ff, which `start` has.
        self.from_word.from.next = self.word.val();
        self.part.d.next = self.from_word.to.val();
        self.part_valid.d.next = self.sink.valid.val() & (self.in_index.val() > bits::<3>(1));
        self.part_first.d.next = self.in_index.val() == bits::<3>(2);
        self.part_half.d.next = self.in_half.val();

        // What the state before it gives.
        self.moved.next = self.state.q.val() >> 1;
        if self.state.q.val().get_bit(0) {
            self.moved.next = (self.state.q.val() >> 1) ^ self.polynomial.val();
        }
        if self.part_first.q.val() {
            self.moved.next = self.start.val();
        }
        if self.part_valid.q.val() {
            self.state.d.next = self.moved.val() ^ self.part.q.val();
            self.half.d.next = self.part_half.q.val();
        }
        self.good.next = (!self.half.q.val() & (self.state.q.val() == self.residue.val()))
            | (self.half.q.val() & (self.state.q.val() == self.half_residue.val()));
        if self.reset.val() {
            self.part_valid.d.next = false;
        }
    }
}
