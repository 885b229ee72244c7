//! What the device reads and writes, mapping by mapping.

use std::io;

use super::{AccessError, Mapping, Memory};
use crate::reach::Reach;

impl Memory {
    /// Reads for the device. Nothing of `data` counts after an error.
    pub fn read(&self, iova: u64, data: &mut [u8]) -> Result<(), AccessError> {
        self.pieces(
            iova,
            data.len(),
            |mapping| mapping.readable,
            |file, offset, from, to| file.read(&mut data[from..to], offset),
        )
    }

    /// Writes for the device. After an error a part of `data` may have been written.
    ///
    /// An aligned word that the host polls is never seen half written with DONE: its byte 4 goes
    /// last, in a call of its own.
    pub fn write(&self, iova: u64, data: &[u8]) -> Result<(), AccessError> {
        self.pieces(
            iova,
            data.len(),
            |mapping| mapping.writable,
            |file, offset, from, to| {
                let piece = &data[from..to];
                match <[u8; 8]>::try_from(piece) {
                    Ok(word) if iova % 8 == 0 => file.write_word(word, offset),
                    _ => file.write(piece, offset),
                }
            },
        )
    }

    /// Whether this access may take place, but a part of the range has no file: it has to go by
    /// message.
    pub fn lacks_file(&self, iova: u64, length: usize, write: bool) -> bool {
        let (mut done, mut lacks) = (0, false);
        while done < length as u64 {
            let Some(at) = iova.checked_add(done) else { return false };
            let Some((&start, mapping)) = self.mappings.range(..=at).next_back() else { return false };
            let allowed = if write { mapping.writable } else { mapping.readable };
            if at - start >= mapping.length || !allowed {
                return false;
            }
            lacks |= mapping.file.is_none();
            done += mapping.length - (at - start);
        }
        lacks
    }

    /// Calls `access` with file, file offset and the part of the data for each mapping that the
    /// range touches, in order.
    fn pieces(
        &self,
        iova: u64,
        length: usize,
        allowed: impl Fn(&Mapping) -> bool,
        mut access: impl FnMut(&Reach, u64, usize, usize) -> io::Result<()>,
    ) -> Result<(), AccessError> {
        let mut done = 0;
        while done < length {
            let at = iova.checked_add(done as u64).ok_or(AccessError::Unmapped(iova))?;
            let found = self.mappings.range(..=at).next_back();
            let (&start, mapping) = found.ok_or(AccessError::Unmapped(at))?;
            let within = at - start;
            if within >= mapping.length {
                return Err(AccessError::Unmapped(at));
            }
            if !allowed(mapping) {
                return Err(AccessError::Forbidden(at));
            }
            let file = mapping.file.as_ref().ok_or(AccessError::Unmapped(at))?;
            let count = (mapping.length - within).min((length - done) as u64) as usize;
            access(file, mapping.offset + within, done, done + count)
                .map_err(|source| AccessError::File { iova: at, source })?;
            done += count;
        }
        Ok(())
    }
}
