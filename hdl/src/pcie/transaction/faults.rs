//! What Device Status remembers.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Errors of one cycle; each sets its bit of Device Status.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Faults {
    /// Correctable Error Detected.
    pub correctable: bool,
    /// Non-Fatal Error Detected.
    pub non_fatal: bool,
    /// Fatal Error Detected.
    pub fatal: bool,
    /// Unsupported Request Detected.
    pub unsupported: bool,
}
