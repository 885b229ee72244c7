//! The function's configuration space (PCI Express Base Specification 1.1, chapter 7): one table for the simulator, the model and the
//! endpoint.
//!
//! [`TABLE`] has a row for each double word that is not 0 or can be written. All others read as 0, and ignore what is written.
//! Bits are numbers of the double word: a register of 16 bits at offset 2 of it has its bit 0 in bit 16.
//!
//! Three rules are not in the columns:
//! - a write of a power state that there is not (D1, D2) leaves [`POWER_CONTROL`]'s byte alone;
//! - [`device_control::FUNCTION_RESET`] reads as 0, and a 1 that is written resets the function;
//! - the bits in [`Word::platform`] are software's on a link. Where a platform stands between (vfio-user), they are the platform's, and
//!   what a driver writes there does nothing.

use crate::layout;
use crate::profile::{BAR2_BYTES, VECTORS};
use crate::register::{BAR0_BYTES, MSIX_PENDING, MSIX_TABLE, PCI_DEVICE, PCI_VENDOR};

/// Size of a PCI Express function's configuration space in bytes.
pub const CONFIG_BYTES: usize = 4096;

/// A double word of the configuration space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Byte offset, a multiple of 4.
    pub offset: u16,
    /// The registers in it, the lowest first.
    pub name: &'static str,
    /// Section of the specification.
    pub section: &'static str,
    /// Value after power-up and after a conventional reset.
    pub reset: u32,
    /// Bits that keep what software writes.
    pub writable: u32,
    /// Bits that the function sets, and that software clears by writing a 1.
    pub clearable: u32,
    /// Of the writable bits, those that a platform keeps to itself.
    pub platform: u32,
    /// Of the writable bits, those that a function-level reset leaves alone.
    pub kept: u32,
    /// What is not plain about it.
    pub doc: &'static str,
}

impl Word {
    const fn fixed(offset: u16, name: &'static str, section: &'static str, reset: u32) -> Self {
        Self { offset, name, section, reset, writable: 0, clearable: 0, platform: 0, kept: 0, doc: "" }
    }

    /// What the double word holds after a write of `data`, of which the bits in `enabled` count.
    pub const fn written(&self, before: u32, data: u32, enabled: u32) -> u32 {
        let power = 0xFF & enabled != 0 && self.offset == POWER_CONTROL && !power_state_exists(data);
        let enabled = if power { enabled & !0xFF } else { enabled };
        let kept = before & !(self.writable & enabled);
        (kept | data & self.writable & enabled) & !(data & self.clearable & enabled)
    }

    /// What the double word holds after a function-level reset.
    pub const fn after_function_reset(&self, before: u32) -> u32 {
        before & self.kept | self.reset & !self.kept
    }
}

/// Whether the power state in the low bits of [`POWER_CONTROL`] is one that there is: D0 or D3hot.
pub const fn power_state_exists(control: u32) -> bool {
    let state = control & power_control::STATE.ones();
    state == 0 || state == power_control::STATE.ones()
}

/// The row of a double word, if it has one.
pub fn word(offset: u16) -> Option<&'static Word> {
    TABLE.iter().find(|word| word.offset == offset)
}

/// Command and Status.
pub const COMMAND: u16 = 0x04;
/// Cache Line Size, and what is read only beside it.
pub const CACHE_LINE: u16 = 0x0C;
/// Base Address Register 0.
pub const BAR0: u16 = 0x10;
/// Base Address Register 2, low half.
pub const BAR2: u16 = 0x18;
/// Base Address Register 2, high half.
pub const BAR2_HIGH: u16 = 0x1C;
/// Interrupt Line.
pub const INTERRUPT_LINE: u16 = 0x3C;
/// The power management capability.
pub const POWER: u16 = 0x40;
/// Power Management Control and Status.
pub const POWER_CONTROL: u16 = POWER + 4;
/// The PCI Express capability.
pub const EXPRESS: u16 = 0x50;
/// Device Capabilities.
pub const DEVICE_CAPABILITIES: u16 = EXPRESS + 0x04;
/// Device Control and Device Status.
pub const DEVICE_CONTROL: u16 = EXPRESS + 0x08;
/// Link Capabilities.
pub const LINK_CAPABILITIES: u16 = EXPRESS + 0x0C;
/// Link Control and Link Status.
pub const LINK_CONTROL: u16 = EXPRESS + 0x10;
/// The MSI-X capability, with Message Control in the high half.
pub const MSIX: u16 = 0x90;

layout! {
    /// The double word at COMMAND.
    pci_command: 32 {
        /// Memory Space Enable.
        MEMORY: 1, 1;
        /// Bus Master Enable.
        MASTER: 2, 1;
        /// Parity Error Response: it changes nothing.
        PARITY: 6, 1;
        /// SERR# Enable: it changes nothing.
        SERR: 8, 1;
        /// Interrupt Disable: there is no interrupt pin.
        NO_INTERRUPT: 10, 1;
        /// Status: there is a capability list.
        CAPABILITIES: 20, 1;
    }
}

