//! Cuts a command into pieces that fit one packet each, and makes their headers.
//!
//! ```text
//!          command ──►┌───────┐──► piece
//!    size, settled ──►│ Split │──► header0, header1, long
//! write, requester ──►│       │──► chosen
//!              tag ──►└───────┘──► busy
//! ```
//! Contract: a piece never leaves its aligned block of `128 << size` bytes (at most 4096), so it crosses
//! neither 4 KiB nor more than one packet's payload. Pieces come in order of address; `done` marks the
//! last of the command. A refused command is one piece. Enables are contiguous; with one double word those of the last
//! are 0. The header is long (4 double words) if the address needs more than 32 bits.
//!
//! `chosen` is the size that commands are cut by. When `size` differs from it, no command is taken until those before are cut and
//! `settled` is high; then `chosen` becomes the new size. So the system may change the size under load, and soon finds it in force.
//!
//! Latency: 2 cycles from the command to its first piece; then one piece a cycle, and one cycle without a piece between two commands. The
//! outputs follow from registers and `write`, `requester`, `tag`.
//!
//! Example: `size` is 1 (256 bytes). A command of 300 bytes at 0x10C0 becomes two pieces: 64 bytes at 0x10C0, then 236 at 0x1100, `done`.
//!
//! Tests: with `DmaRead` and `DmaWrite`, `tests/tlp/dma_read/` and `tests/tlp/dma_write/`.

use crate::bus::DmaCommand;
use crate::prims::{Cast, Number};
use crate::rows::tlp::{FirstWord, RequestWord, TlpKind};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::packet_type;

/// A part of a command that fits one packet.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CommandPiece {
    /// Low 12 bits of the address of its first byte.
    pub first: Bits<12>,
    /// Low 12 bits of the address of its last byte.
    pub finish: Bits<12>,
    /// Bytes, 1 to 4096.
    pub length: Bits<13>,
    /// Double words that it touches, 1 to 1024.
    pub words: Bits<11>,
    /// Client of the command.
    pub client: Bits<2>,
    /// `user` of the command.
    pub user: Bits<8>,
    /// Epoch of the command.
    pub epoch: bool,
    /// Last piece of the access.
    pub last: bool,
    /// Last piece of the command.
    pub done: bool,
    /// The command was refused.
    pub refused: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Split {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the command; `size` is in force afterwards.
    pub reset: Signal<In, bool>,
    /// A command to cut, from `protect`, through the block that owns this one: `ReadIssue` or `DmaWrite`. That block drives the inputs.
    pub command: Sink<DmaCommand>,
    /// Largest piece: 128 << n bytes; n above 5 counts as 5.
    pub size: Signal<In, Bits<3>>,
    /// The pieces that were cut have gone as far as the size matters.
    pub settled: Signal<In, bool>,
    /// The size that commands are cut by now: 128 << n bytes.
    pub chosen: Signal<Out, Bits<3>>,
    /// The headers are those of writes; otherwise those of reads.
    pub write: Signal<In, bool>,
    /// The requester's identifier, for the header.
    pub requester: Signal<In, Bits<16>>,
    /// The tag, for the header.
    pub tag: Signal<In, Bits<8>>,
    /// The next piece of the command, for the owner, like all outputs.
    pub piece: Source<CommandPiece>,
    /// The first beat of the piece's packet.
    pub header0: Signal<Out, Bits<64>>,
    /// The second beat; with a short header its high half is 0 and free for data.
    pub header1: Signal<Out, Bits<64>>,
    /// The header has 4 double words, otherwise 3.
    pub long: Signal<Out, bool>,
    /// A command is under way.
    pub busy: Signal<Out, bool>,

    // What is left of the command.
    /// There is a command.
    valid: DFF<bool>,
    /// Address of the first byte that is not cut yet.
    address: DFF<Bits<64>>,
    /// Offset of the command's last byte in the block of `address`, or beyond it.
    reach: DFF<Bits<13>>,
    /// Client of the command.
    client: DFF<Bits<2>>,
    /// `user` of the command.
    user: DFF<Bits<8>>,
    /// Epoch of the command.
    epoch: DFF<bool>,
    /// The command is the last of its access.
    last: DFF<bool>,
    /// The command was refused.
    refused: DFF<bool>,

    // The piece on show.
    /// A piece is on show.
    shown_valid: DFF<bool>,
    /// Address of the first byte of the piece on show.
    shown_address: DFF<Bits<64>>,
    /// Low bits of the address of the last byte of the piece on show.
    finish: DFF<Bits<12>>,
    /// Client of the piece on show.
    shown_client: DFF<Bits<2>>,
    /// `user` of the piece on show.
    shown_user: DFF<Bits<8>>,
    /// Epoch of the piece on show.
    shown_epoch: DFF<bool>,
    /// `last` of the piece on show.
    shown_last: DFF<bool>,
    /// `done` of the piece on show.
    shown_done: DFF<bool>,
    /// `refused` of the piece on show.
    shown_refused: DFF<bool>,

    /// `chosen`.
    in_force: DFF<Bits<3>>,
    /// The same size in units of 128 bytes, less one.
    blocks: DFF<Bits<5>>,
    /// `size` is not the size in force, or was not a moment ago: no command is taken.
    changing: DFF<bool>,
    /// The offset in a block, as a mask.
    mask: Signal<Local, Bits<13>>,
    beyond: Signal<Local, Bits<13>>,
    low: Signal<Local, Bits<12>>,
    first: Signal<Local, Bits<12>>,
    offset: Signal<Local, Bits<12>>,
    over: Signal<Local, bool>,
    bytes: Signal<Local, Bits<12>>,
    steps: Signal<Local, Bits<10>>,
    words: Signal<Local, Bits<11>>,
    rest: Signal<Local, Bits<13>>,
    brim: Signal<Local, Bits<64>>,
    following: Signal<Local, Bits<64>>,
    start: Signal<Local, Bits<64>>,
    shortened: Signal<Local, Bits<13>>,
    first_reach: Signal<Local, Bits<13>>,
    free: Signal<Local, bool>,
    first_enables: Signal<Local, Bits<4>>,
    last_enables: Signal<Local, Bits<4>>,
    wide: Signal<Local, bool>,
    upper: Signal<Local, Bits<32>>,
    lower: Signal<Local, Bits<32>>,
    first_word: Cast<FirstWord, Bits<32>>,
    kind: Cast<TlpKind, Bits<8>>,
    request_word: Cast<RequestWord, Bits<32>>,
    memory: Number<5, { packet_type::MEMORY as u64 }>,
}

