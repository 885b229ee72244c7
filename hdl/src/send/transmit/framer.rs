//! Builds one frame at a time from its header template, its job and the payload queue.
//!
//! ```text
//!        job ──►┌───────────────────────────────────────┐──► frame, frame_vlan, frame_loopback
//!   template ──►│ templates ─┬─► word ──► Seal          │──► running, busy
//!    payload ──►│ HeaderPatch ──► Splice                │──► payload_ready
//!               └───────────────────────────────────────┘
//! ```
//! Contract: the payload of a job is in the payload queue when the job is given: a frame that has begun pauses only for `frame.ready`.
//! Behind the payload's last byte its last word is 0. `running` says that a frame still needs its template or its payload.
//!
//! Example: a send of 8 bytes has no RETH, no extension header and no pad, so q is 2. The last word is number 8 and has 2 bytes: 66
//! bytes are 54 of headers, 8 of payload and 4 of ICRC.
//!
//! Latency: 6 cycles from a job to its frame's first beat. A job waits for the frame before it without holding up `Transmit`.
//! Throughput: a beat every cycle, and 1 cycle between frames, in which the VLAN tag is read.
//!
//! How: a frame is headers (54 bytes), a RETH (16 bytes) or none, an extension header of 0 or 4 bytes, payload and pad,
//! the ICRC. With q = (RETH + extension + payload + pad) / 4 the last word is number 7 + q / 2. This block counts the words; the
//! [`HeaderPatch`] makes those of the headers, the [`Splice`] those behind, and the [`Seal`] puts the checksums in.
//!
//! A raw frame is its payload: word n is word n of it. With the payload's words as q / 2 the last word is number q / 2 - 1; there are
//! two at least.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

use super::frame_job::FrameJob;
use super::header_patch::HeaderPatch;
use super::seal::Seal;
use super::splice::Splice;
use crate::bus::{Commit, FrameBeat, Vi};
use crate::prims::{Cast, Number, Ram};

/// Rows of the template memory, as log2: 8 words for each VI.
pub const TEMPLATE_LOG2: usize = VI_LOG2 + 3;

/// A place in the template memory. Packed it is the number of its row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TemplatePlace {
    /// Number of the word, 0 to 7.
    pub word: Bits<3>,
    /// The VI whose template it is.
    pub vi: Vi,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub(super) struct Framer {
    /// Rising edge.
    pub(super) clock: Signal<In, Clock>,
    /// While high, the block drops the frame under way.
    pub(super) reset: Signal<In, bool>,
    /// The frame to make: its header fields, and the size of its payload; from `Heading`, and the steps say when one is to be made.
    pub(super) job: Sink<FrameJob>,
    /// A TEMPLATE row, one word of a VI's template, which is taken in this cycle; never while `running`. Transmit drives it.
    pub(super) template: FlowSink<Commit>,
    /// The next eight bytes of payload, from gather's payload queue.
    pub(super) payload: Signal<In, Bits<64>>,
    /// Pulses when the block takes the word of payload.
    pub(super) payload_ready: Signal<Out, bool>,
    /// A beat of the frame, for egress.
    pub(super) frame: Source<FrameBeat>,
    /// The frame turns round inside the NIC.
    pub(super) frame_loopback: Signal<Out, bool>,
    /// VLAN tag of the frame in wire order; 0: the frame has none.
    pub(super) frame_vlan: Signal<Out, Bits<32>>,
    /// A job still needs its template or its payload.
    pub(super) running: Signal<Out, bool>,
    /// A frame has not left completely.
    pub(super) busy: Signal<Out, bool>,
    templates: Ram<Bits<64>, { TEMPLATE_LOG2 }>,
    header_patch: HeaderPatch,
    splice: Splice,
    seal: Seal,
    /// The job that waits while `current` is made; valid with `pending`.
    next_job: DFF<FrameJob>,
    pending: DFF<bool>,
    /// The job whose frame is being made; valid with `active`.
    current: DFF<FrameJob>,
    active: DFF<bool>,
    /// The VLAN tag is on show, not a word of the frame.
    tag_turn: DFF<bool>,
    /// Number of the word of the frame that is being made.
    index: DFF<Bits<10>>,
    /// Number of the frame's last word but one.
    before_last: DFF<Bits<10>>,
    /// The word being made is the frame's last; the flags below say whether it is number 6, 7 or 8.
    at_last: DFF<bool>,
    at_six: DFF<bool>,
    at_seven: DFF<bool>,
    at_eight: DFF<bool>,
    /// The end of the word being made comes from RETH, extension header or payload.
    in_tail: DFF<bool>,
    vlan: DFF<Bits<32>>,
    moves: Signal<Local, bool>,
    accept: Signal<Local, bool>,
    at_before: Signal<Local, bool>,
    at_five: Signal<Local, bool>,
    frees: Signal<Local, bool>,
    ends: Signal<Local, bool>,
    odd: Signal<Local, bool>,
    quads: Signal<Local, Bits<11>>,
    to_last: Signal<Local, Bits<10>>,
    next_index: Signal<Local, Bits<10>>,
    place: Signal<Local, TemplatePlace>,
    row: Cast<TemplatePlace, Bits<{ TEMPLATE_LOG2 }>>,
    shown: Signal<Local, Bits<64>>,
    keep: Signal<Local, Bits<64>>,
    /// From word 7 + q / 2 back by one: 6, and -2 for a raw frame.
    behind_headers: Number<10, 6>,
    behind_none: Number<10, 1022>,
    tag_word: Number<3, 7>,
}

