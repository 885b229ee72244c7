//! What a client asks for.

use rustix::io::Errno;

use super::fields::{long_words, words, Fields};
use super::{Command, DeviceInfo, IrqInfo, RegionInfo, Version, MAX_TRANSFER};

/// DMA_UNMAP: everything that is mapped.
const UNMAP_ALL: u32 = 1 << 2;
/// DMA_MAP: the device may read.
const READABLE: u32 = 1 << 0;
/// DMA_MAP: the device may write.
const WRITABLE: u32 = 1 << 1;
/// Bytes of one write of several.
const ONE_OF_SEVERAL: usize = 24;

/// A store to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write<'a> {
    /// Region index.
    pub region: u32,
    /// Byte offset.
    pub offset: u64,
    /// The bytes.
    pub data: &'a [u8],
}

impl Write<'_> {
    /// What the reply repeats.
    pub fn place(&self) -> Vec<u8> {
        access(self.region, self.offset, self.data.len() as u32)
    }
}

/// What a client asks for. Numbers are as sent: the server checks what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request<'a> {
    /// Protocol version and capabilities.
    Version(Version),
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
    /// Memory taken back. The reply repeats the request, with the bytes that were taken back.
    DmaUnmap {
        /// DMA address.
        address: u64,
        /// Bytes.
        size: u64,
        /// Everything that is mapped; address and size are 0.
        all: bool,
    },
    /// What the device is.
    DeviceInfo,
    /// What a region is.
    RegionInfo {
        /// Bytes that the reply may have.
        room: u32,
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
        /// See [`irq`](super::irq).
        flags: u32,
        /// Interrupt index.
        index: u32,
        /// First vector.
        start: u32,
        /// Vectors.
        count: u32,
        /// One byte a vector with [`irq::DATA_BOOL`](super::irq::DATA_BOOL).
        data: &'a [u8],
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
    Write(Write<'a>),
    /// Several stores of at most 8 bytes.
    WriteMulti(Vec<Write<'a>>),
    /// Function reset.
    Reset,
}

impl<'a> Request<'a> {
    /// Its command.
    pub fn command(&self) -> Command {
        match self {
            Self::Version(_) => Command::Version,
            Self::DmaMap { .. } => Command::DmaMap,
            Self::DmaUnmap { .. } => Command::DmaUnmap,
            Self::DeviceInfo => Command::DeviceInfo,
            Self::RegionInfo { .. } => Command::RegionInfo,
            Self::IrqInfo { .. } => Command::IrqInfo,
            Self::SetIrqs { .. } => Command::SetIrqs,
            Self::Read { .. } => Command::RegionRead,
            Self::Write(_) => Command::RegionWrite,
            Self::WriteMulti(_) => Command::RegionWriteMulti,
            Self::Reset => Command::Reset,
        }
    }

    /// To the wire: what follows the header.
    pub fn body(&self) -> Vec<u8> {
        match *self {
            Self::Version(version) => version.body(),
            Self::DmaMap { readable, writable, offset, address, size } => {
                let flags = (u32::from(readable) * READABLE) | (u32::from(writable) * WRITABLE);
                [words(&[32, flags]), long_words(&[offset, address, size])].concat()
            }
            Self::DmaUnmap { address, size, all } => {
                [words(&[24, u32::from(all) * UNMAP_ALL]), long_words(&[address, size])].concat()
            }
            Self::DeviceInfo => words(&[DeviceInfo::BYTES, 0, 0, 0]),
            Self::RegionInfo { room, index } => words(&[room, 0, index, 0, 0, 0, 0, 0]),
            Self::IrqInfo { index } => words(&[IrqInfo::BYTES, 0, index, 0]),
            Self::SetIrqs { flags, index, start, count, data } => {
                [&words(&[20 + data.len() as u32, flags, index, start, count]), data].concat()
            }
            Self::Read { region, offset, count } => access(region, offset, count),
            Self::Write(write) => [&write.place(), write.data].concat(),
            Self::WriteMulti(ref writes) => {
                let mut body = long_words(&[writes.len() as u64]);
                for write in writes {
                    let mut data = [0; 8];
                    data[..write.data.len()].copy_from_slice(write.data);
                    body.extend(write.place());
                    body.extend_from_slice(&data);
                }
                body
            }
            Self::Reset => Vec::new(),
        }
    }

    /// From the wire.
    ///
    /// # Errors
    /// The number to reply.
    pub fn decode(command: u16, body: &'a [u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        match Command::of(command).ok_or(Errno::NOSYS)? {
            Command::Version => Version::decode(body).map(Self::Version),
            Command::DmaMap => {
                let (_argsz, flags) = (fields.u32()?, fields.u32()?);
                let (readable, writable) = (flags & READABLE != 0, flags & WRITABLE != 0);
                let (offset, address, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
                if flags & !(READABLE | WRITABLE) != 0 {
                    return Err(Errno::INVAL);
                }
                Ok(Self::DmaMap { readable, writable, offset, address, size })
            }
            Command::DmaUnmap => {
                let (_argsz, flags) = (fields.u32()?, fields.u32()?);
                let (address, size) = (fields.u64()?, fields.u64()?);
                let all = flags == UNMAP_ALL;
                if flags & !UNMAP_ALL != 0 || all && (address, size) != (0, 0) {
                    return Err(Errno::INVAL);
                }
                Ok(Self::DmaUnmap { address, size, all })
            }
            Command::DeviceInfo => {
                fields.u32()?;
                Ok(Self::DeviceInfo)
            }
            Command::RegionInfo => {
                let (room, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if room < RegionInfo::BYTES {
                    return Err(Errno::INVAL);
                }
                Ok(Self::RegionInfo { room, index })
            }
            Command::IrqInfo => {
                let (argsz, _flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                if argsz < IrqInfo::BYTES {
                    return Err(Errno::INVAL);
                }
                Ok(Self::IrqInfo { index })
            }
            Command::SetIrqs => {
                let (_argsz, flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
                let (start, count) = (fields.u32()?, fields.u32()?);
                Ok(Self::SetIrqs { flags, index, start, count, data: fields.0 })
            }
            Command::RegionRead => {
                let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                if count as usize > MAX_TRANSFER {
                    return Err(Errno::INVAL);
                }
                Ok(Self::Read { region, offset, count })
            }
            Command::RegionWrite => {
                let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                if count as usize != fields.0.len() {
                    return Err(Errno::INVAL);
                }
                Ok(Self::Write(Write { region, offset, data: fields.0 }))
            }
            Command::RegionWriteMulti => {
                let count = fields.u64()?;
                if fields.0.len() % ONE_OF_SEVERAL != 0 || count != (fields.0.len() / ONE_OF_SEVERAL) as u64 {
                    return Err(Errno::INVAL);
                }
                let mut writes = Vec::with_capacity(count as usize);
                while !fields.0.is_empty() {
                    let (offset, region, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                    let data = fields.bytes(8)?.get(..count as usize).ok_or(Errno::INVAL)?;
                    writes.push(Write { region, offset, data });
                }
                Ok(Self::WriteMulti(writes))
            }
            Command::Reset => Ok(Self::Reset),
            // The server's own.
            Command::DmaRead | Command::DmaWrite => Err(Errno::NOSYS),
        }
    }
}

/// Where an access is.
fn access(region: u32, offset: u64, count: u32) -> Vec<u8> {
    [long_words(&[offset]), words(&[region, count])].concat()
}
