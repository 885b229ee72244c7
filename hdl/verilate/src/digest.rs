//! The hash by which a text of Verilog is named.

use sha2::{Digest, Sha256};

/// SHA-256 of a text, in hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
