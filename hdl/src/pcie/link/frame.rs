//! Puts packets on the line: STP or SDP, bytes, check sum, END.
//!
//! ```text
//!                dllp ──►┌───────┐──► line
//! waits, number, row  ──►│ Frame │──► begins, takes, ends
//!               in_l0 ──►└───────┘──► rests
//! ```
//! Contract: in L0, when a packet ends, the next one begins at once: a DLLP if there is one, otherwise a TLP. A packet goes out whole,
//! one word a cycle: that is up to `line.ready`, which stays high within a packet. A packet that has begun and was not taken before L0 was
//! left goes out later.
//!
//! `begins` says that the TLP `number` begins, `takes` that `row` is used; in the cycle behind it there is the next one. `ends` comes
//! two words before END: in time for the next TLP. `rests`: nothing is under way.
//!
//! Latency: 2 cycles from `waits` to STP on the line. A DLLP takes 4 words, a TLP of n words n + 4. Throughput: no word between packets is
//! lost.
//!
//! How: bytes are shifted by one for the K in front. So a word is the high byte of the last word and the low byte of this one.
//!
//! Example: DLLP 00 00 0F FF gives the words SDP 00, 00 0F, FF 25, A8 END.
//!
//! Tests: `tests/pcie/link/checks.rs`, and with the whole.

use super::dllp_crc::DllpCrc;
use super::packet::Row;
use crate::pcie::bus::LineWord;
use crate::prims::{NarrowCrc32, Number, Skid};
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Rest,
    /// STP or SDP.
    Head,
    Body,
    /// The first half of the LCRC.
    Low,
    /// The second half, or the CRC of a DLLP.
    High,
    /// END.
    Close,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Frame {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the packet under way.
    pub reset: Signal<In, bool>,
    /// L0: packets may begin; from `mac`.
    pub in_l0: Signal<In, bool>,
    /// A DLLP; from `DllpSender`.
    pub dllp: Sink<Bits<32>>,
    /// A TLP is to be sent; from `Replay`, as `number` and `row`.
    pub waits: Signal<In, bool>,
    /// The TLP's sequence number.
    pub number: Signal<In, Bits<12>>,
    /// The TLP's next row.
    pub row: Signal<In, Row>,
    /// The TLP begins; to `Replay`, as the two below.
    pub begins: Signal<Out, bool>,
    /// The TLP's row is used.
    pub takes: Signal<Out, bool>,
    /// All rows of the TLP are used.
    pub ends: Signal<Out, bool>,
    /// Nothing is under way.
    pub rests: Signal<Out, bool>,
    /// What is sent; to `mac`.
    pub line: Source<LineWord>,
    skid: Skid<LineWord>,
    lcrc: NarrowCrc32<16>,
    crc: DllpCrc,
    state: DFF<State>,
    /// The packet is a DLLP.
    short: DFF<bool>,
    word: DFF<Bits<16>>,
    /// `word` is the packet's last one.
    last: DFF<bool>,
    /// Of a DLLP.
    second: DFF<Bits<16>>,
    /// The high byte of the word before.
    held: DFF<Bits<8>>,
    step: Signal<Local, bool>,
    choose: Signal<Local, bool>,
    feed: Signal<Local, bool>,
    low: Signal<Local, Bits<8>>,
    high: Signal<Local, Bits<8>>,
    content: Signal<Local, Bits<32>>,
    check: Signal<Local, Bits<32>>,
    check16: Signal<Local, Bits<16>>,
    number_high: Signal<Local, Bits<4>>,
    number_low: Signal<Local, Bits<8>>,
    lead: Signal<Local, Bits<8>>,
    stp: Number<8, 0xfb>,
    sdp: Number<8, 0x5c>,
    end_k: Number<8, 0xfd>,
}

