//! Takes a RoCE frame's fields out of its beats.
//!
//! ```text
//!  valid, at, number ──►┌─────────┐──► fields, pad
//!         pkey, reth ──►│ Headers │──► bth
//!                       └─────────┘
//! ```
//! Contract: `fields` has what stands in the frame; the fields of it that follow from the opcode, and those that the store fills in, are 0.
//! `reth` comes in the same cycle as the opcode in `fields`, from which it follows. A field that a frame does not reach keeps its value
//! from a frame before.
//!
//! Example: the BTH's opcode is in beat 5 ([`beats::Beat5`](super::beats::Beat5)). In the cycle after that beat `fields` has the opcode.
//!
//! Latency: 1 from a field's last beat. Tests: with `Parse`, `tests/receive/parse/`.

use super::beats::{Beat3, Beat5, Beat6, Beat7, Beat8, BeatAt, BeatExtension};
use crate::bus::FrameInfo;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Headers {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat is here; `Parse` drives this and the three below.
    pub valid: Signal<In, bool>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, BeatAt>,
    /// The beat's bytes as one number, the first on top.
    pub number: Signal<In, Bits<64>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<In, Bits<16>>,
    /// A RETH follows the BTH; `HeaderSizes` says so.
    pub reth: Signal<In, bool>,
    /// The fields that were found in the frame; `Parse` listens to all outputs.
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
    beat_3: Cast<Bits<64>, Beat3>,
    beat_5: Cast<Bits<64>, Beat5>,
    beat_6: Cast<Bits<64>, Beat6>,
    beat_7: Cast<Bits<64>, Beat7>,
    beat_8: Cast<Bits<64>, Beat8>,
    beat_extension: Cast<Bits<64>, BeatExtension>,
    third: Signal<Local, Beat3>,
    fifth: Signal<Local, Beat5>,
    sixth: Signal<Local, Beat6>,
    extension_low: Signal<Local, Bits<16>>,
    pkey_difference: Signal<Local, Bits<16>>,
    pkey_mask: Number<16, 0x7fff>,
}

impl Logic for Headers {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, found, pads, wrong, eighth, ninth, tenth);
        drive!(self, found.q => fields; pads.q => pad; wrong.q => bth;
            number => beat_3.from, beat_5.from, beat_6.from, beat_7.from, beat_8.from, beat_extension.from;
            beat_3.to => third; beat_5.to => fifth; beat_6.to => sixth;
            beat_extension.to.val().extension_low => extension_low);
        if self.at.val().beat_0 {
            self.wrong.d.next = false;
        }

        if self.at.val().beat_3 {
            self.found.d.next.source_ip = self.third.val().source;
        }
        self.pkey_difference.next = self.fifth.val().pkey ^ self.pkey.val();
        if self.at.val().beat_5 {
            self.found.d.next.opcode = self.fifth.val().opcode;
            self.pads.d.next = self.fifth.val().pad;
            // FRAME-8: version and P_Key.
            self.wrong.d.next =
                self.fifth.val().version.any() | (self.pkey_difference.val() & self.pkey_mask.val()).any();
            self.found.d.next.queue_pair = bit_cast::<24, 8>(self.fifth.val().queue_pair_high) << 16;
        }
        if self.at.val().beat_6 {
            self.found.d.next.queue_pair =
                self.found.q.val().queue_pair | bit_cast::<24, 16>(self.sixth.val().queue_pair_low);
            self.found.d.next.ack_request = self.sixth.val().ack_request;
            self.found.d.next.psn = self.sixth.val().psn;
        }

        // Behind the BTH: an extension of four bytes, or a RETH and then the extension.
        if self.at.val().beat_6 {
            self.found.d.next.extension = bit_cast::<32, 16>(self.sixth.val().behind) << 16;
            self.found.d.next.address = bit_cast::<64, 16>(self.sixth.val().behind) << 48;
        }
        if self.at.val().later & self.eighth.q.val() {
            self.found.d.next.extension =
                self.found.q.val().extension | bit_cast::<32, 16>(self.extension_low.val());
            self.found.d.next.address =
                self.found.q.val().address | bit_cast::<64, 48>(self.beat_7.to.val().address_low);
            self.found.d.next.rkey = bit_cast::<32, 16>(self.beat_7.to.val().rkey_high) << 16;
        }
        if self.at.val().later & self.ninth.q.val() {
            self.found.d.next.rkey =
                self.found.q.val().rkey | bit_cast::<32, 16>(self.beat_8.to.val().rkey_low);
            self.found.d.next.size = self.beat_8.to.val().length;
            if self.reth.val() {
                self.found.d.next.extension = bit_cast::<32, 16>(self.beat_8.to.val().extension_high) << 16;
            }
        }
        if self.at.val().later & self.tenth.q.val() & self.reth.val() {
            self.found.d.next.extension =
                self.found.q.val().extension | bit_cast::<32, 16>(self.extension_low.val());
        }
        if self.valid.val() {
            self.eighth.d.next = self.at.val().beat_6;
            self.ninth.d.next = self.eighth.q.val() & self.at.val().later;
            self.tenth.d.next = self.ninth.q.val() & self.at.val().later;
        }
    }
}
