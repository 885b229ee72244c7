//! The memory of the completion queues: where each ring lies, and which completion queue each work queue has.
//!
//! ```text
//!    read_* ──►┌─────────┐──► place, home, work
//!   write_* ──►│ CqWords │
//!     new_* ──►└─────────┘
//! ```
//! Contract: `place`, `home` and `work` are three views of the word that was named in the cycle before: that of `read_queue` if
//! `reads_work` was high, otherwise that of `read_ring`. Only the view of the word's own kind means something. With `write` the word of
//! `write_queue` becomes `new_work`, or that of `write_ring` becomes `new_place` or `new_home`, which is of its kind.
//!
//! | word | of | what |
//! |---|---|---|
//! | [`RingPlace`] | a completion queue | where its ring lies in its region |
//! | [`RingHome`] | a completion queue | the ring's region, and the tag that the region must have |
//! | [`WorkWord`] | a work queue | its completion queue, and how many of its descriptors have ended |
//!
//! Latency: 1 cycle.
//!
//! Example: `reads_work` is high and `read_queue` VI 3's receive queue in cycle 0: in cycle 1 `work` has that queue's completion queue
//! and its position.
//!
//! Tests: with the whole, `tests/complete/queues.rs`, `cq_random.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Cq, Position, Queue, QUEUE_LOG2};
use crate::prims::{Cast, Ram};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::CQ_LOG2;

/// log2 of the words: two for each completion queue, from word 0; one for each work queue, from the middle on.
const WORD_LOG2: usize = if QUEUE_LOG2 > 8 { QUEUE_LOG2 + 1 } else { 9 };
/// log2 of either half.
const HALF_LOG2: usize = WORD_LOG2 - 1;
const _: () = assert!(CQ_LOG2 + 1 < WORD_LOG2 && QUEUE_LOG2 < WORD_LOG2);

/// Which word.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct WordAddress {
    /// Of a completion queue: its [`RingAddress`]; of a work queue: the queue.
    row: Bits<HALF_LOG2>,
    /// The word is of a work queue.
    work: bool,
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
    /// The region of the ring.
    pub region: Bits<16>,
    /// The tag that it must have.
    pub tag: Bits<16>,
}

/// The completion queue of a work queue, and the work queue's position.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WorkWord {
    /// How many of its descriptors have ended.
    pub position: Position,
    /// The work queue's completion queue.
    pub cq: Bits<10>,
    /// The work queue has a completion queue.
    pub to_cq: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CqWords {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The word of a completion queue to read; [`CompletionQueues`](super::CompletionQueues) drives this and the other inputs.
    pub read_ring: Signal<In, RingAddress>,
    /// The work queue whose word is to be read.
    pub read_queue: Signal<In, Queue>,
    /// A work queue's word is read; otherwise a completion queue's.
    pub reads_work: Signal<In, bool>,
    /// The word, if it is a ring's place.
    pub place: Signal<Out, RingPlace>,
    /// The word, if it is a ring's home.
    pub home: Signal<Out, RingHome>,
    /// The word, if it is of a work queue.
    pub work: Signal<Out, WorkWord>,
    /// Pulse: a word is written.
    pub write: Signal<In, bool>,
    /// The word of a completion queue to write.
    pub write_ring: Signal<In, RingAddress>,
    /// The work queue whose word is to be written.
    pub write_queue: Signal<In, Queue>,
    /// A work queue's word is written; otherwise a completion queue's.
    pub writes_work: Signal<In, bool>,
    /// The new word, if it is a ring's place.
    pub new_place: Signal<In, RingPlace>,
    /// The new word, if it is a ring's home.
    pub new_home: Signal<In, RingHome>,
    /// The new word, if it is of a work queue.
    pub new_work: Signal<In, WorkWord>,
    words: Ram<Bits<36>, WORD_LOG2>,
    read_half: Cast<RingAddress, Bits<{ CQ_LOG2 + 1 }>>,
    write_half: Cast<RingAddress, Bits<{ CQ_LOG2 + 1 }>>,
    read_row: Cast<WordAddress, Bits<WORD_LOG2>>,
    write_row: Cast<WordAddress, Bits<WORD_LOG2>>,
    as_place: Cast<Bits<34>, RingPlace>,
    as_home: Cast<Bits<32>, RingHome>,
    as_work: Cast<Bits<25>, WorkWord>,
    from_place: Cast<RingPlace, Bits<34>>,
    from_home: Cast<RingHome, Bits<32>>,
    from_work: Cast<WorkWord, Bits<25>>,
}

impl Logic for CqWords {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, words);
        drive!(self, read_ring => read_half.from; read_row.to => words.read_address; as_place.to => place;
            as_home.to => home; as_work.to => work);
        self.read_row.from.next.work = self.reads_work.val();
        self.read_row.from.next.row = bit_cast::<HALF_LOG2, { CQ_LOG2 + 1 }>(self.read_half.to.val());
        if self.reads_work.val() {
            self.read_row.from.next.row = bit_cast::<HALF_LOG2, QUEUE_LOG2>(self.read_queue.val());
        }
        self.as_place.from.next = bit_cast::<34, 36>(self.words.read_data.val());
        self.as_home.from.next = bit_cast::<32, 36>(self.words.read_data.val());
        self.as_work.from.next = bit_cast::<25, 36>(self.words.read_data.val());

        drive!(self, new_place => from_place.from; new_home => from_home.from; new_work => from_work.from;
            write_ring => write_half.from; write_row.to => words.write_address; write => words.write_enable);
        self.write_row.from.next.work = self.writes_work.val();
        self.write_row.from.next.row = bit_cast::<HALF_LOG2, { CQ_LOG2 + 1 }>(self.write_half.to.val());
        if self.writes_work.val() {
            self.write_row.from.next.row = bit_cast::<HALF_LOG2, QUEUE_LOG2>(self.write_queue.val());
        }
        self.words.write_data.next = bit_cast::<36, 34>(self.from_place.to.val());
        if self.writes_work.val() {
            self.words.write_data.next = bit_cast::<36, 25>(self.from_work.to.val());
        } else if self.write_ring.val().home {
            self.words.write_data.next = bit_cast::<36, 32>(self.from_home.to.val());
        }
    }
}
