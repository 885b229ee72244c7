//! Management datagrams that carry a message of communication management.

use viaduct_spec::cm::{
    mad, MAD_BASE_VERSION, MAD_BYTES, MAD_CLASS, MAD_CLASS_VERSION, MAD_METHOD_SEND, MESSAGE_BYTES,
};

use super::{
    message::Message,
    wrong::{need, Wrong},
};

/// A management datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mad {
    /// Which exchange it belongs to.
    pub transaction: u64,
    /// What it says.
    pub message: Message,
}

impl Mad {
    /// From its bytes.
    ///
    /// # Errors
    /// Not 256 bytes, not communication management, a message that is not known.
    pub fn decode(bytes: &[u8]) -> Result<Self, Wrong> {
        let rule = "a MAD has 256 bytes";
        need(bytes.len() == MAD_BYTES, "the MAD's length", bytes.len() as u64, rule)?;
        let get = |member: viaduct_spec::packet::Member| member.get(bytes);
        let version = get(mad::BASE_VERSION);
        need(version == u64::from(MAD_BASE_VERSION), "the MAD's base version", version, "it is 1")?;
        let class = get(mad::CLASS);
        need(class == u64::from(MAD_CLASS), "the MAD's class", class, "7 is communication management")?;
        let version = get(mad::CLASS_VERSION);
        need(version == u64::from(MAD_CLASS_VERSION), "the MAD's class version", version, "it is 2")?;
        let method = get(mad::METHOD);
        need(method == u64::from(MAD_METHOD_SEND), "the MAD's method", method, "3 is Send")?;
        let mut message = [0; MESSAGE_BYTES];
        message.copy_from_slice(&bytes[mad::BYTES..]);
        let message = Message::read(get(mad::ATTRIBUTE) as u16, &message)?;
        Ok(Self { transaction: get(mad::TRANSACTION), message })
    }

    /// Its bytes.
    ///
    /// # Panics
    /// A number in the message that is too wide for its field.
    pub fn encode(&self) -> [u8; MAD_BYTES] {
        let mut bytes = [0; MAD_BYTES];
        mad::BASE_VERSION.put(&mut bytes, MAD_BASE_VERSION.into());
        mad::CLASS.put(&mut bytes, MAD_CLASS.into());
        mad::CLASS_VERSION.put(&mut bytes, MAD_CLASS_VERSION.into());
        mad::METHOD.put(&mut bytes, MAD_METHOD_SEND.into());
        mad::TRANSACTION.put(&mut bytes, self.transaction);
        mad::ATTRIBUTE.put(&mut bytes, self.message.attribute().into());
        let mut message = [0; MESSAGE_BYTES];
        self.message.write(&mut message);
        bytes[mad::BYTES..].copy_from_slice(&message);
        bytes
    }
}
