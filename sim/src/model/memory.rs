//! The way of a part to host memory: through the protection checker. Reads are done at once; a write that is granted becomes
//! effects, one for each page that it touches.

use viaduct_spec::register::counter;

use super::counters::Counters;
use super::effect::{Effect, Effects};
use super::host::Host;
use super::place::{Access, Refused, Unread};
use super::protection::Protection;

/// Host memory, checked.
pub struct Memory<'a> {
    host: &'a mut dyn Host,
    protection: Protection<'a>,
    counters: &'a mut Counters,
}

impl<'a> Memory<'a> {
    /// Of this host, under these rules; refusals count.
    pub fn new(host: &'a mut dyn Host, protection: Protection<'a>, counters: &'a mut Counters) -> Self {
        Self { host, protection, counters }
    }

    /// Bytes from a place to its region's end; 0 where nothing may be read.
    pub fn room(&self, access: Access) -> u64 {
        self.protection.room(access)
    }

    /// Whether an access would be granted.
    pub fn probe(&mut self, access: Access) -> Result<(), Refused> {
        self.granted(access, 0).map(drop)
    }

    /// Reads the first `length` bytes of an access.
    pub fn read(&mut self, access: Access, length: usize) -> Result<Vec<u8>, Unread> {
        let mut data = Vec::with_capacity(length);
        for (address, count) in self.granted(access, length)? {
            data.extend(self.host.read(address, count).ok_or(Unread::Failed)?);
        }
        Ok(data)
    }

    /// Writes `data` to the beginning of an access.
    pub fn write(&mut self, access: Access, data: &[u8], effects: &mut Effects) -> Result<(), Refused> {
        let mut rest = data;
        for (address, count) in self.granted(access, data.len())? {
            let (piece, behind) = rest.split_at(count);
            effects.push(Effect::Write { address, data: piece.to_vec() });
            rest = behind;
        }
        Ok(())
    }

    fn granted(&mut self, access: Access, length: usize) -> Result<Vec<(u64, usize)>, Refused> {
        let pieces = self.protection.grant(access, length);
        if pieces.is_err() {
            self.counters.count(counter::ACCESS_REFUSED);
        }
        pieces
    }
}
