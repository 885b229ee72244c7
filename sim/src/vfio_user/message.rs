//! Messages of the vfio-user protocol, version 0.1: a 16-byte header and little-endian structures.
//!
//! Everything here is pure: bytes in, a [`Request`] or an error number out. Nothing that a client
//! sends can make it panic or allocate more than the message is long.

use rustix::io::Errno;
use serde_json::json;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// Most bytes of one region access.
pub const MAX_TRANSFER: usize = 1 << 20;
/// Most bytes of a message; a longer one ends the connection before anything is allocated for it.
pub const MAX_MESSAGE: usize = MAX_TRANSFER + 64;
/// Most file descriptors in a message.
pub const MAX_FDS: usize = 16;
/// Protocol version.
pub const MAJOR: u16 = 0;
/// Newest minor version that we know.
pub const MINOR: u16 = 1;

/// Command numbers.
pub mod command {
    #![allow(missing_docs)]
    pub const VERSION: u16 = 1;
    pub const DMA_MAP: u16 = 2;
    pub const DMA_UNMAP: u16 = 3;
    pub const DEVICE_GET_INFO: u16 = 4;
    pub const DEVICE_GET_REGION_INFO: u16 = 5;
    pub const DEVICE_GET_IRQ_INFO: u16 = 7;
    pub const DEVICE_SET_IRQS: u16 = 8;
    pub const REGION_READ: u16 = 9;
    pub const REGION_WRITE: u16 = 10;
    pub const DMA_READ: u16 = 11;
    pub const DMA_WRITE: u16 = 12;
    pub const DEVICE_RESET: u16 = 13;
    pub const REGION_WRITE_MULTI: u16 = 15;
}

const FLAG_TYPE: u32 = 0xF;
const FLAG_REPLY: u32 = 0x1;
const FLAG_NO_REPLY: u32 = 0x10;
const FLAG_ERROR: u32 = 0x20;
const UNMAP_ALL: u32 = 1 << 2;

/// Flags of DEVICE_SET_IRQS.
pub mod irq {
    #![allow(missing_docs)]
    pub const DATA_NONE: u32 = 1 << 0;
    pub const DATA_BOOL: u32 = 1 << 1;
    pub const DATA_EVENTFD: u32 = 1 << 2;
    pub const ACTION_MASK: u32 = 1 << 3;
    pub const ACTION_UNMASK: u32 = 1 << 4;
    pub const ACTION_TRIGGER: u32 = 1 << 5;
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Comes back in the reply.
    pub id: u16,
    /// See [`command`].
    pub command: u16,
    /// Bytes of the whole message.
    pub size: u32,
    /// Type, no-reply and error bits.
    pub flags: u32,
    /// Error number of a reply.
    pub error: u32,
}

impl Header {
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

    /// The client wants no reply.
    pub fn no_reply(&self) -> bool {
        self.flags & FLAG_NO_REPLY != 0
    }

    /// A reply to this message, header included.
    pub fn reply(&self, body: &[u8]) -> Vec<u8> {
        self.answer(FLAG_REPLY, 0, body)
    }

    /// A reply that says what went wrong: a header only.
    pub fn failure(&self, error: Errno) -> Vec<u8> {
        self.answer(FLAG_REPLY | FLAG_ERROR, error.raw_os_error() as u32, &[])
    }

    fn answer(&self, flags: u32, error: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&self.id.to_le_bytes());
        bytes.extend_from_slice(&self.command.to_le_bytes());
        bytes.extend_from_slice(&((HEADER_BYTES + body.len()) as u32).to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&error.to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }
}

