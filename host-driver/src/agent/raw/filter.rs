//! Which frames the raw channel takes, and the register of the NIC that says so.

use viaduct_spec::register::raw_channel;

/// Which frames the channel takes, besides those to the NIC's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Frames to ff:ff:ff:ff:ff:ff.
    pub broadcast: bool,
    /// Frames to all other groups.
    pub multicast: bool,
    /// Frames to anybody.
    pub promiscuous: bool,
}

impl Filter {
    /// The register RAW_CHANNEL of an open channel whose VI has this index.
    pub(super) fn register(self, vi: u16) -> u32 {
        let mut word = [0];
        raw_channel::VI.put(&mut word, vi.into());
        raw_channel::ENABLE.put(&mut word, 1);
        raw_channel::BROADCAST.put(&mut word, self.broadcast.into());
        raw_channel::MULTICAST.put(&mut word, self.multicast.into());
        raw_channel::PROMISCUOUS.put(&mut word, self.promiscuous.into());
        word[0] as u32
    }
}
