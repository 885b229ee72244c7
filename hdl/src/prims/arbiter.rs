//! Grants one of N requesters, round robin.
//!
//! ```text
//!   request ──►┌─────────┐──► grant   (one-hot)
//!   advance ──►│ Arbiter │──► index
//!              └─────────┘──► valid
//! ```
//! Contract: `grant` is one of the requesters, combinationally, whenever there is one. `advance` says that the
//! grant is taken; the requester granted then comes last, so a requester that keeps asking is granted within N taken
//! grants. Without `advance` nothing moves, but a new requester of higher priority may change the grant.
//!
//! Latency: 0 cycles.
//!
//! How: `after` marks the requesters behind the last one granted; they go first. The lowest set bit of x is
//! x & !(x - 1), and the bits above it are !(x ^ (x - 1)): one carry chain.
//!
//! Example: requesters 0 and 2 ask in every cycle and each grant is taken: the grants are 0, 2, 0, 2.
//!
//! Tests: `tests/prims/arbiter.rs`; proof: `formal/arbiter.sv`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `N` requesters, `L` bits of index.
#[derive(LogicBlock)]
pub struct Arbiter<const N: usize, const L: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Gives requester 0 the highest priority again.
    pub reset: Signal<In, bool>,
    /// One bit for each requester that asks.
    pub request: Signal<In, Bits<N>>,
    /// The owner takes the grant in this cycle.
    pub advance: Signal<In, bool>,
    /// The requester that is granted, one-hot; 0 if none asks.
    pub grant: Signal<Out, Bits<N>>,
    /// The number of the requester that is granted; 0 if none asks.
    pub index: Signal<Out, Bits<L>>,
    /// At least one requester asks.
    pub valid: Signal<Out, bool>,
    /// The requesters behind the one that was granted last: they go first.
    after: DFF<Bits<N>>,
    /// The requesters in `after`.
    preferred: Signal<Local, Bits<N>>,
    /// Those that the grant is chosen from: `preferred`, or all if that is empty.
    pool: Signal<Local, Bits<N>>,
    /// `pool - 1`: differs from `pool` up to its lowest set bit.
    less: Signal<Local, Bits<N>>,
    chosen: Signal<Local, Bits<N>>,
    /// `members[k]`: the requesters whose number has bit k set.
    members: [Constant<Bits<N>>; L],
    weight: [Constant<Bits<L>>; L],
    number: Signal<Local, Bits<L>>,
}

impl<const N: usize, const L: usize> Default for Arbiter<N, L> {
    fn default() -> Self {
        assert!(N >= 2 && N <= 1 << L && N <= 64, "Arbiter: 2 <= N <= 2^L");
        Self {
            clock: Default::default(),
            reset: Default::default(),
            request: Default::default(),
            advance: Default::default(),
            grant: Default::default(),
            index: Default::default(),
            valid: Default::default(),
            after: Default::default(),
            preferred: Default::default(),
            pool: Default::default(),
            less: Default::default(),
            chosen: Default::default(),
            members: std::array::from_fn(|k| {
                let set = (0..N as u64).filter(|n| n >> k & 1 == 1).fold(0, |set, n| set | 1u64 << n);
                Constant::new(set.to_bits())
            }),
            weight: std::array::from_fn(|k| Constant::new((1u64 << k).to_bits())),
            number: Default::default(),
        }
    }
}

impl<const N: usize, const L: usize> Logic for Arbiter<N, L> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, after);
        self.preferred.next = self.request.val() & self.after.q.val();
        self.pool.next = self.request.val();
        if self.preferred.val().any() {
            self.pool.next = self.preferred.val();
        }
        self.less.next = self.pool.val() - 1;
        self.chosen.next = self.pool.val() & !self.less.val();
        self.number.next = bits::<L>(0);
        for k in 0..L {
            if (self.chosen.val() & self.members[k].val()).any() {
                self.number.next = self.number.val() | self.weight[k].val();
            }
        }
        drive!(self, chosen => grant; number => index);
        self.valid.next = self.request.val().any();
        if self.advance.val() & self.request.val().any() {
            self.after.d.next = !(self.pool.val() ^ self.less.val());
        }
        if self.reset.val() {
            self.after.d.next = bits::<N>(0);
        }
    }
}
