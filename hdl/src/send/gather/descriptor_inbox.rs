//! Keeps descriptors that wait for their turn: up to 8 heads and the first 64 bytes of each; and the VIs' GATHER rows.
//!
//! ```text
//!             head, word ──►┌───────────┐──► waits
//!       load, held, free ──►│ HeadCheck │──► current, found
//!   read_index, read_row ──►│           │──► read_word   (1 cycle later)
//!                reply_* ──►│           │──► outlived
//!         commit, closes ──►└───────────┘──► closed
//! ```
//! Contract: words come in order, before their head or with it; a head ends its words, however many there were. `load` brings the oldest
//! head that `waits` to `current`, a register; `free` gives up its words. `read_word` and `found` are of the head loaded last, or of the next
//! one when that is freed. `read_word` may also be the row of a VI: with `read_row` that of the head that is `held`, or of the oldest one
//! that waits. The block cannot hold heads and words back: fetch, which sends them, counts the heads freed. The
//! block takes a row in a cycle in which no word comes and no head is loaded, and not while its VI's head is `held` or its reply waits; one that waits for
//! nothing is taken in its second cycle.
//!
//! `closes` says that the life of the commit's VI is over, and that no head of it comes any more. The block looks for its heads among
//! those that wait, one at a time, and each is `outlived` when it is loaded. `closed` is high when all are found and none is at hand that
//! is not `outlived`.
//!
//! Example: eight words come, and a head with the last of them. In the next cycle `waits` is high. `load` brings the head to `current`;
//! `read_index` 2 then shows its third word in `read_word` a cycle later.
//!
//! Latency: a head waits the cycle after it came.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::head_check::{HeadCheck, HeadFindings};
use crate::bus::{Commit, SendHead, Vi};
use crate::prims::{Fifo, LutRam, Number, Ram};
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::table;

/// log2 of the memory's rows: one half for 8 heads of 8 words, the other for the VIs.
const MEMORY_LOG2: usize = VI_LOG2 + 1;
const _: () = assert!(VI_LOG2 >= 6, "8 heads of 8 words need half of the memory");

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DescriptorInbox {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all heads and words.
    pub reset: Signal<In, bool>,
    /// A whole send descriptor, from fetch: where it lies, and how many of its words are there.
    pub head: FlowSink<SendHead>,
    /// A word, from fetch, of the send descriptor whose head comes next or in this cycle.
    pub word: FlowSink<Bits<64>>,
    /// There is a head to load.
    pub waits: Signal<Out, bool>,
    /// Pulses when check takes the oldest head that waits; check drives it.
    pub load: Signal<In, bool>,
    /// The head that was loaded last.
    pub current: Signal<Out, SendHead>,
    /// What was found in its first 64 bytes, from the second cycle behind the head on.
    pub found: Signal<Out, HeadFindings>,
    /// Check or cut is busy with the head that was loaded last; check drives it.
    pub held: Signal<In, bool>,
    /// Pulses when check and cut are done with the head that was loaded last; gather drives it.
    pub free: Signal<In, bool>,
    /// Which word of the loaded head to read, 0 to 7; the word reader drives it.
    pub read_index: Signal<In, Bits<3>>,
    /// The GATHER row of the head's VI is read instead of a word; check drives it.
    pub read_row: Signal<In, bool>,
    /// A reply waits for its GATHER row, so the row of `reply_vi` must not be written; the replier drives it.
    pub reply_waits: Signal<In, bool>,
    /// The GATHER row of `reply_vi` is read in this cycle; the replier drives it.
    pub reply_row: Signal<In, bool>,
    /// VI of the reply that waits for its GATHER row; gather drives it.
    pub reply_vi: Signal<In, Vi>,
    /// The word or the row that was asked for in the cycle before.
    pub read_word: Signal<Out, Bits<64>>,
    /// A table row, from `admin/broadcast`; the block takes the GATHER rows.
    pub commit: Sink<Commit>,
    /// The commit's VI begins anew, so its heads that wait are of a life that is over; gather drives it.
    pub closes: Signal<In, bool>,
    /// Every head of the old life is found, and the head at hand is known as `outlived` if it is one of them.
    pub closed: Signal<Out, bool>,
    /// The head that was loaded last is of a life of its VI that is over.
    pub outlived: Signal<Out, bool>,
    heads: Fifo<SendHead, 3, 4>,
    check: HeadCheck,
    loaded: DFF<SendHead>,
    /// The words of 8 heads; from the middle on the rows of the VIs.
    words: Ram<Bits<64>, MEMORY_LOG2>,
    /// Slot of the head whose words come.
    write_slot: DFF<Bits<3>>,
    /// Number of the next word to come.
    write_index: DFF<Bits<3>>,
    /// Slot of the head that was loaded last.
    read_slot: DFF<Bits<3>>,
    /// VI of each head that waits.
    owners: LutRam<Vi, 3>,
    /// For each head that waits: its VI has begun anew.
    outlives: LutRam<bool, 3>,
    /// Slots that were looked at since `closes`, 0 to 8.
    looked: DFF<Bits<4>>,
    is_outlived: DFF<bool>,
    looks: Signal<Local, bool>,
    holds: Signal<Local, bool>,
    vi: Signal<Local, Vi>,
    row: Signal<Local, Vi>,
    /// The commit is a row of ours.
    is_row: Signal<Local, bool>,
    /// A row waited in the cycle before, and its VI was not that of the head at hand.
    may_take: DFF<bool>,
    takes_row: Signal<Local, bool>,
    rows: Number<MEMORY_LOG2, { 1 << VI_LOG2 }>,
    gather_table: Number<4, { table::GATHER as u64 }>,
}

