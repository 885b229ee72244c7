//! The vfio-user messages that the client speaks, as bytes (vfio-user protocol 0.x, little-endian).
//!
//! Encoding is infallible; whatever comes back is checked here before anyone uses it.

/// A message header's size in bytes: message id 16, command 16, size 32, flags 32, error 32.
pub const HEADER_BYTES: usize = 16;
/// The longest reply that the client takes. Nothing that it asks for comes near.
pub const MAX_REPLY_BYTES: usize = 64 * 1024;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Command {
    /// Protocol version and capabilities.
    Version = 1,
    /// Lets the device reach memory.
    DmaMap = 2,
    /// Takes memory back.
    DmaUnmap = 3,
    /// What kind of device it is.
    DeviceInfo = 4,
    /// Size and rights of one region.
    RegionInfo = 5,
    /// How many vectors an interrupt has.
    IrqInfo = 7,
    /// Sets the eventfds of vectors.
    SetIrqs = 8,
    /// Reads a region.
    RegionRead = 9,
    /// Writes a region.
    RegionWrite = 10,
    /// Resets the function.
    Reset = 13,
}

/// The header's type field.
const TYPE_MASK: u32 = 0xf;
/// Type: a command.
const TYPE_COMMAND: u32 = 0;
/// Type: a reply.
const TYPE_REPLY: u32 = 1;
/// The sender wants no reply.
const NO_REPLY: u32 = 1 << 4;
/// The command failed; `error` may say why.
const ERROR: u32 = 1 << 5;

/// Region index of configuration space.
pub const CONFIG_REGION: u32 = 7;
/// Regions that a PCI function has at least: six BARs, the ROM, configuration space.
pub const PCI_REGIONS: u32 = 8;
/// The region may be read.
pub const REGION_READ: u32 = 1;
/// The region may be written.
pub const REGION_WRITE: u32 = 2;
/// The region, or what its capabilities say of it, may be mapped: the answer has a file with it.
pub const REGION_MMAP: u32 = 4;
/// Bytes of [`Command::RegionInfo`] without capabilities.
pub const REGION_INFO_BYTES: u32 = 32;
/// Device information flag: a PCI function.
pub const DEVICE_PCI: u32 = 2;
/// The device may read the mapped memory.
pub const DMA_READ: u32 = 1;
/// The device may write the mapped memory.
pub const DMA_WRITE: u32 = 2;

/// Index of the MSI-X interrupt.
pub const IRQ_MSIX: u32 = 2;
/// Interrupt information flag: eventfds are taken.
pub const IRQ_EVENTFD: u32 = 1;
/// Interrupts are set without data: of no vector, that switches them off.
pub const IRQ_NONE: u32 = 1;
/// Interrupts are set by the descriptors that go with the message.
pub const IRQ_DATA_EVENTFD: u32 = 1 << 2;
/// What is set is what the device triggers.
pub const IRQ_TRIGGER: u32 = 1 << 5;
/// Most descriptors that the client sends with a message.
pub const MAX_FILES: usize = 16;

/// A message to the server, header included.
pub fn command(id: u16, command: Command, posted: bool, body: &[&[u8]]) -> Vec<u8> {
    let size = HEADER_BYTES + body.iter().map(|part| part.len()).sum::<usize>();
    let mut message = Vec::with_capacity(size);
    message.extend_from_slice(&id.to_le_bytes());
    message.extend_from_slice(&(command as u16).to_le_bytes());
    message.extend_from_slice(&(size as u32).to_le_bytes());
    message.extend_from_slice(&(TYPE_COMMAND | if posted { NO_REPLY } else { 0 }).to_le_bytes());
    message.extend_from_slice(&0u32.to_le_bytes());
    for part in body {
        message.extend_from_slice(part);
    }
    message
}

/// Body of [`Command::Version`].
pub fn version() -> Vec<u8> {
    let mut body = vec![0, 0, 1, 0];
    body.extend_from_slice(
        br#"{"capabilities":{"max_msg_fds":1,"max_data_xfer_size":4096,"migration":{"pgsize":4096}}}"#,
    );
    body.push(0);
    body
}

/// How many descriptors a message to the server may have, by its answer to [`Command::Version`]: one if
/// it does not say.
pub fn files_taken(answer: &[u8]) -> usize {
    let text = answer.get(4..).and_then(|rest| rest.split(|byte| *byte == 0).next()).unwrap_or_default();
    let said = serde_json::from_slice::<serde_json::Value>(text)
        .ok()
        .and_then(|value| value.pointer("/capabilities/max_msg_fds")?.as_u64());
    said.unwrap_or(1).clamp(1, MAX_FILES as u64) as usize
}

/// Body of [`Command::DmaMap`].
pub fn dma_map(flags: u32, offset: u64, iova: u64, size: u64) -> [u8; 32] {
    let mut body = [0; 32];
    body[0..4].copy_from_slice(&32u32.to_le_bytes());
    body[4..8].copy_from_slice(&flags.to_le_bytes());
    body[8..16].copy_from_slice(&offset.to_le_bytes());
    body[16..24].copy_from_slice(&iova.to_le_bytes());
    body[24..32].copy_from_slice(&size.to_le_bytes());
    body
}

/// Body of [`Command::DmaUnmap`].
pub fn dma_unmap(iova: u64, size: u64) -> [u8; 24] {
    let mut body = [0; 24];
    body[0..4].copy_from_slice(&24u32.to_le_bytes());
    body[8..16].copy_from_slice(&iova.to_le_bytes());
    body[16..24].copy_from_slice(&size.to_le_bytes());
    body
}

