//! What a port of a later revision says on a link that runs at 2.5 GT/s.

/// The generation that a port is of. The link runs at 2.5 GT/s with either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Generation {
    /// 2.5 GT/s: what revision 1.1 knows, and no more.
    #[default]
    First,
    /// 32 GT/s: its training sets name all five rates and, on the way to L0, its Enhanced Link Behavior; it sends Data Link Feature
    /// until the other side's InitFC1 comes (revision 6.3, section 3.3); its REPLAY_TIMER has one limit for every Max_Payload_Size
    /// (section 3.6.2.1).
    Fifth,
}

impl Generation {
    /// Data rate identifier of its training sets.
    pub const fn rate(self) -> u8 {
        match self {
            Self::First => 0x02,
            Self::Fifth => 0x3E,
        }
    }

    /// Control bits of its training sets in Polling and Configuration.
    pub const fn control(self) -> u8 {
        match self {
            Self::First => 0,
            Self::Fifth => 0xC0,
        }
    }

    /// Shortest and longest REPLAY_TIMER in symbols, if that of revision 1.1 does not hold.
    pub const fn replay_limits(self) -> Option<(u32, u32)> {
        match self {
            Self::First => None,
            Self::Fifth => Some((24_000, 31_000)),
        }
    }
}
