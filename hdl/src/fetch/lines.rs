//! Follows the ring lines that are being read, and keeps the tokens that they bring.
//!
//! ```text
//!    ask ──►┌───────┐──► found   (a line is in)
//!   beat ──►│ Lines │
//!  queue,   │       │──► token
//!  place ──►└───────┘
//! ```
//! Contract: each queue has room for 16 tokens, that of position p in place p modulo 16. `ask` is accepted before its
//! line's answer comes; answers come in the order asked, and bit 0 of `user` is set in all of them. The block puts a line's tokens
//! in place, and then `found` says how many came. A token that could not be read, does not have the position of its slot, or is of
//! region 0 is wrong. The block keeps region 0 for it, and for a token of a region that does not exist, so that the descriptor cannot be
//! read either. An answer has as many beats as tokens were asked for, or it ends with the first that could not be read. At most 16 lines
//! are asked for and not taken from `found`. A queue asks for one line at a time. A line ends before the next position that is a multiple
//! of 8, and nobody reads its places meanwhile.
//!
//! Example: `ask` names queue 6 and position 5, and three tokens are read. Their three beats fill places 5, 6 and 7 of queue 6; three
//! cycles after the last one `found` says queue 6, count 3.
//!
//! Latency: 3 cycles from a line's last beat to `found`; a token comes the cycle after its place.
//! Tests: with `Fetch`, `tests/queues/fetch/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

use crate::bus::{client, Position, ReadBeat, QUEUE_LOG2};
use crate::prims::{Cast, Fifo, FifoSlice, Number, Ram, RegionRowNumber};
use crate::rows::doorbell::Token;

/// log2 of the tokens of a queue that the NIC keeps: two lines of the ring, so the next line can be on its way while the one before is used.
pub const TOKENS_LOG2: usize = 4;

/// Address of a token: queue and place.
const PLACE_LOG2: usize = QUEUE_LOG2 + TOKENS_LOG2;

/// Where a token is kept. Packed it is a row of the memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TokenId {
    /// Its position modulo TOKENS.
    pub place: Bits<TOKENS_LOG2>,
    /// Its queue.
    pub queue: Bits<QUEUE_LOG2>,
}

/// A line on its way.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AskedLine {
    /// The queue whose line it is.
    pub queue: Bits<QUEUE_LOG2>,
    /// Position of its first token.
    pub position: Position,
}

/// Where a token says that its descriptor lies.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DescriptorPlace {
    /// Offset of the descriptor in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Region that holds it; 0, which does not exist, if the token is wrong or names one that does not exist.
    pub region: Bits<REGION_LOG2>,
    /// The descriptor has one segment at most, and 48 bytes.
    pub short: bool,
    /// There is no token of the position: its slot could not be read, or has another's, or one of region 0.
    pub wrong: bool,
}

/// A line that has come: its queue, and the number of its tokens.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FoundTokens {
    /// The queue whose line it is.
    pub queue: Bits<QUEUE_LOG2>,
    /// How many tokens are in place.
    pub count: Bits<4>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Lines {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets every line in flight.
    pub reset: Signal<In, bool>,
    /// A ring line that is about to be read: its queue, and the position of its first token. `Fetch` gives it before the access.
    pub ask: Sink<AskedLine>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks the ring lines of fetch.
    pub beat: FlowSink<ReadBeat>,
    /// A line that is in: its queue, and how many of its tokens are in place.
    pub found: Source<FoundTokens>,
    /// Queue whose token `Turn` wants to read, {VI, receive}; `Fetch` drives it.
    pub queue: Signal<In, Bits<QUEUE_LOG2>>,
    /// Place of the token that `Turn` wants to read: its position modulo 16; from `Turn`.
    pub place: Signal<In, Bits<TOKENS_LOG2>>,
    /// The token at the `queue` and `place` of the cycle before, without its position.
    pub token: Signal<Out, DescriptorPlace>,
    /// Every line that was asked for has been taken from `found`.
    pub empty: Signal<Out, bool>,

    tokens: Ram<DescriptorPlace, PLACE_LOG2>,
    written: Cast<TokenId, Bits<PLACE_LOG2>>,
    wanted: Cast<TokenId, Bits<PLACE_LOG2>>,
    asked: FifoSlice<AskedLine, 4, 5>,
    come: Fifo<FoundTokens, 4, 5>,
    /// Lines that are asked for and not taken from `found`, 0 to 16.
    out: DFF<Bits<5>>,
    /// `word` holds a token that has just come.
    word_valid: DFF<bool>,
    /// The eight bytes that came in the cycle before.
    word: DFF<Bits<64>>,
    /// All eight of them are there.
    word_whole: DFF<bool>,
    /// The eight bytes are the last of their line.
    word_last: DFF<bool>,
    /// The eight bytes as a token.
    token_now: Cast<Bits<64>, Token>,
    region: RegionRowNumber<15>,
    /// A line has ended in the cycle before; `ended_found` says what it brought.
    ended: DFF<bool>,
    ended_found: DFF<FoundTokens>,
    /// Tokens of the line at hand that are in place.
    count: DFF<Bits<4>>,

    own: Number<2, { client::FETCH }>,
    minus_one: Number<5, 0x1F>,
    line: Signal<Local, AskedLine>,
    first: Signal<Local, Bits<14>>,
    position: Signal<Local, Bits<14>>,
    place_now: Signal<Local, Bits<3>>,
    /// Place of the token among the 16 of its queue.
    slot_now: Signal<Local, Bits<TOKENS_LOG2>>,
    /// There is no token of the position in its slot.
    wrong: Signal<Local, bool>,
    more: Signal<Local, Bits<4>>,
    last: Signal<Local, bool>,
    asks: Signal<Local, bool>,
    step: Signal<Local, Bits<5>>,
}

