//! How far a connection is, for who looks on.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Discriminator, Host};

/// Where a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The host's addresses are asked for.
    Resolving,
    /// Peer request: the other side has not asked yet.
    Unmet,
    /// A request is out.
    Asked,
    /// The other end is known, and this one is being made ready.
    Met,
    /// The consumer makes up its mind.
    Pending,
    /// It is accepted; the other side has not said that it is ready.
    Replied,
    /// Both ends are ready.
    Established,
    /// It is over, and the other side has not said that it knows.
    Leaving,
}

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Where it is.
    pub phase: Phase,
    /// The other host, when it is known.
    pub host: Option<Host>,
    /// This side's discriminator.
    pub from: Discriminator,
    /// The other side's.
    pub to: Discriminator,
    /// How often what it says now was repeated.
    pub repeated: u32,
}

/// A host, or that it is not known.
struct Where(Option<Host>);

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Host { ip, .. }) => ip.fmt(f),
            None => f.write_str("the other host"),
        }
    }
}

impl Progress {
    /// What has to happen before it goes on, in words.
    pub fn waits_for(&self) -> String {
        let (host, to, again) = (Where(self.host), self.to, self.repeated);
        match self.phase {
            Phase::Resolving => format!("the addresses of its peer's host (asked {again} times more)"),
            Phase::Unmet => format!("{host}, {to:?} there, to ask it too"),
            Phase::Asked => {
                format!("the answer of {host}, {to:?} there, to its request (repeated {again} times)")
            }
            Phase::Met => "viad, to make it ready".into(),
            Phase::Pending => "its consumer, to accept or reject who asks".into(),
            Phase::Replied => format!("{host}, to say that it is ready (told {again} times more)"),
            Phase::Established => "nothing: it is connected".into(),
            Phase::Leaving => format!("{host}, to say that it knows of the end (told {again} times more)"),
        }
    }
}
