//! A queue of identifiers in which each is at most once: it says which virtual interface, or which other unit, has work to do.
//!
//! ```text
//!   push ──►┌──────────┐──► pop
//!           │ RunQueue │
//!           │   2^N    │──► held, busy
//!           └──────────┘
//! ```
//! Contract: a push is never refused and may come every cycle. Pushing an identifier that is inside changes nothing;
//! pushing one in the very cycle in which it is popped queues it again, so no wake-up is lost.
//! Identifiers come out in the order in which they went in. `held` says that one is inside or on its way. `busy` is high
//! for 2^N cycles after reset: a push in that time is lost, so the owner must hold it back.
//!
//! Latency: an identifier is on show two cycles after its push. Throughput: one push and one pop every cycle. What is
//! on show comes from registers.
//!
//! How: a push waits a cycle in a register, because owners know late in the cycle which identifier they push. Each identifier has two bits,
//! in memories with one writer each: `pushed` turns over when the identifier goes in, `popped` takes the same value when it goes out; it is
//! inside if they differ. The oldest identifier is in a register, and the others are in memory behind `head`; a push that finds none there
//! goes past the memory. The queue has one row per identifier and needs no `full`. Memory survives reset, so both bits of every identifier
//! are written to 0 first.
//!
//! Example: 5, 7 and 5 are pushed in three cycles and none is popped: the queue holds 5, then 7. If 5 is popped and pushed in one cycle, it
//! holds 7, then 5.
//!
//! Tests: `tests/prims/run_queue.rs`; proof: `formal/run_queue.sv`.

use super::{BitRam, LutRam};
use crate::stream::{FlowSink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. Identifiers 0 to 2^N - 1, `N1 = N + 1`.
#[derive(LogicBlock)]
pub struct RunQueue<const N: usize, const N1: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the queue and starts the walk over the memories.
    pub reset: Signal<In, bool>,
    /// An identifier that has work is to be queued.
    pub push: FlowSink<Bits<N>>,
    /// The identifier that was queued first.
    pub pop: Source<Bits<N>>,
    /// At least one identifier is inside, or on its way there.
    pub held: Signal<Out, bool>,
    /// The block clears its memories: the owner must not push yet.
    pub busy: Signal<Out, bool>,
    /// Identifiers behind the one on show in order, each below the value its `pushed` bit took.
    queue: LutRam<Bits<N1>, N>,
    /// For each identifier the bit that turns over when it goes in.
    pushed: BitRam<N>,
    /// For each identifier the bit that turns over when it goes out.
    popped: BitRam<N>,
    /// There was a push in the cycle before.
    wakes: DFF<bool>,
    /// The identifier of that push.
    woken: DFF<Bits<N>>,
    /// The next place of `queue` to read.
    head: DFF<Bits<N1>>,
    /// The next place of `queue` to write.
    tail: DFF<Bits<N1>>,
    /// Next identifier to clear; the top bit says that all are.
    cleared: DFF<Bits<N1>>,
    /// An identifier is on show.
    shown: DFF<bool>,
    /// The identifier on show, with its bit of `pushed`.
    oldest_row: DFF<Bits<N1>>,
    /// An identifier waits in `queue` behind the one on show.
    more: Signal<Local, bool>,
    /// What `queue` holds behind `head`.
    row: Signal<Local, Bits<N1>>,
    /// The memories are still being cleared.
    clearing: Signal<Local, bool>,
    /// The identifier on show.
    oldest: Signal<Local, Bits<N>>,
    oldest_bit: Signal<Local, bool>,
    /// The row of `pushed` that is read and written.
    pushed_row: Signal<Local, Bits<N>>,
    pops: Signal<Local, bool>,
    pushes: Signal<Local, bool>,
    /// The top bit of a row of `queue` and of `cleared`.
    top_bit: Constant<Bits<N1>>,
}

