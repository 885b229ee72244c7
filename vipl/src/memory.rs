//! Registered memory.

use std::{
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, PoisonError,
    },
};

use viaduct_driver::{
    device_memory::DeviceMemory,
    fork::Birth,
    kernel_agent::{AgentError, MemoryAttributes},
};
use viaduct_spec::descriptor::{ALIGNMENT, CONTROL_SEGMENT_BYTES};

use crate::{
    bytes::Bytes,
    descriptor::Memory,
    form::{RawDescriptor, Segment},
    registered::{Registered, Registration},
    Descriptor, Error, Nic, Ptag, Remote,
};

/// What memory is registered for (VIP_MEM_ATTRIBUTES).
#[derive(Debug, Clone)]
pub struct MemAttributes {
    /// Protection tag.
    pub ptag: Ptag,
    /// Remote peers of VIs with this tag may write it.
    pub enable_rdma_write: bool,
    /// Remote peers of VIs with this tag may read it.
    pub enable_rdma_read: bool,
}

impl MemAttributes {
    /// Memory for the local NIC alone.
    pub fn new(ptag: &Ptag) -> Self {
        Self { ptag: ptag.clone(), enable_rdma_write: false, enable_rdma_read: false }
    }
}

/// Memory that the NIC may reach, from registration until the last clone is dropped. Posted
/// descriptors hold clones of the regions that they name, so nothing is taken from under the NIC.
///
/// The NIC changes it at its own times: bytes are copied in and out, and no reference to them is
/// ever given. Threads may copy at once: bytes that two of them write, or that one writes and another reads, or the NIC, are each of the
/// one or the other, in no order.
#[derive(Debug, Clone)]
pub struct Region(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    nic: Nic,
    /// Kept as long as the region has it.
    ptag: Mutex<Ptag>,
    handle: u32,
    start: NonNull<u8>,
    length: usize,
    born: Birth,
    /// The region's own memory, if it has any.
    owned: ManuallyDrop<Option<DeviceMemory>>,
    read_only: bool,
    /// The NIC may reach the memory: it is not deregistered yet.
    live: AtomicBool,
    /// Whoever ends the registration has it: one at a time.
    ending: Mutex<()>,
    registration: Registration,
}

// SAFETY: the pointer is to memory that stays as long as this does. Copies in and out of it are atomic (`Bytes`), and so are the library's
// accesses to descriptors in it; other users of the memory are what `Nic::register` requires of them.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Nic {
    /// Makes a region of `length` bytes of new memory, zero at first, page aligned.
    ///
    /// # Errors
    /// No memory, no room in the NIC's tables, the device's errors.
    pub fn allocate(&self, length: usize, attributes: &MemAttributes) -> Result<Region, Error> {
        let memory = self.new_memory(length)?;
        let start = memory.start();
        // SAFETY: the memory lives in the region, which keeps it until it is deregistered; no
        // reference into it is made.
        unsafe { self.region(start, length, attributes, Some(memory)) }
    }

    /// New memory of `length` bytes, rounded up to whole pages, that this NIC can register in any part ([`Nic::register`]), also where it
    /// reaches no other memory of this process: through a viad that has none, or over VFIO. It is not registered yet, zero at first, page aligned, and
    /// not for children of a fork.
    ///
    /// # Errors
    /// No memory; viad lets this user have no more.
    pub fn new_memory(&self, length: usize) -> Result<DeviceMemory, Error> {
        Arc::clone(self.agent()).allocate(length).map_err(|error| match error {
            AgentError::NoMemory(error) => Error::Memory(error),
            error => error.into(),
        })
    }

    /// Registers memory that the program has (VipRegisterMem): any alignment and length, any
    /// number of times. Memory that the program may only read, the NIC may only read.
    ///
    /// # Safety
    /// The memory stays mapped until [`Region::deregister`] has returned without an error. (A region whose last clone is dropped
    /// is deregistered, too, but nobody hears whether that went well: who drops it and cannot know that the NIC answered keeps the
    /// memory.) No reference exists in that time that its being changed by the NIC would break. Where [`Region::write`], [`Region::read`]
    /// and posts may race with accesses of the program's own, those are atomic, and of the same size: aligned words of 8 bytes, and
    /// single bytes before the region's first and behind its last whole word. Two regions with different edges in one such word are not
    /// copied to or from at once there.
    pub unsafe fn register(
        &self,
        start: NonNull<u8>,
        length: usize,
        attributes: &MemAttributes,
    ) -> Result<Region, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.region(start, length, attributes, None) }
    }

    unsafe fn region(
        &self,
        start: NonNull<u8>,
        length: usize,
        attributes: &MemAttributes,
        owned: Option<DeviceMemory>,
    ) -> Result<Region, Error> {
        let tag = attributes.ptag.tag_of(self)?;
        let wanted = MemoryAttributes {
            tag,
            rdma_write: attributes.enable_rdma_write,
            rdma_read: attributes.enable_rdma_read,
        };
        let read_only = owned.is_none() && {
            let from = start.as_ptr() as u64;
            let access = viaduct_driver::memory::access(from, from.saturating_add(length as u64));
            matches!(access, Ok(viaduct_driver::device::DmaAccess::Read))
        };
        // SAFETY: the caller's promise.
        let handle = unsafe { self.agent().register(start.as_ptr() as usize, length, wanted) }?;
        let registration = self.registered().insert(handle, start.as_ptr() as usize, length, !read_only);
        Ok(Region(Arc::new(Inner {
            nic: self.clone(),
            ptag: Mutex::new(attributes.ptag.clone()),
            handle,
            start,
            length,
            born: Birth::now(),
            owned: ManuallyDrop::new(owned),
            read_only,
            live: AtomicBool::new(true),
            ending: Mutex::default(),
            registration,
        })))
    }
}

