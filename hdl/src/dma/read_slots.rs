//! Checks completions against what each slot waits for, and puts their data into the slots' memory.
//!
//! ```text
//!             completion ──►┌───────────┐──► tag, accept, close, spoil
//!   reserve, _tag, piece ──►│           │──► reserve_ready
//! open, cfg_requester_id ──►│ ReadSlots │──► flowing, fill
//!               read_row ──►│           │──► read_data   (next cycle)
//!                   down ──►└───────────┘──► count_unexpected
//! ```
//! Contract: slot t of [`ReadMemory`] holds the aligned block of 512 bytes that the request with tag t lies in: memory byte a is at
//! byte a % 512. For each open slot a table says what its next completion must be: lower address and byte
//! count exactly as the specification makes them, and no more data than is missing. A completion that does not fit, has another
//! requester, or is for a slot that is not open is dropped whole and counted: nothing ever reaches a slot
//! that is not its own. A completion with an error status closes its slot at once. A poisoned one, or one that ends early,
//! spoils its slot, and the rest of the read is still awaited.
//!
//! Events, in the cycle after the beat that causes them: `accept` for each good completion at its header, `close` when nothing more
//! will come for the slot (its last data is in the memory then), `spoil` when its data cannot be used.
//!
//! While the data of a good completion comes, not poisoned, `flowing` says that the rows of slot `tag` below `fill` are in the
//! memory: they may be read, but that the rest will be good is known only when the slot closes.
//!
//! Latency: none from the last beat of a slot to `close`, 1 cycle if the completion has a single double word.
//! Everything that comes is taken, a beat every cycle.
//! `reserve_ready` is low only in the cycle after a good completion's second beat.
//!
//! `reset` may come in the middle of a completion, whose rest is then dropped: it is data, which could look like a header for a slot
//! that is open later. With `down` that rest does not come.
//!
//! How: the second beat's double word is written before the header is judged, but only where an open slot expects
//! one: a completion that is dropped spoils nothing, because the right one writes there again.
//!
//! Example: slot 2 expects 64 bytes. A completion of 64 bytes with tag 2 comes: `accept` at its header, and `close` behind its last beat;
//! then the memory holds the bytes. A second completion with tag 2 is dropped and counted.
//!
//! Tests: with `DmaRead`, `tests/tlp/dma_read/`.

use super::read_memory::ReadMemory;
use super::split::CommandPiece;
use crate::bus::{ReadTag, TlpBeat};
use crate::prims::{Cast, LutRam};
use crate::rows::tlp::{CompletionCountWord, CompletionTagWord, FirstWord, TlpKind};
use crate::stream::{FlowSink, Pulse};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_TAGS, READ_TAGS_LOG2};

