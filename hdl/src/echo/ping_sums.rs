//! Checks the sum of a ping's IPv4 header, and works out both sums of its answer.
//!
//! ```text
//!  rx, index ──►┌──────────┐──► right
//!               │ PingSums │──► header_sum, echo_sum
//!               └──────────┘
//! ```
//! Contract: two cycles after the last beat of a ping, `header_sum` and `echo_sum` are those of its answer: the question's, with the time
//! to live and the type of the message taken out and those of the answer put in (RFC 1624). So what was damaged behind the FCS's back stays
//! damaged. Four cycles after the last beat `right` says that the header of the question has the sum that it should have.
//!
//! Latency: see the contract. How: a step of a sum each cycle; the last beat is three behind the fields that the sums are made of.
//!
//! Example: a ping's message has the check sum 0x0708 at type 8. The answer has type 0, so `echo_sum` is 0x0f08.
//!
//! Tests: with `Echo`, `tests/mac/echo.rs`.

use super::beats::Words;
use crate::bus::FrameBeat;
use crate::prims::{Cast, Number};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PingSums {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// Number of the beat at `rx` in its frame, up to 7; `Question` drives it.
    pub index: Signal<In, Bits<3>>,
    /// The question's header has the right sum; `Question` listens to this and the other outputs.
    pub right: Signal<Out, bool>,
    /// The answer's header sum.
    pub header_sum: Signal<Out, Bits<16>>,
    /// The answer's ICMP sum.
    pub echo_sum: Signal<Out, Bits<16>>,
    /// The beat, as the words that sums are made of.
    words: Cast<Bits<64>, Words>,
    /// Sum of the header's words in one beat.
    part: DFF<Bits<20>>,
    /// Sum of the header's words in all beats.
    sum: DFF<Bits<20>>,
    /// `sum`, its carries added once.
    folded: DFF<Bits<20>>,
    /// `right`.
    summed: DFF<bool>,
    /// Time to live and protocol of the question.
    life: DFF<Bits<16>>,
    /// Check sum of the question's header.
    old_header: DFF<Bits<16>>,
    /// Check sum of the question's message.
    old_echo: DFF<Bits<16>>,
    /// The answer's header sum with its carries, before the complement.
    new_header: DFF<Bits<20>>,
    /// The answer's header sum, its carries added once.
    new_header_folded: DFF<Bits<20>>,
    /// The answer's ICMP sum with its carries, before the complement.
    new_echo: DFF<Bits<20>>,
    part_low: Signal<Local, Bits<20>>,
    part_high: Signal<Local, Bits<20>>,
    folded_twice: Signal<Local, Bits<20>>,
    without_life: Signal<Local, Bits<16>>,
    without_header: Signal<Local, Bits<16>>,
    without_echo: Signal<Local, Bits<16>>,
    new_header_sum: Signal<Local, Bits<16>>,
    new_echo_folded: Signal<Local, Bits<20>>,
    new_echo_sum: Signal<Local, Bits<16>>,
    /// Type 8 taken out.
    without_request: Number<20, 0xfff7>,
    /// Time to live 64, ICMP.
    new_life: Number<20, 0x0140>,
    full: Number<16, 0xffff>,
}

impl Logic for PingSums {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, part, sum, folded, summed, life, old_header, old_echo);
        dff_setup!(self, clock, new_header, new_header_folded, new_echo);
        self.words.from.next = self.rx.data.val().data;

        // The header: the last word of beat 1, beats 2 and 3, the first word of beat 4.
        self.part.d.next = bits::<20>(0);
        self.part_low.next =
            bit_cast::<20, 16>(self.words.to.val().first) + bit_cast::<20, 16>(self.words.to.val().second);
        self.part_high.next =
            bit_cast::<20, 16>(self.words.to.val().third) + bit_cast::<20, 16>(self.words.to.val().fourth);
        self.sum.d.next = self.sum.q.val() + self.part.q.val();
        if self.rx.valid.val() {
            match self.index.val().index() {
                0 => {
                    self.sum.d.next = bits::<20>(0);
                }
                1 => {
                    self.part.d.next = bit_cast::<20, 16>(self.words.to.val().fourth);
                }
                2 => {
                    self.life.d.next = self.words.to.val().fourth;
                    self.part.d.next = self.part_low.val() + self.part_high.val();
                }
                3 => {
                    self.old_header.d.next = self.words.to.val().first;
                    self.part.d.next = self.part_low.val() + self.part_high.val();
                }
                4 => {
                    self.old_echo.d.next = self.words.to.val().third;
                    self.part.d.next = bit_cast::<20, 16>(self.words.to.val().first);
                }
                _ => {}
            }
        }
        self.folded.d.next =
            bit_cast::<20, 16>(bit_cast::<16, 20>(self.sum.q.val())) + (self.sum.q.val() >> 16);
        self.folded_twice.next =
            bit_cast::<20, 16>(bit_cast::<16, 20>(self.folded.q.val())) + (self.folded.q.val() >> 16);
        self.summed.d.next = bit_cast::<16, 20>(self.folded_twice.val()) == self.full.val();
        self.right.next = self.summed.q.val();

        // The answer's header.
        self.without_header.next = !self.old_header.q.val();
        self.without_life.next = !self.life.q.val();
        self.new_header.d.next = bit_cast::<20, 16>(self.without_header.val())
            + bit_cast::<20, 16>(self.without_life.val())
            + self.new_life.val();
        self.new_header_folded.d.next =
            bit_cast::<20, 16>(bit_cast::<16, 20>(self.new_header.q.val())) + (self.new_header.q.val() >> 16);
        self.new_header_sum.next = bit_cast::<16, 20>(self.new_header_folded.q.val())
            + bit_cast::<16, 20>(self.new_header_folded.q.val() >> 16);
        self.header_sum.next = !self.new_header_sum.val();

        // The answer's message.
        self.without_echo.next = !self.old_echo.q.val();
        self.new_echo.d.next = bit_cast::<20, 16>(self.without_echo.val()) + self.without_request.val();
        self.new_echo_folded.next =
            bit_cast::<20, 16>(bit_cast::<16, 20>(self.new_echo.q.val())) + (self.new_echo.q.val() >> 16);
        self.new_echo_sum.next = bit_cast::<16, 20>(self.new_echo_folded.val());
        self.echo_sum.next = !self.new_echo_sum.val();
    }
}