impl<const N: usize, const N1: usize> Default for RunQueue<N, N1> {
    fn default() -> Self {
        assert_eq!(N1, N + 1, "RunQueue: N1 must be N + 1");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            push: Default::default(),
            pop: Default::default(),
            held: Default::default(),
            busy: Default::default(),
            queue: Default::default(),
            pushed: Default::default(),
            popped: Default::default(),
            wakes: Default::default(),
            woken: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            cleared: Default::default(),
            shown: Default::default(),
            oldest_row: Default::default(),
            more: Default::default(),
            row: Default::default(),
            clearing: Default::default(),
            oldest: Default::default(),
            oldest_bit: Default::default(),
            pushed_row: Default::default(),
            pops: Default::default(),
            pushes: Default::default(),
            top_bit: Constant::new((1u64 << N).to_bits()),
        }
    }
}

impl<const N: usize, const N1: usize> Logic for RunQueue<N, N1> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, wakes, woken, head, tail, cleared, shown, oldest_row);
        clock!(self, clock, queue, pushed, popped);

        self.oldest.next = bit_cast::<N, N1>(self.oldest_row.q.val());
        self.oldest_bit.next = (self.oldest_row.q.val() & self.top_bit.val()).any();
        drive!(self, shown.q => pop.valid; oldest => pop.data);
        self.pops.next = self.shown.q.val() & self.pop.ready.val();

        self.clearing.next = !(self.cleared.q.val() & self.top_bit.val()).any();
        self.pushed_row.next = self.woken.q.val();
        if self.clearing.val() {
            self.pushed_row.next = bit_cast::<N, N1>(self.cleared.q.val());
        }
        drive!(self, clearing => busy; pushed_row => pushed.write_address, pushed.read_address;
            woken.q => popped.read_address);
        self.wakes.d.next = self.push.valid.val() & !self.clearing.val();
        self.woken.d.next = self.push.data.val();
        self.held.next = self.wakes.q.val() | self.shown.q.val();
        // An identifier popped in the cycle of its push is outside by now; one popped in this cycle was pushed before.
        self.pushes.next = self.wakes.q.val() & (self.pushed.read_data.val() == self.popped.read_data.val());

        self.queue.write_enable.next = self.pushes.val();
        self.queue.write_address.next = bit_cast::<N, N1>(self.tail.q.val());
        self.row.next = bit_cast::<N1, N>(self.woken.q.val());
        self.pushed.write_enable.next = self.pushes.val() | self.clearing.val();
        self.pushed.write_data.next = false;
        self.popped.write_enable.next = self.pops.val() | self.clearing.val();
        self.popped.write_address.next = self.oldest.val();
        self.popped.write_data.next = self.oldest_bit.val() & !self.clearing.val();
        if !self.pushed.read_data.val() {
            self.row.next = bit_cast::<N1, N>(self.woken.q.val()) | self.top_bit.val();
            self.pushed.write_data.next = !self.clearing.val();
        }
        if self.clearing.val() {
            self.popped.write_address.next = bit_cast::<N, N1>(self.cleared.q.val());
            self.cleared.d.next = self.cleared.q.val() + 1;
        }
        if self.pushes.val() {
            self.tail.d.next = self.tail.q.val() + 1;
        }

        // The next one to show.
        self.queue.write_data.next = self.row.val();
        self.queue.read_address.next = bit_cast::<N, N1>(self.head.q.val());
        self.more.next = self.head.q.val() != self.tail.q.val();
        if self.pops.val() | !self.shown.q.val() {
            self.shown.d.next = self.more.val() | self.pushes.val();
            self.oldest_row.d.next = self.row.val();
            if self.more.val() {
                self.oldest_row.d.next = self.queue.read_data.val();
            }
            if self.more.val() | self.pushes.val() {
                self.head.d.next = self.head.q.val() + 1;
            }
        }
        if self.reset.val() {
            self.wakes.d.next = false;
            self.head.d.next = bits::<N1>(0);
            self.tail.d.next = bits::<N1>(0);
            self.cleared.d.next = bits::<N1>(0);
            self.shown.d.next = false;
        }
    }
}
