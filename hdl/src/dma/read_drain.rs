//! Hands out what was read, slot by slot in the order of issue.
//!
//! ```text
//! reserve, _tag, piece, hollow ──►┌───────────┐──► head, taken, strike
//!        waiting, open, faulty ──►│           │──► read_row
//!      flowing, flow_tag, fill ──►│ ReadDrain │◄── read_data   (next cycle)
//!  progress, time_now, draining ─►│           │──► beat, retire, deadline
//!                                 └───────────┘
//! ```
//! Contract: while `waiting`, the block works on the oldest slot. Its bytes leave as beats, one row of 8 a cycle. When the slot is
//! not `open` any more all its rows may leave; before that all but the last may, while they flow in (`flowing` into slot `flow_tag`: the
//! rows below `fill` are there). A refused slot leaves as one beat without bytes, and a faulty slot ends with one.
//! A fault shows in its own beat and once more in the last of its access, which then has no bytes either.
//! A `hollow` slot is passed over.
//!
//! `strike` says that the time of the oldest slot is up ([`ReadTime`]); `DmaRead` closes it then and makes it faulty.
//!
//! Latency: 1 cycle from the slot's end of `open`, or from `fill`, to a beat if it was the oldest already. One cycle
//! is lost between two slots.
//!
//! Example: slots 0 and 1 are reserved and slot 1 closes first: only the rows of slot 0 leave, as they flow in. When slot 0 closes, its
//! last row leaves in the next cycle, and slot 1 follows.
//!
//! Tests: with `DmaRead`, `tests/tlp/dma_read/`.

use super::read_time::ReadTime;
use super::split::CommandPiece;
use crate::bus::{ReadBeat, ReadTag};
use crate::prims::LutRam;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_TAGS, READ_TAGS_LOG2};