layout! {
    /// The double word at POWER_CONTROL.
    power_control: 32 {
        /// Power state: 0 is D0, 3 is D3hot.
        STATE: 0, 2;
        /// What a function keeps in D3hot comes back with it: No_Soft_Reset.
        NO_SOFT_RESET: 3, 1;
    }
}

layout! {
    /// The double word at DEVICE_CONTROL.
    device_control: 32 {
        /// Enable Relaxed Ordering: on after a reset, as the specification has it. The NIC does not ask for it.
        RELAXED: 4, 1;
        /// Max_Payload_Size, encoded 128 << n.
        MAX_PAYLOAD: 5, 3;
        /// Extended Tag Field Enable.
        EXTENDED_TAG: 8, 1;
        /// Enable No Snoop: on after a reset, as the specification has it. The NIC does not ask for it.
        NO_SNOOP: 11, 1;
        /// Max_Read_Request_Size, encoded 128 << n.
        MAX_READ: 12, 3;
        /// Initiate Function Level Reset.
        FUNCTION_RESET: 15, 1;
        /// Device Status: Correctable Error Detected. A non-posted request that is refused counts as one (role-based error reporting).
        CORRECTABLE: 16, 1;
        /// Device Status: Non-Fatal Error Detected.
        NON_FATAL: 17, 1;
        /// Device Status: Fatal Error Detected.
        FATAL: 18, 1;
        /// Device Status: Unsupported Request Detected.
        UNSUPPORTED: 19, 1;
    }
}

layout! {
    /// The double word at LINK_CONTROL.
    link_control: 32 {
        /// Read Completion Boundary: 128 bytes.
        RCB_128: 3, 1;
    }
}

layout! {
    /// The double word at MSIX.
    msix: 32 {
        /// Function Mask.
        MASK: 30, 1;
        /// MSI-X Enable.
        ENABLE: 31, 1;
    }
}

/// Largest Max_Payload_Size that the NIC takes and makes, encoded 128 << n.
pub const MAX_PAYLOAD_SUPPORTED: u32 = 1;
/// Largest Max_Read_Request_Size that there is, encoded 128 << n.
pub const MAX_READ_LARGEST: u32 = 5;

/// BAR 2 is of 64 bits. Neither BAR is prefetchable: stores to doorbells must not be merged.
const BAR_64: u32 = 0b100;
/// 2.5 GT/s, one lane: in Link Capabilities, and in Link Status.
const LINK: u32 = 0x11;
/// ASPM Optionality Compliance: that no active state power management is offered is meant so.
const ASPM_OPTIONAL: u32 = 1 << 22;

const fn id() -> u32 {
    (PCI_DEVICE as u32) << 16 | PCI_VENDOR as u32
}

