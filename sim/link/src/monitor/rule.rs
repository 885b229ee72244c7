//! The rules that the monitor knows, by name.

use std::fmt;

use crate::seam::Cycle;

/// Who broke a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Party {
    /// The endpoint: what comes from it.
    Endpoint,
    /// The root port: what goes to the endpoint.
    Root,
}

impl Party {
    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Endpoint => Self::Root,
            Self::Root => Self::Endpoint,
        }
    }
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A symbol that cannot be decoded. Only a wire can break it.
    CodeError,
    /// An ordered set is sent whole (section 4.2.4).
    SetCut,
    /// A training set has the fields of tables 4-2 and 4-3, a SKP set three SKP (one to five behind a
    /// wire), EIOS three IDL.
    SetMalformed,
    /// A SKP ordered set is due every 1538 symbols at the latest, or when the packet under way has
    /// ended (section 4.2.7.1).
    SkpLate,
    /// There is no more than one SKP ordered set in 1180 symbols on average.
    SkpEarly,
    /// Symbols outside sets and packets are logical idle, scrambled (section 4.2.3).
    Scrambling,
    /// Control symbols stand where framing puts them (section 4.2.2).
    StrayControl,
    /// A packet has no gap, and is sent whole.
    PacketCut,
    /// Packets are sent in L0 only: after TS2 and 16 idle symbols.
    PacketOutsideL0,
    /// Polling.Active sends 1024 TS1.
    TooFewTs1,
    /// TS2 are sent 16 times at least before logical idle.
    TooFewTs2,
    /// EIOS comes before electrical idle in L0 (section 4.2.4.2).
    SilenceUnannounced,
    /// Training sets are answered by training sets.
    TrainingIgnored,
    /// A DLLP has six bytes and a known type, and its reserved bits are 0 (section 3.4.1).
    DllpMalformed,
    /// A DLLP's CRC is right.
    DllpCrc,
    /// A TLP's LCRC is right, or complemented with EDB (section 3.5.2.1).
    Lcrc,
    /// A TLP's length is what its header says.
    TlpMalformed,
    /// A TLP has no more payload than Max_Payload_Size.
    MaxPayload,
    /// New TLPs are numbered in order, and a replay leaves none out.
    Sequence,
    /// At most 2047 TLPs are unacknowledged.
    Unacknowledged,
    /// A replay has a reason: a Nak, Recovery, or REPLAY_TIMER at its limit or later.
    ReplayEarly,
    /// A replay is due when twice the limit of REPLAY_TIMER has passed, or after a Nak.
    ReplayLate,
    /// Ack and Nak name a TLP that has come.
    AckUnsent,
    /// Ack and Nak do not go back.
    AckBackwards,
    /// A TLP is acknowledged within the time of table 3-5, and the packet under way.
    AckLate,
    /// A damaged TLP is answered with a Nak within the same time.
    NakMissing,
    /// A Nak has a reason.
    NakWithoutReason,
    /// InitFC come in sets of three, with the same values each time (section 3.3.1).
    InitOrder,
    /// InitFC come every 34 us at the latest, until InitFC2 has been sent.
    InitLate,
    /// InitFC2 has been sent before the first TLP or UpdateFC.
    BeforeInit,
    /// A TLP has credits (section 2.6.1.2).
    CreditExceeded,
    /// UpdateFC does not go back, and offers no more than 127 headers and 2047 units of data.
    CreditRange,
    /// UpdateFC of finite credits come every 45 us at the latest (30 us and 50 %).
    UpdateLate,
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub cycle: Cycle,
    /// By whom.
    pub party: Party,
    /// Which one.
    pub rule: Rule,
    /// How.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}: {:?} breaks {:?}: {}", self.cycle, self.party, self.rule, self.what)
    }
}
