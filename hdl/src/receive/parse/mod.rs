//! Checks who a frame is for, and whether it is whole: every check that needs no table.
//!
//! ```text
//!  frame, frame_tagged ──►┌────────────────────┐──► keep, drop, info
//!              station ──►│       Parse        │──► endless, busy
//!          store_ready ──►│                    │──► events
//!                         └────────────────────┘
//! ```
//! Contract: an untagged frame's beats go in; the store gets the frame by itself ([`FrameDelay`](super::FrameDelay)). When the frame has
//! ended there is one pulse: `keep` with `info` (`start` and `end` are the store's), or `drop` and with it one of the events. The blocks
//! in this folder find the reasons for a drop, of which the first counts:
//!
//! 1. `malformed`: the MAC found damage; or fewer than 14 or more than 4224 bytes, the tag not among them. `endless` is high from
//!    there to the frame's end.
//! 2. `not_ours`: another MAC address, not IPv4 with 20 header bytes, a fragment, not UDP, another IP address,
//!    another UDP port. Of a frame that has been cut, only the fields count that it has whole.
//! 3. `malformed`: cut short, lengths that disagree or leave no room for the headers or the pad, more
//!    than the extension headers of RDMA and 4096 bytes behind the BTH, a wrong IP header checksum. Bytes behind the IP packet are
//!    padding, and harmless.
//! 4. `icrc`.
//! 5. `bth`: BTH version, P_Key (15 bits), an opcode that is none of ours.
//! 6. `congestion`: a congestion notification. It also counts a frame that is kept and marked congestion experienced.
//!
//! A frame for which reason 2 would count, and that the station's `raw_*` want, is kept raw. So is a frame for queue pair 1 that they want
//! and that passes 1 to 5, even a congestion notification. A datagram's opcode is one of ours only for that queue pair, and only if the
//! frame has room for a DETH. The block does not look at the UDP checksum, because the ICRC covers more.
//!
//! Example: a send of 8 bytes comes in 9 beats, 66 bytes, and all checks pass. 4 cycles after the last beat `keep` comes, and `info`
//! has `length` 8. With a byte of the payload changed, `drop` and the event `icrc` come instead.
//! Latency: `keep` comes 4 cycles after the last beat was taken. Throughput: one beat every cycle, frames back to back.
//! Tests: `tests/receive/parse/`, on frames that Linux made and on what becomes of them when a byte changes.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod addressee;
pub mod beats;
mod checksum;
mod extent;
mod header_sizes;
mod headers;
mod size;

pub use addressee::Addressee;
pub use checksum::Checksum;
pub use extent::PacketExtent;
pub use header_sizes::HeaderSizes;
pub use headers::Headers;
pub use size::Size;

use super::Icrc;
use crate::bus::{FrameBeat, FrameInfo};
use crate::prims::{Cast, Number, WireOrder};
use crate::receive::StationSink;
use crate::stream::Sink;
use beats::BeatAt;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::{reth, BTH_BYTES, EXTENSION_BYTES, ICRC_BYTES, IPV4_BYTES, RETH_BYTES, UDP_BYTES};

