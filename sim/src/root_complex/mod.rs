//! The root complex of one NIC.

pub mod config_space;
pub mod msix;

/// How a root complex behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Cycles from a read request at the NIC's edge to its first completion there.
    pub round_trip: u64,
    /// Max_Payload_Size as enumeration sets it, encoded 128 << n.
    pub max_payload: u8,
    /// Max_Read_Request_Size as enumeration sets it, encoded 128 << n.
    pub max_read: u8,
    /// Read completion boundary in bytes: 64 or 128.
    pub rcb: u32,
    /// Tags of 8 bits.
    pub extended_tag: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { round_trip: 62, max_payload: 1, max_read: 2, rcb: 64, extended_tag: true }
    }
}
