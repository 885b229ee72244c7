//! Takes a RoCE frame's fields out of its beats.
//!
//! ```text
//!  valid, at, data ──►┌─────────┐──► fields, pad
//!       pkey, reth ──►│ Headers │──► bth
//!                     └─────────┘
//! ```
//! Contract: `fields` has what stands in the frame; what follows from its opcode or is the store's is 0. `reth` is what the opcode in
//! `fields` says, in the same cycle. A field that a frame does not reach keeps its value from a frame before.
//!
//! Example: the BTH begins at byte 42, so its opcode lies in byte 2 of beat 5. In the cycle behind that beat `fields` has the opcode.
//!
//! Latency: 1 from a field's last beat. Tests: with the whole, `tests/receive/parse/`.

use crate::bus::FrameInfo;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Headers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, bool>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, Bits<8>>,
    /// The beat's bytes, the first in bits 7:0.
    pub data: Signal<In, Bits<64>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<In, Bits<16>>,
    /// A RETH follows the BTH; `Opcode` drives it.
    pub reth: Signal<In, bool>,
    /// The fields that were found in the frame.
    pub fields: Signal<Out, FrameInfo>,
    /// Bytes of pad behind the payload.
    pub pad: Signal<Out, Bits<2>>,
    /// The BTH's version or its P_Key is wrong.
    pub bth: Signal<Out, bool>,
    found: DFF<FrameInfo>,
    pads: DFF<Bits<2>>,
    wrong: DFF<bool>,
    /// The next beat is the eighth, ninth or tenth: bytes 56, 64 or 72 on.
    eighth: DFF<bool>,
    ninth: DFF<bool>,
    tenth: DFF<bool>,
    pkey_difference: Signal<Local, Bits<16>>,
    pkey_mask: Number<16, 0x7fff>,
}

impl Logic for Headers {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, found, pads, wrong, eighth, ninth, tenth);
        self.fields.next = self.found.q.val();
        self.pad.next = self.pads.q.val();
        self.bth.next = self.wrong.q.val();
        if self.at.val().get_bit(0) {
            self.wrong.d.next = false;
        }
        if self.at.val().get_bit(3) {
            self.found.d.next.source_ip = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(40));
        }
        self.pkey_difference.next = ((bit_cast::<16, 8>(self.data.val().get_bits::<8>(32)) << 8)
            | bit_cast::<16, 8>(self.data.val().get_bits::<8>(40)))
            ^ self.pkey.val();
        if self.at.val().get_bit(5) {
            self.found.d.next.opcode = self.data.val().get_bits::<8>(16);
            self.pads.d.next = self.data.val().get_bits::<2>(28);
            // FRAME-8: version and P_Key.
            self.wrong.d.next = self.data.val().get_bits::<4>(24).any()
                | (self.pkey_difference.val() & self.pkey_mask.val()).any();
            self.found.d.next.queue_pair = bit_cast::<24, 8>(self.data.val().get_bits::<8>(56)) << 16;
        }
        if self.at.val().get_bit(6) {
            self.found.d.next.queue_pair = self.found.q.val().queue_pair
                | (bit_cast::<24, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<24, 8>(self.data.val().get_bits::<8>(8));
            self.found.d.next.ack_request = self.data.val().get_bit(23);
            self.found.d.next.psn = (bit_cast::<24, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<24, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<24, 8>(self.data.val().get_bits::<8>(40));
            self.found.d.next.extension = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
        }
        if self.at.val().get_bit(7) & self.eighth.q.val() {
            self.found.d.next.extension = self.found.q.val().extension
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
        }
        // With a RETH: its address in bytes 54 to 61, handle to 65, length to 69, immediate data to 73.
        if self.at.val().get_bit(6) {
            self.found.d.next.address = (bit_cast::<64, 8>(self.data.val().get_bits::<8>(48)) << 56)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(56)) << 48);
        }
        if self.at.val().get_bit(7) & self.eighth.q.val() {
            self.found.d.next.address = self.found.q.val().address
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(0)) << 40)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(8)) << 32)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<64, 8>(self.data.val().get_bits::<8>(40));
            self.found.d.next.rkey = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
        }
        if self.at.val().get_bit(7) & self.ninth.q.val() {
            self.found.d.next.rkey = self.found.q.val().rkey
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
            self.found.d.next.size = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(40));
            if self.reth.val() {
                self.found.d.next.extension = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                    | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
            }
        }
        if self.at.val().get_bit(7) & self.tenth.q.val() & self.reth.val() {
            self.found.d.next.extension = self.found.q.val().extension
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
        }
        if self.valid.val() {
            self.eighth.d.next = self.at.val().get_bit(6);
            self.ninth.d.next = self.eighth.q.val() & self.at.val().get_bit(7);
            self.tenth.d.next = self.ninth.q.val() & self.at.val().get_bit(7);
        }
    }
}