impl Logic for DescriptorInbox {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, loaded, write_slot, write_index, read_slot, looked, is_outlived, may_take);
        clock!(self, clock, heads, check, words, owners, outlives);
        drive!(self, reset => heads.reset; head.valid => heads.sink.valid; head.data => heads.sink.data;
            load => heads.source.ready; heads.source.valid => waits; loaded.q => current);
        if self.load.val() {
            self.loaded.d.next = self.heads.source.data.val();
            self.is_outlived.d.next = self.outlives.read_data.val();
        }

        // What is in the words.
        FlowSink::<Bits<64>>::link(&mut self.word, &mut self.check.word);
        FlowSink::<SendHead>::link(&mut self.head, &mut self.check.head);
        drive!(self, write_index.q => check.number; write_slot.q => check.written; read_slot.q => check.at_hand;
            check.found => found);

        self.vi.next = self.loaded.q.val().vi;
        if !self.held.val() {
            self.vi.next = self.heads.source.data.val().vi;
        }
        self.row.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.holds.next = (self.held.val() | self.load.val()) & (self.row.val() == self.vi.val());
        // The row that is written must not be the one that is read. Whose head is at hand comes late in its cycle, so the answer is of the cycle before;
        // only a load brings another head.
        self.is_row.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.gather_table.val());
        self.takes_row.next = self.is_row.val()
            & self.may_take.q.val()
            & !self.load.val()
            & !self.word.valid.val()
            & !(self.reply_waits.val() & (self.row.val() == self.reply_vi.val()));
        self.may_take.d.next = self.is_row.val() & !self.holds.val() & !self.takes_row.val();
        self.commit.ready.next = !self.is_row.val() | self.takes_row.val();
        drive!(self, words.read_data => read_word);
        self.words.write_enable.next = self.word.valid.val() | self.takes_row.val();
        self.words.write_address.next = (bit_cast::<MEMORY_LOG2, 3>(self.write_slot.q.val()) << 3)
            | bit_cast::<MEMORY_LOG2, 3>(self.write_index.q.val());
        self.words.write_data.next = self.word.data.val();
        if !self.word.valid.val() {
            self.words.write_address.next =
                self.rows.val() | bit_cast::<MEMORY_LOG2, VI_LOG2>(self.row.val());
            self.words.write_data.next = self.commit.data.val().word0;
        }
        self.words.read_address.next = (bit_cast::<MEMORY_LOG2, 3>(self.read_slot.q.val()) << 3)
            | bit_cast::<MEMORY_LOG2, 3>(self.read_index.val());
        if self.read_row.val() {
            self.words.read_address.next = self.rows.val() | bit_cast::<MEMORY_LOG2, VI_LOG2>(self.vi.val());
        }
        if self.reply_row.val() {
            self.words.read_address.next =
                self.rows.val() | bit_cast::<MEMORY_LOG2, VI_LOG2>(self.reply_vi.val());
        }

        // LIFE-2: heads of a life that is over are dropped, and nobody is told.
        // A head that comes goes before a look at those that wait.
        self.looks.next = self.closes.val() & !self.head.valid.val() & !self.looked.q.val().get_bit(3);
        self.owners.write_enable.next = self.head.valid.val();
        self.owners.write_address.next = self.write_slot.q.val();
        self.owners.write_data.next = self.head.data.val().vi;
        self.owners.read_address.next = bit_cast::<3, 4>(self.looked.q.val());
        self.outlives.write_enable.next =
            self.head.valid.val() | (self.looks.val() & (self.owners.read_data.val() == self.row.val()));
        self.outlives.write_address.next = bit_cast::<3, 4>(self.looked.q.val());
        self.outlives.write_data.next = true;
        if self.head.valid.val() {
            self.outlives.write_address.next = self.write_slot.q.val();
            self.outlives.write_data.next = false;
        }
        drive!(self, read_slot.q => outlives.read_address; is_outlived.q => outlived);
        if self.looks.val() {
            self.looked.d.next = self.looked.q.val() + 1;
        }
        if !self.closes.val() {
            self.looked.d.next = bits::<4>(0);
        }
        self.closed.next = self.looked.q.val().get_bit(3) & (!self.holds.val() | self.is_outlived.q.val());

        if self.word.valid.val() {
            self.write_index.d.next = self.write_index.q.val() + 1;
        }
        if self.head.valid.val() {
            self.write_slot.d.next = self.write_slot.q.val() + 1;
            self.write_index.d.next = bits::<3>(0);
        }
        if self.free.val() {
            self.read_slot.d.next = self.read_slot.q.val() + 1;
        }
        if self.reset.val() {
            self.write_slot.d.next = bits::<3>(0);
            self.write_index.d.next = bits::<3>(0);
            self.read_slot.d.next = bits::<3>(0);
            self.looked.d.next = bits::<4>(0);
        }
    }
}