/// What is counted in a cycle, each by a counter of its own.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ParseEvents {
    /// A frame is dropped for reason 1 or 3 of the contract.
    pub malformed: bool,
    /// A frame is dropped because it is for somebody else.
    pub not_ours: bool,
    /// A frame is dropped because its ICRC is wrong.
    pub icrc: bool,
    /// A frame is dropped for its BTH version, its P_Key or its opcode.
    pub bth: bool,
    /// A congestion notification came, or a frame that is kept and marked congestion experienced.
    pub congestion: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Parse {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the frame under way.
    pub reset: Signal<In, bool>,
    /// A beat of an untagged frame, from `Ingress`.
    pub frame: Sink<FrameBeat>,
    /// With the last beat of `frame`: the frame had a tag; `Ingress` drives it.
    pub frame_tagged: Signal<In, bool>,
    /// The card's own addresses, and the settings of the raw channel, from the agent's registers.
    pub station: StationSink,
    /// The store takes more words: `Store` drives it, as its `store.ready`.
    pub store_ready: Signal<In, bool>,
    /// The frame is too long, so no more of it is stored; `FrameDelay` listens.
    pub endless: Signal<Out, bool>,
    /// Pulses when the frame that ended is good; the store listens to this and the two below.
    pub keep: Signal<Out, bool>,
    /// Pulses when the frame that ended is not taken.
    pub drop: Signal<Out, bool>,
    /// With `keep`: what is known of the frame.
    pub info: Signal<Out, FrameInfo>,
    /// A frame is under way; `Receive` is busy then.
    pub busy: Signal<Out, bool>,
    /// What is counted now, for `admin/counters`.
    pub events: Signal<Out, ParseEvents>,
    icrc: Icrc,
    addressee: Addressee,
    extent: PacketExtent,
    size: Size,
    checksum: Checksum,
    headers: Headers,
    sizes: HeaderSizes,
    turned: WireOrder<64>,
    /// Number of the next beat, 7 for every later one.
    next_index: DFF<Bits<3>>,
    valid: DFF<bool>,
    index: DFF<Bits<3>>,
    beat: DFF<FrameBeat>,
    beat_tagged: DFF<bool>,
    data: Signal<Local, Bits<64>>,
    count: Signal<Local, Bits<4>>,
    last: Signal<Local, bool>,
    one: Signal<Local, Bits<1>>,
    at: Cast<Bits<8>, BeatAt>,
    damaged: DFF<bool>,
    fields: Signal<Local, FrameInfo>,
    rest: DFF<Bits<14>>,
    length: DFF<Bits<14>>,
    opcode: Signal<Local, Bits<8>>,
    ip_length: Signal<Local, Bits<16>>,
    deciding: DFF<bool>,
    lengths_bad: Signal<Local, bool>,
    known_deciding: DFF<bool>,
    known_foreign: DFF<bool>,
    known_malformed: DFF<bool>,
    known_bth: DFF<bool>,
    known_notice: DFF<bool>,
    known_marked: DFF<bool>,
    kept: DFF<bool>,
    dropped: DFF<bool>,
    counted: DFF<ParseEvents>,

    // How long the frame is and who it is for, kept for one cycle and for two.
    known_bytes: DFF<Bits<13>>,
    kept_bytes: DFF<Bits<13>>,
    known_tagged: DFF<bool>,
    kept_tagged: DFF<bool>,
    /// The frame is for queue pair 1.
    agents: Signal<Local, bool>,
    known_wanted: DFF<bool>,
    known_agents: DFF<bool>,
    kept_raw: DFF<bool>,

    congestion: Number<8, { viaduct_spec::wire::opcode::CONGESTION as u64 }>,
    raw_opcode: Number<8, { viaduct_spec::wire::opcode::UC_SEND_ONLY as u64 }>,
    agents_pair: Number<24, 1>,
}

/// Bytes of the headers and the ICRC that an IP packet's length counts.
const HEADERS: u64 = (IPV4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES) as u64;

/// Bytes of a DETH.
const DETH_BYTES: usize = 8;

const _: () = assert!(RETH_BYTES == (reth::ADDRESS.lo + reth::ADDRESS.width) / 8);

/// Bytes of the longest extension headers before a payload: RETH and immediate data.
const LONGEST: u64 = (RETH_BYTES + EXTENSION_BYTES) as u64;