/// What the next completion of a slot must be.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AwaitedCompletion {
    /// Place in the slot of the completion's first double word.
    word: Bits<7>,
    /// Bytes of that double word before the first byte.
    before: Bits<2>,
    /// Bytes of the read's last double word behind the last byte.
    behind: Bits<2>,
    /// Double words missing.
    words: Bits<8>,
    /// Bytes missing: the byte count of the next completion.
    bytes: Bits<10>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadSlots {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what came of the packet under way, but not where it ends.
    pub reset: Signal<In, bool>,
    /// With `reset`: what comes next is a packet's first beat; `DmaRead` hands this on from the NIC's `Reset`.
    pub down: Signal<In, bool>,
    /// A beat of a completion, from `edge/receive`.
    pub completion: FlowSink<TlpBeat>,
    /// The function's own bus, device and function number; the configuration space drives this.
    pub cfg_requester_id: Signal<In, Bits<16>>,
    /// One bit for each slot that waits for completions; from `DmaRead`.
    pub open: Signal<In, Bits<READ_TAGS>>,
    /// The table of slot `reserve_tag` is to take `piece`; from `ReadIssue`.
    pub reserve: Signal<In, bool>,
    /// The slot that is reserved; from `DmaRead`.
    pub reserve_tag: Signal<In, ReadTag>,
    /// The piece of a command that the slot is for; from `ReadIssue`.
    pub piece: Signal<In, CommandPiece>,
    /// The table takes the piece in this cycle.
    pub reserve_ready: Signal<Out, bool>,
    /// The slot that `accept`, `close`, `spoil` and `flowing` are about; `DmaRead` listens to these, and `ReadDrain` to `flowing`.
    pub tag: Signal<Out, ReadTag>,
    /// A good completion for slot `tag` has begun.
    pub accept: Signal<Out, bool>,
    /// Nothing more will come for slot `tag`.
    pub close: Signal<Out, bool>,
    /// The data of slot `tag` cannot be used.
    pub spoil: Signal<Out, bool>,
    /// Pulses when a completion is dropped: no slot waits for it, or its slot waits for another one.
    pub count_unexpected: Pulse,
    /// The completion that comes for slot `tag` is good so far.
    pub flowing: Signal<Out, bool>,
    /// With `flowing`: the rows of the slot below this one are in the memory.
    pub fill: Signal<Out, Bits<6>>,
    /// The row to read: {slot, 8 bytes in it}; from `ReadDrain`.
    pub read_row: Signal<In, Bits<10>>,
    /// The 8 bytes of the `read_row` of the cycle before.
    pub read_data: Signal<Out, Bits<64>>,

    /// What the next completion of each slot must be.
    expected: LutRam<AwaitedCompletion, READ_TAGS_LOG2>,
    /// Where the data is, until it is handed out.
    memory: ReadMemory,

    // The packet that comes in.
    /// A packet has begun and not ended.
    under_way: DFF<bool>,
    /// The next beat is the packet's second.
    ahead: DFF<bool>,
    /// The packet has data, by its header.
    with_data: DFF<bool>,
    /// Double words of data, by the header.
    length: DFF<Bits<10>>,
    /// The packet is poisoned, by its header.
    poisoned: DFF<bool>,
    /// Byte count of the header.
    byte_count: DFF<Bits<12>>,
    /// The header has an error status.
    refused: DFF<bool>,

    // Known from the packet's second beat on: where its data goes.
    /// The slot that the packet is for.
    slot: DFF<ReadTag>,
    /// The packet is what its slot waits for.
    good: DFF<bool>,
    /// The packet says that its read has failed.
    bad: DFF<bool>,
    /// The packet is dropped: no slot waits for it, or its slot waits for another one.
    unexpected: DFF<bool>,
    /// The packet in `slot` is poisoned.
    poison: DFF<bool>,
    /// The packet brings all that its slot misses.
    is_final: DFF<bool>,
    /// The second beat came in the cycle before.
    fresh: DFF<bool>,
    /// The packet had no third beat.
    single: DFF<bool>,
    /// The one double word of a packet without third beat was there.
    single_whole: DFF<bool>,
    /// The double word that the slot expects behind the packet.
    word: DFF<Bits<7>>,
    /// `flowing`, if the packet is good.
    flows: DFF<bool>,
    /// Double words of the packet that are still to come.
    left: DFF<Bits<8>>,
    /// Double words that the slot misses behind the packet.
    rest: DFF<Bits<8>>,
    /// Bytes of the read's last double word behind the last byte.
    behind: DFF<Bits<2>>,

    data: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    first_word: Cast<Bits<32>, FirstWord>,
    kind: Cast<Bits<8>, TlpKind>,
    count_word: Cast<Bits<32>, CompletionCountWord>,
    tag_word: Cast<Bits<32>, CompletionTagWord>,
    first: Signal<Local, bool>,
    second: Signal<Local, bool>,
    third: Signal<Local, bool>,
    sound: Signal<Local, bool>,
    entry: Signal<Local, AwaitedCompletion>,
    entry_word: Signal<Local, Bits<7>>,
    tag_in: Signal<Local, ReadTag>,
    spare: Signal<Local, Bits<11>>,
    lower: Signal<Local, Bits<7>>,
    known: Signal<Local, bool>,
    error: Signal<Local, bool>,
    fits: Signal<Local, bool>,
    keep: Signal<Local, Bits<2>>,
    both: Signal<Local, bool>,
    writing: Signal<Local, bool>,
    low_used: Signal<Local, bool>,
    high_used: Signal<Local, bool>,
    enough: Signal<Local, bool>,
    ending: Signal<Local, bool>,
    piece_first: Signal<Local, Bits<12>>,
    piece_finish: Signal<Local, Bits<12>>,
    piece_words: Signal<Local, Bits<11>>,
    piece_length: Signal<Local, Bits<13>>,
}