/// What a slot is for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SlotPurpose {
    /// Row of the piece's first byte.
    row: Bits<6>,
    /// Lane of the piece's first byte.
    lane: Bits<3>,
    /// Row of the piece's last byte.
    last_row: Bits<6>,
    /// Lane of the piece's last byte.
    last_lane: Bits<3>,
    /// Client of the piece's access.
    client: Bits<2>,
    /// `user` of the piece's access.
    user: Bits<8>,
    /// Epoch of the piece's command.
    epoch: bool,
    /// The piece is the last of its access.
    last: bool,
    /// The piece is the last of its command.
    done: bool,
    /// The access was refused: the slot has no data.
    refused: bool,
    /// The slot is for nothing.
    hollow: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadDrain {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Starts with slot 0 again.
    pub reset: Signal<In, bool>,
    /// Slot `reserve_tag` is reserved for `piece`; `DmaRead` drives this and the inputs up to `faulty`.
    pub reserve: Signal<In, bool>,
    /// The slot that is reserved.
    pub reserve_tag: Signal<In, ReadTag>,
    /// The piece of a command that the slot is for; `DmaRead` has it from `ReadIssue`.
    pub piece: Signal<In, CommandPiece>,
    /// The reserved slot is for nothing, because it is lost: it is passed over.
    pub hollow: Signal<In, bool>,
    /// At least one slot is in use; the oldest is `head`.
    pub waiting: Signal<In, bool>,
    /// One bit for each slot that waits for completions.
    pub open: Signal<In, Bits<READ_TAGS>>,
    /// One bit for each slot whose data cannot be used.
    pub faulty: Signal<In, Bits<READ_TAGS>>,
    /// Rows below `fill` of slot `flow_tag` are in the memory, though the slot is still open; from `ReadSlots`.
    pub flowing: Signal<In, bool>,
    /// The slot that data flows into, from `ReadSlots`.
    pub flow_tag: Signal<In, ReadTag>,
    /// The first row of slot `flow_tag` that is not there yet; all rows below it are; from `ReadSlots`.
    pub fill: Signal<In, Bits<6>>,
    /// A good completion for the oldest slot has begun; `DmaRead` drives it.
    pub progress: Signal<In, bool>,
    /// Device time, ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// A reset waits for the slots that are open: no time is added; the NIC's `Reset` drives this.
    pub draining: Signal<In, bool>,
    /// The number of the oldest slot; `DmaRead` listens to this and the next two.
    pub head: Signal<Out, ReadTag>,
    /// The oldest slot is free from the next cycle on.
    pub taken: Signal<Out, bool>,
    /// The oldest slot has timed out.
    pub strike: Signal<Out, bool>,
    /// The row of the slots' memory to read, for `ReadSlots`: {slot, 8 bytes in it}.
    pub read_row: Signal<Out, Bits<10>>,
    /// The 8 bytes of the `read_row` of the cycle before, from `ReadSlots`.
    pub read_data: Signal<In, Bits<64>>,
    /// The data that was read, to the clients.
    pub beat: FlowSource<ReadBeat>,
    /// A command has ended with this beat; the data is its epoch.
    pub retire: FlowSource<bool>,
    /// The time at which the oldest slot times out; given while one is open.
    pub deadline: FlowSource<Bits<32>>,

    /// What each slot is for.
    slots: LutRam<SlotPurpose, READ_TAGS_LOG2>,
    /// The oldest slot.
    at: DFF<ReadTag>,
    /// The oldest slot, one-hot.
    turn: DFF<Bits<READ_TAGS>>,
    /// `row`, `lane` and `slot` are the oldest slot's.
    loaded: DFF<bool>,
    /// The row that is read next.
    row: DFF<Bits<6>>,
    /// The first lane of that row that counts.
    lane: DFF<Bits<3>>,
    /// What the oldest slot is for.
    slot: DFF<SlotPurpose>,
    /// A piece of this access was faulty.
    spoiled: DFF<bool>,
    /// A beat is on show.
    valid: DFF<bool>,
    /// First lane of the beat on show that counts.
    start: DFF<Bits<3>>,
    /// Number of lanes of the beat on show that count.
    count: DFF<Bits<4>>,
    /// Client of the beat on show.
    client: DFF<Bits<2>>,
    /// `user` of the access of the beat on show.
    user: DFF<Bits<8>>,
    /// The beat on show is the last of its access.
    last: DFF<bool>,
    /// The access of the beat on show was refused.
    refused: DFF<bool>,
    /// The read of the beat on show has failed.
    failed: DFF<bool>,
    /// The beat on show ends a command.
    retiring: DFF<bool>,
    /// Epoch of the command of the beat on show.
    epoch: DFF<bool>,
    timer: ReadTime,

    entry: Signal<Local, SlotPurpose>,
    first: Signal<Local, Bits<12>>,
    finish: Signal<Local, Bits<12>>,
    opened: Signal<Local, bool>,
    fault: Signal<Local, bool>,
    empty: Signal<Local, bool>,
    early: Signal<Local, bool>,
    go: Signal<Local, bool>,
    final_row: Signal<Local, bool>,
    behind: Signal<Local, Bits<4>>,
    bytes: Signal<Local, Bits<4>>,
    leave: Signal<Local, bool>,
    pass: Signal<Local, bool>,
    failing: Signal<Local, bool>,
}

// `update` turns the one-hot number round.
const _: () = assert!(READ_TAGS == 16);

