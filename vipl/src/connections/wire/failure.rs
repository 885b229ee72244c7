//! An attempt comes to nothing for one of these reasons.

use viaduct_driver::{
    cm::{CmError, Refusal},
    kernel_agent::connection_agent::ConnectorError,
};

use crate::Error;

/// Why an attempt came to nothing.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// With the other side's private data.
    Refused(Refusal, Vec<u8>),
    /// The other side, or the device, is there no longer.
    Gone,
    /// The VI was disconnected.
    Ended,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal, data) => refused(refusal, data),
            Failure::Gone => Self::NotReachable("the other side any more".into()),
            Failure::Ended => Self::State("was disconnected while it was being connected"),
        }
    }
}

fn refused(refusal: Refusal, data: Vec<u8>) -> Error {
    match refusal {
        Refusal::NoMatch => Error::NoMatch,
        Refusal::Timeout => Error::Timeout,
        Refusal::Unreachable => Error::NotReachable("that host".into()),
        Refusal::Rejected
        | Refusal::Stale
        | Refusal::NoResources
        | Refusal::Mismatch
        | Refusal::Version(_)
        | Refusal::Other(_) => Error::Rejected(data),
    }
}

impl From<ConnectorError> for Error {
    fn from(error: ConnectorError) -> Self {
        match error {
            ConnectorError::Agent(error) => error.into(),
            ConnectorError::Manager(CmError::Gone(_)) => Self::Timeout,
            ConnectorError::Manager(CmError::Data { length, room }) => Self::PrivateData { length, room },
            // A VI of this library's is one that messages can describe.
            ConnectorError::Manager(CmError::Own(_)) => Self::State("cannot be described to a peer"),
            ConnectorError::Manager(CmError::Peer(_)) => Self::Rejected(Vec::new()),
        }
    }
}
