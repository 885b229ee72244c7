//! A device node, and whether this user may open it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{access, Access};
use serde::Serialize;

/// A device node that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its path.
    pub path: PathBuf,
    /// User identifier of its owner.
    pub owner: u32,
    /// Its group.
    pub group: u32,
    /// Permission bits.
    pub mode: u32,
    /// Whether this user may read and write it.
    pub accessible: bool,
}

impl Node {
    /// The node at `path`, if there is one.
    pub fn read(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            path: path.into(),
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode() & 0o7777,
            // Asked of the kernel: the bits above do not show access control lists.
            accessible: access(path, Access::READ_OK | Access::WRITE_OK).is_ok(),
        })
    }
}
