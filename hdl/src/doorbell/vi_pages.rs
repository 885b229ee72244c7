//! Takes the stores to the VIs' pages, and says what each is.
//!
//! ```text
//!   mmio_write ──►┌─────────┐──► store
//!                 │ ViPages │──► posts, arms
//!                 └─────────┘
//! ```
//! Contract: each store to a page below VIS is a `store` in the next cycle. `posts` says that it is a doorbell, if its queue is open: a
//! whole token that names a region, or a token's high double word, to SEND or RECEIVE. `arms` says that it is an arm word, if its queue
//! is open: a whole word to SEND_ARM or RECEIVE_ARM. A store with neither is to be ignored. The pages from VIS on are
//! [`CqPages`](super::CqPages)'.
//!
//! Latency: 1 cycle.
//!
//! Example: the host stores 8 bytes, the token of position 6 in region 2, to RECEIVE of page 3. In the next cycle `store` names VI 3,
//! `receive` and `whole`, and has that token; `posts` is high.
//!
//! Tests: with the doorbell block, `tests/queues/doorbell/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{MmioWrite, Vi, PAGE_NUMBER_LOG2, STORE_LOG2};
use crate::prims::{Cast, Number};
use crate::rows::doorbell::Token;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::doorbell::page;
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS, VI_LOG2};

/// A store to a VI's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ViStore {
    /// The receive queue is stored to, otherwise the send queue.
    pub receive: bool,
    /// The VI whose queue is stored to.
    pub vi: Vi,
    /// The eight bytes are all stored; otherwise only the high double word counts.
    pub whole: bool,
    /// The eight bytes: a [`Token`] or an arm word.
    pub word: Bits<64>,
}

/// The address of a store to a VI's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ViAddress {
    /// Place in the word of eight bytes.
    pub byte: Bits<3>,
    /// The word is the receive queue's, otherwise the send queue's.
    pub receive: bool,
    /// The word is an arm word, otherwise a doorbell.
    pub arm: bool,
    /// 0 in the page's four words.
    pub beyond: Bits<7>,
    /// Number of the page: its VI.
    pub page: Bits<PAGE_NUMBER_LOG2>,
}

// `ViAddress` must agree with the specification.
const _: () = {
    assert!(DOORBELL_SHIFT == 12);
    assert!(page::SEND == 0 && page::RECEIVE == 1 << 3);
    assert!(page::SEND_ARM == 1 << 4 && page::RECEIVE_ARM == page::SEND_ARM | page::RECEIVE);
};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ViPages {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A store of the host, from `edge/receive`; stores to BAR 0 are ignored here.
    pub mmio_write: FlowSink<MmioWrite>,
    /// A store to a VI's page.
    pub store: FlowSource<ViStore>,
    /// The store is a doorbell, if its queue is open.
    pub posts: Signal<Out, bool>,
    /// The store is an arm word, if its queue is open.
    pub arms: Signal<Out, bool>,

    stored: DFF<bool>,
    posting: DFF<bool>,
    arming: DFF<bool>,
    held: DFF<ViStore>,
    address: Cast<Bits<STORE_LOG2>, ViAddress>,
    token: Cast<Bits<64>, Token>,
    at: Signal<Local, ViAddress>,
    here: Signal<Local, bool>,
    proper: Signal<Local, bool>,
    all_of_it: Signal<Local, bool>,
    high: Signal<Local, bool>,
    /// The token names a region.
    named: Signal<Local, bool>,
    vis: Number<PAGE_NUMBER_LOG2, { VIS as u64 }>,
}

impl Logic for ViPages {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, stored, posting, arming, held);
        drive!(self, mmio_write.data.val().address => address.from; mmio_write.data.val().data => token.from;
            address.to => at; stored.q => store.valid; held.q => store.data; posting.q => posts;
            arming.q => arms);
        self.here.next = self.mmio_write.valid.val()
            & self.mmio_write.data.val().doorbell
            & (self.at.val().page < self.vis.val());
        self.proper.next = self.here.val() & !self.at.val().beyond.any() & !self.at.val().byte.any();
        self.all_of_it.next = self.mmio_write.data.val().enables == bits::<8>(0xFF);
        self.high.next = self.mmio_write.data.val().enables == bits::<8>(0xF0);
        self.named.next = self.token.to.val().region.any();
        self.stored.d.next = self.here.val();
        self.posting.d.next = self.proper.val()
            & !self.at.val().arm
            & (self.high.val() | (self.all_of_it.val() & self.named.val()));
        self.arming.d.next = self.proper.val() & self.at.val().arm & self.all_of_it.val();
        self.held.d.next.whole = self.all_of_it.val();
        self.held.d.next.word = self.mmio_write.data.val().data;
        self.held.d.next.receive = self.at.val().receive;
        self.held.d.next.vi = bit_cast::<VI_LOG2, PAGE_NUMBER_LOG2>(self.at.val().page);
        if self.reset.val() {
            self.stored.d.next = false;
            self.posting.d.next = false;
            self.arming.d.next = false;
        }
    }
}
