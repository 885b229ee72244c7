//! Writes to host memory: commands and data in, memory write packets out.
//!
//! ```text
//!           command ──►┌──────────┐──► tx
//!           scatter ──►│ DmaWrite │──► retire, retired
//!          complete ──►│          │──► cut
//! cfg_*, max_payload ─►└──────────┘──► busy
//! ```
//! Contract: a command takes exactly its `length` bytes from its client's stream (client COMPLETE: `complete`,
//! any other: `scatter`), whatever the borders of the beats: one beat may be shared by two commands, and what is
//! left of it waits while the other client's commands run. Commands are cut into packets of at most `max_payload` bytes
//! that lie in one aligned block of that size. A packet starts when the first of its data is there, and then holds
//! `tx` until it is whole: a client whose command is granted brings its data without waiting for anything.
//!
//! `cut` is the size by which the packets in this block are cut: that of `max_payload`; after a change the old one, until the last packet
//! cut by it is out. So credits have to be counted by `cut`.
//!
//! `retire` is given, and `retired` counts, when the last beat of a command has been taken at `tx`.
//!
//! All streams come through registers, so that no source's path goes through the sums of this block or through the bus: `scatter` through
//! a slice of full rate; `complete`, which brings a few beats a message, through one that takes a beat every other cycle.
//!
//! Latency: 6 cycles from command and data to the first beat. Throughput: 8 bytes of payload every
//! cycle, and 2 to 3 cycles more for each packet. Bytes that are not enabled may hold any data that the
//! NIC has moved before: they are not written.
//!
//! How: header and payload are one stream of bytes to a `Packer`. The header is put in front as two pieces, the
//! second with as many bytes behind the header as the address has below its double word.
//!
//! Example: a command of COMPLETE for 16 bytes at 0x2008 and two beats of 8 bytes at `complete`: one packet with 16 bytes of payload leaves
//! at `tx`; with its last beat `retire` is given and `retired` goes up by one.
//!
//! Tests: `tests/tlp/dma_write/`.

use super::split::{CommandPiece, Split};
use crate::bus::{client, DmaCommand, TlpBeat, WriteBeat};
use crate::prims::{Number, Packer, Skid};
use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    First,
    Second,
    Pad,
    Data,
}

/// What goes to the packer in one cycle.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PacketBytes {
    data: Bits<64>,
    start: Bits<3>,
    count: Bits<4>,
    /// The packet's last.
    flush: bool,
    /// The command's last packet.
    done: bool,
    /// The command's.
    epoch: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct DmaWrite {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets everything under way.
    pub reset: Signal<In, bool>,
    /// A write, from `protect`.
    pub command: Sink<DmaCommand>,
    /// Data for the commands of client SCATTER, from `receive`.
    pub scatter: Sink<WriteBeat>,
    /// Data for the commands of client COMPLETE, from `complete/writer`.
    pub complete: Sink<WriteBeat>,
    /// The function's own bus, device and function number; the configuration space drives this and `max_payload`.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// Largest payload of a packet, as the system has set it: 128 << n bytes.
    pub max_payload: Signal<In, Bits<3>>,
    /// Largest payload of the packets that go out: 128 << n bytes; `edge/transmit` asks for credits by it.
    pub cut: Signal<Out, Bits<3>>,
    /// The memory writes, to the PCIe edge.
    pub tx: Source<TlpBeat>,
    /// A command has ended; the data is its epoch, for `protect`.
    pub retire: FlowSource<bool>,
    /// Number of commands that have ended, modulo 256; compared with `issued` of `protect` to know when writes are done.
    pub retired: Signal<Out, Bits<8>>,
    /// A command or data is under way; `quiet` listens.
    pub busy: Signal<Out, bool>,

    split: Split,
    scattered: Skid<WriteBeat>,
    packer: Packer,
    /// `completed` holds a beat of `complete`.
    completed_valid: DFF<bool>,
    /// The beat of `complete` that is held.
    completed: DFF<WriteBeat>,
    state: DFF<State>,
    /// Bytes of the piece that are still to come.
    needs: DFF<Bits<13>>,
    /// Bytes of the `scatter` beat on show that are taken already.
    scatter_used: DFF<Bits<3>>,
    /// Bytes of the `complete` beat on show that are taken already. What the piece's end has to be compared with is a beat's count alone.
    complete_used: DFF<Bits<3>>,
    /// Pieces on their way to the packer: the bus's ready ends here.
    stage: Skid<PacketBytes>,
    /// The packet that leaves is the last of its command.
    ending: DFF<bool>,
    /// Epoch of that packet's command.
    ending_epoch: DFF<bool>,
    /// `retire` is given in this cycle.
    retiring: DFF<bool>,
    /// The epoch that `retire` gives.
    epoch: DFF<bool>,
    /// `retired`.
    number: DFF<Bits<8>>,

    /// The piece at hand.
    piece: Signal<Local, CommandPiece>,
    // What the end of the header, and the data, need of the piece: `split` shows the next piece by then. State::First takes these.
    /// The piece's data comes from `complete`.
    from_complete: DFF<bool>,
    /// The piece is the last of its command.
    last_piece: DFF<bool>,
    /// Epoch of the piece's command.
    piece_epoch: DFF<bool>,
    /// Bytes of the piece's first double word that lie before its first byte.
    below: DFF<Bits<2>>,
    first_valid: Signal<Local, bool>,
    first_used: Signal<Local, Bits<3>>,
    count: Signal<Local, Bits<4>>,
    source: Signal<Local, WriteBeat>,
    source_valid: Signal<Local, bool>,
    used: Signal<Local, Bits<3>>,
    start: Signal<Local, Bits<3>>,
    rest: Signal<Local, Bits<4>>,
    take: Signal<Local, Bits<4>>,
    finish: Signal<Local, bool>,
    /// `needs` is below 16.
    few: Signal<Local, bool>,
    /// The piece takes all that is left of the `scatter` beat, if it is that one's turn.
    scatter_whole: Signal<Local, bool>,
    /// The piece takes all that is left of the `complete` beat, if it is that one's turn.
    complete_whole: Signal<Local, bool>,
    used_after: Signal<Local, Bits<3>>,
    needs_after: Signal<Local, Bits<13>>,
    offer: Signal<Local, WriteBeat>,
    offered: Signal<Local, bool>,
    flush: Signal<Local, bool>,
    room: Signal<Local, bool>,
    /// Data is moved if there is some.
    moving: Signal<Local, bool>,
    moved: Signal<Local, bool>,
    /// The header or the data of a packet is on its way to `stage`.
    halfway: Signal<Local, bool>,
    emptied: Signal<Local, bool>,
    over_four: Signal<Local, bool>,
    complete_client: Number<2, { client::COMPLETE }>,
}