impl Logic for ReadSlots {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, under_way, ahead, with_data, length, poisoned, byte_count, refused);
        dff_setup!(self, clock, slot, good, bad, unexpected, poison, is_final, fresh, single, single_whole);
        dff_setup!(self, clock, word, flows, left, rest, behind);
        clock!(self, clock, expected, memory);

        // First beat: kind, length, status, byte count.
        self.data.next = self.completion.data.val().data;
        self.low.next = self.data.val().get_bits::<32>(0);
        self.high.next = self.data.val().get_bits::<32>(32);
        drive!(self, low => first_word.from; first_word.to.val().kind => kind.from; high => count_word.from;
            completion.data.val().keep => keep);
        self.first.next = self.completion.valid.val() & !self.under_way.q.val();
        self.second.next = self.completion.valid.val() & self.ahead.q.val();
        self.third.next = self.completion.valid.val() & self.under_way.q.val() & !self.ahead.q.val();
        self.both.next = self.keep.val().get_bit(1);
        if self.completion.valid.val() {
            self.under_way.d.next = !self.completion.data.val().last;
            self.ahead.d.next = self.first.val() & !self.completion.data.val().last;
        }
        if self.first.val() {
            self.with_data.d.next = self.kind.to.val().with_data;
            self.length.d.next = self.first_word.to.val().length;
            self.poisoned.d.next = self.first_word.to.val().poisoned;
            self.byte_count.d.next = self.count_word.to.val().byte_count;
            // SUCCESS is 0.
            self.refused.d.next = self.count_word.to.val().status.any();
        }

        // Second beat: tag and lower address. Is it what the slot waits for?
        self.tag_word.from.next = self.low.val();
        self.tag_in.next = bit_cast::<READ_TAGS_LOG2, 8>(self.tag_word.to.val().tag);
        drive!(self, tag_in => expected.read_address; expected.read_data => entry;
            entry.val().word => entry_word);
        self.spare.next = bit_cast::<11, 8>(self.entry.val().words) - bit_cast::<11, 10>(self.length.q.val());
        self.lower.next = (bit_cast::<7, 5>(self.entry_word.val().get_bits::<5>(0)) << 2)
            | bit_cast::<7, 2>(self.entry.val().before);
        self.known.next = self.open.val().get_bit(self.tag_in.val().index())
            & (bit_cast::<8, READ_TAGS_LOG2>(self.tag_in.val()) == self.tag_word.to.val().tag)
            & (self.tag_word.to.val().requester == self.cfg_requester_id.val());
        self.error.next = self.refused.q.val() | !self.with_data.q.val();
        self.fits.next = (self.byte_count.q.val() == bit_cast::<12, 10>(self.entry.val().bytes))
            & (self.tag_word.to.val().lower_address == self.lower.val())
            & self.length.q.val().any()
            & !self.spare.val().get_bit(10);
        self.sound.next = self.known.val() & !self.error.val() & self.fits.val();
        self.bad.d.next = false;
        self.unexpected.d.next = false;
        self.single.d.next = self.second.val() & self.completion.data.val().last;
        self.single_whole.d.next = self.both.val() & (self.length.q.val() == bits::<10>(1));
        self.fresh.d.next = self.second.val();
        if self.second.val() {
            self.slot.d.next = self.tag_in.val();
            self.good.d.next = self.sound.val();
            self.bad.d.next = self.known.val() & self.error.val();
            self.unexpected.d.next = !self.known.val() | (!self.error.val() & !self.fits.val());
            self.poison.d.next = self.poisoned.q.val();
            self.is_final.d.next = !self.spare.val().any();
            self.rest.d.next = bit_cast::<8, 11>(self.spare.val());
            self.behind.d.next = self.entry.val().behind;
            self.word.d.next = self.entry_word.val() + bit_cast::<7, 10>(self.length.q.val());
        }

        // The completion's data goes into the memory. The second beat has data in its high half only.
        self.writing.next = self.third.val() & self.good.q.val();
        self.low_used.next = self.left.q.val().any();
        self.high_used.next = self.both.val() & self.left.q.val().get_bits::<7>(1).any();
        if self.second.val() {
            self.writing.next = self.open.val().get_bit(self.tag_in.val().index());
            self.low_used.next = false;
            self.high_used.next = self.both.val();
        }
        drive!(self, second => memory.start; tag_in => memory.slot; entry_word => memory.word;
            third => memory.more; data => memory.data; memory.fill => fill; read_row => memory.read_row;
            memory.read_data => read_data);
        self.memory.low.next = self.writing.val() & self.low_used.val();
        self.memory.high.next = self.writing.val() & self.high_used.val();
        if self.third.val() {
            self.left.d.next = self.left.q.val() - 2;
            if !self.left.q.val().get_bits::<7>(1).any() {
                self.left.d.next = bits::<8>(0);
            }
            // A row counts as there only if both its halves were written.
            if !self.left.q.val().get_bits::<7>(1).any() {
                self.flows.d.next = false;
            }
        }
        if self.second.val() {
            self.left.d.next = bit_cast::<8, 10>(self.length.q.val()) - 1;
            self.flows.d.next = !self.poisoned.q.val();
        }
        if self.completion.valid.val() & (self.completion.data.val().last | !self.both.val()) {
            self.flows.d.next = false;
        }
        self.flowing.next = self.flows.q.val() & self.good.q.val();

        // What became of the completion.
        self.ending.next =
            self.good.q.val() & (self.single.q.val() | (self.third.val() & self.completion.data.val().last));
        self.enough.next = !self.left.q.val().get_bits::<7>(1).any()
            | (self.both.val() & !self.left.q.val().get_bits::<6>(2).any() & !self.left.q.val().get_bit(0));
        if self.single.q.val() {
            self.enough.next = self.single_whole.q.val();
        }
        drive!(self, slot.q => tag; unexpected.q => count_unexpected);
        self.accept.next = self.fresh.q.val() & self.good.q.val();
        self.close.next = self.bad.q.val() | (self.ending.val() & self.is_final.q.val());
        self.spoil.next = self.bad.q.val() | (self.ending.val() & (self.poison.q.val() | !self.enough.val()));

        // The table: after a good completion, or for a new read.
        drive!(self, piece.val().first => piece_first; piece.val().finish => piece_finish;
            piece.val().words => piece_words; piece.val().length => piece_length);
        self.reserve_ready.next = !(self.fresh.q.val() & self.good.q.val());
        self.expected.write_enable.next = self.reserve.val() | (self.fresh.q.val() & self.good.q.val());
        self.expected.write_address.next = self.slot.q.val();
        self.expected.write_data.next.word = self.word.q.val();
        self.expected.write_data.next.before = bits::<2>(0);
        self.expected.write_data.next.behind = self.behind.q.val();
        self.expected.write_data.next.words = self.rest.q.val();
        self.expected.write_data.next.bytes =
            (bit_cast::<10, 8>(self.rest.q.val()) << 2) - bit_cast::<10, 2>(self.behind.q.val());
        if !(self.fresh.q.val() & self.good.q.val()) {
            self.expected.write_address.next = self.reserve_tag.val();
            self.expected.write_data.next.word = self.piece_first.val().get_bits::<7>(2);
            self.expected.write_data.next.before = self.piece_first.val().get_bits::<2>(0);
            self.expected.write_data.next.behind = self.piece_finish.val().get_bits::<2>(0) ^ bits::<2>(3);
            self.expected.write_data.next.words = self.piece_words.val().get_bits::<8>(0);
            self.expected.write_data.next.bytes = self.piece_length.val().get_bits::<10>(0);
        }

        if self.reset.val() {
            self.ahead.d.next = false;
            self.good.d.next = false;
            self.bad.d.next = false;
            self.unexpected.d.next = false;
            self.fresh.d.next = false;
            self.single.d.next = false;
            self.flows.d.next = false;
        }
        if self.down.val() {
            self.under_way.d.next = false;
            self.ahead.d.next = false;
        }
    }
}
