//! The specification's table of formats and types (chapter 2.2.1), written out.

/// What a TLP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Memory read.
    Read,
    /// Memory write.
    Write,
    /// Completion, of a locked read or not.
    Completion,
    /// Configuration read or write of type 0.
    Configuration,
    /// I/O, configuration of type 1 or trusted: one double word.
    Single,
    /// Another request that must be answered: locked reads, atomic operations.
    Other,
    /// Message.
    Message,
}

/// What a TLP with this first byte is; `None`: there is none.
pub fn kind_of(byte: u8) -> Option<Kind> {
    Some(match byte {
        0x00 | 0x20 => Kind::Read,
        0x40 | 0x60 => Kind::Write,
        0x01 | 0x21 => Kind::Other,
        0x02 | 0x42 | 0x05 | 0x45 | 0x1B | 0x5B => Kind::Single,
        0x04 | 0x44 => Kind::Configuration,
        0x0A | 0x4A | 0x0B | 0x4B => Kind::Completion,
        0x4C | 0x6C | 0x4D | 0x6D | 0x4E | 0x6E => Kind::Other,
        0x30..=0x37 | 0x70..=0x77 => Kind::Message,
        _ => return None,
    })
}
