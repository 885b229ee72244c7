//! The steps from state to state of the LTSSM.
//!
//! ```text
//!   quiet, settled, detect_*, still, after_* ──►┌───────┐──► at, enters
//!   last, any, pair, eight, ready, ... ────────►│ Steps │──► link, inverts
//!   retrain, sleep, wake ──────────────────────►└───────┘──► scrambles
//! ```
//! Contract: the drawing in [`Ltssm`](super::Ltssm) has the steps; docs/pcie.md has the reasons. `enters` is high in the first cycle of a
//! state. What belongs to the state before is cleared in that cycle, so the state is not left in it.
//!
//! Latency: 1 cycle.
//!
//! Example: `last` is one of two equal TS1 with a link number in LinkwidthStart: in the next cycle `at` is LinkwidthAccept and `link` is
//! that number.
//!
//! Tests: `tests/pcie/mac/`.

use super::state::LtssmState;
use super::TrainingSet;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Steps {
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
    /// Go to Recovery, from `link`.
    pub retrain: Signal<In, bool>,
    /// Go to L1, from `link`.
    pub sleep: Signal<In, bool>,
    /// Leave L1, from `link`.
    pub wake: Signal<In, bool>,
    /// The last training set, from `Progress`.
    pub last: Signal<In, TrainingSet>,
    /// A training set has come, from `Progress`.
    pub any: Signal<In, bool>,
    /// Two equal training sets have come, from `Progress`.
    pub pair: Signal<In, bool>,
    /// Eight equal training sets have come, from `Progress`.
    pub eight: Signal<In, bool>,
    /// Eight equal training sets that were awaited have come, from `Progress`.
    pub ready: Signal<In, bool>,
    /// The eight sets of `ready` were of an inverted lane, from `Progress`.
    pub turned: Signal<In, bool>,
    /// The eight sets of `ready` asked for no scrambling, from `Progress`.
    pub unscrambled: Signal<In, bool>,
    /// 16 training sets were sent for an answer, from `Progress`.
    pub answered: Signal<In, bool>,
    /// 1024 training sets were sent, from `Progress`.
    pub polled: Signal<In, bool>,
    /// Logical idle has come and was sent, from `Progress`.
    pub idle_done: Signal<In, bool>,
    /// 131 us have passed, in L0 without a SKP set; from `Timer`.
    pub still: Signal<In, bool>,
    /// 2 ms have passed, from `Timer`.
    pub after_2: Signal<In, bool>,
    /// 12 ms have passed, from `Timer`.
    pub after_12: Signal<In, bool>,
    /// 24 ms have passed, from `Timer`.
    pub after_24: Signal<In, bool>,
    /// 48 ms have passed, from `Timer`.
    pub after_48: Signal<In, bool>,
    /// We ask for scrambling off; a constant of `PcieMac`.
    pub no_scramble: Signal<In, bool>,
    /// Receiver detection is left out; a constant of `PcieMac`.
    pub ignore_detect: Signal<In, bool>,
    /// The state, for `Orders`.
    pub at: Signal<Out, LtssmState>,
    /// The first cycle of the state `at`.
    pub enters: Signal<Out, bool>,
    /// The link's number.
    pub link: Signal<Out, Bits<8>>,
    /// The lane's polarity is to be inverted.
    pub inverts: Signal<Out, bool>,
    /// Data is scrambled.
    pub scrambles: Signal<Out, bool>,
    now: DFF<LtssmState>,
    was: DFF<LtssmState>,
    entered: Signal<Local, bool>,
    /// The line was quiet in this state.
    silence: DFF<bool>,
    number: DFF<Bits<8>>,
    inverted: DFF<bool>,
    scrambled: DFF<bool>,
    /// Two equal TS1 have come.
    firsts: Signal<Local, bool>,
    seconds: Signal<Local, bool>,
}

