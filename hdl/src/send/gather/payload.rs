//! Sorts the answers to the accesses of gather: payload into the payload queue, segments into the tail memory.
//!
//! ```text
//!     reserve, _words ──►┌──────────────────────────────────┐──► room
//!                beat ──►│ pieces ──► Packer ──► words      │──► payload
//!                        │                  └──► wholes     │──► whole
//!  tail_start, _index ──►│ tail memory                      │──► tail_word, _length, _done, _bad, _failed, _end
//!                        └──────────────────────────────────┘
//! ```
//! Contract: answers come in the order of the accesses. `reserve` takes `reserve_words` of the payload queue for the
//! next packet while `room` is high; a packet that turns out shorter, because an access was refused, gives the rest
//! back. Bit 0 of an access's user field says that the answer belongs to the tail of a descriptor, bit 1 that it ends
//! a packet. The tail is kept from word 8 of the descriptor on. What `reserve` takes shows in `room` four cycles later.
//!
//! Example: a packet of 10 bytes takes 2 words with `reserve`. Its access brings 6 bytes from an odd address and then 4; `payload`
//! gives one word of 8 bytes and one of 2, and `whole` follows.
//!
//! Latency: 7 cycles from a packet's last beat to `whole`.
//!
//! How: the packer takes a cycle more for a packet that ends with two words. In the long run the header of the read
//! completion, of which every packet has at least one, makes up for it; of the reads that have come in and leave the
//! read engine in one go there are at most `READ_TAGS`, so a queue of as many beats in front of the packer is enough.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::READ_TAGS;

use crate::bus::{client, PayloadWord, ReadBeat, Whole};
use crate::prims::{FifoSlice, Number, Packer, Ram, RamFifo};

const _: () = assert!(READ_TAGS <= 16, "the queue in front of the packer");

/// A beat of payload before packing.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Piece {
    data: Bits<64>,
    start: Bits<3>,
    count: Bits<4>,
    ends: bool,
    refused: bool,
    failed: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Payload {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all payload and forgets the tail.
    pub reset: Signal<In, bool>,
    /// Eight bytes that a read brought, of any client; the block picks those of gather.
    pub beat: FlowSink<ReadBeat>,
    /// Words of the payload queue that the next packet needs; the walker or the replier drives it.
    pub reserve_words: Signal<In, Bits<10>>,
    /// In the cycle before, the payload queue had as many words free as `reserve_words` says.
    pub room: Signal<Out, bool>,
    /// Pulses when `reserve_words` words of the payload queue are taken for the next packet.
    pub reserve: Signal<In, bool>,
    /// Pulses when the walker has asked for the tail of a descriptor.
    pub tail_start: Signal<In, bool>,
    /// Word of the descriptor to read from the tail memory, from 8 on.
    pub tail_index: Signal<In, Bits<9>>,
    /// The word at the `tail_index` of the cycle before.
    pub tail_word: Signal<Out, Bits<64>>,
    /// Length in bytes of a segment of the tail that has come in.
    pub tail_length: FlowSource<Bits<32>>,
    /// The whole tail has come in.
    pub tail_done: Signal<Out, bool>,
    /// With `tail_done`: the tail was refused, or the read failed.
    pub tail_bad: Signal<Out, bool>,
    /// With `tail_done`: some of the tail could not be read, though the access was granted.
    pub tail_failed: Signal<Out, bool>,
    /// With `tail_done`: the number behind that of the last word that came.
    pub tail_end: Signal<Out, Bits<10>>,
    /// Eight bytes of payload, packed from lane 0 on, for transmit.
    pub payload: Source<PayloadWord>,
    /// Says that a packet's payload is all there, or that bytes of it are missing.
    pub whole: Source<Whole>,
    /// Payload is held, or expected.
    pub busy: Signal<Out, bool>,
    pieces: FifoSlice<Piece, 4, 5>,
    packer: Packer,
    words: RamFifo<PayloadWord, 10, 11>,
    sizes: FifoSlice<Bits<10>, 4, 5>,
    /// What became of each packet's payload; there is room for as many packets as can wait in front of `transmit`.
    wholes: FifoSlice<Whole, 4, 5>,
    tail_low: Ram<Bits<32>, 9>,
    tail_high: Ram<Bits<32>, 9>,
    /// Words of the payload queue that nobody has spoken for; the bit that says 1024 is kept upside down, so that
    /// the register begins with 0.
    spare: DFF<Bits<11>>,
    /// Words of the payload queue that were reserved in the cycle before.
    grown: DFF<Bits<10>>,
    /// A word left the payload queue in the cycle before.
    left: DFF<bool>,
    /// Words of the payload queue that became free in the cycle before.
    shrunk: DFF<Bits<11>>,
    /// The words that became free less those that were reserved, a cycle later.
    delta: DFF<Bits<11>>,
    /// What `room` says.
    fits: DFF<bool>,
    /// Words of the packet under way that have not come.
    missing: DFF<Bits<10>>,
    /// Some of the packet under way has come.
    midway: DFF<bool>,
    refused: DFF<bool>,
    failed: DFF<bool>,
    /// What the packet that ended last came to.
    ended: DFF<Whole>,
    /// Number of the next word of the tail.
    tail_row: DFF<Bits<10>>,
    tail_over: DFF<bool>,
    tail_fault: DFF<bool>,
    tail_lost: DFF<bool>,
    length_valid: DFF<bool>,
    length: DFF<Bits<32>>,
    ours: Signal<Local, bool>,
    user: Signal<Local, Bits<8>>,
    data: Signal<Local, Bits<64>>,
    start: Signal<Local, Bits<3>>,
    stop: Signal<Local, Bits<4>>,
    upper: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    expected: Signal<Local, Bits<10>>,
    after: Signal<Local, Bits<10>>,
    free: Signal<Local, Bits<11>>,
    rest: Signal<Local, Bits<12>>,
    next_free: Signal<Local, Bits<11>>,
    returned: Signal<Local, Bits<11>>,
    one: Signal<Local, Bits<11>>,
    ends: Signal<Local, bool>,
    all_free: Number<11, 1024>,
    minus_one: Number<11, 2047>,
    client: Number<2, { client::GATHER }>,
}

