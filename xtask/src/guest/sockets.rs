//! A folder for sockets, whose paths must be short; it goes when its owner does.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder.
pub struct Sockets(PathBuf);

impl Sockets {
    /// Makes one, with this word in its name, for nobody else to read.
    pub fn make(name: &str) -> Result<Sockets> {
        let folder = std::env::temp_dir().join(format!("viaduct-{name}-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Sockets(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // A left-over folder in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