impl Logic for ReadDrain {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, at, turn, loaded, row, lane, slot, spoiled, valid, start, count, client, user
        );
        dff_setup!(self, clock, last, refused, failed, retiring, epoch);
        clock!(self, clock, slots, timer);
        self.timer.reset.next = self.reset.val();

        drive!(self, piece.val().first => first; piece.val().finish => finish; reserve => slots.write_enable;
            reserve_tag => slots.write_address; at.q => slots.read_address; slots.read_data => entry);
        self.slots.write_data.next.row = self.first.val().get_bits::<6>(3);
        self.slots.write_data.next.lane = self.first.val().get_bits::<3>(0);
        self.slots.write_data.next.last_row = self.finish.val().get_bits::<6>(3);
        self.slots.write_data.next.last_lane = self.finish.val().get_bits::<3>(0);
        fill!(self, slots.write_data, piece.val().client => client; piece.val().user => user;
            piece.val().epoch => epoch; piece.val().last => last; piece.val().done => done;
            piece.val().refused => refused; hollow => hollow);

        // One row of the oldest slot.
        self.opened.next = (self.open.val() & self.turn.q.val()).any();
        self.fault.next = (self.faulty.val() & self.turn.q.val()).any() & !self.slot.q.val().refused;
        self.final_row.next = self.row.q.val() == self.slot.q.val().last_row;
        // The last row waits until the slot is closed, because its beat must say what became of the slot.
        self.early.next = self.flowing.val()
            & (self.flow_tag.val() == self.at.q.val())
            & (self.row.q.val() < self.fill.val())
            & !self.final_row.val()
            & !self.fault.val();
        self.go.next = self.loaded.q.val() & (!self.opened.val() | self.early.val());
        self.empty.next = self.fault.val() | self.slot.q.val().refused;
        self.behind.next = bits::<4>(8);
        if self.final_row.val() {
            self.behind.next = bit_cast::<4, 3>(self.slot.q.val().last_lane) + 1;
        }
        self.bytes.next = self.behind.val() - bit_cast::<4, 3>(self.lane.q.val());
        // Nothing flows early into a slot that was refused.
        self.leave.next =
            self.loaded.q.val() & !self.opened.val() & (self.final_row.val() | self.empty.val());
        self.failing.next =
            self.fault.val() | (self.spoiled.q.val() & self.slot.q.val().last & self.final_row.val());
        self.read_row.next =
            (bit_cast::<10, READ_TAGS_LOG2>(self.at.q.val()) << 6) | bit_cast::<10, 6>(self.row.q.val());

        self.valid.d.next = self.go.val();
        self.start.d.next = self.lane.q.val();
        self.count.d.next = self.bytes.val();
        if self.empty.val() | self.failing.val() {
            self.count.d.next = bits::<4>(0);
        }
        self.client.d.next = self.slot.q.val().client;
        self.user.d.next = self.slot.q.val().user;
        self.last.d.next = self.leave.val() & self.slot.q.val().last;
        self.refused.d.next = self.slot.q.val().refused;
        self.failed.d.next = self.failing.val();
        self.retiring.d.next = self.leave.val() & self.slot.q.val().done;
        self.epoch.d.next = self.slot.q.val().epoch;
        if self.go.val() {
            self.row.d.next = self.row.q.val() + 1;
            self.lane.d.next = bits::<3>(0);
            if self.fault.val() {
                self.spoiled.d.next = true;
            }
        }
        if self.leave.val() {
            self.loaded.d.next = false;
            if self.slot.q.val().last {
                self.spoiled.d.next = false;
            }
        }

        // The next slot.
        self.pass.next = false;
        if !self.loaded.q.val() & self.waiting.val() {
            self.slot.d.next = self.entry.val();
            self.row.d.next = self.entry.val().row;
            self.lane.d.next = self.entry.val().lane;
            self.loaded.d.next = !self.entry.val().hollow;
            self.pass.next = self.entry.val().hollow;
        }
        self.head.next = self.at.q.val();
        self.taken.next = self.leave.val() | self.pass.val();
        if self.leave.val() | self.pass.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.turn.d.next = (self.turn.q.val() << 1) | (self.turn.q.val() >> 15);
        }

        drive!(self, loaded.q => timer.shown; opened => timer.opened; progress => timer.progress;
            time_now => timer.time_now; draining => timer.draining; timer.strike => strike);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.timer.deadline);

        drive!(self, valid.q => beat.valid; retiring.q => retire.valid; epoch.q => retire.data);
        fill!(self, beat.data, client.q => client; user.q => user; read_data => data; start.q => start;
            count.q => count; last.q => last; refused.q => refused; failed.q => failed);

        if self.reset.val() {
            self.at.d.next = bits::<READ_TAGS_LOG2>(0);
            self.turn.d.next = bits::<READ_TAGS>(1);
            self.loaded.d.next = false;
            self.spoiled.d.next = false;
            self.valid.d.next = false;
            self.retiring.d.next = false;
        }
    }
}
