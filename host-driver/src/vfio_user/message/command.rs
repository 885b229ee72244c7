//! What a message is about.

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
    /// The device reads memory: from server to client.
    DmaRead = 11,
    /// The device writes memory: from server to client.
    DmaWrite = 12,
    /// Resets the function.
    Reset = 13,
    /// Writes regions several times.
    RegionWriteMulti = 15,
}

impl Command {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Version,
        Self::DmaMap,
        Self::DmaUnmap,
        Self::DeviceInfo,
        Self::RegionInfo,
        Self::IrqInfo,
        Self::SetIrqs,
        Self::RegionRead,
        Self::RegionWrite,
        Self::DmaRead,
        Self::DmaWrite,
        Self::Reset,
        Self::RegionWriteMulti,
    ];

    /// The command of a number, if we know it.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|command| *command as u16 == number)
    }
}