impl Logic for Lines {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, out, word_valid, word, word_whole, word_last, count);
        dff_setup!(self, clock, ended, ended_found);
        clock!(self, clock, tokens, asked, come);
        drive!(self, reset => asked.reset, come.reset);

        self.asks.next = self.ask.valid.val() & !self.out.q.val().get_bit(4);
        self.ask.ready.next = !self.out.q.val().get_bit(4);
        drive!(self, asks => asked.sink.valid; ask.data => asked.sink.data);
        self.step.next = bits::<5>(0);
        if self.asks.val() & !self.found.ready.val() {
            self.step.next = bits::<5>(1);
        }
        if self.found.ready.val() & !self.asks.val() {
            self.step.next = self.minus_one.val();
        }
        self.out.d.next = self.out.q.val() + self.step.val();
        self.empty.next = !self.out.q.val().any();

        // A beat waits a cycle in a register, and is tested there.
        self.word_valid.d.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.own.val())
            & (self.beat.data.val().user & bits::<8>(1)).any();
        self.word.d.next = self.beat.data.val().data;
        self.word_whole.d.next = (self.beat.data.val().count == bits::<4>(8))
            & !self.beat.data.val().refused
            & !self.beat.data.val().failed;
        self.word_last.d.next = self.beat.data.val().last;

        drive!(self, asked.source.data => line; line.val().position => first; word.q => token_now.from);
        self.place_now.next = self.first.val().get_bits::<3>(0) + self.count.q.val().get_bits::<3>(0);
        self.position.next = ((self.first.val() >> 3) << 3) | bit_cast::<14, 3>(self.place_now.val());
        self.slot_now.next = bit_cast::<TOKENS_LOG2, 14>(self.position.val());
        // WQ-6: a token is wrong if its slot cannot be read (WQ-8: or the host has not given it), if it is not that of its position, or if it
        // is of region 0.
        self.wrong.next = !self.word_whole.q.val()
            | (self.token_now.to.val().position != self.position.val())
            | !self.token_now.to.val().region.any();
        self.last.next = self.word_valid.q.val() & self.word_last.q.val();
        self.tokens.write_enable.next = self.word_valid.q.val();
        fill!(self, written.from, line.val().queue => queue; slot_now => place);
        fill!(self, tokens.write_data, token_now.to.val().offset => offset; token_now.to.val().short => short;
            wrong => wrong);
        drive!(self, token_now.to.val().region => region.number);
        self.tokens.write_data.next.region = self.region.row.val();
        if self.wrong.val() {
            self.tokens.write_data.next.region = bits::<REGION_LOG2>(0);
        }
        fill!(self, wanted.from, queue => queue; place => place);
        drive!(self, written.to => tokens.write_address; wanted.to => tokens.read_address;
            tokens.read_data => token);

        self.more.next = self.count.q.val();
        if self.word_valid.q.val() {
            self.more.next = self.count.q.val() + 1;
        }
        self.count.d.next = self.more.val();
        drive!(self, last => asked.source.ready; ended.q => come.sink.valid; ended_found.q => come.sink.data);
        self.ended.d.next = self.last.val();
        self.ended_found.d.next.queue = self.line.val().queue;
        self.ended_found.d.next.count = self.more.val();
        Source::<FoundTokens>::link(&mut self.found, &mut self.come.source);
        if self.last.val() {
            self.count.d.next = bits::<4>(0);
        }

        if self.reset.val() {
            self.out.d.next = bits::<5>(0);
            self.word_valid.d.next = false;
            self.ended.d.next = false;
            self.count.d.next = bits::<4>(0);
        }
    }
}
