//! Makes the payload of packets from the answers to gather's accesses.
//!
//! ```text
//!      beat ──►┌────────────────────────────────┐──► payload
//!     claim ◄─►│ beats ──► Packer ──► words     │──► whole
//!              │ Room        └─────► wholes     │──► busy
//!              └────────────────────────────────┘
//! ```
//! Contract: answers come in the order of the accesses, and each says whether it ends a packet ([`AnswerMark`]). `claim` takes words of the
//! payload queue for a part of the next packet, and all of them before the packet's last access; a packet that turns out shorter, because an
//! access was refused, gives the rest back. Beats of a
//! descriptor's tail are not payload.
//!
//! Example: a packet of 10 bytes takes 2 words with `claim`. Its access brings 6 bytes from an odd address and then 4; `payload`
//! gives one word of 8 bytes and one of 2, and `whole` follows.
//!
//! Latency: 6 cycles from a packet's last beat to `whole`.
//!
//! How: the packer takes a cycle more for a packet of one beat, if the one before ended with two words. In the long run the header of the
//! read completion, of which every packet has at least one, makes up for it; of the reads that have come in and leave the
//! read engine in one go there are at most `READ_TAGS`, so a queue of as many beats in front of the packer is enough.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::READ_TAGS;

use super::mark::AnswerMark;
use super::room::{Room, RoomSink};
use crate::bus::{client, PayloadWord, ReadBeat, Whole};
use crate::prims::{Cast, Fifo, FifoSlice, Number, Packer, RamFifo};

const _: () = assert!(READ_TAGS <= 16, "the queue in front of the packer");

/// A beat of payload before the gaps are closed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct PayloadBeat {
    /// The bytes, and others.
    data: Bits<64>,
    /// Lane of the first byte.
    start: Bits<3>,
    /// Number of bytes.
    count: Bits<4>,
    /// The packet's last beat.
    ends: bool,
    /// Whether bytes of the packet are missing, as far as this beat says.
    lacks: Whole,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Payload {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all payload.
    pub reset: Signal<In, bool>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks those of payload.
    pub beat: FlowSink<ReadBeat>,
    /// Takes words of the payload queue for a packet, part by part; cut or the replier asks.
    pub claim: RoomSink,
    /// Up to eight bytes of payload, packed from lane 0 on, for send/transmit.
    pub payload: Source<PayloadWord>,
    /// Says that a packet's payload is all there, or that bytes of it are missing; for send/transmit.
    pub whole: Source<Whole>,
    /// Payload is held, or expected.
    pub busy: Signal<Out, bool>,
    beats: FifoSlice<PayloadBeat, 4, 5>,
    packer: Packer,
    words: RamFifo<PayloadWord, 10, 11>,
    room: Room,
    /// Words of the queue that each packet has taken.
    sizes: FifoSlice<Bits<10>, 4, 5>,
    /// For each packet, whether its payload is all there; there is room for as many packets as can wait in front of `transmit`.
    wholes: Fifo<Whole, 5, 6>,
    mark: Cast<Bits<8>, AnswerMark>,
    /// Words of the packet under way that have not come.
    missing: DFF<Bits<10>>,
    /// Some of the packet under way has come.
    midway: DFF<bool>,
    /// Whether bytes were missing in the beats of the packet before this one.
    lacks: DFF<Whole>,
    /// Whether bytes were missing of the packet that ended last.
    ended: DFF<Whole>,
    ours: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    beat_lacks: Signal<Local, Whole>,
    queued_lacks: Signal<Local, Whole>,
    lacks_now: Signal<Local, Whole>,
    expected: Signal<Local, Bits<10>>,
    after: Signal<Local, Bits<10>>,
    ends: Signal<Local, bool>,
    client: Number<2, { client::GATHER }>,
}

impl Logic for Payload {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, missing, midway, lacks, ended);
        clock!(self, clock, beats, packer, words, room, sizes, wholes);
        drive!(self, reset => beats.reset, packer.reset, words.reset, room.reset, sizes.reset, wholes.reset);

        // Beats, packed into words.
        self.mark.from.next = self.beat.data.val().user;
        self.ours.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.client.val())
            & !self.mark.to.val().tail;
        drive!(self, ours => beats.sink.valid; beats.source.valid => packer.sink.valid;
            beats.source.data.val().data => packer.sink.data;
            beats.source.data.val().start => packer.in_start;
            beats.source.data.val().count => packer.in_count; beats.source.data.val().ends => packer.in_flush;
            beat.data.val().data => packer.restart_data; packer.sink.ready => beats.source.ready;
            beats.source.data.val().lacks => queued_lacks);
        fill!(self, beats.sink.data, beat.data.val().data => data; beat.data.val().start => start;
            beat.data.val().count => count);
        self.beats.sink.data.next.ends = self.beat.data.val().last & self.mark.to.val().ends;
        self.beat_lacks.next.refused = self.beat.data.val().refused;
        self.beat_lacks.next.failed = self.beat.data.val().failed;
        self.beats.sink.data.next.lacks = self.beat_lacks.val();
        self.packer.restart.next = false;
        self.packer.restart_fill.next = bits::<3>(0);
        self.packer.source.ready.next = true;
        self.taken.next = self.beats.source.valid.val() & self.packer.sink.ready.val();
        self.lacks_now.next.refused = self.lacks.q.val().refused | self.queued_lacks.val().refused;
        self.lacks_now.next.failed = self.lacks.q.val().failed | self.queued_lacks.val().failed;
        if self.taken.val() {
            self.lacks.d.next = self.lacks_now.val();
            if self.beats.source.data.val().ends {
                self.ended.d.next = self.lacks_now.val();
                self.lacks.d.next.refused = false;
                self.lacks.d.next.failed = false;
            }
        }

        // Words, counted against what was taken. A packet whose end was lost keeps its last, empty word.
        self.ends.next = self.packer.source.valid.val() & self.packer.out_last.val();
        drive!(self, packer.source.valid => words.sink.valid;
            ends => wholes.sink.valid, sizes.source.ready, room.returned.valid; ended.q => wholes.sink.data;
            claim.opens => sizes.sink.valid; claim.packet => sizes.sink.data);
        self.words.sink.data.next.data = self.packer.source.data.val();
        self.words.sink.data.next.last = self.packer.out_last.val();
        self.expected.next = self.sizes.source.data.val();
        if self.midway.q.val() {
            self.expected.next = self.missing.q.val();
        }
        self.after.next = self.expected.val() - 1;
        if self.packer.source.valid.val() {
            self.missing.d.next = self.after.val();
            self.midway.d.next = !self.packer.out_last.val();
        }
        RoomSink::link(&mut self.claim, &mut self.room.claim);
        drive!(self, expected => room.returned.data; room.busy => busy);
        self.room.left.next = self.words.source.valid.val() & self.payload.ready.val();

        Source::<PayloadWord>::link(&mut self.payload, &mut self.words.source);
        Source::<Whole>::link(&mut self.whole, &mut self.wholes.source);
        if self.reset.val() {
            self.midway.d.next = false;
            self.lacks.d.next.refused = false;
            self.lacks.d.next.failed = false;
        }
    }
}
