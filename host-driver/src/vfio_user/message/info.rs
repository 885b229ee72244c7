//! What a server says of its device, of a region and of an interrupt.

use rustix::io::Errno;

use super::fields::{long_words, words, Fields};

/// Region index of configuration space, as Linux numbers regions for PCI: six BARs, the ROM, configuration space, VGA.
pub const CONFIG_REGION: u32 = 7;

/// The reply to DEVICE_GET_INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Bits of what it is.
    pub flags: u32,
    /// Regions.
    pub regions: u32,
    /// Interrupt indices.
    pub irqs: u32,
}

impl DeviceInfo {
    /// Bytes on the wire.
    pub const BYTES: u32 = 16;
    /// It can be reset.
    pub const RESET: u32 = 1 << 0;
    /// It is a PCI function.
    pub const PCI: u32 = 1 << 1;

    /// To the wire.
    pub fn body(&self) -> Vec<u8> {
        words(&[Self::BYTES, self.flags, self.regions, self.irqs])
    }

    /// From the wire.
    ///
    /// # Errors
    /// It ends too early.
    pub fn decode(body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        fields.u32()?;
        Ok(Self { flags: fields.u32()?, regions: fields.u32()?, irqs: fields.u32()? })
    }
}

/// The reply to DEVICE_GET_REGION_INFO, without capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionInfo {
    /// Bytes of all that is to be said of it, capabilities included.
    pub room: u32,
    /// Bits of what may be done.
    pub flags: u32,
    /// Region index.
    pub index: u32,
    /// Bytes.
    pub size: u64,
}

impl RegionInfo {
    /// Bytes on the wire, without capabilities.
    pub const BYTES: u32 = 32;
    /// It may be read.
    pub const READ: u32 = 1 << 0;
    /// It may be written.
    pub const WRITE: u32 = 1 << 1;
    /// It, or what its capabilities say of it, may be mapped: the reply has a file with it.
    pub const MMAP: u32 = 1 << 2;

    /// To the wire: no capabilities, and offset 0 in no file.
    pub fn body(&self) -> Vec<u8> {
        [words(&[self.room, self.flags, self.index, 0]), long_words(&[self.size, 0])].concat()
    }

    /// From the wire.
    ///
    /// # Errors
    /// It ends too early.
    pub fn decode(body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        let (room, flags, index) = (fields.u32()?, fields.u32()?, fields.u32()?);
        fields.u32()?;
        Ok(Self { room, flags, index, size: fields.u64()? })
    }
}

/// The reply to DEVICE_GET_IRQ_INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IrqInfo {
    /// Bits of how it is signalled.
    pub flags: u32,
    /// Interrupt index.
    pub index: u32,
    /// Vectors.
    pub count: u32,
}

impl IrqInfo {
    /// Bytes on the wire.
    pub const BYTES: u32 = 16;
    /// Eventfds are taken.
    pub const EVENTFD: u32 = 1 << 0;
    /// Their number stays as it was set first.
    pub const NO_RESIZE: u32 = 1 << 3;

    /// To the wire.
    pub fn body(&self) -> Vec<u8> {
        words(&[Self::BYTES, self.flags, self.index, self.count])
    }

    /// From the wire.
    ///
    /// # Errors
    /// It ends too early.
    pub fn decode(body: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields(body);
        fields.u32()?;
        Ok(Self { flags: fields.u32()?, index: fields.u32()?, count: fields.u32()? })
    }
}
