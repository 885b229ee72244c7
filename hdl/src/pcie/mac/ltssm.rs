//! The link training and status state machine, for the upstream port of one lane.
//!
//! ```text
//!   quiet, settled, detect_* ──►┌───────┐──► order, detect_request, rx_invert
//!   found, broken, idle, ... ──►│ Ltssm │──► number, scrambled, receiving
//!   retrain, sleep, wake ──────►└───────┘──► link_up, in_l0, hot_reset, state, deepest
//! ```
//! Contract: docs/pcie.md, "The LTSSM":
//!
//! ```text
//!  DetectQuiet ─► DetectActive ─► PollingActive ─► PollingConfiguration ─► LinkwidthStart ─► LinkwidthAccept
//!      ─► LanenumWait ─► Complete ─► ConfigurationIdle ─► L0
//!  L0 ─► RecoveryLock ─► RecoveryConfiguration ─► RecoveryIdle ─► L0
//!  L0 ─► L1Entry ─► L1 ─► RecoveryLock
//!  RecoveryIdle ─► HotReset, Disabled, LinkwidthStart, RecoveryLock
//!  LinkwidthStart ─► Disabled ─► DisabledQuiet ─► DetectQuiet
//! ```
//! All but L0, L1 and Disabled lead to DetectQuiet after their time. Hot Reset and Disabled are obeyed in all of Recovery: a side that
//! missed the TS2 of the other would wait there for 48 ms. Eight TS1 in RecoveryIdle lead back to RecoveryLock. L0 without a SKP set for
//! 131 us leads to Recovery: the other side is gone.
//!
//! Latency: a state is entered 1 cycle after what it is entered on, and left 2 cycles later at the earliest; `order` and the levels
//! follow 1 cycle behind the state.
//!
//! Example: two equal TS1 with link 3 and lane PAD come in LinkwidthStart: LinkwidthAccept, and `order` is TS1 with link 3, lane PAD.
//!
//! Tests: `tests/pcie/mac/`.

use super::state::LtssmState;
use super::{LaneOrder, Orders, Progress, Steps, Timer, TrainingSet};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ltssm {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Goes to Detect.Quiet.
    pub reset: Signal<In, bool>,
    /// The lane is in electrical idle, from `Electrical`.
    pub quiet: Signal<In, bool>,
    /// What we send has been electrical idle for 120 ns, from `Lane`.
    pub settled: Signal<In, bool>,
    /// Receiver detection has ended, from the seam.
    pub detect_done: Signal<In, bool>,
    /// There is a receiver, from the seam; it counts with `detect_done`.
    pub detect_present: Signal<In, bool>,
    /// A training set, from `SetReader`.
    pub found: FlowSink<TrainingSet>,
    /// A word that is no part of a training set, from `SetReader`.
    pub broken: Signal<In, bool>,
    /// A SKP set, from `Unskip`.
    pub skipped: Signal<In, bool>,
    /// A word of logical idle, from `Descramble`.
    pub idle: Signal<In, bool>,
    /// A word of anything but logical idle, from `Descramble`.
    pub busy: Signal<In, bool>,
    /// A training set or a word of idle is begun, from `Lane`.
    pub began: Signal<In, bool>,
    /// The tag of the order that `began` is for, from `Lane`.
    pub began_tag: Signal<In, bool>,
    /// Go to Recovery, from `link`.
    pub retrain: Signal<In, bool>,
    /// Go to L1, from `link`.
    pub sleep: Signal<In, bool>,
    /// Leave L1, from `link`.
    pub wake: Signal<In, bool>,
    /// We ask for scrambling off; a constant of `PcieMac`.
    pub no_scramble: Signal<In, bool>,
    /// Receiver detection is left out; a constant of `PcieMac`.
    pub ignore_detect: Signal<In, bool>,
    /// What is to be sent, for `Lane`.
    pub order: Signal<Out, LaneOrder>,
    /// Look for a receiver; for the seam.
    pub detect_request: Signal<Out, bool>,
    /// The lane's polarity is to be inverted; for the seam.
    pub rx_invert: Signal<Out, bool>,
    /// The link's number, for `SetReader`.
    pub number: Signal<Out, Bits<8>>,
    /// Data is scrambled, for `Scramble` and `Descramble`.
    pub scrambled: Signal<Out, bool>,
    /// The other side may send packets, for `Descramble`.
    pub receiving: Signal<Out, bool>,
    /// LinkUp.
    pub link_up: Signal<Out, bool>,
    /// Packets may be sent.
    pub in_l0: Signal<Out, bool>,
    /// Hot Reset, or Disabled.
    pub hot_reset: Signal<Out, bool>,
    /// The state's code.
    pub state: Signal<Out, Bits<5>>,
    /// The highest code up to that of L0 since reset.
    pub deepest: Signal<Out, Bits<5>>,
    steps: Steps,
    orders: Orders,
    progress: Progress,
    timer: Timer,
    /// In Hot Reset the other side says it still.
    said: Signal<Local, bool>,
    current: Signal<Local, LaneOrder>,
}

impl Logic for Ltssm {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, steps, orders, progress, timer);
        FlowSink::<TrainingSet>::link(&mut self.found, &mut self.progress.found);
        drive!(self, reset => steps.reset, orders.reset; no_scramble => steps.no_scramble;
            ignore_detect => steps.ignore_detect, orders.ignore_detect; broken => progress.broken; idle => progress.idle;
            busy => progress.busy; began => progress.began; began_tag => progress.began_tag;
            orders.order => current, order; current.val().tag => progress.tag;
            orders.awaits => progress.awaits; steps.enters => progress.clear, orders.enters);
        drive!(self, quiet => steps.quiet; settled => steps.settled; detect_done => steps.detect_done;
            detect_present => steps.detect_present; retrain => steps.retrain; sleep => steps.sleep;
            wake => steps.wake; progress.last => steps.last; progress.any => steps.any;
            progress.pair => steps.pair; progress.eight => steps.eight; progress.ready => steps.ready;
            progress.turned => steps.turned; progress.unscrambled => steps.unscrambled;
            progress.answered => steps.answered; progress.polled => steps.polled;
            progress.idle_done => steps.idle_done; timer.still => steps.still;
            timer.after_2 => steps.after_2; timer.after_12 => steps.after_12;
            timer.after_24 => steps.after_24; timer.after_48 => steps.after_48);
        drive!(self, steps.at => orders.at; steps.link => orders.link, number; steps.inverts => rx_invert;
            steps.scrambles => scrambled; orders.detect_request => detect_request;
            orders.receiving => receiving; orders.link_up => link_up; orders.in_l0 => in_l0;
            orders.hot_reset => hot_reset; orders.state => state; orders.deepest => deepest);
        self.said.next = (self.steps.at.val() == LtssmState::HotReset)
            & self.progress.pair.val()
            & self.progress.last.val().hot_reset
            & !self.progress.last.val().second;
        self.timer.clear.next = self.steps.enters.val()
            | self.said.val()
            | (self.skipped.val() & (self.steps.at.val() == LtssmState::ActiveL0));
    }
}
