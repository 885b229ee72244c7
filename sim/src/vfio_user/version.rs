//! What the server says of itself in its first reply.

use serde_json::json;
use viaduct_driver::vfio_user::message::{Version, MAJOR, MAX_FILES, MAX_TRANSFER, MINOR};

/// The protocol's own default: QEMU ends when a server tells of more, whatever the server can hold.
const MAX_MAPS_TOLD: usize = 65_535;
const _: () = assert!(MAX_MAPS_TOLD <= crate::memory::MAX_MAPPINGS);

/// Body of the reply to VERSION of a client with this minor version.
pub fn reply(minor: u16) -> Vec<u8> {
    let capabilities = json!({
        "max_msg_fds": MAX_FILES,
        "max_data_xfer_size": MAX_TRANSFER,
        "max_dma_maps": MAX_MAPS_TOLD,
        "pgsizes": crate::memory::PAGE,
        "write_multiple": true,
    });
    Version::with(MAJOR, minor.min(MINOR), &capabilities)
}
