//! Starts the receive side of the DCU, and starts it anew when it has lost what it follows.
//!
//! ```text
//!                    run ──►┌─────────┐──► cdr_reset
//! lost, unlocked, slipped ──►│ RxStart │──► pcs_reset
//!                    bad ──►└─────────┘──► ready
//! ```
//! Contract: the steps are those of Lattice's reset sequence (FPGA-PB-02001, FAQ 697, as others have found them to work):
//!
//! | step | what | until |
//! |---|---|---|
//! | LISTEN | the CDR is out of reset, without which `lost` never falls; the PCS is in reset | `lost` is low for 4000 cycles |
//! | RESET_CDR | `cdr_reset` | 8 cycles |
//! | SETTLE | the CDR finds the rate | 62 500 cycles |
//! | LOCK | | `unlocked` is low for 62 500 cycles |
//! | RESET_PCS | `pcs_reset` | 8 cycles |
//! | CLEAN | | 1024 cycles without a `bad` symbol: `ready`. After 2^18 cycles: LISTEN |
//! | RUN | `ready` | `lost` for 1024 cycles, or `unlocked`: LISTEN. `slipped`: RESET_PCS |
//!
//! Latency: 130 k cycles from the first signal to `ready`, 1.04 ms.
//!
//! Example: a link goes to L1: the other side's signal ends, and RUN ends 8 us later. When the link wakes, `ready` comes 1.04 ms after the
//! signal; Recovery waits 24 ms.
//!
//! Tests: `tests/pcie/phy/rx_start.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Steps: see the module's description.
pub mod step {
    /// The PCS is in reset; the CDR is not.
    pub const LISTEN: u64 = 0;
    /// The CDR is in reset.
    pub const RESET_CDR: u64 = 1;
    /// The CDR finds the rate.
    pub const SETTLE: u64 = 2;
    /// The CDR has to stay locked.
    pub const LOCK: u64 = 3;
    /// The PCS is in reset.
    pub const RESET_PCS: u64 = 4;
    /// Symbols have to be good.
    pub const CLEAN: u64 = 5;
    /// All runs.
    pub const RUN: u64 = 6;
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RxStart {
    /// Rising edge; `pclk`.
    pub clock: Signal<In, Clock>,
    /// The transmit side runs, from `TxStart`.
    pub run: Signal<In, bool>,
    /// There is no signal, from the DCU.
    pub lost: Signal<In, bool>,
    /// The CDR is not locked, from the DCU.
    pub unlocked: Signal<In, bool>,
    /// The elastic buffer has run empty or over, from the DCU.
    pub slipped: Signal<In, bool>,
    /// A symbol that is none has come, from `PcsWords`.
    pub bad: Signal<In, bool>,
    /// Reset of the CDR, to the DCU.
    pub cdr_reset: Signal<Out, bool>,
    /// Reset of the PCS, to the DCU.
    pub pcs_reset: Signal<Out, bool>,
    /// The receive side runs.
    pub ready: Signal<Out, bool>,
    step: DFF<Bits<3>>,
    /// Cycles for which what the step waits for has held.
    count: DFF<Bits<16>>,
    /// Cycles in CLEAN.
    clean: DFF<Bits<19>>,
    next_step: Signal<Local, Bits<3>>,
    counts: Signal<Local, bool>,
    few: Number<16, 8>,
    signal: Number<16, 4000>,
    long: Number<16, 62_500>,
    good: Number<16, 1024>,
    listen: Number<3, { step::LISTEN }>,
    reset_cdr: Number<3, { step::RESET_CDR }>,
    settle: Number<3, { step::SETTLE }>,
    lock: Number<3, { step::LOCK }>,
    reset_pcs: Number<3, { step::RESET_PCS }>,
    be_clean: Number<3, { step::CLEAN }>,
    all: Number<3, { step::RUN }>,
}

impl Logic for RxStart {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, count, clean);
        self.next_step.next = self.step.q.val();
        self.counts.next = true;
        self.clean.d.next = bits::<19>(0);
        if self.step.q.val() == self.listen.val() {
            self.counts.next = !self.lost.val();
            if self.count.q.val() == self.signal.val() {
                self.next_step.next = self.reset_cdr.val();
            }
        } else if self.step.q.val() == self.reset_cdr.val() {
            if self.count.q.val() == self.few.val() {
                self.next_step.next = self.settle.val();
            }
        } else if self.step.q.val() == self.settle.val() {
            if self.count.q.val() == self.long.val() {
                self.next_step.next = self.lock.val();
            }
        } else if self.step.q.val() == self.lock.val() {
            self.counts.next = !self.unlocked.val();
            if self.count.q.val() == self.long.val() {
                self.next_step.next = self.reset_pcs.val();
            }
        } else if self.step.q.val() == self.reset_pcs.val() {
            if self.count.q.val() == self.few.val() {
                self.next_step.next = self.be_clean.val();
            }
        } else if self.step.q.val() == self.be_clean.val() {
            self.counts.next = !self.bad.val();
            self.clean.d.next = self.clean.q.val() + 1;
            if self.clean.q.val().get_bit(18) {
                self.next_step.next = self.listen.val();
            } else if self.count.q.val() == self.good.val() {
                self.next_step.next = self.all.val();
            }
        } else {
            self.counts.next = self.lost.val();
            if self.slipped.val() {
                self.next_step.next = self.reset_pcs.val();
            }
            if self.unlocked.val() | (self.count.q.val() == self.good.val()) {
                self.next_step.next = self.listen.val();
            }
        }
        self.count.d.next = self.count.q.val() + 1;
        if !self.counts.val() | (self.next_step.val() != self.step.q.val()) {
            self.count.d.next = bits::<16>(0);
        }
        self.step.d.next = self.next_step.val();
        if !self.run.val() {
            self.step.d.next = self.listen.val();
            self.count.d.next = bits::<16>(0);
        }
        self.cdr_reset.next = self.step.q.val() == self.reset_cdr.val();
        self.pcs_reset.next =
            (self.step.q.val() != self.be_clean.val()) & (self.step.q.val() != self.all.val());
        self.ready.next = self.step.q.val() == self.all.val();
    }
}
