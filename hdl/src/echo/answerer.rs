//! Keeps the frames that are questions, and sends them back as their answers.
//!
//! ```text
//!                  rx ──►┌──────────┐──► tx
//!     verdict, fields ──►│ Answerer │──► pause
//!    station, address ──►└──────────┘──► count_dropped
//! ```
//! Contract: every beat is kept until [`Question`](super::Question) has judged its frame; a frame that is no question is taken back. There
//! is room for 8 KB and for 16 questions; a frame that finds no room is taken back whole and counted. The answer is the question with the
//! addresses turned round: length, padding and data are the question's, and `fields` says the rest. Its time to live is 64.
//!
//! `pause` is high while less than half of the room is left.
//!
//! Latency: 6 cycles after `verdict`. Throughput: a beat in 4 cycles, twice what the line takes.
//!
//! Example: a ping of 98 bytes comes, and `verdict` is true 4 cycles after its last beat: `tx` brings 98 bytes with the addresses turned
//! round, and type 0 in place of 8.
//!
//! Tests: `tests/mac/echo.rs`.

use super::beats::{ArpEnd, ArpKind, ArpSender, ArpTarget, IpAddresses, IpMiddle, PingStart, SplitIp};
use super::AnswerFields;
use crate::bus::FrameBeat;
use crate::mac::ethernet::{AddressBeat, SplitAddress, TypeBeat, IPV4_TYPE};
use crate::prims::{Cast, Fifo, Number, Ram};
use crate::stream::{FlowSink, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

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
pub struct Answerer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets everything.
    pub reset: Signal<In, bool>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// The frame whose last beat came last is judged: whether it is a question. `Question` drives this and `fields`.
    pub verdict: FlowSink<bool>,
    /// With `verdict`: what the answer to the question needs.
    pub fields: Signal<In, AnswerFields>,
    /// Our Ethernet address, first byte in bits 7:0; the user of `Echo` drives this and `address`.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
    /// A beat of an answer, to the MAC.
    pub tx: Source<FrameBeat>,
    /// The peer should hold its frames: less than half of the room is left. The MAC listens.
    pub pause: Signal<Out, bool>,
    /// Pulses when a question found no room and is dropped.
    pub count_dropped: Pulse,
    /// The beats that are kept.
    ram: Ram<FrameBeat, 10>,
    questions: Fifo<AnswerFields, 4, 5>,
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
    question: Signal<Local, AnswerFields>,
    /// Our addresses and the peer's, as they lie in beats.
    own_station: Cast<Bits<48>, SplitAddress>,
    peer_ip: Cast<Bits<32>, SplitIp>,
    own_ip: Signal<Local, Bits<32>>,
    /// The beats of every answer.
    addresses: Signal<Local, AddressBeat>,
    addresses_bits: Cast<AddressBeat, Bits<64>>,
    type_found: Cast<Bits<64>, TypeBeat>,
    type_beat: Signal<Local, TypeBeat>,
    type_bits: Cast<TypeBeat, Bits<64>>,
    /// The beats of an ARP reply.
    kind: Signal<Local, ArpKind>,
    kind_bits: Cast<ArpKind, Bits<64>>,
    sender: Signal<Local, ArpSender>,
    sender_bits: Cast<ArpSender, Bits<64>>,
    target: Signal<Local, ArpTarget>,
    target_bits: Cast<ArpTarget, Bits<64>>,
    rear_found: Cast<Bits<64>, ArpEnd>,
    rear: Signal<Local, ArpEnd>,
    rear_bits: Cast<ArpEnd, Bits<64>>,
    /// The beats of a ping's answer.
    middle_found: Cast<Bits<64>, IpMiddle>,
    middle: Signal<Local, IpMiddle>,
    middle_bits: Cast<IpMiddle, Bits<64>>,
    ips: Signal<Local, IpAddresses>,
    ips_bits: Cast<IpAddresses, Bits<64>>,
    ping_found: Cast<Bits<64>, PingStart>,
    ping: Signal<Local, PingStart>,
    ping_bits: Cast<PingStart, Bits<64>>,
    /// 1024, less the beats that may come before the block knows that the room is full.
    most: Number<11, 1020>,
    half: Number<11, 512>,
    ipv4: Number<16, { IPV4_TYPE }>,
    six: Number<8, 6>,
    four: Number<8, 4>,
    reply: Number<16, 0x0200>,
    life: Number<8, 64>,
}

