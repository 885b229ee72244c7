//! What we say of our own accord: commands to the client, and the body of the first reply.

use serde_json::json;

use super::{Header, MAJOR, MAX_FDS, MAX_TRANSFER, MINOR};

/// The protocol's own default: QEMU ends when a server tells of more, whatever the server can hold.
const MAX_MAPS_TOLD: usize = 65_535;
const _: () = assert!(MAX_MAPS_TOLD <= crate::memory::MAX_MAPPINGS);

/// A DMA_READ or DMA_WRITE, header included.
pub fn dma_command(id: u16, command: u16, address: u64, count: usize, data: &[u8]) -> Vec<u8> {
    let mut body = address.to_le_bytes().to_vec();
    body.extend_from_slice(&(count as u64).to_le_bytes());
    body.extend_from_slice(data);
    Header { id, command, size: 0, flags: 0, error: 0 }.answer(0, 0, &body)
}

/// Body of the reply to VERSION.
pub fn version_reply(minor: u16) -> Vec<u8> {
    let capabilities = json!({ "capabilities": {
        "max_msg_fds": MAX_FDS,
        "max_data_xfer_size": MAX_TRANSFER,
        "max_dma_maps": MAX_MAPS_TOLD,
        "pgsizes": crate::memory::PAGE,
        "write_multiple": true,
    }});
    let mut body = Vec::new();
    body.extend_from_slice(&MAJOR.to_le_bytes());
    body.extend_from_slice(&minor.min(MINOR).to_le_bytes());
    body.extend_from_slice(capabilities.to_string().as_bytes());
    body.push(0);
    body
}

/// Numbers as little-endian words, one after the other.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
