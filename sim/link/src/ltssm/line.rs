//! What the LTSSM looks at beside ordered sets.

use crate::seam::Cycle;

/// What the data link layer says about L1 (section 5.3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowPower {
    /// Nothing.
    None,
    /// A downstream port answers PM_Enter_L1: EIOS from the other side means L1.
    Expected,
    /// An upstream port's wish was acknowledged.
    Agreed,
}

/// What a state is left on beside ordered sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The received lane is in electrical idle, filtered.
    pub quiet: bool,
    /// The port has been in electrical idle for so many cycles.
    pub sent_quiet: Cycle,
    /// Receiver detection ended, with this result.
    pub detected: Option<bool>,
    /// About L1.
    pub low_power: LowPower,
}
