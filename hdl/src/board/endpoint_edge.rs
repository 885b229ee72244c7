//! The core's signals at the PCIe edge, as two bundles: those that the endpoint will drive, and those that it will read.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Bits of [`EndpointGives`].
pub const GIVEN: usize = 149;
/// Bits of what it will take: the data of a beat, and [`EndpointTakes`].
pub const TAKEN: usize = 64 + TAKEN_BESIDE;
/// Bits of [`EndpointTakes`].
pub const TAKEN_BESIDE: usize = 8;

/// The core's inputs; [`Card`](super::Card) says of each what it is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EndpointGives {
    pub rx_data: Bits<64>,
    pub rx_keep: Bits<2>,
    pub rx_bar: Bits<3>,
    pub rx_valid: bool,
    pub rx_last: bool,
    pub tx_ready: bool,
    pub ph: Bits<8>,
    pub pd: Bits<12>,
    pub nph: Bits<8>,
    pub ch: Bits<8>,
    pub cd: Bits<12>,
    pub requester_id: Bits<16>,
    pub max_payload: Bits<3>,
    pub max_read: Bits<3>,
    pub rcb: bool,
    pub extended_tag: bool,
    pub bus_master: bool,
    pub function_reset: bool,
    pub msix_enable: bool,
    pub msix_mask: bool,
    pub link_down: bool,
}

/// The core's outputs beside the data of its packets; [`Card`](super::Card) says of each what it is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EndpointTakes {
    pub tx_keep: Bits<2>,
    pub tx_class: Bits<2>,
    pub tx_valid: bool,
    pub tx_last: bool,
    pub rx_np_ready: bool,
    pub function_reset_done: bool,
}
