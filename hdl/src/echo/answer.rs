//! Keeps the frames that are questions, and sends them back as their answers.
//!
//! ```text
//!                   rx ──►┌────────┐──► tx
//! decided, keep, asked ──►│ Answer │──► pause
//!     station, address ──►└────────┘──► count_dropped
//! ```
//! Contract: every beat is kept until the frame is judged by [`Question`](super::Question); one that is no question is taken back. 8 KB are
//! kept, and 16 questions; a frame that finds no room is taken back whole and counted. The answer is the question with the addresses turned round: so
//! the length, the padding and the data are the question's, and the rest is what `asked` says. Its time to live is 64.
//!
//! `pause` is high while less than half of the room is left.
//!
//! Latency: 6 cycles behind `decided`. Throughput: a beat in 4 cycles, twice what the line takes.
//!
//! Example: a ping of 98 bytes comes: `decided` and `keep` are high 4 cycles behind its last beat, and `tx` brings 98 bytes with the addresses
//! turned round.
//!
//! Tests: `tests/mac/echo.rs`.

use super::question::Asked;
use crate::bus::FrameBeat;
use crate::prims::{Fifo, Number, Ram};
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Read,
    Take,
    Change,
    Offer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Answer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets everything.
    pub reset: Signal<In, bool>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// The frame whose last beat came last is judged, by [`Question`](super::Question).
    pub decided: Signal<In, bool>,
    /// With `decided`: that frame is a question.
    pub keep: Signal<In, bool>,
    /// With `keep`: what the answer to the question needs.
    pub asked: Signal<In, Asked>,
    /// Our Ethernet address, first byte in bits 7:0.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
    /// A beat of an answer, to the MAC.
    pub tx: Source<FrameBeat>,
    /// The peer should hold its frames: less than half of the room is left.
    pub pause: Signal<Out, bool>,
    /// A question found no room and is dropped.
    pub count_dropped: Pulse,
    /// The beats that are kept.
    ram: Ram<FrameBeat, 10>,
    questions: Fifo<Asked, 4, 5>,
    /// Where the next beat is written, with a wrap bit.
    tail: DFF<Bits<11>>,
    /// The place behind the last question.
    whole: DFF<Bits<11>>,
    /// The beat that is read.
    head: DFF<Bits<11>>,
    /// The frame that comes in found no room.
    overflow: DFF<bool>,
    /// What is done with the answer's beat at hand.
    step: DFF<Step>,
    /// Beats of this answer sent, up to 6.
    index: DFF<Bits<3>>,
    /// The beat that was read.
    word: DFF<FrameBeat>,
    /// The beat on show.
    out: DFF<FrameBeat>,
    /// Number of beats kept, a cycle ago.
    used: DFF<Bits<11>>,
    /// Whether there was room, two cycles ago.
    space: DFF<bool>,
    /// `pause`.
    paused: DFF<bool>,
    /// `count_dropped`.
    dropped: DFF<bool>,
    room: Signal<Local, bool>,
    question: Signal<Local, Asked>,
    peer: Signal<Local, Bits<48>>,
    peer_address: Signal<Local, Bits<32>>,
    own: Signal<Local, Bits<32>>,
    data: Signal<Local, Bits<64>>,
    /// Our address in its two places.
    station_low: Signal<Local, Bits<64>>,
    station_high: Signal<Local, Bits<64>>,
    peer_low: Signal<Local, Bits<64>>,
    peer_high: Signal<Local, Bits<64>>,
    /// 1024, less what may come before it is known.
    most: Number<11, 1020>,
    half: Number<11, 512>,
    /// IPv4 addresses of 4 bytes, Ethernet addresses of 6, reply.
    arp_reply: Number<64, 0x0200_0406_0008>,
    high_half: Number<64, 0xffff_ffff_0000_0000>,
    high_three: Number<64, 0xffff_ffff_ffff_0000>,
    high_one: Number<64, 0xffff_0000_0000_0000>,
    not_life: Number<64, 0xff00_ffff_ffff_ffff>,
    life: Number<64, 0x0040_0000_0000_0000>,
}

