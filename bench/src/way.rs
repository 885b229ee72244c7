//! Ways of a message.

/// How bytes get from one host to the other. The first host posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It sends, the other receives.
    Send,
    /// It writes into the other's memory.
    Write,
    /// It reads the other's memory.
    Read,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Send, Self::Write, Self::Read];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}
