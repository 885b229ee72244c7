//! The layouts of `viaduct_spec::config_space`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// The double word at COMMAND.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PciCommand {
    /// Reserved, 0.
    pub reserved_0: bool,
    /// Memory Space Enable.
    pub memory: bool,
    /// Bus Master Enable.
    pub master: bool,
    /// Reserved, 0.
    pub reserved_3: Bits<3>,
    /// Parity Error Response: it changes nothing.
    pub parity: bool,
    /// Reserved, 0.
    pub reserved_7: bool,
    /// SERR# Enable: it changes nothing.
    pub serr: bool,
    /// Reserved, 0.
    pub reserved_9: bool,
    /// Interrupt Disable: there is no interrupt pin.
    pub no_interrupt: bool,
    /// Reserved, 0.
    pub reserved_11: Bits<9>,
    /// Status: there is a capability list.
    pub capabilities: bool,
    /// Reserved, 0.
    pub reserved_21: Bits<11>,
}

/// The double word at POWER_CONTROL.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PowerControl {
    /// Power state: 0 is D0, 3 is D3hot.
    pub state: Bits<2>,
    /// Reserved, 0.
    pub reserved_2: bool,
    /// What a function keeps in D3hot comes back with it: No_Soft_Reset.
    pub no_soft_reset: bool,
    /// Reserved, 0.
    pub reserved_4: Bits<28>,
}

/// The double word at DEVICE_CONTROL.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DeviceControl {
    /// Reserved, 0.
    pub reserved_0: Bits<4>,
    /// Enable Relaxed Ordering: on after a reset, as the specification has it. The NIC does not ask for it.
    pub relaxed: bool,
    /// Max_Payload_Size, encoded 128 << n.
    pub max_payload: Bits<3>,
    /// Extended Tag Field Enable.
    pub extended_tag: bool,
    /// Reserved, 0.
    pub reserved_9: Bits<2>,
    /// Enable No Snoop: on after a reset, as the specification has it. The NIC does not ask for it.
    pub no_snoop: bool,
    /// Max_Read_Request_Size, encoded 128 << n.
    pub max_read: Bits<3>,
    /// Initiate Function Level Reset.
    pub function_reset: bool,
    /// Device Status: Correctable Error Detected. A non-posted request that is refused counts as one (role-based error reporting).
    pub correctable: bool,
    /// Device Status: Non-Fatal Error Detected.
    pub non_fatal: bool,
    /// Device Status: Fatal Error Detected.
    pub fatal: bool,
    /// Device Status: Unsupported Request Detected.
    pub unsupported: bool,
    /// Reserved, 0.
    pub reserved_20: Bits<12>,
}

/// The double word at LINK_CONTROL.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LinkControl {
    /// Reserved, 0.
    pub reserved_0: Bits<3>,
    /// Read Completion Boundary: 128 bytes.
    pub rcb_128: bool,
    /// Reserved, 0.
    pub reserved_4: Bits<28>,
}

/// The double word at MSIX.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MsixControl {
    /// Reserved, 0.
    pub reserved_0: Bits<30>,
    /// Function Mask.
    pub mask: bool,
    /// MSI-X Enable.
    pub enable: bool,
}
