//! What each state of the LTSSM sends, awaits and says.
//!
//! ```text
//!       at, enters ──►┌────────┐──► order, awaits
//!   link, scrambled ─►│ Orders │──► detect_request, receiving, link_up, in_l0, hot_reset
//!            reset ──►└────────┘──► state, deepest
//! ```
//! Contract: all outputs are registers, and show the state of the cycle before. `order.tag` changes with each state.
//!
//! Latency: 1 cycle.
//!
//! Example: `at` is Complete: in the next cycle `order` is TS2 with both numbers, and `awaits` is TS2 with both numbers.
//!
//! Tests: `tests/pcie/mac/`.

use super::progress::Awaits;
use super::state::{codes, LtssmState};
use super::LaneOrder;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What is said of a state.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Levels {
    detect_request: bool,
    receiving: bool,
    link_up: bool,
    in_l0: bool,
    hot_reset: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Orders {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is sent, and nothing is up.
    pub reset: Signal<In, bool>,
    /// The state, from `Steps`.
    pub at: Signal<In, LtssmState>,
    /// The first cycle of the state `at`, from `Steps`.
    pub enters: Signal<In, bool>,
    /// The link's number, from `Steps`.
    pub link: Signal<In, Bits<8>>,
    /// Receiver detection is left out; a constant of `PcieMac`.
    pub ignore_detect: Signal<In, bool>,
    /// What is to be sent, for `Lane`.
    pub order: Signal<Out, LaneOrder>,
    /// The training sets that are awaited, for `Progress`.
    pub awaits: Signal<Out, Awaits>,
    /// Look for a receiver; for the seam.
    pub detect_request: Signal<Out, bool>,
    /// The other side may send packets; for `Descramble`.
    pub receiving: Signal<Out, bool>,
    /// LinkUp.
    pub link_up: Signal<Out, bool>,
    /// L0.
    pub in_l0: Signal<Out, bool>,
    /// Hot Reset, or Disabled.
    pub hot_reset: Signal<Out, bool>,
    /// The state's code.
    pub state: Signal<Out, Bits<5>>,
    /// The highest code up to that of L0 since reset.
    pub deepest: Signal<Out, Bits<5>>,
    given: DFF<LaneOrder>,
    awaited: DFF<Awaits>,
    levels: DFF<Levels>,
    cast: Cast<LtssmState, Bits<5>>,
    code: DFF<Bits<5>>,
    deep: DFF<Bits<5>>,
    l0: Number<5, { codes::L0 }>,
}

impl Logic for Orders {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, given, awaited, levels, code, deep);
        drive!(self, given.q => order; awaited.q => awaits; levels.q.val().detect_request => detect_request;
            levels.q.val().receiving => receiving; levels.q.val().link_up => link_up;
            levels.q.val().in_l0 => in_l0; levels.q.val().hot_reset => hot_reset; at => cast.from;
            cast.to => code.d; code.q => state; deep.q => deepest);
        if (self.code.q.val() > self.deep.q.val()) & (self.code.q.val() <= self.l0.val()) {
            self.deep.d.next = self.code.q.val();
        }
        fill!(self, given.d, false => silent, training, second, idle, link, lane, hot_reset, disabled;
            link => number);
        self.given.d.next.tag = self.given.q.val().tag ^ self.enters.val();
        fill!(self, awaited.d, false => unnamed, ours, second, inverted, polls);
        // LinkUp stays as it is from L0 until Detect, Hot Reset or Disabled: Recovery may lead to Configuration.
        fill!(self, levels.d, false => detect_request, receiving, in_l0, hot_reset);
        match self.at.val() {
            LtssmState::DetectQuiet => {
                self.given.d.next.silent = true;
                self.levels.d.next.link_up = false;
            }
            LtssmState::DetectActive => {
                self.given.d.next.silent = true;
                self.levels.d.next.detect_request = !self.ignore_detect.val();
            }
            LtssmState::PollingActive => {
                self.given.d.next.training = true;
                fill!(self, awaited.d, true => unnamed, inverted, polls);
            }
            LtssmState::PollingConfiguration => {
                fill!(self, given.d, true => training, second);
                fill!(self, awaited.d, true => unnamed, second);
            }
            LtssmState::LinkwidthStart => {
                self.given.d.next.training = true;
            }
            LtssmState::LinkwidthAccept => {
                fill!(self, given.d, true => training, link);
            }
            LtssmState::LanenumWait => {
                fill!(self, given.d, true => training, link, lane);
            }
            LtssmState::Complete => {
                fill!(self, given.d, true => training, second, link, lane);
                fill!(self, awaited.d, true => ours, second);
            }
            LtssmState::ConfigurationIdle => {
                self.given.d.next.idle = true;
                self.levels.d.next.receiving = true;
            }
            LtssmState::ActiveL0 => {
                fill!(self, levels.d, true => receiving, link_up, in_l0);
            }
            LtssmState::RecoveryLock => {
                fill!(self, given.d, true => training, link, lane);
                self.awaited.d.next.ours = true;
            }
            LtssmState::RecoveryConfiguration => {
                fill!(self, given.d, true => training, second, link, lane);
                fill!(self, awaited.d, true => ours, second);
            }
            LtssmState::RecoveryIdle => {
                self.given.d.next.idle = true;
                self.levels.d.next.receiving = true;
            }
            LtssmState::HotReset => {
                self.levels.d.next.link_up = false;
                fill!(self, given.d, true => training, link, lane, hot_reset);
                self.levels.d.next.hot_reset = true;
            }
            LtssmState::Disabled => {
                self.levels.d.next.link_up = false;
                fill!(self, given.d, true => training, link, lane, disabled);
                self.awaited.d.next.polls = true;
                self.levels.d.next.hot_reset = true;
            }
            LtssmState::DisabledQuiet => {
                self.given.d.next.silent = true;
                self.levels.d.next.hot_reset = true;
            }
            LtssmState::L1Entry => {
                self.given.d.next.silent = true;
            }
            LtssmState::AsleepL1 => {
                self.given.d.next.silent = true;
            }
        }
        if self.reset.val() {
            self.deep.d.next = bits::<5>(0);
            self.given.d.next.silent = true;
            fill!(self, levels.d, false => detect_request, receiving, link_up, in_l0, hot_reset);
        }
    }
}
