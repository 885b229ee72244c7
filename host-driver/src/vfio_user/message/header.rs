//! The header of a message, and messages with one.

use rustix::io::Errno;

use super::{fields::Fields, Command, HEADER_BYTES, MAX_MESSAGE};

const FLAG_TYPE: u32 = 0xF;
const FLAG_REPLY: u32 = 0x1;
const FLAG_NO_REPLY: u32 = 0x10;
const FLAG_ERROR: u32 = 0x20;

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Comes back in the reply.
    pub id: u16,
    /// Number of a [`Command`], of one that is not known perhaps.
    pub command: u16,
    /// Bytes of the whole message, as it came.
    pub size: u32,
    /// Type, no-reply and error bits.
    pub flags: u32,
    /// Error number of a reply.
    pub error: u32,
}

impl Header {
    /// Of a command, to which a reply is wanted unless it is `posted`.
    pub fn command(id: u16, command: Command, posted: bool) -> Self {
        let flags = if posted { FLAG_NO_REPLY } else { 0 };
        Self { id, command: command as u16, size: 0, flags, error: 0 }
    }

    /// From the wire.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Self {
        let mut fields = Fields(bytes);
        // A header has its 16 bytes, so no field is missing.
        Self {
            id: fields.u16().unwrap_or(0),
            command: fields.u16().unwrap_or(0),
            size: fields.u32().unwrap_or(0),
            flags: fields.u32().unwrap_or(0),
            error: fields.u32().unwrap_or(0),
        }
    }

    /// Bytes behind the header, if the size is one that we take.
    pub fn body(&self) -> Option<usize> {
        (self.size as usize).checked_sub(HEADER_BYTES).filter(|_| self.size as usize <= MAX_MESSAGE)
    }

    /// The message is a command, not a reply.
    pub fn is_command(&self) -> bool {
        self.flags & FLAG_TYPE == 0
    }

    /// The message is a reply.
    pub fn is_reply(&self) -> bool {
        self.flags & FLAG_TYPE == FLAG_REPLY
    }

    /// The reply says that the command failed.
    pub fn is_failure(&self) -> bool {
        self.flags & FLAG_ERROR != 0
    }

    /// The sender wants no reply.
    pub fn no_reply(&self) -> bool {
        self.flags & FLAG_NO_REPLY != 0
    }

    /// The message with this header, whatever `size` says, and this body.
    pub fn message(&self, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&self.id.to_le_bytes());
        bytes.extend_from_slice(&self.command.to_le_bytes());
        bytes.extend_from_slice(&((HEADER_BYTES + body.len()) as u32).to_le_bytes());
        bytes.extend_from_slice(&self.flags.to_le_bytes());
        bytes.extend_from_slice(&self.error.to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    /// A reply to this message, header included.
    pub fn reply(&self, body: &[u8]) -> Vec<u8> {
        Self { flags: FLAG_REPLY, error: 0, ..*self }.message(body)
    }

    /// A reply that says what went wrong: a header only.
    pub fn failure(&self, error: Errno) -> Vec<u8> {
        let error = error.raw_os_error() as u32;
        Self { flags: FLAG_REPLY | FLAG_ERROR, error, ..*self }.message(&[])
    }
}