impl Logic for DmaWrite {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, needs, scatter_used, complete_used, ending, ending_epoch);
        dff_setup!(self, clock, retiring, epoch, number);
        dff_setup!(self, clock, completed_valid, completed, from_complete, last_piece, piece_epoch, below);
        clock!(self, clock, split, scattered, stage, packer);

        self.scattered.reset.next = self.reset.val();
        Sink::<WriteBeat>::link(&mut self.scatter, &mut self.scattered.sink);
        self.complete.ready.next = !self.completed_valid.q.val();
        if !self.completed_valid.q.val() {
            self.completed_valid.d.next = self.complete.valid.val();
            self.completed.d.next = self.complete.data.val();
        }

        drive!(self, reset => split.reset; max_payload => split.size);
        Sink::<DmaCommand>::link(&mut self.command, &mut self.split.command);
        // Data that waits in the streams does not count: it may wait for a command that waits for the new size.
        self.halfway.next = self.state.q.val() != State::First;
        self.split.settled.next = !(self.split.busy.val()
            | self.halfway.val()
            | self.stage.source.valid.val()
            | self.packer.source.valid.val());
        drive!(self, split.chosen => cut; cfg_requester_id => split.requester; split.piece.data => piece);
        self.split.write.next = true;
        self.split.tag.next = bits::<8>(0);

        // Where the piece's data comes from.
        self.first_valid.next = self.scattered.source.valid.val();
        self.first_used.next = self.scatter_used.q.val();
        if self.piece.val().client == self.complete_client.val() {
            self.first_valid.next = self.completed_valid.q.val();
            self.first_used.next = self.complete_used.q.val();
        }
        drive!(self, scattered.source.data => source; scattered.source.valid => source_valid;
            scatter_used.q => used);
        if self.from_complete.q.val() {
            self.source.next = self.completed.q.val();
            self.source_valid.next = self.completed_valid.q.val();
            self.used.next = self.complete_used.q.val();
        }
        self.start.next = self.source.val().start + self.used.val();
        self.count.next = self.source.val().count;
        // `used_after` is used with the last bytes of the piece only, and `needs_after` only before them.
        self.rest.next = self.needs.q.val().get_bits::<4>(0);
        self.few.next = !self.needs.q.val().get_bits::<9>(4).any();
        self.finish.next = self.few.val() & (self.rest.val() <= self.count.val());
        self.take.next = self.count.val() - bit_cast::<4, 3>(self.used.val());
        if self.finish.val() {
            self.take.next = self.rest.val() - bit_cast::<4, 3>(self.used.val());
        }
        // Worked out for each beat by itself, so that no stream's `ready` waits for whose turn it is.
        self.scatter_whole.next =
            !(self.few.val() & (self.rest.val() < self.scattered.source.data.val().count));
        self.complete_whole.next = !(self.few.val() & (self.rest.val() < self.completed.q.val().count));
        self.used_after.next = bit_cast::<3, 4>(self.rest.val());
        self.needs_after.next = self.needs.q.val() - bit_cast::<13, 4>(self.count.val());

        // One stream of header and payload.
        self.offer.next.data = self.split.header0.val();
        self.offer.next.start = bits::<3>(0);
        self.offer.next.count = bits::<4>(8);
        drive!(self, false => offered, flush, moving, split.piece.ready; stage.sink.ready => room);
        match self.state.q.val() {
            State::First => {
                self.from_complete.d.next = self.piece.val().client == self.complete_client.val();
                self.last_piece.d.next = self.piece.val().done;
                self.piece_epoch.d.next = self.piece.val().epoch;
                self.below.d.next = bit_cast::<2, 12>(self.piece.val().first);
                self.offered.next = self.split.piece.valid.val() & self.first_valid.val();
                self.needs.d.next = self.piece.val().length + bit_cast::<13, 3>(self.first_used.val());
                if self.split.piece.valid.val() & self.first_valid.val() & self.room.val() {
                    self.state.d.next = State::Second;
                }
            }
            State::Second => {
                self.offered.next = true;
                self.offer.next.data = self.split.header1.val();
                if !self.split.long.val() {
                    self.offer.next.count = bit_cast::<4, 2>(self.below.q.val()) | bits::<4>(4);
                }
                // `split` goes on now, and not with the last of the data: that is known late in a cycle.
                self.split.piece.ready.next = self.room.val();
                if self.room.val() {
                    self.state.d.next = State::Data;
                    if self.split.long.val() & self.below.q.val().any() {
                        self.state.d.next = State::Pad;
                    }
                }
            }
            State::Pad => {
                self.offered.next = true;
                self.offer.next.count = bit_cast::<4, 2>(self.below.q.val());
                if self.room.val() {
                    self.state.d.next = State::Data;
                }
            }
            State::Data => {
                self.offered.next = self.source_valid.val();
                fill!(self, offer, source.val().data => data; start => start; take => count);
                self.flush.next = self.finish.val();
                self.moving.next = self.room.val();
                if self.source_valid.val() & self.room.val() {
                    self.needs.d.next = self.needs_after.val();
                    if self.finish.val() {
                        self.state.d.next = State::First;
                    }
                }
            }
            _ => {
                self.state.d.next = State::First;
            }
        }
        self.moved.next = self.moving.val() & self.source_valid.val();
        self.scattered.source.ready.next =
            self.moving.val() & !self.from_complete.q.val() & self.scatter_whole.val();
        if self.moved.val() & !self.from_complete.q.val() {
            self.scatter_used.d.next = self.used_after.val();
            if self.scatter_whole.val() {
                self.scatter_used.d.next = bits::<3>(0);
            }
        }
        if self.moved.val() & self.from_complete.q.val() {
            self.complete_used.d.next = self.used_after.val();
            if self.complete_whole.val() {
                self.completed_valid.d.next = false;
                self.complete_used.d.next = bits::<3>(0);
            }
        }

        drive!(self, reset => stage.reset, packer.reset; offered => stage.sink.valid;
            packer.sink.ready => stage.source.ready; stage.source.valid => packer.sink.valid;
            stage.source.data.val().data => packer.sink.data;
            stage.source.data.val().start => packer.in_start;
            stage.source.data.val().count => packer.in_count;
            stage.source.data.val().flush => packer.in_flush);
        fill!(self, stage.sink.data, offer.val().data => data; offer.val().start => start;
            offer.val().count => count; flush => flush; last_piece.q => done; piece_epoch.q => epoch);
        self.packer.restart.next = false;
        self.packer.restart_fill.next = bits::<3>(0);
        self.packer.restart_data.next = bits::<64>(0);
        if self.stage.source.valid.val() & self.stage.source.data.val().flush & self.packer.sink.ready.val() {
            self.ending.d.next = self.stage.source.data.val().done;
            self.ending_epoch.d.next = self.stage.source.data.val().epoch;
        }

        // The packets leave.
        drive!(self, packer.source.valid => tx.valid; tx.ready => packer.source.ready);
        self.over_four.next = self.packer.out_count.val() > bits::<4>(4);
        self.tx.data.next.data = self.packer.source.data.val();
        self.tx.data.next.keep = bits::<2>(1);
        if self.over_four.val() {
            self.tx.data.next.keep = bits::<2>(3);
        }
        self.tx.data.next.last = self.packer.out_last.val();

        // `ending` is of this packet: the next one's last piece comes after its header, and that finds no
        // room before this packet's last beat has left.
        self.emptied.next = self.packer.source.valid.val()
            & self.packer.out_last.val()
            & self.tx.ready.val()
            & self.ending.q.val();
        self.retiring.d.next = self.emptied.val();
        self.epoch.d.next = self.ending_epoch.q.val();
        if self.emptied.val() {
            self.number.d.next = self.number.q.val() + 1;
        }
        drive!(self, retiring.q => retire.valid; epoch.q => retire.data; number.q => retired);
        self.busy.next = self.split.busy.val()
            | self.halfway.val()
            | self.scattered.source.valid.val()
            | self.completed_valid.q.val()
            | self.stage.source.valid.val()
            | self.packer.source.valid.val()
            | self.retiring.q.val();

        if self.reset.val() {
            self.state.d.next = State::First;
            self.completed_valid.d.next = false;
            self.scatter_used.d.next = bits::<3>(0);
            self.complete_used.d.next = bits::<3>(0);
            self.ending.d.next = false;
            self.retiring.d.next = false;
            self.number.d.next = bits::<8>(0);
        }
    }
}
