//! Makes a packet of the answer to a peer's read: one access, between two packets of our own.
//!
//! ```text
//!    reply ──►┌─────────┐──► access, aeth, reserve
//!  resting ──►│ Replier │──► hold, active     (the walker rests)
//!     room ──►└─────────┘──► read_row ◄── row
//! ```
//! Contract: it begins when the walker rests and has had its turn since the last reply. `hold` asks it to rest, and then
//! holds it where it is until the packet is announced and its bytes are asked for; `reply_ready` says so. Whether it rests
//! has no part in `hold`, so that none of its paths comes back to it. `active` is high from `read_row` on.
//!
//! Latency: 5 cycles from a reply to its access.
//!
//! Tests: in the whole NIC, `tests/tests/reads`, `hdl/tests/reply` what it is given.

use rust_hdl::prelude::*;
use viaduct_spec::wire::syndrome;

use crate::bus::{remote, Access, Reply};
use crate::prims::Number;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Row,
    Measure,
    Announce,
    Ask,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Replier {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// A packet to make.
    pub reply_valid: Signal<In, bool>,
    /// Which.
    pub reply: Signal<In, Reply>,
    /// It is made.
    pub reply_ready: Signal<Out, bool>,
    /// The walker is between two packets.
    pub resting: Signal<In, bool>,
    /// It has work.
    pub wants: Signal<In, bool>,
    /// It must stay there.
    pub hold: Signal<Out, bool>,
    /// A reply is being made.
    pub active: Signal<Out, bool>,
    /// Read the GATHER row of the VI.
    pub read_row: Signal<Out, bool>,
    /// The row, a cycle later.
    pub row: Signal<In, Bits<64>>,
    /// Memory to read.
    pub access_valid: Signal<Out, bool>,
    /// The access.
    pub access: Signal<Out, Access>,
    /// It is taken.
    pub access_ready: Signal<In, bool>,
    /// A packet.
    pub packet_valid: Signal<Out, bool>,
    /// It stands at `packet_*`, with or without room for it.
    pub announces_packet: Signal<Out, bool>,
    /// Its AETH. The rest of it is the reply's.
    pub aeth: Signal<Out, Bits<32>>,
    /// It is taken.
    pub packet_ready: Signal<In, bool>,
    /// Words of payload that it needs.
    pub reserve_words: Signal<Out, Bits<10>>,
    /// There is room for them.
    pub room: Signal<In, bool>,
    /// They are taken.
    pub reserve: Signal<Out, bool>,
    state: DFF<State>,
    tag: DFF<Bits<16>>,
    /// Words of payload.
    size: DFF<Bits<10>>,
    /// The walker has not moved since the last reply.
    waits: DFF<bool>,
    /// `wants` in the cycle before: the walker waits for us in this one.
    wanted: DFF<bool>,
    length: Signal<Local, Bits<13>>,
    words: Signal<Local, Bits<13>>,
    rkey: Signal<Local, Bits<32>>,
    claims: Signal<Local, bool>,
    starts: Signal<Local, bool>,
    announces: Signal<Local, bool>,
    peer_reads: Number<2, { remote::READ }>,
    acknowledges: Number<32, { (syndrome::ACK as u64) << 24 }>,
}

impl Logic for Replier {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, tag, size, waits, wanted);
        self.length.next = self.reply.val().length;
        self.words.next = self.length.val() + bits::<13>(7);
        self.size.d.next = self.words.val().get_bits::<10>(3);
        self.reserve_words.next = self.size.q.val();
        self.rkey.next = self.reply.val().rkey;
        self.claims.next = (self.state.q.val() == State::Idle)
            & self.reply_valid.val()
            & !(self.waits.q.val() & self.wanted.q.val());
        self.starts.next = self.claims.val() & self.resting.val();
        self.wanted.d.next = self.wants.val();
        self.active.next = self.state.q.val() != State::Idle;
        self.hold.next = self.claims.val() | (self.state.q.val() != State::Idle);
        self.read_row.next = self.state.q.val() == State::Row;
        if !self.resting.val() {
            self.waits.d.next = false;
        }

        self.access_valid.next = self.state.q.val() == State::Ask;
        self.access.next.address = self.reply.val().address;
        self.access.next.span = self.reply.val().span;
        self.access.next.length = self.reply.val().length;
        self.access.next.region = self.rkey.val().get_bits::<16>(0);
        self.access.next.key = self.rkey.val().get_bits::<16>(16);
        self.access.next.tag = self.tag.q.val();
        self.access.next.by_offset = false;
        self.access.next.system = false;
        self.access.next.write = false;
        self.access.next.clip = false;
        self.access.next.remote = self.peer_reads.val();
        self.access.next.user = bits::<8>(2);

        self.aeth.next = self.acknowledges.val() | bit_cast::<32, 24>(self.reply.val().msn);
        self.announces_packet.next = self.state.q.val() == State::Announce;
        self.packet_valid.next = (self.state.q.val() == State::Announce) & self.room.val();
        self.announces.next = self.packet_ready.val() & self.room.val();
        self.reserve.next = false;
        self.reply_ready.next = false;

        match self.state.q.val() {
            State::Idle => {
                if self.starts.val() {
                    self.state.d.next = State::Row;
                }
            }
            State::Row => {
                self.state.d.next = State::Measure;
            }
            State::Measure => {
                self.tag.d.next = self.row.val().get_bits::<16>(0);
                self.state.d.next = State::Announce;
            }
            State::Announce => {
                if self.announces.val() {
                    self.reserve.next = self.length.val().any();
                    self.state.d.next = State::Ask;
                    if !self.length.val().any() {
                        self.reply_ready.next = true;
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Ask => {
                if self.access_ready.val() {
                    self.reply_ready.next = true;
                    self.state.d.next = State::Idle;
                }
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.reply_ready.val() {
            self.waits.d.next = true;
        }
        if self.reset.val() {
            self.state.d.next = State::Idle;
            self.waits.d.next = false;
        }
    }
}
