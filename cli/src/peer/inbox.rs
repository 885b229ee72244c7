//! The receives of an end: descriptors, and the buffers that messages come into.

use vipl::{Descriptor, Error, MemAttributes, Nic, Ptag, Region, Vi};

/// Bytes of a descriptor's place.
const DESCRIPTOR: usize = 64;

/// Receives, all of the same size.
pub struct Inbox {
    /// Descriptors first, then a buffer for each, and last the one that they share.
    region: Region,
    receives: usize,
    /// Bytes of each one's own buffer, and of the one that they share.
    own: usize,
    shared: usize,
}

impl Inbox {
    /// `receives` receives of `bytes` bytes, of which the first `own` are each one's own. The bytes behind those go to one place, where the
    /// next message overwrites them.
    ///
    /// # Errors
    /// No memory; the NIC's.
    pub fn new(nic: &Nic, ptag: &Ptag, receives: usize, bytes: usize, own: usize) -> Result<Self, Error> {
        let own = own.min(bytes);
        let shared = bytes - own;
        let length = receives * (DESCRIPTOR + own.next_multiple_of(DESCRIPTOR)) + shared;
        let region = nic.allocate(length, &MemAttributes::new(ptag))?;
        Ok(Self { region, receives, own, shared })
    }

    /// Posts all receives.
    ///
    /// # Errors
    /// The NIC's.
    pub fn post(&self, vi: &Vi) -> Result<(), Error> {
        for n in 0..self.receives {
            let mut descriptor = Descriptor::new().segment(&self.region, self.buffer(n), self.own)?;
            if self.shared > 0 {
                descriptor = descriptor.segment(&self.region, self.buffer(self.receives), self.shared)?;
            }
            vi.post_recv(descriptor.build(&self.region, n * DESCRIPTOR)?)?;
        }
        Ok(())
    }

    /// The message that a receive of these has got.
    ///
    /// # Errors
    /// The receive is none of these.
    pub fn read(&self, receive: &Descriptor) -> Result<Vec<u8>, Error> {
        let mut message = vec![0; receive.length()];
        let (own, shared) = message.split_at_mut(receive.length().min(self.own));
        self.region.read(self.buffer(receive.offset() / DESCRIPTOR), own)?;
        self.region.read(self.buffer(self.receives), shared)?;
        Ok(message)
    }

    /// Where the own buffer of receive `n` is. Behind the last one's is what they share.
    fn buffer(&self, n: usize) -> usize {
        self.receives * DESCRIPTOR + n * self.own.next_multiple_of(DESCRIPTOR)
    }
}
