//! Says which access each step asks for, and which bytes it writes.
//!
//! ```text
//!  step, at, tag ──►┌─────────┐──► access
//!          entry ──►│ Written │──► beat
//!                   └─────────┘
//! ```
//! Contract: the block has no state. `access` is that of the steps that ask, `beat` that of the steps that write:
//!
//! | what | access | beat |
//! |---|---|---|
//! | ImmediateData | 4 bytes of the descriptor, by the VI's tag | the completion's immediate data |
//! | Length and Status | 8 bytes of the descriptor, by the VI's tag | both, the former first |
//! | an entry | 16 bytes of the ring, by its tag, in an agent's arena | its token, then its second word |
//!
//! Latency: none.
//!
//! Example: in AskStatus, with a descriptor at offset 2 (128 bytes), `access` has 8 bytes from 128 + COMPLETION_OFFSET on.
//!
//! Tests: with the whole, `tests/complete/writer/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::steps::WriterStep;
use crate::bus::{Access, Completion, CqEntry, WriteBeat};
use crate::prims::{Cast, Number};
use crate::rows::tables::CqEntryRow;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::{COMPLETION_OFFSET, IMMEDIATE_OFFSET};
use viaduct_spec::profile::VI_LOG2;

/// The last 8 bytes of a control segment.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EndWords {
    /// Bytes transferred.
    pub length: Bits<32>,
    /// The status.
    pub status: Bits<32>,
}

/// An entry, in the words that are written.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EntryWords {
    /// Token of the descriptor, or an event.
    pub token: Bits<64>,
    /// Whose it is, and the phase.
    pub owner: Bits<64>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Written {
    /// The step of [`Writer`](super::Writer), which drives this and the other inputs.
    pub step: Signal<In, WriterStep>,
    /// The completion at hand.
    pub at: Signal<In, Completion>,
    /// The tag of the VI at hand.
    pub tag: Signal<In, Bits<16>>,
    /// The entry at hand, from `complete/queues`.
    pub entry: Signal<In, CqEntry>,
    /// The write that `protect` is asked for.
    pub access: Signal<Out, Access>,
    /// The bytes to write, for `dma/write`.
    pub beat: Signal<Out, WriteBeat>,
    base: Signal<Local, Bits<64>>,
    end_words: Cast<EndWords, Bits<64>>,
    entry_words: Cast<CqEntryRow, EntryWords>,
    immediate_offset: Number<64, { IMMEDIATE_OFFSET }>,
    completion_offset: Number<64, { COMPLETION_OFFSET }>,
}

impl Logic for Written {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.base.next = bit_cast::<64, 34>(self.at.val().offset) << 6;
        self.end_words.from.next.length = self.at.val().length;
        self.end_words.from.next.status = bit_cast::<32, 20>(self.at.val().status);
        self.entry_words.from.next.token = self.entry.val().token;
        self.entry_words.from.next.vi = bit_cast::<16, VI_LOG2>(self.entry.val().vi);
        self.entry_words.from.next.receive = self.entry.val().receive;
        self.entry_words.from.next.reserved_81 = bits::<46>(0);
        self.entry_words.from.next.phase = self.entry.val().phase;

        self.access.next.address = self.base.val() | self.completion_offset.val();
        self.access.next.span = bits::<32>(8);
        self.access.next.length = bits::<13>(8);
        self.access.next.region = self.at.val().region;
        self.access.next.key = bits::<16>(0);
        fill!(self, access, tag => tag; true => by_offset, write; false => system, clip);
        self.access.next.remote = bits::<2>(0);
        self.access.next.user = bits::<8>(0);
        self.beat.next.data = self.end_words.to.val();
        self.beat.next.start = bits::<3>(0);
        self.beat.next.count = bits::<4>(8);
        match self.step.val() {
            WriterStep::AskImmediate => {
                self.access.next.address = self.base.val() | self.immediate_offset.val();
                self.access.next.span = bits::<32>(4);
                self.access.next.length = bits::<13>(4);
            }
            WriterStep::Immediate => {
                self.beat.next.data = bit_cast::<64, 32>(self.at.val().immediate);
                self.beat.next.count = bits::<4>(4);
            }
            WriterStep::AskEntry => {
                self.access.next.address = bit_cast::<64, 40>(self.entry.val().address);
                self.access.next.span = bits::<32>(16);
                self.access.next.length = bits::<13>(16);
                fill!(self, access, entry.val().region => region; entry.val().tag => tag; true => system);
            }
            WriterStep::EntryToken => {
                self.beat.next.data = self.entry_words.to.val().token;
            }
            WriterStep::EntryOwner => {
                self.beat.next.data = self.entry_words.to.val().owner;
            }
            _ => {}
        }
    }
}