impl Logic for Answer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, tail, whole, head, overflow, step, index, word, out, paused, dropped, used, space
        );
        clock!(self, clock, ram, questions);
        self.questions.reset.next = self.reset.val();

        // In.
        self.used.d.next = self.tail.q.val() - self.head.q.val();
        self.space.d.next = self.used.q.val() < self.most.val();
        self.room.next = self.space.q.val() & !self.overflow.q.val();
        self.paused.d.next = self.used.q.val() > self.half.val();
        self.pause.next = self.paused.q.val();
        self.ram.write_enable.next = self.rx.valid.val() & self.room.val();
        self.ram.write_address.next = bit_cast::<10, 11>(self.tail.q.val());
        self.ram.write_data.next = self.rx.data.val();
        if self.rx.valid.val() {
            if self.room.val() {
                self.tail.d.next = self.tail.q.val() + 1;
            } else {
                self.overflow.d.next = true;
            }
        }
        self.questions.sink.valid.next = false;
        self.questions.sink.data.next = self.asked.val();
        self.dropped.d.next = false;
        if self.decided.val() {
            self.overflow.d.next = false;
            if self.keep.val() & !self.overflow.q.val() & self.questions.sink.ready.val() {
                self.questions.sink.valid.next = true;
                self.whole.d.next = self.tail.q.val();
            } else {
                self.tail.d.next = self.whole.q.val();
                self.dropped.d.next = self.keep.val();
            }
        }
        self.count_dropped.next = self.dropped.q.val();

        // Out.
        self.ram.read_address.next = bit_cast::<10, 11>(self.head.q.val());
        self.question.next = self.questions.source.data.val();
        self.peer.next = self.question.val().peer;
        self.peer_address.next = self.question.val().peer_address;
        self.own.next = self.address.val();
        self.data.next = self.word.q.val().data;
        self.station_low.next = bit_cast::<64, 48>(self.station.val()) << 48;
        self.station_high.next = bit_cast::<64, 48>(self.station.val() >> 16);
        self.peer_low.next = bit_cast::<64, 32>(self.peer_address.val()) << 48;
        self.peer_high.next = bit_cast::<64, 32>(self.peer_address.val() >> 16);
        self.tx.valid.next = false;
        self.tx.data.next = self.out.q.val();
        self.questions.source.ready.next = false;
        match self.step.q.val() {
            Step::Idle => {
                self.index.d.next = bits::<3>(0);
                if self.questions.source.valid.val() {
                    self.step.d.next = Step::Read;
                }
            }
            Step::Read => {
                self.step.d.next = Step::Take;
            }
            Step::Take => {
                self.word.d.next = self.ram.read_data.val();
                self.head.d.next = self.head.q.val() + 1;
                self.step.d.next = Step::Change;
            }
            Step::Change => {
                self.step.d.next = Step::Offer;
                self.out.d.next = self.word.q.val();
                match self.index.q.val().index() {
                    0 => {
                        self.out.d.next.data = bit_cast::<64, 48>(self.peer.val()) | self.station_low.val();
                    }
                    1 => {
                        self.out.d.next.data =
                            (self.data.val() & self.high_half.val()) | self.station_high.val();
                    }
                    2 => {
                        self.out.d.next.data = self.arp_reply.val() | self.station_low.val();
                        if self.question.val().echo {
                            self.out.d.next.data = (self.data.val() & self.not_life.val()) | self.life.val();
                        }
                    }
                    3 => {
                        self.out.d.next.data =
                            (bit_cast::<64, 32>(self.own.val()) << 32) | self.station_high.val();
                        if self.question.val().echo {
                            self.out.d.next.data = (bit_cast::<64, 32>(self.own.val()) << 16)
                                | self.peer_low.val()
                                | bit_cast::<64, 16>(self.question.val().header_sum);
                        }
                    }
                    4 => {
                        self.out.d.next.data = bit_cast::<64, 48>(self.peer.val()) | self.peer_low.val();
                        if self.question.val().echo {
                            // Type 0, code 0.
                            self.out.d.next.data = (self.data.val() & self.high_one.val())
                                | self.peer_high.val()
                                | (bit_cast::<64, 16>(self.question.val().echo_sum) << 32);
                        }
                    }
                    5 => {
                        if !self.question.val().echo {
                            self.out.d.next.data =
                                (self.data.val() & self.high_three.val()) | self.peer_high.val();
                        }
                    }
                    _ => {}
                }
            }
            Step::Offer => {
                self.tx.valid.next = true;
                if self.tx.ready.val() {
                    self.step.d.next = Step::Read;
                    if self.index.q.val() != bits::<3>(6) {
                        self.index.d.next = self.index.q.val() + 1;
                    }
                    if self.out.q.val().last {
                        self.questions.source.ready.next = true;
                        self.step.d.next = Step::Idle;
                    }
                }
            }
        }
        if self.reset.val() {
            self.tail.d.next = bits::<11>(0);
            self.whole.d.next = bits::<11>(0);
            self.head.d.next = bits::<11>(0);
            self.overflow.d.next = false;
            self.step.d.next = Step::Idle;
            self.paused.d.next = false;
            self.dropped.d.next = false;
        }
    }
}