impl Logic for Payload {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            spare,
            grown,
            left,
            shrunk,
            delta,
            fits,
            missing,
            midway,
            refused,
            failed,
            ended,
            tail_row,
            tail_over,
            tail_fault,
            tail_lost,
            length_valid,
            length
        );
        clock!(self, clock, pieces, packer, words, sizes, wholes, tail_low, tail_high);
        self.pieces.reset.next = self.reset.val();
        self.packer.reset.next = self.reset.val();
        self.words.reset.next = self.reset.val();
        self.sizes.reset.next = self.reset.val();
        self.wholes.reset.next = self.reset.val();

        self.user.next = self.beat.data.val().user;
        self.data.next = self.beat.data.val().data;
        self.start.next = self.beat.data.val().start;
        self.stop.next = bit_cast::<4, 3>(self.start.val()) + self.beat.data.val().count;
        self.ours.next = self.beat.valid.val() & (self.beat.data.val().client == self.client.val());

        // The tail of a descriptor: half words, because a beat may hold one.
        self.tail_low.write_enable.next =
            self.ours.val() & self.user.val().get_bit(0) & (self.start.val() == bits::<3>(0));
        self.tail_low.write_address.next = bit_cast::<9, 10>(self.tail_row.q.val());
        self.tail_low.write_data.next = self.data.val().get_bits::<32>(0);
        self.upper.next = self.ours.val() & self.user.val().get_bit(0) & self.stop.val().get_bit(3);
        self.tail_high.write_enable.next = self.upper.val();
        self.tail_high.write_address.next = bit_cast::<9, 10>(self.tail_row.q.val());
        self.tail_high.write_data.next = self.data.val().get_bits::<32>(32);
        self.tail_low.read_address.next = self.tail_index.val();
        self.tail_high.read_address.next = self.tail_index.val();
        self.tail_word.next = (bit_cast::<64, 32>(self.tail_high.read_data.val()) << 32)
            | bit_cast::<64, 32>(self.tail_low.read_data.val());
        self.length_valid.d.next = self.upper.val() & self.tail_row.q.val().get_bit(0);
        self.length.d.next = self.data.val().get_bits::<32>(32);
        self.tail_over.d.next = self.ours.val() & self.user.val().get_bit(0) & self.beat.data.val().last;
        if self.upper.val() {
            self.tail_row.d.next = self.tail_row.q.val() + 1;
        }
        if self.ours.val()
            & self.user.val().get_bit(0)
            & (self.beat.data.val().refused | self.beat.data.val().failed)
        {
            self.tail_fault.d.next = true;
            self.tail_lost.d.next = self.tail_lost.q.val() | self.beat.data.val().failed;
        }
        if self.tail_start.val() {
            self.tail_row.d.next = bits::<10>(8);
            self.tail_fault.d.next = false;
            self.tail_lost.d.next = false;
        }
        self.tail_length.valid.next = self.length_valid.q.val();
        self.tail_length.data.next = self.length.q.val();
        self.tail_done.next = self.tail_over.q.val();
        self.tail_bad.next = self.tail_fault.q.val();
        self.tail_failed.next = self.tail_lost.q.val();
        self.tail_end.next = self.tail_row.q.val();

        // Payload: beats, packed into words.
        self.pieces.sink.valid.next = self.ours.val() & !self.user.val().get_bit(0);
        self.pieces.sink.data.next.data = self.data.val();
        self.pieces.sink.data.next.start = self.start.val();
        self.pieces.sink.data.next.count = self.beat.data.val().count;
        self.pieces.sink.data.next.ends = self.beat.data.val().last & self.user.val().get_bit(1);
        self.pieces.sink.data.next.refused = self.beat.data.val().refused;
        self.pieces.sink.data.next.failed = self.beat.data.val().failed;
        self.packer.sink.valid.next = self.pieces.source.valid.val();
        self.packer.sink.data.next = self.pieces.source.data.val().data;
        self.packer.in_start.next = self.pieces.source.data.val().start;
        self.packer.in_count.next = self.pieces.source.data.val().count;
        self.packer.in_flush.next = self.pieces.source.data.val().ends;
        self.packer.restart.next = false;
        self.packer.restart_fill.next = bits::<3>(0);
        self.packer.restart_data.next = self.data.val();
        self.packer.source.ready.next = true;
        self.pieces.source.ready.next = self.packer.sink.ready.val();
        self.taken.next = self.pieces.source.valid.val() & self.packer.sink.ready.val();
        if self.taken.val() {
            self.refused.d.next = self.refused.q.val() | self.pieces.source.data.val().refused;
            self.failed.d.next = self.failed.q.val() | self.pieces.source.data.val().failed;
            if self.pieces.source.data.val().ends {
                self.refused.d.next = false;
                self.failed.d.next = false;
                self.ended.d.next.refused = self.refused.q.val() | self.pieces.source.data.val().refused;
                self.ended.d.next.failed = self.failed.q.val() | self.pieces.source.data.val().failed;
            }
        }

        // Words, counted against what was reserved. A packet that lost its end keeps its last, empty word.
        self.words.sink.valid.next = self.packer.source.valid.val();
        self.words.sink.data.next.data = self.packer.source.data.val();
        self.words.sink.data.next.last = self.packer.out_last.val();
        self.wholes.sink.valid.next = self.packer.source.valid.val() & self.packer.out_last.val();
        self.wholes.sink.data.next = self.ended.q.val();
        self.expected.next = self.sizes.source.data.val();
        if self.midway.q.val() {
            self.expected.next = self.missing.q.val();
        }
        self.after.next = self.expected.val() - 1;
        self.returned.next = bits::<11>(0);
        self.sizes.source.ready.next = false;
        if self.packer.source.valid.val() {
            self.missing.d.next = self.after.val();
            self.midway.d.next = !self.packer.out_last.val();
            if self.packer.out_last.val() {
                self.sizes.source.ready.next = true;
                self.returned.next = bit_cast::<11, 10>(self.expected.val());
            }
        }
        self.sizes.sink.valid.next = self.reserve.val();
        self.sizes.sink.data.next = self.reserve_words.val();
        // Enough or not, a cycle late: nobody but the walker and the replier takes room, and not soon again.
        self.free.next = self.spare.q.val() ^ self.all_free.val();
        self.rest.next = bit_cast::<12, 11>(self.free.val()) - bit_cast::<12, 10>(self.reserve_words.val());
        self.fits.d.next = !self.rest.val().get_bit(11);
        self.room.next = self.fits.q.val();
        self.grown.d.next = bits::<10>(0);
        if self.reserve.val() {
            self.grown.d.next = self.reserve_words.val();
        }
        // A packet that has ended gives back what did not come: one less than was still expected. A word that has
        // left gives back itself, a cycle later. Together one adder.
        self.left.d.next = self.words.source.valid.val() & self.payload.ready.val();
        self.ends.next = self.packer.source.valid.val() & self.packer.out_last.val();
        self.one.next = bits::<11>(0);
        if self.left.q.val() & !self.ends.val() {
            self.one.next = bits::<11>(1);
        }
        if self.ends.val() & !self.left.q.val() {
            self.one.next = self.minus_one.val();
        }
        self.shrunk.d.next = self.returned.val() + self.one.val();
        self.delta.d.next = self.shrunk.q.val() - bit_cast::<11, 10>(self.grown.q.val());
        self.next_free.next = self.free.val() + self.delta.q.val();
        self.spare.d.next = self.next_free.val() ^ self.all_free.val();

        Source::<PayloadWord>::link(&mut self.payload, &mut self.words.source);
        Source::<Whole>::link(&mut self.whole, &mut self.wholes.source);
        self.busy.next = !self.free.val().get_bit(10);

        if self.reset.val() {
            self.spare.d.next = bits::<11>(0);
            self.left.d.next = false;
            self.grown.d.next = bits::<10>(0);
            self.shrunk.d.next = bits::<11>(0);
            self.delta.d.next = bits::<11>(0);
            self.midway.d.next = false;
            self.refused.d.next = false;
            self.failed.d.next = false;
            self.tail_over.d.next = false;
            self.length_valid.d.next = false;
        }
    }
}
