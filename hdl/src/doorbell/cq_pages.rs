//! Takes the stores to the completion queues' pages.
//!
//! ```text
//!   mmio_write ──►┌─────────┐──► store
//!                 │ CqPages │──► count_ignored
//!                 └─────────┘
//! ```
//! Contract: a store of a whole word to INDEX or ARM of a completion queue's page (page VIS + queue) is passed on; any other store to a
//! page from VIS on changes nothing and is counted. Stores to the pages before VIS are [`Doorbell`](super::Doorbell)'s. Whether the queue
//! exists, `complete/queues` finds out.
//!
//! Latency: 1 cycle.
//!
//! Example: the host stores 5 to ARM of the page VIS + 2: in the next cycle `store` is {queue 2, index 5, arm}.
//!
//! Tests: `tests/queues/cq_pages.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, FlowSource, Pulse};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::doorbell::cq_page;
use viaduct_spec::profile::{CQS, CQ_LOG2, DOORBELL_SHIFT, VIS};

use crate::bus::{CqStore, MmioWrite, PAGE_NUMBER_LOG2, STORE_LOG2};
use crate::prims::{Cast, Number};
use crate::rows::doorbell::CqIndexWord;

/// The address of a store to a completion queue's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqAddress {
    /// Place in the word of eight bytes.
    pub byte: Bits<3>,
    /// The word is ARM, otherwise INDEX.
    pub arm: bool,
    /// 0 in the page's two words.
    pub beyond: Bits<8>,
    /// Number of the page: VIS + its completion queue.
    pub page: Bits<PAGE_NUMBER_LOG2>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CqPages {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A store of the host, from `edge/receive`; stores to the VIs' pages are ignored here.
    pub mmio_write: FlowSink<MmioWrite>,
    /// A store to the page of a completion queue, to `complete/queues`.
    pub store: FlowSource<CqStore>,
    /// A store to a page from VIS on is ignored.
    pub count_ignored: Pulse,
    /// `held` is given in this cycle.
    taken: DFF<bool>,
    /// A store was ignored in the cycle before.
    ignored: DFF<bool>,
    /// The store that is given.
    held: DFF<CqStore>,
    address: Cast<Bits<STORE_LOG2>, CqAddress>,
    word: Cast<Bits<64>, CqIndexWord>,
    at: Signal<Local, CqAddress>,
    queue: Signal<Local, Bits<PAGE_NUMBER_LOG2>>,
    here: Signal<Local, bool>,
    sound: Signal<Local, bool>,
    vis: Number<PAGE_NUMBER_LOG2, { VIS as u64 }>,
}

// `CqAddress` must agree with the specification.
const _: () = {
    assert!(DOORBELL_SHIFT == 12 && VIS + CQS <= 1 << PAGE_NUMBER_LOG2);
    assert!(cq_page::INDEX == 0 && cq_page::ARM == 1 << 3);
};

impl Logic for CqPages {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, taken, ignored, held);
        drive!(self, mmio_write.data.val().address => address.from; mmio_write.data.val().data => word.from;
            address.to => at);
        self.queue.next = self.at.val().page - self.vis.val();
        self.here.next = self.mmio_write.valid.val()
            & self.mmio_write.data.val().doorbell
            & (self.at.val().page >= self.vis.val());
        // The store is to a whole one of the page's two words, and the table has a row for the queue.
        self.sound.next = (self.mmio_write.data.val().enables == bits::<8>(0xFF))
            & !self.at.val().beyond.any()
            & !self.at.val().byte.any()
            & (bit_cast::<PAGE_NUMBER_LOG2, CQ_LOG2>(bit_cast::<CQ_LOG2, PAGE_NUMBER_LOG2>(
                self.queue.val(),
            )) == self.queue.val());
        self.taken.d.next = self.here.val() & self.sound.val();
        self.ignored.d.next = self.here.val() & !self.sound.val();
        self.held.d.next.cq = bit_cast::<CQ_LOG2, PAGE_NUMBER_LOG2>(self.queue.val());
        self.held.d.next.index = self.word.to.val().index;
        self.held.d.next.arm = self.at.val().arm;
        drive!(self, taken.q => store.valid; held.q => store.data; ignored.q => count_ignored);
        if self.reset.val() {
            self.taken.d.next = false;
            self.ignored.d.next = false;
        }
    }
}