/// Body of [`Command::DeviceInfo`].
pub fn device_info() -> [u8; 16] {
    let mut body = [0; 16];
    body[0..4].copy_from_slice(&16u32.to_le_bytes());
    body
}

/// Body of [`Command::RegionInfo`], whose answer may have so many bytes.
pub fn region_info(index: u32, room: u32) -> [u8; 32] {
    let mut body = [0; 32];
    body[0..4].copy_from_slice(&room.to_le_bytes());
    body[8..12].copy_from_slice(&index.to_le_bytes());
    body
}

/// Body of [`Command::IrqInfo`].
pub fn irq_info(index: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[0..4].copy_from_slice(&16u32.to_le_bytes());
    body[8..12].copy_from_slice(&index.to_le_bytes());
    body
}

/// Body of [`Command::SetIrqs`] for the MSI-X vectors `start .. start + count`.
pub fn set_irqs(flags: u32, start: u32, count: u32) -> [u8; 20] {
    let mut body = [0; 20];
    for (at, word) in [20, flags, IRQ_MSIX, start, count].into_iter().enumerate() {
        body[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    body
}

/// Body of [`Command::RegionRead`], and of [`Command::RegionWrite`] before the data.
pub fn region_access(region: u32, offset: u64, count: u32) -> [u8; 16] {
    let mut body = [0; 16];
    body[0..8].copy_from_slice(&offset.to_le_bytes());
    body[8..12].copy_from_slice(&region.to_le_bytes());
    body[12..16].copy_from_slice(&count.to_le_bytes());
    body
}

/// A little-endian 32-bit number at `at`; what is not there reads as an error of the peer.
pub fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(format!("its answer ends before byte {}", at + 4)),
    }
}

/// A little-endian 64-bit number at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    Ok(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at + 4)?) << 32)
}

/// What a reply's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Bytes of body that follow.
    pub body: usize,
    /// The command failed, with this errno (0: none given).
    pub failed: Option<u32>,
}

/// Reads the header of the reply to command `id`. Anything else is an error: there is never more
/// than one command under way, and the server has no reason to send commands of its own.
pub fn reply(header: &[u8; HEADER_BYTES], id: u16, command: Command) -> Result<Reply, String> {
    let first = u32_at(header, 0)?;
    let (got_id, got_command) = (first as u16, (first >> 16) as u16);
    let (size, flags, error) = (u32_at(header, 4)? as usize, u32_at(header, 8)?, u32_at(header, 12)?);
    if flags & TYPE_MASK != TYPE_REPLY || got_id != id || got_command != command as u16 {
        return Err(format!(
            "it sent message {got_id} (command {got_command}, flags {flags:#x}) where the reply to \
             {command:?} {id} was due"
        ));
    }
    if !(HEADER_BYTES..=MAX_REPLY_BYTES).contains(&size) {
        return Err(format!("it announced a reply of {size} bytes to {command:?}"));
    }
    Ok(Reply { body: size - HEADER_BYTES, failed: (flags & ERROR != 0).then_some(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(id: u16, command: u16, size: u32, flags: u32) -> [u8; HEADER_BYTES] {
        let mut h = [0; HEADER_BYTES];
        h[0..2].copy_from_slice(&id.to_le_bytes());
        h[2..4].copy_from_slice(&command.to_le_bytes());
        h[4..8].copy_from_slice(&size.to_le_bytes());
        h[8..12].copy_from_slice(&flags.to_le_bytes());
        h
    }

    #[test]
    fn a_posted_write_is_laid_out_as_the_protocol_says() {
        let access = region_access(2, 0x1008, 8);
        let message = command(0x0102, Command::RegionWrite, true, &[&access, &[1, 2, 3, 4, 5, 6, 7, 8]]);
        assert_eq!(
            message,
            [
                2, 1, 10, 0, 40, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, // header
                8, 0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, // offset, region, count
                1, 2, 3, 4, 5, 6, 7, 8
            ]
        );
    }

    #[test]
    fn a_server_says_how_many_descriptors_it_takes() {
        let ask = |json: &str| files_taken(&[&[0, 0, 1, 0], json.as_bytes(), &[0]].concat());
        assert_eq!(ask(r#"{"capabilities":{"max_msg_fds":8}}"#), 8);
        assert_eq!(ask(r#"{"capabilities":{"max_msg_fds":1000000}}"#), MAX_FILES);
        for silent in [
            "",
            "{}",
            "[1",
            r#"{"capabilities":{"max_msg_fds":-8}}"#,
            r#"{"capabilities":{"max_msg_fds":0}}"#,
        ] {
            assert_eq!(ask(silent), 1, "{silent}");
        }
        assert_eq!(files_taken(&[0, 0]), 1);
    }

    #[test]
    fn only_the_reply_to_the_command_is_taken() {
        let ask = |h| reply(&h, 7, Command::RegionRead);
        assert_eq!(ask(header(7, 9, 40, 1)), Ok(Reply { body: 24, failed: None }));
        assert_eq!(ask(header(7, 9, 16, 0x21)), Ok(Reply { body: 0, failed: Some(0) }));
        for wrong in [
            header(8, 9, 40, 1),                         // another id
            header(7, 10, 40, 1),                        // another command
            header(7, 9, 40, 0),                         // a command
            header(7, 9, 15, 1),                         // shorter than a header
            header(7, 9, MAX_REPLY_BYTES as u32 + 1, 1), // absurdly long
            header(7, 9, u32::MAX, 1),
        ] {
            assert!(ask(wrong).is_err(), "{wrong:?}");
        }
    }
}