/// A store to a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Region index.
    pub region: u32,
    /// Byte offset.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// What a client asks for. Numbers are as sent: the session checks what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Protocol version and capabilities.
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
        /// Most bytes of data that the client takes in a message, not 0.
        largest: usize,
    },
    /// Memory that the device may reach; its file comes beside the message.
    DmaMap {
        /// The device may read.
        readable: bool,
        /// The device may write.
        writable: bool,
        /// Offset in the file.
        offset: u64,
        /// DMA address.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// Memory taken back.
    DmaUnmap {
        /// Room for the reply.
        argsz: u32,
        /// Flags, to be repeated.
        flags: u32,
        /// DMA address.
        address: u64,
        /// Bytes.
        size: u64,
        /// Everything that is mapped.
        all: bool,
    },
    /// What the device is.
    DeviceInfo,
    /// What a region is.
    RegionInfo {
        /// Region index.
        index: u32,
    },
    /// What an interrupt index is.
    IrqInfo {
        /// Interrupt index.
        index: u32,
    },
    /// Interrupts: eventfds come beside the message.
    SetIrqs {
        /// See [`irq`].
        flags: u32,
        /// Interrupt index.
        index: u32,
        /// First vector.
        start: u32,
        /// Vectors.
        count: u32,
        /// One byte a vector with [`irq::DATA_BOOL`].
        data: Vec<u8>,
    },
    /// A load.
    Read {
        /// Region index.
        region: u32,
        /// Byte offset.
        offset: u64,
        /// Bytes, at most [`MAX_TRANSFER`].
        count: u32,
    },
    /// A store.
    Write(Write),
    /// Several stores of at most 8 bytes.
    WriteMulti(Vec<Write>),
    /// Function reset.
    Reset,
}