impl Logic for Answerer {
    #[wires]
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
        drive!(self, paused.q => pause; rx.data => ram.write_data; fields => questions.sink.data;
            dropped.q => count_dropped);
        self.ram.write_enable.next = self.rx.valid.val() & self.room.val();
        self.ram.write_address.next = bit_cast::<10, 11>(self.tail.q.val());
        if self.rx.valid.val() {
            if self.room.val() {
                self.tail.d.next = self.tail.q.val() + 1;
            } else {
                self.overflow.d.next = true;
            }
        }
        self.questions.sink.valid.next = false;
        self.dropped.d.next = false;
        if self.verdict.valid.val() {
            self.overflow.d.next = false;
            if self.verdict.data.val() & !self.overflow.q.val() & self.questions.sink.ready.val() {
                self.questions.sink.valid.next = true;
                self.whole.d.next = self.tail.q.val();
            } else {
                self.tail.d.next = self.whole.q.val();
                self.dropped.d.next = self.verdict.data.val();
            }
        }

        // Out.
        self.ram.read_address.next = bit_cast::<10, 11>(self.head.q.val());
        drive!(self, questions.source.data => question; station => own_station.from;
            question.val().peer_address => peer_ip.from; address => own_ip);

        // Every answer goes to the asker, and comes from us.
        self.addresses.next.destination = self.question.val().peer;
        self.addresses.next.source_first = self.own_station.to.val().first;
        drive!(self, addresses => addresses_bits.from; word.q.val().data => type_found.from);
        self.type_beat.next = self.type_found.to.val();
        self.type_beat.next.source_rest = self.own_station.to.val().rest;
        self.type_bits.from.next = self.type_beat.val();

        // An ARP reply: we are the sender, and the asker is the target.
        fill!(self, kind, ipv4 => protocol; six => hardware_bytes; four => protocol_bytes; reply => operation;
            own_station.to.val().first => sender_first);
        self.kind_bits.from.next = self.kind.val();
        self.sender.next.rest = self.own_station.to.val().rest;
        self.sender.next.address = self.own_ip.val();
        self.sender_bits.from.next = self.sender.val();
        self.target.next.station = self.question.val().peer;
        self.target.next.address_first = self.peer_ip.to.val().first;
        drive!(self, target => target_bits.from; word.q.val().data => rear_found.from);
        self.rear.next = self.rear_found.to.val();
        self.rear.next.address_rest = self.peer_ip.to.val().rest;
        self.rear_bits.from.next = self.rear.val();

        // The answer to a ping: a new time to live, new sums, and type 0.
        self.middle_found.from.next = self.word.q.val().data;
        self.middle.next = self.middle_found.to.val();
        self.middle.next.life = self.life.val();
        self.middle_bits.from.next = self.middle.val();
        fill!(self, ips, question.val().header_sum => header_sum; own_ip => source;
            peer_ip.to.val().first => destination_first);
        drive!(self, ips => ips_bits.from; word.q.val().data => ping_found.from);
        self.ping.next = self.ping_found.to.val();
        self.ping.next.destination_rest = self.peer_ip.to.val().rest;
        self.ping.next.kind = bits::<16>(0);
        self.ping.next.sum = self.question.val().echo_sum;
        self.ping_bits.from.next = self.ping.val();

        drive!(self, false => tx.valid, questions.source.ready; out.q => tx.data);
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
                        self.out.d.next.data = self.addresses_bits.to.val();
                    }
                    1 => {
                        self.out.d.next.data = self.type_bits.to.val();
                    }
                    2 => {
                        self.out.d.next.data = self.kind_bits.to.val();
                        if self.question.val().echo {
                            self.out.d.next.data = self.middle_bits.to.val();
                        }
                    }
                    3 => {
                        self.out.d.next.data = self.sender_bits.to.val();
                        if self.question.val().echo {
                            self.out.d.next.data = self.ips_bits.to.val();
                        }
                    }
                    4 => {
                        self.out.d.next.data = self.target_bits.to.val();
                        if self.question.val().echo {
                            self.out.d.next.data = self.ping_bits.to.val();
                        }
                    }
                    5 => {
                        if !self.question.val().echo {
                            self.out.d.next.data = self.rear_bits.to.val();
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
