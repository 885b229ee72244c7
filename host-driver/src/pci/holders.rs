//! Who has a function open, as far as procfs shows it to this user.

use std::{
    ffi::OsStr,
    fmt,
    fs::{self, DirEntry},
    path::Path,
};

use super::{text, Machine};

/// What the file of a function is called where processes list their descriptors.
const FUNCTION: &str = "anon_inode:[vfio-device]";

/// A process that has a function open, or the node of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name, without control characters.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

impl Machine {
    /// The processes that have the node of a group open, or a function, of whichever group it is: its file does not tell. Only those that this user
    /// may look into, and not this one.
    pub fn holders(&self, node: &Path) -> Vec<Holder> {
        let Ok(entries) = fs::read_dir(&self.proc) else { return Vec::new() };
        let mut found: Vec<Holder> = entries.filter_map(|entry| holder(&entry.ok()?, node)).collect();
        found.sort_by_key(|holder| holder.pid);
        found
    }
}

fn holder(process: &DirEntry, node: &Path) -> Option<Holder> {
    let pid = process.file_name().to_str()?.parse().ok()?;
    let mut files = fs::read_dir(process.path().join("fd")).ok()?;
    let is_open = files.any(|file| {
        let file = file.and_then(|file| fs::read_link(file.path()));
        file.is_ok_and(|file| file == node || file.as_os_str() == OsStr::new(FUNCTION))
    });
    let name = text(process.path().join("comm")).unwrap_or_default().escape_debug().to_string();
    (is_open && pid != std::process::id()).then_some(Holder { pid, name })
}
