//! Detect (section 4.2.6.1).

use super::{Line, Ltssm, State, SETTLED};

impl Ltssm {
    pub(super) fn detect(&self, line: &Line) -> Option<State> {
        let times = &self.setup.times;
        if self.state == State::DetectQuiet {
            let due = !line.quiet || self.after(times.detect_quiet);
            return (due && line.sent_quiet >= SETTLED).then_some(State::DetectActive);
        }
        match line.detected {
            Some(true) => Some(State::PollingActive),
            Some(false) => Some(State::DetectQuiet),
            None => self.within(times.detect_active, None),
        }
    }
}