/// All double words that are not 0 or can be written, by offset.
pub const TABLE: [Word; 20] = [
    Word::fixed(0x00, "Vendor ID, Device ID", "7.5.1", id()),
    Word {
        writable: pci_command::MEMORY.ones()
            | pci_command::MASTER.ones()
            | pci_command::PARITY.ones()
            | pci_command::SERR.ones()
            | pci_command::NO_INTERRUPT.ones(),
        doc: "In D3hot neither Memory Space nor Bus Master counts.",
        ..Word::fixed(COMMAND, "Command, Status", "7.5.1.1", pci_command::CAPABILITIES.ones())
    },
    // Class: network controller, other.
    Word::fixed(0x08, "Revision ID, Class Code", "7.5.1", 0x0280_0000),
    Word { writable: 0xFF, ..Word::fixed(CACHE_LINE, "Cache Line Size", "7.5.1.3", 0) },
    Word {
        writable: !(BAR0_BYTES as u32 - 1),
        doc: "32 bits, not prefetchable.",
        ..Word::fixed(BAR0, "Base Address 0", "7.5.2.1", 0)
    },
    Word {
        writable: !(BAR2_BYTES as u32 - 1),
        doc: "64 bits, not prefetchable.",
        ..Word::fixed(BAR2, "Base Address 2", "7.5.2.1", BAR_64)
    },
    Word { writable: !0, ..Word::fixed(BAR2_HIGH, "Base Address 2, high half", "7.5.2.1", 0) },
    Word::fixed(0x2C, "Subsystem Vendor ID, Subsystem ID", "7.5.2", id()),
    Word::fixed(0x34, "Capabilities Pointer", "7.5.2", POWER as u32),
    Word {
        writable: 0xFF,
        doc: "There is no interrupt pin.",
        ..Word::fixed(INTERRUPT_LINE, "Interrupt Line", "7.5.1.5", 0)
    },
    // Version 3. Linux' vfio-pci sends a function that nobody has open to D3hot, and who emulates one (QEMU) takes its word for the state.
    Word::fixed(POWER, "Power Management Capabilities", "7.6", 3 << 16 | (EXPRESS as u32) << 8 | 0x01),
    Word {
        writable: power_control::STATE.ones(),
        doc: "D0 and D3hot; a write of another state leaves the byte alone.",
        ..Word::fixed(
            POWER_CONTROL,
            "Power Management Control and Status",
            "7.6",
            power_control::NO_SOFT_RESET.ones(),
        )
    },
    // Version 2, endpoint.
    Word::fixed(EXPRESS, "PCI Express Capabilities", "7.8.2", 2 << 16 | (MSIX as u32) << 8 | 0x10),
    // Extended tags, role-based error reporting, function-level reset.
    Word::fixed(
        DEVICE_CAPABILITIES,
        "Device Capabilities",
        "7.8.3",
        MAX_PAYLOAD_SUPPORTED | 1 << 5 | 1 << 15 | 1 << 28,
    ),
    Word {
        writable: 0x7FFF,
        clearable: device_control::CORRECTABLE.ones()
            | device_control::NON_FATAL.ones()
            | device_control::FATAL.ones()
            | device_control::UNSUPPORTED.ones(),
        kept: 7 << device_control::MAX_PAYLOAD.lo,
        doc: "Initiate Function Level Reset reads as 0.",
        ..Word::fixed(
            DEVICE_CONTROL,
            "Device Control, Device Status",
            "7.8.4",
            device_control::RELAXED.ones()
                | device_control::NO_SNOOP.ones()
                | 2 << device_control::MAX_READ.lo,
        )
    },
    Word::fixed(LINK_CAPABILITIES, "Link Capabilities", "7.8.6", LINK | ASPM_OPTIONAL),
    Word {
        writable: 0xC3 | link_control::RCB_128.ones(),
        platform: link_control::RCB_128.ones(),
        kept: 0xC3 | link_control::RCB_128.ones(),
        doc: "The read completion boundary is the root complex's.",
        ..Word::fixed(LINK_CONTROL, "Link Control, Link Status", "7.8.7", LINK << 16)
    },
    Word {
        writable: msix::ENABLE.ones() | msix::MASK.ones(),
        platform: msix::ENABLE.ones() | msix::MASK.ones(),
        doc: "Under Linux the kernel enables what has an eventfd.",
        ..Word::fixed(MSIX, "MSI-X Message Control", "PCI 3.0, 6.8.2", (VECTORS as u32 - 1) << 16 | 0x11)
    },
    Word::fixed(MSIX + 4, "MSI-X Table Offset", "PCI 3.0, 6.8.2", MSIX_TABLE as u32),
    Word::fixed(MSIX + 8, "MSI-X Pending Bits Offset", "PCI 3.0, 6.8.2", MSIX_PENDING as u32),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_their_columns_agree() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].offset < pair[1].offset, "{}", pair[1].name);
        }
        for word in &TABLE {
            assert_eq!(word.offset % 4, 0, "{}", word.name);
            assert!((word.offset as usize) < CONFIG_BYTES);
            assert_eq!(word.writable & word.clearable, 0, "{}", word.name);
            assert_eq!(word.platform & !word.writable, 0, "{}", word.name);
            assert_eq!(word.kept & !word.writable, 0, "{}", word.name);
            assert_eq!(word.reset & word.clearable, 0, "{}", word.name);
            assert!(!word.section.is_empty() && !word.name.is_empty());
        }
    }

    #[test]
    fn the_capability_list_is_three_long_and_lies_in_the_table() {
        let (mut found, mut at) = (Vec::new(), word(0x34).unwrap().reset as u16);
        while at != 0 {
            let header = word(at).unwrap().reset;
            found.push(header & 0xFF);
            at = (header >> 8 & 0xFF) as u16;
            assert!(found.len() < 48);
        }
        assert_eq!(found, [0x01, 0x10, 0x11]);
    }

    #[test]
    fn the_link_is_of_one_lane_and_2_5_gigatransfers() {
        for value in [word(LINK_CAPABILITIES).unwrap().reset, word(LINK_CONTROL).unwrap().reset >> 16] {
            assert_eq!((value & 0xF, value >> 4 & 0x3F), (1, 1));
        }
    }

    #[test]
    fn writes_and_resets_keep_to_the_columns() {
        let status = word(DEVICE_CONTROL).unwrap();
        let all = status.reset | status.clearable;
        assert_eq!(status.written(all, !0, !0), 0x7FFF, "write-one-clear, and the reset's bit reads as 0");
        assert_eq!(status.written(all, 0, !0), status.clearable);
        assert_eq!(status.written(all, 0xFF, 0xFF), all | 0xFF, "byte enables");
        assert_eq!(status.after_function_reset(0x000F_70E0), 0x28F0);
        let power = word(POWER_CONTROL).unwrap();
        for (state, shown) in [(0, 0), (1, 0), (2, 0), (3, 3)] {
            assert_eq!(power.written(power.reset, state, !0), power.reset | shown);
        }
        assert_eq!(power.written(0xB, 1, 0xFF00), 0xB);
    }
}
