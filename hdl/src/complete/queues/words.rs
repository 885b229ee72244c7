//! The memory of the completion queues: where each ring lies, and which completion queue each work queue has.
//!
//! ```text
//!          read_at ──►┌─────────┐──► place, home, work
//!  write, write_at ──►│ CqWords │
//!            new_* ──►└─────────┘
//! ```
//! Contract: `place`, `home` and `work` are three views of the word that `read_at` named in the cycle before: the one of its kind counts. With `write`
//! the word of `write_at` becomes the one of `new_place`, `new_home` and `new_work` that is of its kind.
//!
//! | word | of | what |
//! |---|---|---|
//! | [`RingPlace`] | a completion queue | where its ring lies in its region |
//! | [`RingHome`] | a completion queue | the ring's region, and the tag that the region must have |
//! | [`WorkWord`] | a work queue | its completion queue, and how many of its descriptors have ended |
//!
//! Latency: 1.
//!
//! Example: `read_at` names the word of VI 3's receive queue in cycle 0: in cycle 1 `work` has that queue's completion queue and its position.
//!
//! Tests: with the whole, `tests/complete/queues.rs`, `cq_random.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Cq, Position, QUEUE_LOG2};
use crate::prims::{Cast, Number, Ram};
use rust_hdl::prelude::*;
use viaduct_spec::profile::CQ_LOG2;

/// log2 of the words: two for each completion queue, from word 0; one for each work queue, from the middle on.
const WORD_LOG2: usize = if QUEUE_LOG2 > 8 { QUEUE_LOG2 + 1 } else { 9 };
/// log2 of either half.
pub const HALF_LOG2: usize = WORD_LOG2 - 1;
const _: () = assert!(CQ_LOG2 + 1 < WORD_LOG2 && QUEUE_LOG2 < WORD_LOG2);

/// Which word.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WordAddress {
    /// Of a completion queue: its [`RingAddress`]; of a work queue: the queue.
    pub row: Bits<HALF_LOG2>,
    /// The word is of a work queue.
    pub work: bool,
}

/// Which word of a completion queue.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RingAddress {
    /// The ring's home; otherwise its place.
    pub home: bool,
    /// The completion queue.
    pub cq: Cq,
}

/// Where a ring lies.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RingPlace {
    /// Offset in the region, in units of 64 bytes.
    pub offset: Bits<34>,
}

/// In which region a ring lies.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RingHome {
    /// The region.
    pub region: Bits<16>,
    /// The tag that it must have.
    pub tag: Bits<16>,
}

/// What is known of a work queue.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WorkWord {
    /// How many of its descriptors have ended.
    pub position: Position,
    /// Its completion queue.
    pub cq: Bits<10>,
    /// It has one.
    pub to_cq: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CqWords {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The word to read; [`CompletionQueues`](super::CompletionQueues) drives this and the other inputs.
    pub read_at: Signal<In, WordAddress>,
    /// The word, if it is a ring's place.
    pub place: Signal<Out, RingPlace>,
    /// The word, if it is a ring's home.
    pub home: Signal<Out, RingHome>,
    /// The word, if it is of a work queue.
    pub work: Signal<Out, WorkWord>,
    /// Pulse: a word is written.
    pub write: Signal<In, bool>,
    /// The word to write.
    pub write_at: Signal<In, WordAddress>,
    /// The new word, if it is a ring's place.
    pub new_place: Signal<In, RingPlace>,
    /// The new word, if it is a ring's home.
    pub new_home: Signal<In, RingHome>,
    /// The new word, if it is of a work queue.
    pub new_work: Signal<In, WorkWord>,
    words: Ram<Bits<36>, WORD_LOG2>,
    read_row: Cast<WordAddress, Bits<WORD_LOG2>>,
    write_row: Cast<WordAddress, Bits<WORD_LOG2>>,
    as_place: Cast<Bits<34>, RingPlace>,
    as_home: Cast<Bits<32>, RingHome>,
    as_work: Cast<Bits<25>, WorkWord>,
    from_place: Cast<RingPlace, Bits<34>>,
    from_home: Cast<RingHome, Bits<32>>,
    from_work: Cast<WorkWord, Bits<25>>,
    /// Bit 0 of a ring's address: its home.
    home_bit: Number<HALF_LOG2, 1>,
}

impl Logic for CqWords {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, words);
        self.read_row.from.next = self.read_at.val();
        self.words.read_address.next = self.read_row.to.val();
        self.as_place.from.next = bit_cast::<34, 36>(self.words.read_data.val());
        self.as_home.from.next = bit_cast::<32, 36>(self.words.read_data.val());
        self.as_work.from.next = bit_cast::<25, 36>(self.words.read_data.val());
        self.place.next = self.as_place.to.val();
        self.home.next = self.as_home.to.val();
        self.work.next = self.as_work.to.val();

        self.from_place.from.next = self.new_place.val();
        self.from_home.from.next = self.new_home.val();
        self.from_work.from.next = self.new_work.val();
        self.write_row.from.next = self.write_at.val();
        self.words.write_address.next = self.write_row.to.val();
        self.words.write_enable.next = self.write.val();
        self.words.write_data.next = bit_cast::<36, 34>(self.from_place.to.val());
        if self.write_at.val().work {
            self.words.write_data.next = bit_cast::<36, 25>(self.from_work.to.val());
        } else if (self.write_at.val().row & self.home_bit.val()).any() {
            self.words.write_data.next = bit_cast::<36, 32>(self.from_home.to.val());
        }
    }
}
