//! The transceiver below the symbol seam: ECP5's DCU, its reset sequence, receiver detection.
//!
//! ```text
//!             ┌─────────┐◄──────── pll_reset, pcs_reset ── TxStart ◄── clock, run
//!  reference ►│         │◄──────── cdr_reset, pcs_reset ── RxStart
//!       lane ◄►│   Dcu   │◄──────── enable, start ───────── Detector ◄──► detect_*
//!             │         │◄─ 24 ─┐
//!             │         │─ 24 ──┴─ PcsWords ◄──► rx_*, tx_*
//!             └─────────┘──► pclk
//! ```
//! Contract: docs/pcie.md, "The symbol seam". `phy_ready` rises when the transmit side runs: a receiver has to be looked for before the other
//! side says anything. While the receive side is not ready, all its symbols are damaged ones.
//!
//! Latency: one cycle each way beside the DCU's own.
//!
//! Example: `run` rises; 0.7 ms later `phy_ready` does. The root port sends TS1: 1.04 ms later its symbols are at the seam.
//!
//! Tests: `tests/pcie/phy/` for all but the DCU, of which there is no model: docs/boards.md, "The bring-up ladder".

mod dcu;
mod detector;
pub mod options;
mod pcs_words;
mod rx_start;
mod tx_start;

pub use dcu::Dcu;
pub use detector::Detector;
pub use options::DcuOptions;
pub use pcs_words::PcsWords;
pub use rx_start::RxStart;
pub use tx_start::TxStart;

use super::mac::PhySeam;
use crate::clocks::Synchronizer;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PciePhy {
    /// Rising edge; a clock of the board's, 100 MHz.
    pub clock: Signal<In, Clock>,
    /// The transceiver is to run: power is good, and the host holds no PERST#. From the slot, of any clock.
    pub run: Signal<In, bool>,
    /// The reference clock of the slot, 100 MHz: the positive pad of a pair of the DCU's.
    pub reference_p: Signal<In, Clock>,
    /// The negative pad of the reference clock, from the slot.
    pub reference_n: Signal<In, Clock>,
    /// The lane from the host: the positive pad of a pair of the DCU's.
    pub rx_p: Signal<In, bool>,
    /// The negative pad of the lane from the host.
    pub rx_n: Signal<In, bool>,
    /// The lane to the host: the positive pad of a pair of the DCU's.
    pub tx_p: Signal<Out, bool>,
    /// The negative pad of that pair.
    pub tx_n: Signal<Out, bool>,
    /// 125 MHz, the clock of the endpoint.
    pub pclk: Signal<Out, Clock>,
    /// The symbol seam; its inputs are from the endpoint.
    pub seam: PhySeam,
    /// The receive side runs, for lights.
    pub rx_ready: Signal<Out, bool>,
    dcu: Dcu,
    runs: Synchronizer,
    tx_unlocked: Synchronizer,
    tx_start: TxStart,
    ready: Synchronizer,
    rx_lost: Synchronizer,
    rx_unlocked: Synchronizer,
    rx_slipped: Synchronizer,
    rx_start: RxStart,
    detect_done: Synchronizer,
    detect_present: Synchronizer,
    detector: Detector,
    words: PcsWords,
}

impl PciePhy {
    /// With these settings of the DCU.
    pub fn new(options: DcuOptions) -> Self {
        Self { dcu: Dcu::new(options), ..Self::default() }
    }
}

impl Logic for PciePhy {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        // Pads and clocks.
        drive!(self, reference_p => dcu.reference_p; reference_n => dcu.reference_n; rx_p => dcu.rx_p;
            rx_n => dcu.rx_n; dcu.tx_p => tx_p; dcu.tx_n => tx_n;
            clock => runs.clock, tx_unlocked.clock, tx_start.clock;
            dcu.pclk => pclk, ready.clock, rx_lost.clock, rx_unlocked.clock, rx_slipped.clock, rx_start.clock,
                detect_done.clock, detect_present.clock, detector.clock, words.clock);

        // The transmit side.
        drive!(self, run => runs.in_data; runs.out_data => tx_start.run; dcu.tx_unlocked => tx_unlocked.in_data;
            tx_unlocked.out_data => tx_start.unlocked; tx_start.pll_reset => dcu.tx_pll_reset;
            tx_start.pcs_reset => dcu.tx_pcs_reset; tx_start.ready => ready.in_data;
            ready.out_data => seam.phy_ready, rx_start.run);

        // The receive side.
        drive!(self, dcu.rx_lost => rx_lost.in_data; rx_lost.out_data => rx_start.lost, seam.rx_idle;
            dcu.rx_unlocked => rx_unlocked.in_data; rx_unlocked.out_data => rx_start.unlocked;
            dcu.rx_slipped => rx_slipped.in_data; rx_slipped.out_data => rx_start.slipped;
            words.bad => rx_start.bad; rx_start.cdr_reset => dcu.rx_cdr_reset;
            rx_start.pcs_reset => dcu.rx_pcs_reset; rx_start.ready => words.ready, rx_ready;
            seam.rx_invert => dcu.rx_invert);

        // Symbols.
        drive!(self, dcu.received => words.received; words.rx_data => seam.rx_data; words.rx_k => seam.rx_k;
            words.rx_error => seam.rx_error; seam.tx_data => words.tx_data; seam.tx_k => words.tx_k;
            seam.tx_idle => words.tx_idle; words.sent => dcu.sent; words.idle => dcu.tx_idle);

        // Detection.
        drive!(self, seam.detect_request => detector.request; detector.enable => dcu.detect_enable;
            detector.start => dcu.detect_start; dcu.detect_done => detect_done.in_data;
            detect_done.out_data => detector.cell_done; dcu.detect_present => detect_present.in_data;
            detect_present.out_data => detector.cell_present; detector.done => seam.detect_done;
            detector.present => seam.detect_present);
    }
}
