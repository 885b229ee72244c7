//! Keeps what is known of the reads of each VI: which slots wait for their answers, which are in use, and how many may wait.
//!
//! ```text
//!        vi, slot ──►┌────────────┐──► now, known
//!  change, commit ──►│ ReadQueues │──► waits, used
//!            mark ──►│  (Behind)  │──► alone, full
//!                    └────────────┘
//! ```
//! Contract: `now` is the row of `vi`, `known` what it was in the cycle before; the other outputs are of `known` and `slot`. `change`
//! says what becomes of the row at the end of the cycle:
//!
//! | change | the row |
//! |---|---|
//! | Begins | no slot is in use; depth and path MTU are those of the RECEIVE row in `commit` |
//! | Takes | `slot`, the oldest, is in use and waits; the next one is the oldest |
//! | TakesAgain | `slot` waits; those behind it do not |
//! | Answers | `slot` does not wait any more; if it was `alone`, `mark` is kept |
//! | Forgets | no slot is in use |
//!
//! Latency: none from `vi` to `now`, 1 to `known`.
//!
//! Example: slots 1 and 2 wait, 1 is the oldest, and four may wait. The read of slot 1 comes again (TakesAgain): slot 2 waits no more,
//! because the peer asks for it again, too.
//!
//! Tests: with the whole, `tests/reply/requests/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::behind::Behind;
use crate::bus::{Commit, Mark, Vi};
use crate::prims::{LutRam, Number, Unpack};
use crate::rows::tables::ReceiveRow;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_DEPTH, VI_LOG2};

// `ReadQueue::pending` has a bit for each slot.
const _: () = assert!(READ_DEPTH == 4);

/// The row of a VI: its slots, and how many requests may wait.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadQueue {
    /// Slot of the next new request: the oldest.
    pub oldest: Bits<2>,
    /// Slots whose requests wait for their answers, a bit each.
    pub pending: Bits<4>,
    /// Slots in use since the connection began, a bit each.
    pub used: Bits<4>,
    /// Most requests that may wait: 0 to 4. With 0 the VI may not be read.
    pub depth: Bits<3>,
    /// Path MTU: 256 << MTU bytes.
    pub mtu: Bits<3>,
    /// How many packets had been given out when the last of its answers began.
    pub mark: Mark,
}

/// A change of a VI's row.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum QueueChange {
    /// It stays.
    Nothing,
    /// A connection begins.
    Begins,
    /// A new request is kept.
    Takes,
    /// A request that came again is kept.
    TakesAgain,
    /// The last packet of an answer is given out.
    Answers,
    /// No answer will be given.
    Forgets,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadQueues {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The VI at hand; [`Requests`](super::Requests) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// The slot at hand, 0 to 3.
    pub slot: Signal<In, Bits<2>>,
    /// The change of the VI's row.
    pub change: Signal<In, QueueChange>,
    /// With Begins: the RECEIVE row.
    pub commit: Signal<In, Commit>,
    /// With Answers: packets given out so far, modulo 256.
    pub mark: Signal<In, Mark>,
    /// The VI's row.
    pub now: Signal<Out, ReadQueue>,
    /// The VI's row in the cycle before.
    pub known: Signal<Out, ReadQueue>,
    /// The slot waits for its answer.
    pub waits: Signal<Out, bool>,
    /// The slot holds a request.
    pub used: Signal<Out, bool>,
    /// No other slot of the VI waits.
    pub alone: Signal<Out, bool>,
    /// In the cycle before, as many requests waited as may.
    pub full: Signal<Out, bool>,
    queues: LutRam<ReadQueue, VI_LOG2>,
    behind: Behind,
    row: Unpack<Commit, ReceiveRow>,
    held: DFF<ReadQueue>,
    was_full: DFF<bool>,
    read: Signal<Local, ReadQueue>,
    pending: Signal<Local, Bits<4>>,
    in_use: Signal<Local, Bits<4>>,
    /// The slot's bit.
    one: Signal<Local, Bits<4>>,
    waiting: Signal<Local, Bits<3>>,
    depth: Signal<Local, Bits<4>>,
    most: Number<4, { READ_DEPTH as u64 }>,
}

impl Logic for ReadQueues {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held, was_full);
        clock!(self, clock, queues);
        drive!(self, vi => queues.read_address; queues.read_data => read; read => now; held.q => known;
            held.q.val().pending => pending; held.q.val().used => in_use; was_full.q => full;
            slot => behind.slot; held.q.val().oldest => behind.oldest; commit => row.from;
            row.to.val().read_depth => depth);
        self.held.d.next = self.read.val();
        self.one.next = bits::<4>(1) << self.slot.val();
        self.waits.next = (self.pending.val() & self.one.val()).any();
        self.used.next = (self.in_use.val() & self.one.val()).any();
        self.alone.next = self.pending.val() == self.one.val();
        self.waiting.next = bit_cast::<3, 1>(self.pending.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(3));
        self.was_full.d.next = self.waiting.val() >= self.held.q.val().depth;

        drive!(self, vi => queues.write_address; read => queues.write_data; true => queues.write_enable);
        match self.change.val() {
            QueueChange::Nothing => {
                self.queues.write_enable.next = false;
            }
            QueueChange::Begins => {
                // LIFE-2: a RECEIVE row forgets the reads of the connection before.
                self.queues.write_data.next.oldest = bits::<2>(0);
                self.queues.write_data.next.pending = bits::<4>(0);
                self.queues.write_data.next.used = bits::<4>(0);
                self.queues.write_data.next.mtu = self.row.to.val().mtu;
                self.queues.write_data.next.depth = bit_cast::<3, 4>(self.depth.val());
                if self.depth.val() > self.most.val() {
                    self.queues.write_data.next.depth = bit_cast::<3, 4>(self.most.val());
                }
                if !self.row.to.val().rdma_read {
                    self.queues.write_data.next.depth = bits::<3>(0);
                }
            }
            QueueChange::Takes => {
                self.queues.write_data.next.pending = self.pending.val() | self.one.val();
                self.queues.write_data.next.used = self.in_use.val() | self.one.val();
                self.queues.write_data.next.oldest = self.slot.val() + 1;
            }
            QueueChange::TakesAgain => {
                // RSP-1: the new answer takes the place of what has not left of the old one, and of those behind it.
                self.queues.write_data.next.pending =
                    (self.pending.val() & !self.behind.behind.val()) | self.one.val();
            }
            QueueChange::Answers => {
                self.queues.write_data.next.pending = self.pending.val() & !self.one.val();
                if self.pending.val() == self.one.val() {
                    self.queues.write_data.next.mark = self.mark.val();
                }
            }
            QueueChange::Forgets => {
                self.queues.write_data.next.pending = bits::<4>(0);
                self.queues.write_data.next.used = bits::<4>(0);
            }
        }
    }
}
