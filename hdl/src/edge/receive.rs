//! Takes transaction layer packets apart: stores, loads, completions.
//!
//! ```text
//!       rx ──►┌────────────┐──► mmio_write
//! np_ready ◄──│ TlpReceive │──► mmio_read
//!     down ──►│            │──► completion
//!             └────────────┘──► count_dropped
//! ```
//! Contract: one beat is taken every cycle, whatever happens. A packet becomes one of
//! - a store: memory write of 1 or 2 double words to BAR 0 or 2, not poisoned, a pair 8-byte aligned. Byte
//!   enables are honoured; one that enables nothing does nothing;
//! - a load: memory read of 1 or 2 double words, a pair 8-byte aligned. Any other non-posted request
//!   (longer or locked reads, I/O, configuration, atomic operations) becomes a load with `unsupported`, so that it
//!   is answered;
//! - a completion: passed on whole, one cycle later;
//! - nothing: a message is dropped and not counted; every other packet, and one that ends before its header or data is whole,
//!   is consumed to its end and counted.
//!
//! What follows the data that the header announces (a digest) is ignored. Offsets are the low bits of the address, as many
//! as the BAR has: the bits above say where the host has put the BAR.
//!
//! `np_ready` falls in the cycle after the first beat of a non-posted request and rises when its load has
//! been taken. The source looks at it only when it starts a packet. There is room for two loads, so a
//! source that sees it a cycle late, or starts one more request by it, loses nothing; a third is
//! dropped and counted.
//!
//! Latency: one cycle from the beat that completes a store or a load.
//!
//! Example: a memory write of 1 double word to offset 0x24 of BAR 0: one cycle after its data `mmio_write` has address 0x20, the data in
//! bits 63:32, and `enables` 0xF0.
//!
//! Tests: `tests/tlp/receive/`.

