//! Takes the stores to the completion queues' pages.
//!
//! ```text
//!   mmio_write ──►┌─────────┐──► store_valid, store
//!                 │ CqPages │──► count_ignored
//!                 └─────────┘
//! ```
//! Contract: a store of a whole word to INDEX or ARM of a completion queue's page (page VIS + queue) is passed on; any
//! other store to a page from VIS on changes nothing and is counted. Those before are [`Doorbell`](super::Doorbell)'s.
//! Whether the queue exists is known to who hears of it.
//!
//! Latency: 1 cycle. Tests: `tests/queues/cq_pages.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::doorbell::{cq_index, cq_page};
use viaduct_spec::profile::{CQS, CQ_LOG2, DOORBELL_SHIFT, VIS};

use crate::bus::{CqStore, MmioWrite};
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CqPages {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A store of the host.
    pub mmio_write_valid: Signal<In, bool>,
    /// The store.
    pub mmio_write: Signal<In, MmioWrite>,
    /// A store to a queue's page, this cycle only.
    pub store_valid: Signal<Out, bool>,
    /// Which.
    pub store: Signal<Out, CqStore>,
    /// Pulse: a store was ignored.
    pub count_ignored: Signal<Out, bool>,
    taken: DFF<bool>,
    ignored: DFF<bool>,
    held: DFF<CqStore>,
    address: Signal<Local, Bits<20>>,
    word: Signal<Local, Bits<64>>,
    page: Signal<Local, Bits<8>>,
    queue: Signal<Local, Bits<8>>,
    place: Signal<Local, Bits<12>>,
    here: Signal<Local, bool>,
    sound: Signal<Local, bool>,
    vis: Number<8, { VIS as u64 }>,
}

// The slices below are the specification's.
const _: () = {
    assert!(DOORBELL_SHIFT == 12 && VIS + CQS <= 256);
    assert!(cq_page::INDEX == 0x00 && cq_page::ARM == 0x08);
    assert!(cq_index::INDEX.lo == 0 && cq_index::INDEX.width == 18);
};

impl Logic for CqPages {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, taken, ignored, held);
        self.address.next = self.mmio_write.val().address;
        self.word.next = self.mmio_write.val().data;
        self.page.next = self.address.val().get_bits::<8>(12);
        self.place.next = self.address.val().get_bits::<12>(0);
        self.queue.next = self.page.val() - self.vis.val();
        self.here.next = self.mmio_write_valid.val()
            & self.mmio_write.val().doorbell
            & (self.page.val() >= self.vis.val());
        // One of the two words, of a queue that the table has a row for.
        self.sound.next = (self.mmio_write.val().enables == bits::<8>(0xFF))
            & !self.place.val().get_bits::<8>(4).any()
            & !self.place.val().get_bits::<3>(0).any()
            & (bit_cast::<8, CQ_LOG2>(bit_cast::<CQ_LOG2, 8>(self.queue.val())) == self.queue.val());
        self.taken.d.next = self.here.val() & self.sound.val();
        self.ignored.d.next = self.here.val() & !self.sound.val();
        self.held.d.next.cq = bit_cast::<CQ_LOG2, 8>(self.queue.val());
        self.held.d.next.index = self.word.val().get_bits::<18>(0);
        self.held.d.next.arm = self.place.val().get_bit(3);
        self.store_valid.next = self.taken.q.val();
        self.store.next = self.held.q.val();
        self.count_ignored.next = self.ignored.q.val();
        if self.reset.val() {
            self.taken.d.next = false;
            self.ignored.d.next = false;
        }
    }
}
