//! What system software sets in the function's configuration space, as the root complex shows it.

use viaduct_spec::config_space::{
    device_control, link_control, msix, pci_command, COMMAND, DEVICE_CONTROL, LINK_CONTROL, MSIX,
};

use crate::nic::NicIn;

/// The registers that the platform writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    command: u32,
    /// Device Control.
    pub device: u32,
    link: u32,
    msix: u32,
}

impl Settings {
    /// What the root complex shows to a NIC at its edge.
    pub fn of(input: &NicIn) -> Self {
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        Self {
            command: pci_command::MEMORY.ones() | bit(input.cfg_bus_master, pci_command::MASTER.ones()),
            device: device_control::RELAXED.ones()
                | device_control::NO_SNOOP.ones()
                | u32::from(input.cfg_max_payload) << device_control::MAX_PAYLOAD.lo
                | u32::from(input.cfg_max_read) << device_control::MAX_READ.lo
                | bit(input.cfg_extended_tag, device_control::EXTENDED_TAG.ones()),
            link: bit(input.cfg_rcb, link_control::RCB_128.ones()),
            msix: bit(input.cfg_msix_enable, msix::ENABLE.ones())
                | bit(input.cfg_msix_mask, msix::MASK.ones()),
        }
    }

    /// What has to be written where all is as `before` says; where nothing is known, everything.
    pub fn changes(&self, before: Option<&Self>) -> impl Iterator<Item = (u16, u32)> {
        let now = self.rows();
        let before = before.map(Self::rows);
        (0..now.len()).filter(move |&n| before.is_none_or(|before| before[n] != now[n])).map(move |n| now[n])
    }

    fn rows(&self) -> [(u16, u32); 4] {
        [(COMMAND, self.command), (DEVICE_CONTROL, self.device), (LINK_CONTROL, self.link), (MSIX, self.msix)]
    }
}

/// Max_Payload_Size in bytes that a value of Device Control sets.
pub fn max_payload(device: u32) -> u32 {
    128 << (device >> device_control::MAX_PAYLOAD.lo & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_written_and_all_of_it_where_nothing_is_known() {
        let before = Settings::of(&NicIn { cfg_max_payload: 1, ..NicIn::default() });
        let now = Settings::of(&NicIn { cfg_max_payload: 1, cfg_bus_master: true, ..NicIn::default() });
        assert_eq!(max_payload(now.device), 256);
        assert_eq!(now.changes(Some(&before)).collect::<Vec<_>>(), [(COMMAND, 6)]);
        assert_eq!(now.changes(Some(&now)).count(), 0);
        assert_eq!(now.changes(None).count(), 4);
    }
}
