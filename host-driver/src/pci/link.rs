//! The PCI Express link of a function, and its power, as sysfs shows them.

use std::path::Path;

use serde::Serialize;

use super::text;

/// The link between a function and the port above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PciLink {
    /// Rate of a lane now: `2.5 GT/s PCIe`.
    pub speed: String,
    /// Lanes now.
    pub width: u32,
    /// The highest rate that the function can do.
    pub max_speed: String,
    /// Most lanes that it has.
    pub max_width: u32,
}

impl PciLink {
    /// None where the function says nothing of a link.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let get = |name: &str| text(folder.join(name));
        Some(Self {
            speed: get("current_link_speed")?,
            width: get("current_link_width")?.parse().ok()?,
            max_speed: get("max_link_speed")?,
            max_width: get("max_link_width")?.parse().ok()?,
        })
    }

    /// Whether it is as fast and as wide as the function can.
    pub fn is_full(&self) -> bool {
        self.speed == self.max_speed && self.width == self.max_width
    }
}
