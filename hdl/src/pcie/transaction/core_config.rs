//! What the core sees of the configuration space: the fields of its `cfg`, which `edge::Config` describes.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// The levels at the core's edge, in the domain of `pclk`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CoreConfig {
    /// The function's bus, device and function number.
    pub requester_id: Bits<16>,
    /// Max_Payload_Size: 128 << n bytes.
    pub max_payload: Bits<3>,
    /// Max_Read_Request_Size: 128 << n bytes.
    pub max_read: Bits<3>,
    /// Read completion boundary, 1 = 128 bytes.
    pub rcb: bool,
    /// 8-bit tags are allowed.
    pub extended_tag: bool,
    /// Memory requests may be sent.
    pub bus_master: bool,
    /// Function-level reset; it stays high until `function_reset_done`.
    pub function_reset: bool,
    /// MSI-X is enabled.
    pub msix_enable: bool,
    /// All vectors are masked.
    pub msix_mask: bool,
}
