//! Files behind the mappings: which ones we take, and one descriptor for each of them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Weak};

use rustix::fs::{fcntl_getfl, OFlags};

use super::{MapError, Memory, Range};
use crate::reach::{is_of_process, Reach, Shared};

impl Memory {
    /// Checks a client's file and finds the descriptor that we already have of it.
    pub(super) fn shared(&mut self, range: &Range, file: File) -> Result<Shared, MapError> {
        let refuse = |reason| MapError::File { iova: range.iova, reason };
        let data = file.metadata().map_err(|_| refuse("its metadata cannot be read"))?;
        // Pipes, sockets and devices could block us, or do something when they are read.
        if !data.is_file() {
            return Err(refuse("not a regular file, memfd or /proc/self/mem"));
        }
        let flags = fcntl_getfl(&file).map_err(|_| refuse("its flags cannot be read"))?;
        if flags.intersects(OFlags::APPEND | OFlags::PATH) {
            return Err(refuse("opened to append, or as a path only"));
        }
        let mode = flags & OFlags::RWMODE;
        if range.readable && mode == OFlags::WRONLY || range.writable && mode == OFlags::RDONLY {
            return Err(refuse("not opened for what the mapping allows"));
        }
        let key = (data.dev(), data.ino(), mode.bits());
        // A process that has become another program has other memory by the same name.
        let lives = |known: &Shared| !is_of_process(&file) || !known.has_ended();
        if let Some(known) = self.files.get(&key).and_then(Weak::upgrade).filter(lives) {
            return Ok(known);
        }
        let file = Reach::of(file).map_err(|_| refuse("there is no thread for it"))?;
        let file = Arc::new(file);
        self.files.insert(key, Arc::downgrade(&file));
        Ok(file)
    }
}
