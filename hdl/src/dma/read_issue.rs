//! Sends the read requests of commands.
//!
//! ```text
//!           command ──►┌───────────┐──► reserve, piece  (to the slot's tables)
//! tag, room, silent ──►│ ReadIssue │◄── reserve_ready
//!   cfg_*, max_read ──►│           │──► issued, opened, leaving
//!                      └───────────┘──► tx, busy
//! ```
//! Contract: each piece of a command takes one slot, whose number is the tag; `room` says that slot `tag` is
//! free. While `reserve` is high the piece is offered to the tables of slot `tag`; they take it when `reserve_ready` is high
//! too. `issued` says that the slot is in use, and the next one is next. With `opened` completions will come for the slot; it comes
//! only when the last beat of the request was taken. A refused command takes a slot and sends nothing, and so does every
//! command while `silent`.
//!
//! Latency: 3 cycles from the command to the first beat. At most one request every 5 cycles, because `room` needs a cycle to look at
//! the next slot.
//!
//! Example: a command of one piece finds slot 3 free: `reserve` and `piece` fill the tables of slot 3, and two beats with tag 3 leave.
//! After the last one `issued` and `opened` are high.
//!
//! Tests: with `DmaRead`, `tests/tlp/dma_read/`.

use super::split::{CommandPiece, Split};
use crate::bus::{DmaCommand, ReadTag, TlpBeat};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::READ_TAGS_LOG2;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    First,
    Second,
    Gone,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadIssue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the command.
    pub reset: Signal<In, bool>,
    /// A read, from `protect`.
    pub command: Sink<DmaCommand>,
    /// The function's own bus, device and function number; the configuration space drives this and `max_read`.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// Largest read request: 128 << n bytes.
    pub max_read: Signal<In, Bits<3>>,
    /// The slot that the next request takes; `DmaRead` drives this and the next two.
    pub tag: Signal<In, ReadTag>,
    /// Slot `tag` is free.
    pub room: Signal<In, bool>,
    /// All slots are lost, so no request is sent.
    pub silent: Signal<In, bool>,
    /// The tables of slot `tag`, in `ReadSlots` and `ReadDrain`, are to take `piece`.
    pub reserve: Signal<Out, bool>,
    /// The tables take the piece in this cycle; `ReadSlots` drives it.
    pub reserve_ready: Signal<In, bool>,
    /// The piece of the command that the slot is for.
    pub piece: Signal<Out, CommandPiece>,
    /// Slot `tag` is in use from now on; `DmaRead` listens to this and the next two.
    pub issued: Signal<Out, bool>,
    /// With `issued`: a request has left, so completions will come for the slot.
    pub opened: Signal<Out, bool>,
    /// A request has begun to leave, and its slot is not open yet.
    pub leaving: Signal<Out, bool>,
    /// The read requests, to the PCIe edge.
    pub tx: Source<TlpBeat>,
    /// A command is under way.
    pub busy: Signal<Out, bool>,

    split: Split,
    state: DFF<State>,
    /// A beat is on show at `tx`.
    beat_valid: DFF<bool>,
    /// The beat on show.
    beat: DFF<TlpBeat>,
    free: Signal<Local, bool>,
    mute: Signal<Local, bool>,
    sent: Signal<Local, bool>,
    skipped: Signal<Local, bool>,
}

impl Logic for ReadIssue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, beat_valid, beat);
        clock!(self, clock, split);
        drive!(self, reset => split.reset; cfg_requester_id => split.requester);
        Sink::<DmaCommand>::link(&mut self.command, &mut self.split.command);
        self.split.write.next = false;
        self.split.tag.next = bit_cast::<8, READ_TAGS_LOG2>(self.tag.val());
        // A slot holds 512 bytes.
        self.split.size.next = self.max_read.val();
        if self.max_read.val() > bits::<3>(2) {
            self.split.size.next = bits::<3>(2);
        }
        // The size of a piece is in its slot, so a new size may come into force at any time.
        self.split.settled.next = true;
        drive!(self, split.piece.data => piece; split.busy => busy);

        drive!(self, beat_valid.q => tx.valid; beat.q => tx.data);
        self.free.next = self.tx.ready.val() | !self.beat_valid.q.val();
        if self.free.val() {
            self.beat_valid.d.next = false;
        }
        self.mute.next = self.silent.val() | self.piece.val().refused;
        drive!(self, false => reserve, sent, skipped);
        match self.state.q.val() {
            State::First => {
                if self.split.piece.valid.val() & self.room.val() & !self.beat_valid.q.val() {
                    self.reserve.next = true;
                    if self.reserve_ready.val() {
                        if self.mute.val() {
                            self.skipped.next = true;
                        } else {
                            self.beat_valid.d.next = true;
                            self.beat.d.next.data = self.split.header0.val();
                            self.beat.d.next.keep = bits::<2>(3);
                            self.beat.d.next.last = false;
                            self.state.d.next = State::Second;
                        }
                    }
                }
            }
            State::Second => {
                if self.free.val() {
                    self.beat_valid.d.next = true;
                    self.beat.d.next.data = self.split.header1.val();
                    if !self.split.long.val() {
                        self.beat.d.next.keep = bits::<2>(1);
                    }
                    self.beat.d.next.last = true;
                    self.state.d.next = State::Gone;
                }
            }
            State::Gone => {
                // The slot is opened a cycle after the beat is taken: `tx.ready` comes late, and much depends on `opened`.
                if !self.beat_valid.q.val() {
                    self.sent.next = true;
                    self.state.d.next = State::First;
                }
            }
            _ => {
                self.state.d.next = State::First;
            }
        }
        self.issued.next = self.sent.val() | self.skipped.val();
        self.opened.next = self.sent.val();
        // The second beat follows the first with nothing to wait for but `tx`, so a request leaves from this state on.
        self.leaving.next = self.state.q.val() == State::Gone;
        self.split.piece.ready.next = self.sent.val() | self.skipped.val();

        if self.reset.val() {
            self.state.d.next = State::First;
            self.beat_valid.d.next = false;
        }
    }
}
