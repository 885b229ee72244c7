//! What a client asks for.

use rustix::io::Errno;

use super::fields::Fields;
use super::{command, MAX_TRANSFER};

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