impl Logic for Parse {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, next_index, valid, index, beat, damaged, rest, length, deciding, kept);
        dff_setup!(self, clock, dropped, known_bytes, kept_bytes, known_tagged, kept_tagged);
        dff_setup!(self, clock, known_wanted, known_agents, kept_raw, beat_tagged, counted, known_deciding);
        dff_setup!(self, clock, known_foreign, known_malformed, known_bth, known_notice, known_marked);
        clock!(self, clock, icrc, addressee, extent, size, checksum, headers);
        self.icrc.reset.next = self.reset.val();

        // The beat at hand, for the parsers of its parts.
        drive!(self, beat.q.val().data => data; beat.q.val().count => count; beat.q.val().last => last;
            data => turned.from, addressee.data, checksum.data; turned.to => addressee.number, headers.number;
            at.to => addressee.at, size.at, checksum.at, headers.at; count => addressee.count, size.count);
        drive!(self, station.mac => addressee.mac; station.ip => addressee.ip;
            station.raw_open => addressee.raw_open; station.raw_broadcast => addressee.raw_broadcast;
            station.raw_multicast => addressee.raw_multicast; station.raw_any => addressee.raw_any);
        drive!(self, reset => size.reset; valid.q => size.valid, checksum.valid, headers.valid;
            last => size.last; beat_tagged.q => size.was_tagged; deciding.q => size.decided;
            size.long => endless);
        drive!(self, station.pkey => headers.pkey; sizes.reth => headers.reth; headers.fields => fields;
            fields.val().opcode => opcode; opcode => sizes.opcode);

        // First register: the beat and its number.
        self.frame.ready.next = self.store_ready.val();
        self.valid.d.next = self.frame.valid.val() & self.store_ready.val();
        if self.frame.valid.val() & self.store_ready.val() {
            self.beat.d.next = self.frame.data.val();
            self.beat_tagged.d.next = self.frame_tagged.val();
            self.index.d.next = self.next_index.q.val();
            if self.next_index.q.val() != bits::<3>(7) {
                self.next_index.d.next = self.next_index.q.val() + 1;
            }
            if self.frame.data.val().last {
                self.next_index.d.next = bits::<3>(0);
            }
        }
        self.one.next = bits::<1>(0);
        if self.valid.q.val() {
            self.one.next = bits::<1>(1);
        }
        self.at.from.next = bit_cast::<8, 1>(self.one.val()) << self.index.q.val();
        self.agents.next = self.fields.val().queue_pair == self.agents_pair.val();
        drive!(self, agents => sizes.agents; valid.q => extent.valid; at.to => extent.at;
            turned.to => extent.number; count => extent.count);
        self.extent.late.next = self.valid.q.val() & (self.index.q.val() > bits::<3>(3));
        if self.valid.q.val() {
            self.damaged.d.next = self.beat.q.val().bad;
        }

        // Payload bytes: IP length less headers, less pad.
        self.ip_length.next = self.extent.length.val();
        self.rest.d.next = bit_cast::<14, 16>(self.ip_length.val()) - self.sizes.headers.val();
        self.length.d.next = self.rest.q.val() - bit_cast::<14, 2>(self.headers.pad.val());

        // The IP packet's beats: the sum runs over all of them.
        drive!(self, extent.in_packet => icrc.sink.valid; index.q => icrc.in_index; data => icrc.sink.data);
        self.icrc.in_half.next = self.extent.final_beat.val() & self.extent.half.val();

        // Second register: what becomes of the frame.
        // What is known of the frame is kept in the first cycle, before the next frame's first beat changes it. The ICRC takes one more.
        self.deciding.d.next = self.valid.q.val() & self.last.val();
        // FRAME-6: lengths that cannot be, or a wrong checksum.
        self.lengths_bad.next = self.extent.malformed.val()
            | !self.extent.ended.val()
            | self.length.q.val().get_bit(13)
            | !self.checksum.good.val();
        self.known_deciding.d.next = self.deciding.q.val();
        self.known_foreign.d.next = self.addressee.foreign.val();
        // FRAME-4, RAW-3: damaged, too short or too long, whoever it is for.
        self.known_malformed.d.next = self.damaged.q.val()
            | self.size.short.val()
            | self.size.long.val()
            | (!self.addressee.foreign.val() & self.lengths_bad.val());
        self.known_wanted.d.next = self.addressee.wanted.val();
        self.known_agents.d.next = self.addressee.wanted.val() & self.agents.val();
        self.known_bytes.d.next = self.size.bytes.val();
        self.kept_bytes.d.next = self.known_bytes.q.val();
        self.known_tagged.d.next = self.size.has_tag.val();
        self.kept_tagged.d.next = self.known_tagged.q.val();
        self.known_marked.d.next = self.addressee.marked.val();
        self.known_notice.d.next = self.opcode.val() == self.congestion.val();
        self.known_bth.d.next =
            self.headers.bth.val() | !(self.sizes.known.val() | (self.opcode.val() == self.congestion.val()));
        self.kept.d.next = false;
        self.kept_raw.d.next = false;
        self.dropped.d.next = self.known_deciding.q.val();
        self.counted.d.next.malformed = false;
        self.counted.d.next.not_ours = false;
        self.counted.d.next.icrc = false;
        self.counted.d.next.bth = false;
        self.counted.d.next.congestion = false;
        if self.known_deciding.q.val() {
            // FRAME-3: a frame is counted for the first reason. RAW-3: what is damaged is not given to the channel.
            if self.known_malformed.q.val() {
                self.counted.d.next.malformed = true;
            } else if self.known_foreign.q.val() {
                // FRAME-5: not ours. RAW-1: unless the channel takes it.
                self.kept.d.next = self.known_wanted.q.val();
                self.kept_raw.d.next = self.known_wanted.q.val();
                self.dropped.d.next = !self.known_wanted.q.val();
                self.counted.d.next.not_ours = !self.known_wanted.q.val();
            } else if !self.icrc.good.val() {
                // FRAME-7: a wrong ICRC.
                self.counted.d.next.icrc = true;
            } else if self.known_bth.q.val() {
                // FRAME-8: version, P_Key or opcode.
                self.counted.d.next.bth = true;
            } else if self.known_agents.q.val() {
                // FRAME-9, RAW-1: a frame for queue pair 1 is the open channel's.
                self.kept.d.next = true;
                self.kept_raw.d.next = true;
                self.dropped.d.next = false;
            } else if self.known_notice.q.val() {
                // FRAME-9: a congestion notification.
                self.counted.d.next.congestion = true;
            } else {
                // FRAME-9: a mark is counted, and the frame goes on. RAW-3: but not to the channel.
                self.kept.d.next = true;
                self.dropped.d.next = false;
                self.counted.d.next.congestion = self.known_marked.q.val();
            }
        }
        self.busy.next = self.next_index.q.val().any()
            | self.valid.q.val()
            | self.deciding.q.val()
            | self.known_deciding.q.val()
            | self.kept.q.val();
        self.keep.next = self.kept.q.val();
        self.drop.next = self.dropped.q.val();
        self.info.next = self.fields.val();
        self.info.next.extended = self.sizes.extended.val();
        self.info.next.reth = self.sizes.reth.val();
        self.info.next.length = self.length.q.val().get_bits::<13>(0);
        self.info.next.raw = self.kept_raw.q.val();
        self.info.next.has_tag = self.kept_tagged.q.val();
        if self.kept_raw.q.val() {
            self.info.next.opcode = self.raw_opcode.val();
            self.info.next.queue_pair = bit_cast::<24, 10>(self.station.raw_vi.val());
            fill!(self, info, false => extended, reth; kept_bytes.q => length);
        }
        self.events.next = self.counted.q.val();
        if self.reset.val() {
            self.next_index.d.next = bits::<3>(0);
            self.valid.d.next = false;
            self.deciding.d.next = false;
            self.known_deciding.d.next = false;
            self.kept.d.next = false;
            self.dropped.d.next = false;
            self.counted.d.next.malformed = false;
            self.counted.d.next.not_ours = false;
            self.counted.d.next.icrc = false;
            self.counted.d.next.bth = false;
            self.counted.d.next.congestion = false;
        }
    }
}