impl Request {
    /// From the wire. The error is the number to reply.
    pub fn decode(command: u16, body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        match command {
            command::VERSION => {
                let (major, minor) = (fields.u16()?, fields.u16()?);
                // What follows is optional, but not nonsense.
                let text = fields.0.split(|&byte| byte == 0).next().filter(|text| !text.is_empty());
                let said = text.map(serde_json::from_slice::<serde_json::Value>).transpose();
                let said = said.map_err(|_| Errno::INVAL)?.unwrap_or_default();
                let largest = match said.pointer("/capabilities/max_data_xfer_size") {
                    None => MAX_TRANSFER,
                    Some(size) => size.as_u64().filter(|&size| size != 0).ok_or(Errno::INVAL)? as usize,
                };
                Ok(Self::Version { major, minor, largest: largest.min(MAX_TRANSFER) })
            }
            command::DMA_MAP => {
                let (_argsz, flags) = (fields.u32()?, fields.u32()?);
                let (readable, writable) = (flags & 1 != 0, flags & 2 != 0);
                let (offset, address, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
                if flags & !3 != 0 {
                    return Err(Errno::INVAL);
                }
                Ok(Self::DmaMap { readable, writable, offset, address, size })
            }
            command::DMA_UNMAP => {
                let (argsz, flags) = (fields.u32()?, fields.u32()?);
                let (address, size) = (fields.u64()?, fields.u64()?);
                let all = flags == UNMAP_ALL;
                if flags & !UNMAP_ALL != 0 || all && (address, size) != (0, 0) {
                    return Err(Errno::INVAL);
                }
                Ok(Self::DmaUnmap { argsz, flags, address, size, all })
            }
            command::DEVICE_GET_INFO => {
                fields.u32()?;
                Ok(Self::DeviceInfo)
            }
            command::DEVICE_GET_REGION_INFO => {
                let (argsz, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if argsz < 32 {
                    return Err(Errno::INVAL);
                }
                Ok(Self::RegionInfo { index })
            }
            command::DEVICE_GET_IRQ_INFO => {
                let (argsz, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if argsz < 16 {
                    return Err(Errno::INVAL);
                }
                Ok(Self::IrqInfo { index })
            }
            command::DEVICE_SET_IRQS => {
                let (_argsz, flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                let (start, count) = (fields.u32()?, fields.u32()?);
                Ok(Self::SetIrqs { flags, index, start, count, data: fields.0.to_vec() })
            }
            command::REGION_READ => {
                let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                if count as usize > MAX_TRANSFER {
                    return Err(Errno::INVAL);
                }
                Ok(Self::Read { region, offset, count })
            }
            command::REGION_WRITE => {
                let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                if count as usize != fields.0.len() {
                    return Err(Errno::INVAL);
                }
                Ok(Self::Write(Write { region, offset, data: fields.0.to_vec() }))
            }
            command::REGION_WRITE_MULTI => {
                let count = fields.u64()?;
                if (fields.0.len() as u64) % 24 != 0 || count != fields.0.len() as u64 / 24 {
                    return Err(Errno::INVAL);
                }
                let mut writes = Vec::with_capacity(count as usize);
                while !fields.0.is_empty() {
                    let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                    let data = fields.u64()?.to_le_bytes();
                    let data = data.get(..count as usize).ok_or(Errno::INVAL)?.to_vec();
                    writes.push(Write { region, offset, data });
                }
                Ok(Self::WriteMulti(writes))
            }
            command::DEVICE_RESET => Ok(Self::Reset),
            _ => Err(Errno::NOSYS),
        }
    }
}

/// The protocol's own default: QEMU ends when a server tells of more, whatever the server can hold.
const MAX_MAPS_TOLD: usize = 65_535;
const _: () = assert!(MAX_MAPS_TOLD <= crate::memory::MAX_MAPPINGS);

/// A DMA_READ or DMA_WRITE, header included.
pub fn dma_command(id: u16, command: u16, address: u64, count: usize, data: &[u8]) -> Vec<u8> {
    let mut body = address.to_le_bytes().to_vec();
    body.extend_from_slice(&(count as u64).to_le_bytes());
    body.extend_from_slice(data);
    Header { id, command, size: 0, flags: 0, error: 0 }.answer(0, 0, &body)
}

/// Body of the reply to VERSION.
pub fn version_reply(minor: u16) -> Vec<u8> {
    let capabilities = json!({ "capabilities": {
        "max_msg_fds": MAX_FDS,
        "max_data_xfer_size": MAX_TRANSFER,
        "max_dma_maps": MAX_MAPS_TOLD,
        "pgsizes": crate::memory::PAGE,
        "write_multiple": true,
    }});
    let mut body = Vec::new();
    body.extend_from_slice(&MAJOR.to_le_bytes());
    body.extend_from_slice(&minor.min(MINOR).to_le_bytes());
    body.extend_from_slice(capabilities.to_string().as_bytes());
    body.push(0);
    body
}

/// Numbers as little-endian words, one after the other.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What is left to read of a message.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u16(&mut self) -> Result<u16, Errno> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Errno> {
        self.take().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const HEADER: Header = Header { id: 0x1234, command: command::REGION_READ, size: 0, flags: 0, error: 0 };

    #[test]
    fn a_reply_repeats_the_message_and_counts_itself() {
        let reply = HEADER.reply(&[1, 2, 3]);
        assert_eq!(reply, [0x34, 0x12, 9, 0, 19, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        let failure = HEADER.failure(Errno::INVAL);
        assert_eq!(failure, [0x34, 0x12, 9, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 22, 0, 0, 0]);
        let header = Header::decode(failure[..].try_into().unwrap());
        assert_eq!((header.id, header.error, header.is_command()), (0x1234, 22, false));
    }

    #[test]
    fn a_dma_command_is_laid_out_as_the_protocol_says() {
        let bytes = dma_command(0x0203, command::DMA_WRITE, 0x1_0000_0004, 2, &[7, 8]);
        let header = [3, 2, 12, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[..16], header);
        assert_eq!(bytes[16..], [4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8]);
    }

    #[test]
    fn sizes_that_cannot_be_are_seen_before_anything_is_allocated() {
        let sized = |size| Header { size, ..HEADER }.body();
        assert_eq!(sized(16), Some(0));
        assert_eq!(sized(MAX_MESSAGE as u32), Some(MAX_MESSAGE - 16));
        for size in [0, 1, 15, MAX_MESSAGE as u32 + 1, u32::MAX] {
            assert_eq!(sized(size), None, "{size}");
        }
    }

    #[test]
    fn a_write_must_be_as_long_as_it_says() {
        let mut body = words(&[0x10, 0, 2, 4]);
        body.extend_from_slice(&[9, 8, 7, 6]);
        let write = Write { region: 2, offset: 0x10, data: vec![9, 8, 7, 6] };
        assert_eq!(Request::decode(command::REGION_WRITE, &body), Ok(Request::Write(write)));
        body.pop();
        assert_eq!(Request::decode(command::REGION_WRITE, &body), Err(Errno::INVAL));
        let read = words(&[0, 0, 0, MAX_TRANSFER as u32 + 1]);
        assert_eq!(Request::decode(command::REGION_READ, &read), Err(Errno::INVAL));
    }

    #[test]
    fn several_writes_come_in_one_message() {
        let body = words(&[2, 0, 0x20, 0, 0, 4, 0xAABB_CCDD, 0, 0x28, 0, 2, 8, 1, 2]);
        let Ok(Request::WriteMulti(writes)) = Request::decode(command::REGION_WRITE_MULTI, &body) else {
            panic!("not taken");
        };
        assert_eq!(writes[0], Write { region: 0, offset: 0x20, data: vec![0xDD, 0xCC, 0xBB, 0xAA] });
        assert_eq!(writes[1], Write { region: 2, offset: 0x28, data: vec![1, 0, 0, 0, 2, 0, 0, 0] });
        for bad in [words(&[3, 0, 0, 0, 0, 4, 0, 0]), words(&[1, 0, 0, 0, 0, 9, 0, 0]), words(&[1, 0, 0])] {
            assert_eq!(Request::decode(command::REGION_WRITE_MULTI, &bad), Err(Errno::INVAL));
        }
    }

    #[test]
    fn unknown_commands_and_flags_are_refused() {
        assert_eq!(Request::decode(0, &[]), Err(Errno::NOSYS));
        assert_eq!(Request::decode(11, &[0; 64]), Err(Errno::NOSYS));
        assert_eq!(Request::decode(command::DMA_MAP, &words(&[32, 4, 0, 0, 0, 0, 0, 0])), Err(Errno::INVAL));
        assert_eq!(Request::decode(command::DMA_UNMAP, &words(&[24, 2, 0, 0, 0, 0])), Err(Errno::INVAL));
        assert_eq!(Request::decode(command::DMA_UNMAP, &words(&[24, 4, 1, 0, 0, 0])), Err(Errno::INVAL));
        assert_eq!(Request::decode(command::VERSION, b"\0\0\x01\0{nonsense\0"), Err(Errno::INVAL));
        let bare = Request::decode(command::VERSION, &[0, 0, 1, 0]);
        assert_eq!(bare, Ok(Request::Version { major: 0, minor: 1, largest: MAX_TRANSFER }));
        let sized = |size: &str| {
            let text = format!("\0\0\x01\0{{\"capabilities\":{{\"max_data_xfer_size\":{size}}}}}\0");
            Request::decode(command::VERSION, text.as_bytes())
        };
        assert_eq!(sized("512"), Ok(Request::Version { major: 0, minor: 1, largest: 512 }));
        assert_eq!(sized("9999999999"), Ok(Request::Version { major: 0, minor: 1, largest: MAX_TRANSFER }));
        for size in ["0", "-1", "1.5", "\"1\"", "null"] {
            assert_eq!(sized(size), Err(Errno::INVAL), "{size}");
        }
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error() {
        let seed = 20;
        println!("seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut taken = 0;
        for _ in 0..200_000 {
            let mut body = vec![0u8; random.random_range(0..80)];
            random.fill(&mut body[..]);
            taken += u32::from(Request::decode(random.random_range(0..20), &body).is_ok());
        }
        assert!(taken > 1000, "the bytes are not all refused at the first field: {taken}");
    }
}