impl Logic for Frame {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, short, word, last, second, held);
        clock!(self, clock, skid, lcrc, crc);
        Source::<LineWord>::link(&mut self.line, &mut self.skid.source);
        drive!(self, reset => skid.reset; skid.sink.ready => step; dllp.data => content;
            word.q => lcrc.sink.data, crc.sink.data; lcrc.value => check; crc.value => check16);
        self.choose.next =
            self.step.val() & ((self.state.q.val() == State::Rest) | (self.state.q.val() == State::Close));
        drive!(self, choose => lcrc.start, crc.start; false => dllp.ready, begins, takes, feed);
        self.ends.next = self.step.val() & (self.state.q.val() == State::Low);
        self.rests.next = (self.state.q.val() == State::Rest) & !self.skid.source.valid.val();
        self.number_high.next = self.number.val().get_bits::<4>(8);
        self.number_low.next = self.number.val().get_bits::<8>(0);

        // What is on the line in each state.
        self.low.next = self.word.q.val().get_bits::<8>(0);
        self.high.next = self.word.q.val().get_bits::<8>(8);
        self.lead.next = self.held.q.val();
        self.skid.sink.valid.next = self.state.q.val() != State::Rest;
        self.skid.sink.data.next.k = bits::<2>(0);
        self.skid.sink.data.next.last = false;
        match self.state.q.val() {
            State::Rest => {}
            State::Head => {
                self.feed.next = self.step.val();
                self.skid.sink.data.next.k = bits::<2>(1);
                self.lead.next = self.stp.val();
                if self.short.q.val() {
                    self.lead.next = self.sdp.val();
                }
            }
            State::Body => {
                self.feed.next = self.step.val();
            }
            State::Low => {
                self.low.next = !self.check.val().get_bits::<8>(0);
                self.high.next = !self.check.val().get_bits::<8>(8);
            }
            State::High => {
                self.low.next = !self.check.val().get_bits::<8>(16);
                self.high.next = !self.check.val().get_bits::<8>(24);
                if self.short.q.val() {
                    self.low.next = !self.check16.val().get_bits::<8>(0);
                    self.high.next = !self.check16.val().get_bits::<8>(8);
                }
            }
            State::Close => {
                self.low.next = self.end_k.val();
                self.skid.sink.data.next.k = bits::<2>(2);
                self.skid.sink.data.next.last = true;
            }
        }
        drive!(self, feed => lcrc.sink.valid, crc.sink.valid);
        self.skid.sink.data.next.data =
            (bit_cast::<16, 8>(self.low.val()) << 8) | bit_cast::<16, 8>(self.lead.val());

        // What comes next.
        if self.step.val() {
            self.held.d.next = self.high.val();
            match self.state.q.val() {
                State::Rest => {}
                State::Head => {
                    self.state.d.next = State::Body;
                    if self.short.q.val() {
                        self.word.d.next = self.second.q.val();
                        self.last.d.next = true;
                    } else {
                        self.takes.next = true;
                        self.word.d.next = self.row.val().data;
                        self.last.d.next = self.row.val().last;
                    }
                }
                State::Body => {
                    if !self.last.q.val() {
                        self.takes.next = true;
                        self.word.d.next = self.row.val().data;
                        self.last.d.next = self.row.val().last;
                    } else if self.short.q.val() {
                        self.state.d.next = State::High;
                    } else {
                        self.state.d.next = State::Low;
                    }
                }
                State::Low => {
                    self.state.d.next = State::High;
                }
                State::High => {
                    self.state.d.next = State::Close;
                }
                State::Close => {
                    self.state.d.next = State::Rest;
                }
            }
        }
        if self.choose.val() & self.in_l0.val() {
            if self.dllp.valid.val() {
                self.dllp.ready.next = true;
                self.short.d.next = true;
                self.word.d.next = self.content.val().get_bits::<16>(0);
                self.second.d.next = self.content.val().get_bits::<16>(16);
                self.state.d.next = State::Head;
            } else if self.waits.val() {
                self.begins.next = true;
                self.short.d.next = false;
                self.word.d.next = (bit_cast::<16, 8>(self.number_low.val()) << 8)
                    | bit_cast::<16, 4>(self.number_high.val());
                self.state.d.next = State::Head;
            }
        }
        if self.reset.val() {
            self.state.d.next = State::Rest;
        }
    }
}