use super::enabled_bytes::EnabledBytes;
use super::packet_sort::PacketSort;
use super::TlpRx;
use crate::bus::{MmioRead, MmioWrite, TlpBeat, STORE_LOG2};
use crate::prims::{Cast, Number, Skid};
use crate::rows::tlp::{FirstWord, RequestWord};
use crate::stream::{FlowSource, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::BAR2_BYTES;
use viaduct_spec::register::BAR0_BYTES;

/// Bits of an offset in double words, and in pairs of them.
const WORD_LOG2: usize = STORE_LOG2 - 2;
const PAIR_LOG2: usize = STORE_LOG2 - 3;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpReceive {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the packet under way, but not where it ends, and the loads that are held.
    pub reset: Signal<In, bool>,
    /// With `reset`: what comes next is a packet's first beat, because the link was down; the NIC's `Reset` drives this.
    pub down: Signal<In, bool>,
    /// Packets from the host; the PCIe endpoint drives them.
    pub rx: TlpRx,
    /// The host may start a non-posted request; the PCIe endpoint looks at it.
    pub np_ready: Signal<Out, bool>,
    /// A store of the host, for `admin/registers` and the doorbells.
    pub mmio_write: FlowSource<MmioWrite>,
    /// A load of the host, to `edge/complete`; it holds still until it is taken.
    pub mmio_read: Source<MmioRead>,
    /// A beat of a completion, to `dma/read`.
    pub completion: FlowSource<TlpBeat>,
    /// Pulses when a packet is dropped.
    pub count_dropped: Pulse,

    // The header as far as it is known.
    /// Place of the next beat: 0 first, 1 second, 2 third, 3 any later.
    position: DFF<Bits<2>>,
    /// The packet is a store.
    writing: DFF<bool>,
    /// The packet is a load.
    reading: DFF<bool>,
    /// The packet is a request that is answered as unsupported.
    unsupported: DFF<bool>,
    /// The packet is a completion.
    completing: DFF<bool>,
    /// What the packet asks for is done, the rest of it is nothing.
    settled: DFF<bool>,
    /// The header has 4 double words.
    long: DFF<bool>,
    /// The request is for 2 double words.
    pair: DFF<bool>,
    /// The request hits BAR 2.
    doorbell: DFF<bool>,
    /// Byte enables of the first double word.
    first_enables: DFF<Bits<4>>,
    /// Byte enables of the last double word.
    last_enables: DFF<Bits<4>>,
    /// Tag of the request.
    tag: DFF<Bits<8>>,
    /// Identifier of the function that asks.
    requester: DFF<Bits<16>>,
    /// Attributes of the request.
    attr: DFF<Bits<2>>,
    /// Traffic class of the request.
    traffic_class: DFF<Bits<3>>,
    /// Offset in the BAR, in double words.
    address: DFF<Bits<WORD_LOG2>>,
    /// High half of the beat before.
    held: DFF<Bits<32>>,

    /// `write` is given in this cycle.
    write_valid: DFF<bool>,
    /// The store that is given.
    write: DFF<MmioWrite>,
    loads: Skid<MmioRead>,
    /// `completion_beat` is given in this cycle.
    completion_beat_valid: DFF<bool>,
    /// The beat that is given.
    completion_beat: DFF<TlpBeat>,
    /// `np_ready`.
    nonposted_room: DFF<bool>,
    /// A packet was dropped in the cycle before.
    dropped: DFF<bool>,

    /// The first two double words of a request, and what it is.
    first_word: Cast<Bits<32>, FirstWord>,
    request_word: Cast<Bits<32>, RequestWord>,
    sort: PacketSort,
    bytes: EnabledBytes,
    data: Signal<Local, Bits<64>>,
    keep: Signal<Local, Bits<2>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    both: Signal<Local, bool>,
    last: Signal<Local, bool>,
    head: Signal<Local, bool>,
    second: Signal<Local, bool>,
    third: Signal<Local, bool>,
    pair_length: Signal<Local, bool>,
    short: Signal<Local, bool>,
    known_bar: Signal<Local, bool>,
    address_word: Signal<Local, Bits<32>>,
    offset: Signal<Local, Bits<WORD_LOG2>>,
    /// The bits of an address that are the offset in BAR 0, and in BAR 2: what is above is where the host put them.
    in_registers: Number<WORD_LOG2, { BAR0_BYTES / 4 - 1 }>,
    in_pages: Number<WORD_LOG2, { BAR2_BYTES / 4 - 1 }>,
    /// A pair that is not 8-byte aligned.
    astray: Signal<Local, bool>,
    stored: Signal<Local, bool>,
    word_a: Signal<Local, Bits<32>>,
    word_b: Signal<Local, Bits<32>>,
    enables: Signal<Local, Bits<8>>,
    push: Signal<Local, bool>,
    refuse: Signal<Local, bool>,
    settled_now: Signal<Local, bool>,
}

impl Logic for TlpReceive {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, position, writing, reading, unsupported, completing, settled, long, pair);
        dff_setup!(
            self,
            clock,
            doorbell,
            first_enables,
            last_enables,
            tag,
            requester,
            attr,
            traffic_class,
            address
        );
        dff_setup!(self, clock, held, write_valid, write, completion_beat_valid, completion_beat);
        dff_setup!(self, clock, nonposted_room, dropped);
        clock!(self, clock, loads);

        drive!(self, rx.data => data; rx.keep => keep);
        self.low.next = self.data.val().get_bits::<32>(0);
        self.high.next = self.data.val().get_bits::<32>(32);
        self.both.next = self.keep.val().get_bit(1);
        self.last.next = self.rx.valid.val() & self.rx.last.val();
        self.head.next = self.rx.valid.val() & (self.position.q.val() == bits::<2>(0));
        self.second.next = self.rx.valid.val() & (self.position.q.val() == bits::<2>(1));
        self.third.next = self.rx.valid.val() & (self.position.q.val() == bits::<2>(2));
        if self.rx.valid.val() {
            if self.position.q.val() != bits::<2>(3) {
                self.position.d.next = self.position.q.val() + 1;
            }
            if self.rx.last.val() {
                self.position.d.next = bits::<2>(0);
            }
            self.held.d.next = self.high.val();
        }

        // First beat: what is it?
        drive!(self, low => first_word.from; high => request_word.from;
            first_word.to.val().kind => sort.kind);
        self.pair_length.next = self.first_word.to.val().length == bits::<10>(2);
        self.short.next = (self.first_word.to.val().length == bits::<10>(1)) | self.pair_length.val();
        self.known_bar.next = (self.rx.bar.val() == bits::<3>(0)) | (self.rx.bar.val() == bits::<3>(2));
        if self.head.val() {
            self.writing.d.next = self.sort.memory.val()
                & self.sort.with_data.val()
                & self.short.val()
                & self.known_bar.val()
                & !self.first_word.to.val().poisoned;
            self.reading.d.next = self.sort.nonposted.val();
            self.unsupported.d.next = !self.sort.memory.val() | !self.short.val() | !self.known_bar.val();
            self.completing.d.next = self.sort.completion.val();
            self.long.d.next = self.sort.long_header.val();
            self.pair.d.next = self.pair_length.val();
            // Only BARs 0 and 2 are known.
            self.doorbell.d.next = self.rx.bar.val().get_bit(1);
            self.attr.d.next = self.first_word.to.val().attr;
            self.traffic_class.d.next = self.first_word.to.val().traffic_class;
            self.first_enables.d.next = self.request_word.to.val().first_be;
            self.last_enables.d.next = self.request_word.to.val().last_be;
            self.tag.d.next = self.request_word.to.val().tag;
            self.requester.d.next = self.request_word.to.val().requester;
        }

        // Second beat: the address, and perhaps the first double word of the payload.
        self.address_word.next = self.low.val();
        if self.long.q.val() {
            self.address_word.next = self.high.val();
        }
        self.offset.next = self.address.q.val();
        if self.second.val() {
            self.offset.next = self.address_word.val().get_bits::<WORD_LOG2>(2) & self.in_registers.val();
            if self.doorbell.q.val() {
                self.offset.next = self.address_word.val().get_bits::<WORD_LOG2>(2) & self.in_pages.val();
            }
        }
        self.address.d.next = self.offset.val();
        self.astray.next = self.pair.q.val() & self.offset.val().get_bit(0);

        // A store is whole with the second beat (short header, one double word) or with the third.
        self.stored.next = self.writing.q.val()
            & ((self.second.val() & !self.long.q.val() & !self.pair.q.val() & self.both.val())
                | (self.third.val() & (!self.long.q.val() | !self.pair.q.val() | self.both.val())))
            & !self.astray.val()
            & !self.settled.q.val();
        self.word_a.next = self.high.val();
        self.word_b.next = self.high.val();
        if self.third.val() {
            self.word_a.next = self.held.q.val();
            if self.long.q.val() {
                self.word_a.next = self.low.val();
            }
            if !self.long.q.val() | !self.pair.q.val() {
                self.word_b.next = self.low.val();
            }
        }
        self.enables.next = bit_cast::<8, 4>(self.first_enables.q.val());
        if self.pair.q.val() {
            self.enables.next = (bit_cast::<8, 4>(self.last_enables.q.val()) << 4)
                | bit_cast::<8, 4>(self.first_enables.q.val());
        } else if self.offset.val().get_bit(0) {
            self.enables.next = bit_cast::<8, 4>(self.first_enables.q.val()) << 4;
        }
        self.write_valid.d.next = self.stored.val() & self.enables.val().any();
        self.write.d.next.doorbell = self.doorbell.q.val();
        self.write.d.next.address =
            bit_cast::<STORE_LOG2, PAIR_LOG2>(self.offset.val().get_bits::<PAIR_LOG2>(1)) << 3;
        self.write.d.next.data =
            (bit_cast::<64, 32>(self.word_b.val()) << 32) | bit_cast::<64, 32>(self.word_a.val());
        self.write.d.next.enables = self.enables.val();
        drive!(self, write_valid.q => mmio_write.valid; write.q => mmio_write.data);

        // A load is whole with its header.
        self.push.next = self.second.val() & self.reading.q.val() & (!self.long.q.val() | self.both.val());
        self.refuse.next = self.unsupported.q.val() | self.astray.val();
        drive!(self, first_enables.q => bytes.first; last_enables.q => bytes.last; pair.q => bytes.pair);

        drive!(self, reset => loads.reset; push => loads.sink.valid);
        self.loads.sink.data.next.doorbell = self.doorbell.q.val();
        self.loads.sink.data.next.address = bit_cast::<20, WORD_LOG2>(self.offset.val()) << 2;
        self.loads.sink.data.next.pair = self.pair.q.val() & !self.refuse.val();
        self.loads.sink.data.next.unsupported = self.refuse.val();
        self.loads.sink.data.next.lower_address = (bit_cast::<7, 5>(self.offset.val().get_bits::<5>(0)) << 2)
            | bit_cast::<7, 3>(self.bytes.first_byte.val());
        self.loads.sink.data.next.byte_count = self.bytes.count.val();
        if self.refuse.val() {
            self.loads.sink.data.next.lower_address = bits::<7>(0);
            self.loads.sink.data.next.byte_count = bits::<4>(4);
        }
        fill!(self, loads.sink.data, tag.q => tag; requester.q => requester; attr.q => attr;
            traffic_class.q => traffic_class);
        Source::<MmioRead>::link(&mut self.mmio_read, &mut self.loads.source);

        self.completion_beat_valid.d.next = (self.head.val() & self.sort.completion.val())
            | (self.rx.valid.val() & !self.head.val() & self.completing.q.val());
        self.completion_beat.d.next.data = self.rx.data.val();
        self.completion_beat.d.next.keep = self.rx.keep.val();
        self.completion_beat.d.next.last = self.rx.last.val();
        drive!(self, completion_beat_valid.q => completion.valid; completion_beat.q => completion.data);

        // A packet that is not settled when it ends is dropped.
        self.settled_now.next = (self.settled.q.val() & !self.head.val())
            | (self.head.val() & (self.sort.completion.val() | self.sort.message.val()))
            | self.stored.val()
            | (self.push.val() & self.loads.sink.ready.val());
        if self.rx.valid.val() {
            self.settled.d.next = self.settled_now.val();
        }
        self.dropped.d.next = self.last.val() & !self.settled_now.val();
        self.count_dropped.next = self.dropped.q.val();

        self.nonposted_room.d.next = !self.loads.source.valid.val()
            & !self.reading.q.val()
            & !(self.head.val() & self.sort.nonposted.val());
        if self.second.val() | self.last.val() {
            self.reading.d.next = false;
        }
        self.np_ready.next = self.nonposted_room.q.val();

        if self.reset.val() {
            // The packet under way is forgotten; but where it ends must still be known, if its end comes.
            if self.down.val() {
                self.position.d.next = bits::<2>(0);
            }
            self.reading.d.next = false;
            self.completing.d.next = false;
            self.settled.d.next = true;
            self.write_valid.d.next = false;
            self.completion_beat_valid.d.next = false;
            self.nonposted_room.d.next = false;
            self.dropped.d.next = false;
        }
    }
}