impl Logic for Steps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, now, was, silence, number, inverted, scrambled);
        drive!(self, now.q => at, was.d; number.q => link; inverted.q => inverts; scrambled.q => scrambles);
        self.entered.next = self.now.q.val() != self.was.q.val();
        drive!(self, entered => enters);
        self.firsts.next = self.pair.val() & !self.last.val().second;
        self.seconds.next = self.pair.val() & self.last.val().second;
        self.silence.d.next = self.quiet.val() | self.silence.q.val();
        match self.now.q.val() {
            LtssmState::DetectQuiet => {
                self.inverted.d.next = false;
                self.scrambled.d.next = true;
                if self.settled.val() & (!self.quiet.val() | self.after_12.val()) {
                    self.now.d.next = LtssmState::DetectActive;
                }
            }
            LtssmState::DetectActive => {
                if (self.detect_done.val() & self.detect_present.val()) | self.ignore_detect.val() {
                    self.now.d.next = LtssmState::PollingActive;
                } else if self.detect_done.val() | self.after_12.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::PollingActive => {
                if self.ready.val() & self.polled.val() {
                    self.now.d.next = LtssmState::PollingConfiguration;
                } else if self.after_24.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::PollingConfiguration => {
                if self.ready.val() & self.answered.val() {
                    self.now.d.next = LtssmState::LinkwidthStart;
                } else if self.after_48.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::LinkwidthStart => {
                self.number.d.next = self.last.val().number;
                if self.firsts.val() & self.last.val().disabled {
                    self.now.d.next = LtssmState::Disabled;
                } else if self.firsts.val() & self.last.val().named {
                    self.now.d.next = LtssmState::LinkwidthAccept;
                } else if self.after_24.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::LinkwidthAccept => {
                if self.firsts.val() & self.last.val().ours {
                    self.now.d.next = LtssmState::LanenumWait;
                } else if (self.firsts.val() & self.last.val().unnamed) | self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::LanenumWait => {
                if self.seconds.val() & self.last.val().ours {
                    self.now.d.next = LtssmState::Complete;
                } else if (self.firsts.val() & self.last.val().unnamed) | self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::Complete => {
                if self.ready.val() & self.answered.val() {
                    self.now.d.next = LtssmState::ConfigurationIdle;
                } else if self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::ConfigurationIdle => {
                if self.idle_done.val() {
                    self.now.d.next = LtssmState::ActiveL0;
                } else if self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::ActiveL0 => {
                if self.any.val() | self.retrain.val() | self.still.val() {
                    self.now.d.next = LtssmState::RecoveryLock;
                } else if self.sleep.val() {
                    self.now.d.next = LtssmState::L1Entry;
                }
            }
            LtssmState::RecoveryLock => {
                if self.ready.val() {
                    self.now.d.next = LtssmState::RecoveryConfiguration;
                } else if self.after_24.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
                if self.firsts.val() & self.last.val().hot_reset {
                    self.now.d.next = LtssmState::HotReset;
                } else if self.firsts.val() & self.last.val().disabled {
                    self.now.d.next = LtssmState::Disabled;
                }
            }
            LtssmState::RecoveryConfiguration => {
                if self.ready.val() & self.answered.val() {
                    self.now.d.next = LtssmState::RecoveryIdle;
                } else if self.eight.val() & self.firsts.val() & !self.last.val().ours {
                    self.now.d.next = LtssmState::LinkwidthStart;
                } else if self.after_48.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
                if self.firsts.val() & self.last.val().hot_reset {
                    self.now.d.next = LtssmState::HotReset;
                } else if self.firsts.val() & self.last.val().disabled {
                    self.now.d.next = LtssmState::Disabled;
                }
            }
            LtssmState::RecoveryIdle => {
                if self.idle_done.val() {
                    self.now.d.next = LtssmState::ActiveL0;
                } else if self.firsts.val() & self.last.val().lane_pad {
                    self.now.d.next = LtssmState::LinkwidthStart;
                } else if self.eight.val() & self.firsts.val() & self.last.val().ours {
                    self.now.d.next = LtssmState::RecoveryLock;
                } else if self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
                if self.firsts.val() & self.last.val().hot_reset {
                    self.now.d.next = LtssmState::HotReset;
                } else if self.firsts.val() & self.last.val().disabled {
                    self.now.d.next = LtssmState::Disabled;
                }
            }
            LtssmState::HotReset => {
                if self.after_2.val() {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::Disabled => {
                if self.answered.val() {
                    self.now.d.next = LtssmState::DisabledQuiet;
                }
            }
            LtssmState::DisabledQuiet => {
                if (self.silence.q.val() & !self.quiet.val()) | (!self.silence.q.val() & self.after_2.val()) {
                    self.now.d.next = LtssmState::DetectQuiet;
                }
            }
            LtssmState::L1Entry => {
                if self.any.val() | self.after_2.val() {
                    self.now.d.next = LtssmState::RecoveryLock;
                } else if self.quiet.val() & self.settled.val() {
                    self.now.d.next = LtssmState::AsleepL1;
                }
            }
            LtssmState::AsleepL1 => {
                if self.any.val() | self.wake.val() | !self.quiet.val() {
                    self.now.d.next = LtssmState::RecoveryLock;
                }
            }
        }
        if (self.now.q.val() == LtssmState::PollingActive) & self.polled.val() & self.ready.val() {
            self.inverted.d.next = self.inverted.q.val() ^ (self.turned.val() & !self.entered.val());
        }
        if (self.now.q.val() == LtssmState::Complete) & self.ready.val() {
            self.scrambled.d.next = !self.no_scramble.val() & !self.unscrambled.val();
        }
        if self.entered.val() {
            self.now.d.next = self.now.q.val();
            self.silence.d.next = false;
        }
        if self.reset.val() {
            self.now.d.next = LtssmState::DetectQuiet;
            self.was.d.next = LtssmState::AsleepL1;
            self.inverted.d.next = false;
            self.scrambled.d.next = true;
        }
    }
}
