//! Discriminators: what tells the endpoints of one NIC apart in VIA's addresses.

use std::fmt;

use viaduct_spec::cm::MAX_DISCRIMINATOR;

/// A discriminator: up to [`MAX_DISCRIMINATOR`] bytes of the consumer's choice. Those of different lengths differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct Discriminator {
    length: u8,
    /// 0 behind the length.
    bytes: [u8; MAX_DISCRIMINATOR],
}

/// Longer than a discriminator can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a discriminator of {0} bytes: it has 0 to {MAX_DISCRIMINATOR}")]
pub struct TooLong(pub usize);

impl Discriminator {
    /// The one without bytes.
    pub fn of_nothing() -> Self {
        Self { length: 0, bytes: [0; MAX_DISCRIMINATOR] }
    }

    /// That of a port of rdma_cm's: its two bytes, big-endian.
    pub fn of_port(port: u16) -> Self {
        let mut bytes = [0; MAX_DISCRIMINATOR];
        bytes[..2].copy_from_slice(&port.to_be_bytes());
        Self { length: 2, bytes }
    }

    /// The port that it is: it has two bytes.
    pub fn port(&self) -> Option<u16> {
        (self.length == 2).then(|| u16::from_be_bytes([self.bytes[0], self.bytes[1]]))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl TryFrom<&[u8]> for Discriminator {
    type Error = TooLong;

    fn try_from(from: &[u8]) -> Result<Self, TooLong> {
        let mut bytes = [0; MAX_DISCRIMINATOR];
        bytes.get_mut(..from.len()).ok_or(TooLong(from.len()))?.copy_from_slice(from);
        Ok(Self { length: from.len() as u8, bytes })
    }
}

impl TryFrom<Vec<u8>> for Discriminator {
    type Error = TooLong;

    fn try_from(from: Vec<u8>) -> Result<Self, TooLong> {
        Self::try_from(&from[..])
    }
}

impl From<Discriminator> for Vec<u8> {
    fn from(from: Discriminator) -> Self {
        from.as_bytes().to_vec()
    }
}

impl fmt::Debug for Discriminator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}