impl Logic for Split {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, valid, address, reach, client, user, epoch, last, refused, blocks);
        dff_setup!(self, clock, in_force, changing);
        dff_setup!(self, clock, shown_valid, shown_address, finish, shown_client, shown_user);
        dff_setup!(self, clock, shown_epoch, shown_last, shown_done, shown_refused);

        // How far the next piece goes.
        self.changing.d.next = self.in_force.q.val() != self.size.val();
        if self.changing.q.val() & !self.valid.q.val() & self.settled.val() {
            self.in_force.d.next = self.size.val();
        }
        self.chosen.next = self.in_force.q.val();
        self.blocks.d.next = bits::<5>(0x1F);
        if self.in_force.q.val() == bits::<3>(0) {
            self.blocks.d.next = bits::<5>(0);
        } else if self.in_force.q.val() == bits::<3>(1) {
            self.blocks.d.next = bits::<5>(0x1);
        } else if self.in_force.q.val() == bits::<3>(2) {
            self.blocks.d.next = bits::<5>(0x3);
        } else if self.in_force.q.val() == bits::<3>(3) {
            self.blocks.d.next = bits::<5>(0x7);
        } else if self.in_force.q.val() == bits::<3>(4) {
            self.blocks.d.next = bits::<5>(0xF);
        }
        self.mask.next = (bit_cast::<13, 5>(self.blocks.q.val()) << 7) | bits::<13>(0x7F);
        self.beyond.next = self.mask.val() ^ bits::<13>(0x1FFF);
        self.low.next = self.address.q.val().get_bits::<12>(0);
        self.over.next = (self.reach.q.val() & self.beyond.val()).any();
        self.rest.next = self.reach.q.val() + self.beyond.val();
        self.brim.next = self.address.q.val() | bit_cast::<64, 13>(self.mask.val());
        self.following.next = self.brim.val() + 1;

        // When the piece on show leaves, the next one is cut from the command.
        self.free.next = self.piece.ready.val() | !self.shown_valid.q.val();
        if self.free.val() {
            self.shown_valid.d.next = self.valid.q.val();
            self.shown_address.d.next = self.address.q.val();
            self.finish.d.next = (self.low.val() & bit_cast::<12, 13>(self.beyond.val()))
                | bit_cast::<12, 13>(self.reach.q.val());
            if self.over.val() {
                self.finish.d.next = self.low.val() | bit_cast::<12, 13>(self.mask.val());
            }
            self.shown_client.d.next = self.client.q.val();
            self.shown_user.d.next = self.user.q.val();
            self.shown_epoch.d.next = self.epoch.q.val();
            self.shown_refused.d.next = self.refused.q.val();
            self.shown_last.d.next = self.last.q.val() & !self.over.val();
            self.shown_done.d.next = !self.over.val();
        }
        self.start.next = self.command.data.val().address;
        self.offset.next = self.start.val().get_bits::<12>(0) & bit_cast::<12, 13>(self.mask.val());
        self.shortened.next = self.command.data.val().length - 1;
        self.first_reach.next = self.shortened.val() + bit_cast::<13, 12>(self.offset.val());
        // Whether a piece moves is known late in the cycle, so a command is taken only when none is here, whatever the piece does.
        self.command.ready.next = !self.valid.q.val() & !self.changing.q.val();
        if !self.valid.q.val() {
            self.valid.d.next = self.command.valid.val() & !self.changing.q.val();
            self.address.d.next = self.command.data.val().address;
            self.reach.d.next = self.first_reach.val();
            if self.command.data.val().refused {
                self.reach.d.next = bits::<13>(0);
            }
            self.client.d.next = self.command.data.val().client;
            self.user.d.next = self.command.data.val().user;
            self.epoch.d.next = self.command.data.val().epoch;
            self.last.d.next = self.command.data.val().last;
            self.refused.d.next = self.command.data.val().refused;
        } else if self.free.val() {
            self.valid.d.next = self.over.val();
            self.address.d.next = self.following.val();
            self.reach.d.next = self.rest.val();
        }
        self.busy.next = self.valid.q.val() | self.shown_valid.q.val();

        // The piece on show.
        self.first.next = self.shown_address.q.val().get_bits::<12>(0);
        self.bytes.next = self.finish.q.val() - self.first.val();
        self.steps.next = self.finish.q.val().get_bits::<10>(2) - self.first.val().get_bits::<10>(2);
        self.words.next = bit_cast::<11, 10>(self.steps.val()) + 1;
        self.piece.valid.next = self.shown_valid.q.val();
        self.piece.data.next.first = self.first.val();
        self.piece.data.next.finish = self.finish.q.val();
        self.piece.data.next.length = bit_cast::<13, 12>(self.bytes.val()) + 1;
        fill!(self, piece.data, words => words; shown_client.q => client; shown_user.q => user;
            shown_epoch.q => epoch; shown_last.q => last; shown_done.q => done; shown_refused.q => refused);

        // The header of the piece on show.
        self.first_enables.next = bits::<4>(0xF) << self.first.val().get_bits::<2>(0);
        self.last_enables.next = bits::<4>(0xF);
        if self.finish.q.val().get_bits::<2>(0) == bits::<2>(0) {
            self.last_enables.next = bits::<4>(0x1);
        } else if self.finish.q.val().get_bits::<2>(0) == bits::<2>(1) {
            self.last_enables.next = bits::<4>(0x3);
        } else if self.finish.q.val().get_bits::<2>(0) == bits::<2>(2) {
            self.last_enables.next = bits::<4>(0x7);
        }
        if !self.steps.val().any() {
            self.first_enables.next = self.first_enables.val() & self.last_enables.val();
            self.last_enables.next = bits::<4>(0);
        }
        self.upper.next = self.shown_address.q.val().get_bits::<32>(32);
        self.lower.next = bit_cast::<32, 30>(self.shown_address.q.val().get_bits::<30>(2)) << 2;
        self.wide.next = self.upper.val().any();
        // A length of 1024 is written as 0.
        self.first_word.from.next.length = bit_cast::<10, 11>(self.words.val());
        self.first_word.from.next.reserved_10 = bits::<2>(0);
        self.first_word.from.next.attr = bits::<2>(0);
        self.first_word.from.next.poisoned = false;
        self.first_word.from.next.digest = false;
        self.first_word.from.next.reserved_16 = bits::<4>(0);
        self.first_word.from.next.traffic_class = bits::<3>(0);
        self.first_word.from.next.reserved_23 = false;
        fill!(self, kind.from, memory => packet_type; wide => long; write => with_data; false => prefix);
        self.first_word.from.next.kind = self.kind.to.val();
        fill!(self, request_word.from, first_enables => first_be; last_enables => last_be; tag => tag;
            requester => requester);
        self.header0.next = (bit_cast::<64, 32>(self.request_word.to.val()) << 32)
            | bit_cast::<64, 32>(self.first_word.to.val());
        self.header1.next = bit_cast::<64, 32>(self.lower.val());
        if self.wide.val() {
            self.header1.next =
                (bit_cast::<64, 32>(self.lower.val()) << 32) | bit_cast::<64, 32>(self.upper.val());
        }
        self.long.next = self.wide.val();

        if self.reset.val() {
            self.valid.d.next = false;
            self.shown_valid.d.next = false;
            // `reset` alone sets the size: after power-up no register with an unknown value may decide about it.
            self.in_force.d.next = self.size.val();
        }
    }
}
