//! What both sides say first: the version of the protocol, and what they can take.

use rustix::io::Errno;
use serde_json::{json, Value};

use super::{fields::Fields, MAX_FILES, MAX_TRANSFER};

/// Version and capabilities of a client, as far as a server needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Major version.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// Most bytes of data that it takes in a message, not 0.
    pub largest: usize,
}

impl Version {
    /// To the wire, with all that is said of capabilities.
    pub fn with(major: u16, minor: u16, capabilities: &Value) -> Vec<u8> {
        let mut body = [major.to_le_bytes(), minor.to_le_bytes()].concat();
        body.extend_from_slice(json!({ "capabilities": capabilities }).to_string().as_bytes());
        body.push(0);
        body
    }

    /// To the wire, of a client that takes one file in a message.
    pub fn body(&self) -> Vec<u8> {
        let capabilities = json!({
            "max_msg_fds": 1,
            "max_data_xfer_size": self.largest,
            "migration": { "pgsize": 4096 },
        });
        Self::with(self.major, self.minor, &capabilities)
    }

    /// From the wire.
    ///
    /// # Errors
    /// It ends too early; what follows the numbers, which is optional, is nonsense.
    pub fn decode(body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        let (major, minor) = (fields.u16()?, fields.u16()?);
        let said = said(fields.0)?;
        let largest = match said.pointer("/capabilities/max_data_xfer_size") {
            None => MAX_TRANSFER,
            Some(size) => size.as_u64().filter(|&size| size != 0).ok_or(Errno::INVAL)? as usize,
        };
        Ok(Self { major, minor, largest: largest.min(MAX_TRANSFER) })
    }
}

/// The text behind the numbers; null where there is none.
fn said(text: &[u8]) -> Result<Value, Errno> {
    let text = text.split(|&byte| byte == 0).next().filter(|text| !text.is_empty());
    text.map_or(Ok(Value::Null), serde_json::from_slice).map_err(|_| Errno::INVAL)
}

/// How many descriptors a message to a server may have, by its reply to VERSION: one if it does not say.
pub fn files_taken(reply: &[u8]) -> usize {
    let said = said(reply.get(4..).unwrap_or_default()).unwrap_or_default();
    let files = said.pointer("/capabilities/max_msg_fds").and_then(Value::as_u64);
    files.unwrap_or(1).clamp(1, MAX_FILES as u64) as usize
}