impl Inner {
    /// Ends the registration, if it has not ended. After an error it has not.
    fn end(&self) -> Result<(), AgentError> {
        // A thread that panicked with the lock held has left nothing half changed.
        let _one = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_live() {
            self.nic.agent().deregister(self.handle)?;
            self.live.store(false, Ordering::Release);
            self.forget();
        }
        Ok(())
    }

    fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Descriptors that a program wrote there are not looked at any more: nobody keeps their memory.
    fn forget(&self) {
        // SAFETY: the NIC is there, and its table with it.
        unsafe { self.registration.end() };
    }
}

impl Memory for Inner {
    fn handle(&self) -> u32 {
        self.handle
    }

    fn address(&self) -> usize {
        self.start.as_ptr() as usize
    }

    fn table(&self) -> &Registered {
        self.nic.registered()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // After an error the NIC may still reach the memory: then it stays.
        if self.end().is_ok() {
            // SAFETY: dropped here and nowhere else.
            unsafe { ManuallyDrop::drop(&mut self.owned) };
        }
        self.forget();
    }
}

/// A region that is still registered: [`Region::deregister`] could not end it.
#[derive(Debug, thiserror::Error)]
#[error("the memory is still registered: {error}")]
pub struct StillRegistered {
    /// The region, as it was. The NIC may still reach its memory.
    pub region: Region,
    /// Why.
    pub error: Error,
}

impl Region {
    /// The memory handle (VIP_MEM_HANDLE); never 0.
    pub fn handle(&self) -> u32 {
        self.0.handle
    }

    /// Virtual address of the first byte.
    pub fn address(&self) -> usize {
        self.0.start.as_ptr() as usize
    }

    /// What a peer has to know to write or read from `offset` on.
    ///
    /// # Errors
    /// An offset behind the end.
    pub fn remote(&self, offset: usize) -> Result<Remote, Error> {
        let address = self.place(offset, 0)?.as_ptr() as u64;
        Ok(Remote { address, handle: self.handle() })
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.0.length
    }

    /// The NIC that it is registered with.
    pub fn nic(&self) -> &Nic {
        &self.0.nic
    }

