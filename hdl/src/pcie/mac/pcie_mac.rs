//! The physical layer's logic: symbols at the seam on one side, packets on the other.
//!
//! ```text
//!          seam ◄─►┌─────────┐──► symbols
//!                  │         │◄── line
//!       retrain ──►│         │──► link_up, in_l0, hot_reset
//!   sleep, wake ──►│ PcieMac │──► state, deepest
//!                  └─────────┘
//! ```
//! Contract: docs/pcie.md: "The symbol seam", "What crosses between the layers", "The LTSSM". While the seam's `phy_ready` is low the layer
//! is in reset.
//!
//! `symbols` has no SKP sets: they are taken out before, so that those of odd length need no other place to go. It may pause for a cycle
//! behind one. A COM that came in the other byte has one SKP before it.
//!
//! Options: with `no_scramble` all training sets ask for scrambling off, which binds both sides; with `ignore_detect` receiver detection
//! is left out.
//!
//! `state` and `deepest` are for lights: [`codes`](super::state::codes).
//!
//! Latency: from the seam to `symbols` 6 cycles, from `line` to the seam 2.
//!
//! Example: the root port trains the link: `link_up` and `in_l0` rise together. A packet at `line` then leaves at once.
//!
//! Tests: `tests/pcie/mac/`.

use super::{Align, Descramble, Electrical, Lane, Ltssm, Scramble, Seam, SetReader, TrainingSet, Unskip};
use crate::pcie::bus::{LineWord, Symbols};
use crate::stream::{FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock)]
pub struct PcieMac {
    /// Rising edge, 125 MHz: `pclk`.
    pub clock: Signal<In, Clock>,
    /// Goes to Detect.
    pub reset: Signal<In, bool>,
    /// The symbol seam; its inputs are from the transceiver.
    pub seam: Seam,
    /// What is received, for `link`.
    pub symbols: FlowSource<Symbols>,
    /// Packets, from `link`.
    pub line: Sink<LineWord>,
    /// LinkUp, for `link` and `transaction`.
    pub link_up: Signal<Out, bool>,
    /// Packets may be sent, for `link`.
    pub in_l0: Signal<Out, bool>,
    /// Hot Reset, or Disabled; for `transaction`.
    pub hot_reset: Signal<Out, bool>,
    /// Go to Recovery, from `link`; it is held until `in_l0` falls.
    pub retrain: Signal<In, bool>,
    /// Go to L1, from `link`; it is held until `in_l0` falls.
    pub sleep: Signal<In, bool>,
    /// Leave L1, from `link`; it is held until `in_l0` rises.
    pub wake: Signal<In, bool>,
    /// The state of the LTSSM, for lights.
    pub state: Signal<Out, Bits<5>>,
    /// How far training has come since reset, for lights.
    pub deepest: Signal<Out, Bits<5>>,
    held: DFF<bool>,
    unskip: Unskip,
    align: Align,
    descramble: Descramble,
    reader: SetReader,
    electrical: Electrical,
    ltssm: Ltssm,
    lane: Lane,
    scramble: Scramble,
    no_scramble: Constant<bool>,
    ignore_detect: Constant<bool>,
}

impl PcieMac {
    /// With these options.
    pub fn new(no_scramble: bool, ignore_detect: bool) -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            seam: Default::default(),
            symbols: Default::default(),
            line: Default::default(),
            link_up: Default::default(),
            in_l0: Default::default(),
            hot_reset: Default::default(),
            retrain: Default::default(),
            sleep: Default::default(),
            wake: Default::default(),
            state: Default::default(),
            deepest: Default::default(),
            held: Default::default(),
            unskip: Default::default(),
            align: Default::default(),
            descramble: Default::default(),
            reader: Default::default(),
            electrical: Default::default(),
            ltssm: Default::default(),
            lane: Default::default(),
            scramble: Default::default(),
            no_scramble: Constant::new(no_scramble),
            ignore_detect: Constant::new(ignore_detect),
        }
    }
}

impl Logic for PcieMac {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        clock!(self, clock, unskip, align, descramble, reader, electrical, ltssm, lane, scramble);
        self.held.d.next = self.reset.val() | !self.seam.phy_ready.val();
        drive!(self, held.q => electrical.reset, ltssm.reset, lane.reset, scramble.reset);
        drive!(self, no_scramble => ltssm.no_scramble, lane.no_scramble; ignore_detect => ltssm.ignore_detect);
        // In.
        drive!(self, seam.rx_data => unskip.rx_data; seam.rx_k => unskip.rx_k;
            seam.rx_error => unskip.rx_error, electrical.rx_error; seam.rx_idle => electrical.rx_idle;
            unskip.first => align.first; unskip.second => align.second; unskip.one => align.one;
            unskip.two => align.two; align.aligned.valid => descramble.aligned.valid, reader.aligned.valid;
            align.aligned.data => descramble.aligned.data, reader.aligned.data;
            ltssm.scrambled => descramble.scrambled, scramble.scrambled;
            ltssm.receiving => descramble.receiving; ltssm.number => reader.number);
        FlowSource::<Symbols>::link(&mut self.symbols, &mut self.descramble.symbols);
        // The LTSSM.
        drive!(self, unskip.skipped => ltssm.skipped; descramble.idle => ltssm.idle;
            descramble.busy => ltssm.busy; reader.broken => ltssm.broken; electrical.quiet => ltssm.quiet;
            lane.settled => ltssm.settled; lane.began => ltssm.began; lane.began_tag => ltssm.began_tag;
            seam.detect_done => ltssm.detect_done; seam.detect_present => ltssm.detect_present;
            retrain => ltssm.retrain; sleep => ltssm.sleep; wake => ltssm.wake);
        join!(self, FlowSource<TrainingSet>, reader.found => ltssm.found);
        drive!(self, ltssm.detect_request => seam.detect_request; ltssm.rx_invert => seam.rx_invert;
            ltssm.link_up => link_up; ltssm.in_l0 => in_l0; ltssm.hot_reset => hot_reset;
            ltssm.state => state; ltssm.deepest => deepest; ltssm.order => lane.order);
        // Out.
        Sink::<LineWord>::link(&mut self.line, &mut self.lane.line);
        drive!(self, lane.word => scramble.word; scramble.tx_data => seam.tx_data;
            scramble.tx_k => seam.tx_k; scramble.tx_idle => seam.tx_idle);
    }
}