impl Logic for Framer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, next_job, pending, current, active, tag_turn, index, before_last, at_last);
        dff_setup!(self, clock, at_six, at_seven, at_eight, in_tail, vlan);
        clock!(self, clock, templates, header_patch, splice, seal);
        drive!(self, reset => seal.reset; seal.word.ready => moves);

        // The number of the word that is made, and the row of the template that is read for the next one.
        self.quads.next = self.current.q.val().quads;
        self.odd.next = self.quads.val().get_bit(0);
        self.to_last.next = self.behind_headers.val();
        if self.current.q.val().raw {
            self.to_last.next = self.behind_none.val();
        }
        if self.tag_turn.q.val() {
            self.before_last.d.next = self.quads.val().get_bits::<10>(1) + self.to_last.val();
        }
        self.at_before.next = self.index.q.val() == self.before_last.q.val();
        self.at_five.next = self.index.q.val() == bits::<10>(5);
        self.ends.next = self.active.q.val() & self.at_last.q.val() & self.moves.val();
        self.frees.next = !self.active.q.val() | self.ends.val();
        self.job.ready.next = !self.pending.q.val();
        self.accept.next = self.pending.q.val() & self.frees.val();
        if !self.pending.q.val() {
            self.next_job.d.next = self.job.data.val();
            self.pending.d.next = self.job.valid.val();
        }
        self.next_index.next = self.index.q.val();
        if self.moves.val() & !self.tag_turn.q.val() {
            self.next_index.next = self.index.q.val() + 1;
            self.at_last.d.next = self.at_before.val();
            self.at_six.d.next = self.at_five.val();
            self.at_seven.d.next = self.at_six.q.val();
            self.at_eight.d.next = self.at_seven.q.val();
            if self.at_five.val() {
                self.in_tail.d.next = true;
            }
        }
        self.place.next.word = bit_cast::<3, 10>(self.next_index.val());
        self.place.next.vi = self.current.q.val().vi;
        if self.tag_turn.q.val() & !self.moves.val() {
            self.place.next.word = self.tag_word.val();
        }
        if self.frees.val() {
            self.place.next.word = self.tag_word.val();
            self.place.next.vi = self.next_job.q.val().vi;
        }
        self.index.d.next = self.next_index.val();
        if self.moves.val() & self.tag_turn.q.val() {
            self.tag_turn.d.next = false;
            self.in_tail.d.next = self.current.q.val().raw;
        }
        if self.ends.val() {
            self.active.d.next = false;
        }
        if self.accept.val() {
            self.pending.d.next = false;
            self.active.d.next = true;
            self.tag_turn.d.next = true;
            self.index.d.next = bits::<10>(0);
            self.at_last.d.next = false;
            self.at_six.d.next = false;
            self.at_seven.d.next = false;
            self.at_eight.d.next = false;
            self.in_tail.d.next = false;
            self.current.d.next = self.next_job.q.val();
        }

        // The template.
        drive!(self, template.valid => templates.write_enable;
            template.data.val().word0 => templates.write_data; place => row.from;
            row.to => templates.read_address; templates.read_data => shown);
        self.templates.write_address.next = bit_cast::<{ TEMPLATE_LOG2 }, 16>(self.template.data.val().row);
        if self.tag_turn.q.val() {
            self.vlan.d.next = bit_cast::<32, 64>(self.shown.val());
        }

        // The word.
        drive!(self, current.q => header_patch.job, splice.job; index.q => header_patch.index;
            active.q => splice.active; accept => splice.load; next_job.q.val().words => splice.words;
            header_patch.patch => splice.patch; payload => splice.payload; moves => splice.moves;
            splice.takes => payload_ready);
        fill!(self, splice.place, at_six.q => six; at_seven.q => seven; at_eight.q => eight;
            in_tail.q => tail);
        self.keep.next = bits::<64>(0);
        if self.splice.from_template.val() {
            self.keep.next = self.header_patch.keep.val();
        }

        self.seal.word.valid.next = self.active.q.val() & !self.tag_turn.q.val();
        self.seal.word.data.next.data = self.splice.word.val() | (self.shown.val() & self.keep.val());
        self.seal.word.data.next.first = !self.index.q.val().any();
        fill!(self, seal.word.data, at_last.q => last; at_before => next_last; odd => odd;
            current.q.val().raw => raw; current.q.val().over => over; current.q.val().loopback => loopback);
        self.seal.word.data.next.checks = (self.index.q.val() == bits::<10>(3)) & !self.current.q.val().raw;
        // The fields that change on the way: type of service, time to live, the two checksums, and the BTH's reserved byte.
        self.seal.word.data.next.feed =
            (self.index.q.val() >= bits::<10>(2)) & !(self.at_last.q.val() & !self.odd.val());
        self.seal.word.data.next.preset = self.index.q.val() == bits::<10>(1);
        self.seal.word.data.next.mask_low = (self.index.q.val() == bits::<10>(3)) | self.at_five.val();
        self.seal.word.data.next.mask_six = (self.index.q.val() == bits::<10>(2)) | self.at_five.val();
        self.seal.word.data.next.mask_seven = self.index.q.val() == bits::<10>(1);
        drive!(self, header_patch.ip_length => seal.ip_length; vlan.q => seal.vlan;
            seal.frame_loopback => frame_loopback; seal.frame_vlan => frame_vlan);
        Source::<FrameBeat>::link(&mut self.frame, &mut self.seal.frame);
        self.running.next = self.active.q.val() | self.pending.q.val();
        self.busy.next = self.active.q.val() | self.pending.q.val() | self.seal.busy.val();

        if self.reset.val() {
            self.active.d.next = false;
            self.pending.d.next = false;
            self.tag_turn.d.next = false;
        }
    }
}