    /// Pointer to the first byte, for access in place. The NIC may change the bytes at any time. In a child of a fork nothing is there if
    /// the region owns its memory ([`Nic::allocate`]).
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.0.start
    }

    /// Gives it another tag and other rights (VipSetMemAttributes); its handle stays. When it returns, nobody reaches the memory
    /// by what it was registered for before.
    ///
    /// # Errors
    /// A tag of another NIC's; a right to write read-only memory; the device's errors.
    pub fn set_attributes(&self, attributes: &MemAttributes) -> Result<(), Error> {
        let mut ptag = self.0.ptag.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = MemoryAttributes {
            tag: attributes.ptag.tag_of(self.nic())?,
            rdma_write: attributes.enable_rdma_write,
            rdma_read: attributes.enable_rdma_read,
        };
        self.nic().agent().set_memory_attributes(self.handle(), wanted)?;
        *ptag = attributes.ptag.clone();
        Ok(())
    }

    /// Ends the registration (VipDeregisterMem). When it returns without an error, the NIC does not reach the memory any more.
    /// (Dropping the last clone does the same, and keeps memory that the region owns if it fails; but nobody hears of it.)
    ///
    /// # Errors
    /// The region, with the reason: [`Error::InUse`] while there are clones, in descriptors or elsewhere; the device's errors, after
    /// which the NIC may still reach the memory. It can be tried again.
    pub fn deregister(mut self) -> Result<(), StillRegistered> {
        let ended = match Arc::get_mut(&mut self.0) {
            Some(inner) => inner.end().map_err(Error::from),
            None => Err(Error::InUse),
        };
        ended.map_err(|error| StillRegistered { region: self, error })
    }

    /// [`Region::deregister`], though there are clones, in posted descriptors, say: for those who promise their own programs that memory is given back
    /// when they ask for it. What the NIC would still do with the memory by such a descriptor completes with a protection error. The clones are of no use
    /// any more: whatever needs the memory is [`Error::Revoked`].
    ///
    /// # Errors
    /// The device's, after which the NIC may still reach the memory. It can be tried again.
    ///
    /// # Safety
    /// No descriptor lies in the region, unless the memory is the library's own; and no other thread copies to or from it: after this the memory may
    /// be unmapped.
    pub unsafe fn revoke(&self) -> Result<(), Error> {
        Ok(self.0.end()?)
    }

    /// Copies bytes into the region.
    ///
    /// # Errors
    /// A range that is not inside; memory that is read-only; in a child of a fork, which has no memory of the region's own.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.place(offset, bytes.len())?;
        self.0.born.check()?;
        if self.0.read_only {
            return Err(Error::ReadOnly);
        }
        self.bytes().write(offset, bytes);
        Ok(())
    }

    /// Copies bytes out of the region.
    ///
    /// # Errors
    /// As [`Region::write`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let from = self.place(offset, bytes.len())?;
        self.0.born.check()?;
        if self.0.read_only {
            // Neither this process nor the NIC writes it, and it may not be taken for atomics, which could be written.
            // SAFETY: `place` has checked the range.
            unsafe { from.copy_to_nonoverlapping(NonNull::from(&mut *bytes).cast(), bytes.len()) };
        } else {
            self.bytes().read(offset, bytes);
        }
        Ok(())
    }

    /// Its bytes, if it may be written.
    fn bytes(&self) -> Bytes {
        // SAFETY: it is mapped as long as this region is there; how it is accessed `Nic::register` says, and memory of the library's own has
        // no other users but descriptors, which are aligned words.
        unsafe { Bytes::new(self.0.start, self.0.length) }
    }

    /// Where `length` bytes at `offset` are.
    pub(crate) fn place(&self, offset: usize, length: usize) -> Result<NonNull<u8>, Error> {
        if offset.checked_add(length).is_none_or(|end| end > self.0.length) {
            return Err(Error::Range { offset, length, region: self.0.length });
        }
        if !self.0.is_live() {
            return Err(Error::Revoked);
        }
        // SAFETY: inside the region.
        Ok(unsafe { self.0.start.add(offset) })
    }

    /// The control segment of a descriptor at `start`, which is in the region.
    ///
    /// # Safety
    /// As [`Segment::at`].
    pub(crate) unsafe fn segment(&self, start: NonNull<u8>) -> Result<Segment, Error> {
        let address = start.as_ptr() as usize;
        if address % ALIGNMENT != 0 {
            return Err(Error::Alignment(address));
        }
        if self.0.read_only {
            return Err(Error::ReadOnly);
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { Segment::at(start) })
    }

    /// The descriptor that the program has written at `start`, whose control segment must lie in the region.
    ///
    /// # Safety
    /// As [`crate::Vi::post_at`].
    pub(crate) unsafe fn raw_descriptor(&self, start: NonNull<u8>) -> Result<RawDescriptor, Error> {
        // Two segments belong to every descriptor; only the control segment is touched here.
        let offset = (start.as_ptr() as usize).checked_sub(self.address());
        let range = |offset| Error::Range { offset, length: CONTROL_SEGMENT_BYTES, region: self.length() };
        self.place(offset.ok_or_else(|| range(usize::MAX))?, CONTROL_SEGMENT_BYTES)?;
        // SAFETY: the caller's promise.
        Ok(RawDescriptor::new(unsafe { self.segment(start) }?, self.0.registration))
    }

    /// What keeps it registered.
    pub(crate) fn memory(&self) -> Arc<dyn Memory> {
        Arc::clone(&self.0) as Arc<dyn Memory>
    }
}

impl Descriptor {
    /// Whether it lies in this region.
    pub fn is_in(&self, region: &Region) -> bool {
        std::ptr::addr_eq(self.memory(), Arc::as_ptr(&region.0))
    }
}
