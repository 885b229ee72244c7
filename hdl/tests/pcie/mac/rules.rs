//! What the monitor has seen.

use viaduct_link::monitor::{Party, Rule};

use super::world::World;

impl World {
    /// The monitor has seen nothing wrong.
    #[track_caller]
    pub fn assert_silent(&self) {
        self.assert_only(&[]);
    }

    /// The endpoint has kept all rules of the lane; damage makes no exception of them.
    #[track_caller]
    pub fn assert_lane(&self) {
        use Rule::*;
        let lane = [
            SetCut,
            SetMalformed,
            SkpLate,
            SkpEarly,
            Scrambling,
            StrayControl,
            PacketCut,
            PacketOutsideL0,
            TooFewTs1,
            TooFewTs2,
            SilenceUnannounced,
            TrainingIgnored,
            CodeError,
        ];
        let counts = self.monitor.counts().keys().copied();
        let others = counts.filter(|(party, rule)| *party == Party::Root || !lane.contains(rule));
        let broken: Vec<_> = others.collect();
        self.assert_only(&broken);
    }

    #[track_caller]
    fn assert_only(&self, allowed: &[(Party, Rule)]) {
        let counts = self.monitor.counts().iter().filter(|(what, _)| !allowed.contains(what));
        let counts: Vec<_> = counts.collect();
        let first: Vec<_> = self.monitor.violations().iter().take(8).map(ToString::to_string).collect();
        assert!(counts.is_empty(), "{counts:?}\n{}\n{:?}", first.join("\n"), self.path);
    }
}
