//! Says where the payload of a frame begins in the store.
//!
//! ```text
//!  frame ──►┌──────────────┐──► place
//!           │ PayloadStart │
//!           └──────────────┘
//! ```
//! Contract: the payload is behind 54 bytes of headers. It begins four bytes later with `has_tag`, four with `extended`, and sixteen with
//! `reth`. The payload of a raw frame is its `length` bytes from byte 0 on. The store keeps byte 0 of a frame in lane 2.
//!
//! Example: an untagged send of 8 bytes starts at word 100. `place` is word 107, lane 0, and 8 bytes.
//!
//! Latency: none, no state. Tests: with `PayloadQueue`, `tests/receive/payload/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::FrameInfo;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Where a frame's payload is in the store.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PayloadPlace {
    /// Word of the store that has its first byte.
    pub word: Bits<11>,
    /// Lane of its first byte in that word: 0, 2 or 4.
    pub lane: Bits<3>,
    /// Its bytes.
    pub length: Bits<13>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PayloadStart {
    /// The frame; [`PayloadQueue`](super::PayloadQueue) drives it, and listens.
    pub frame: Signal<In, FrameInfo>,
    /// Where its payload is.
    pub place: Signal<Out, PayloadPlace>,
    offset: Signal<Local, Bits<11>>,
    /// The payload begins a word later.
    longer: Signal<Local, bool>,
    /// The payload begins half a word later.
    shifted: Signal<Local, bool>,
}

impl Logic for PayloadStart {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        // The tag, the RETH and the extension are multiples of 4 bytes.
        self.shifted.next = self.frame.val().extended ^ self.frame.val().has_tag;
        self.longer.next = self.frame.val().extended & self.frame.val().has_tag;
        self.offset.next = bits::<11>(7);
        if self.longer.val() {
            self.offset.next = bits::<11>(8);
        }
        if self.frame.val().reth {
            self.offset.next = bits::<11>(9);
            if self.longer.val() {
                self.offset.next = bits::<11>(10);
            }
        }
        self.place.next.lane = bits::<3>(0);
        if self.shifted.val() {
            self.place.next.lane = bits::<3>(4);
        }
        if self.frame.val().raw {
            self.offset.next = bits::<11>(0);
            self.place.next.lane = bits::<3>(2);
        }
        self.place.next.word = self.frame.val().start + self.offset.val();
        self.place.next.length = self.frame.val().length;
    }
}
