//! The level of electrical idle, filtered.
//!
//! The level glitches and contradicts the data. It counts when it has been the same for eight cycles,
//! and valid data always counts as activity.

use crate::seam::Heard;

/// Cycles for which a level has to stay.
const STEADY: u32 = 8;

/// The filter.
#[derive(Debug, Clone)]
pub struct Electrical {
    quiet: bool,
    /// Cycles in a row that said otherwise.
    against: u32,
}

impl Default for Electrical {
    fn default() -> Self {
        Self { quiet: true, against: 0 }
    }
}

impl Electrical {
    /// The lane is in electrical idle.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A cycle passes.
    pub fn push(&mut self, heard: &Heard) {
        let quiet = heard.idle && heard.symbols.contains(&None);
        self.against = if quiet == self.quiet { 0 } else { self.against + 1 };
        if self.against >= STEADY {
            self.quiet = quiet;
            self.against = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::Symbol;

    #[test]
    fn eight_cycles_count_and_seven_do_not() {
        let data = Heard { symbols: [Some(Symbol::IDLE); 2], idle: false };
        let mut electrical = Electrical::default();
        for (heard, cycles, quiet) in [
            (data, 7, true),
            (Heard::SILENCE, 1, true),
            (data, 8, false),
            (Heard { idle: true, ..data }, 100, false),
            (Heard::SILENCE, 7, false),
            (data, 1, false),
            (Heard::SILENCE, 8, true),
        ] {
            (0..cycles).for_each(|_| electrical.push(&heard));
            assert_eq!(electrical.is_quiet(), quiet);
        }
    }
}
