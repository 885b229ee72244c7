//! Registered memory.

use std::{
    collections::BTreeMap,
    ffi::c_ulong,
    ptr::NonNull,
    sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard},
};

use via::{Region, Return};

use crate::{
    entry::{call, code, read, Out},
    nic::{keep, Device, OpenNic, Tag, NICS},
    types::{MemAttributes, MemHandle, Pvoid, VipReturn},
};

/// A registration.
pub struct Memory {
    pub region: Region,
    /// The NIC's handle that it was made with.
    open: usize,
    attributes: Attributes,
}

/// What it was registered for.
#[derive(Clone)]
struct Attributes {
    /// The tag's handle; 0: the default tag.
    handle: usize,
    /// Keeps the tag's handle from being destroyed.
    _tag: Option<Arc<Tag>>,
    write: bool,
    read: bool,
}

impl Device {
    pub fn memory(&self) -> RwLockReadGuard<'_, BTreeMap<u32, Memory>> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<u32, Memory>> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the registrations that were made with a handle.
pub fn close(open: &OpenNic) {
    let mut memory = open.device.memory_mut();
    let is_its = |memory: &Memory| memory.open == open.handle.addr();
    let (gone, left) = std::mem::take(&mut *memory).into_iter().partition(|(_, memory)| is_its(memory));
    *memory = left;
    drop(memory);
    // The NIC lets go of it while others post.
    drop::<BTreeMap<u32, Memory>>(gone);
}

/// The attributes that a program gave, for us and for the library.
///
/// # Safety
/// NULL, or VIP_MEM_ATTRIBUTES.
unsafe fn attributes(
    open: &OpenNic,
    given: *const MemAttributes,
) -> Result<(Attributes, via::MemAttributes), Return> {
    let none = MemAttributes { ptag: std::ptr::null_mut(), enable_rdma_write: 0, enable_rdma_read: 0 };
    let given = match given.is_null() && open.is_lenient() {
        true => none,
        // SAFETY: the caller's promise.
        false => unsafe { read(given) }?,
    };
    let (ptag, tag) = open.tag(given.ptag)?;
    let (write, read) = (given.enable_rdma_write != 0, given.enable_rdma_read != 0);
    Ok((
        Attributes { handle: given.ptag.addr(), _tag: tag, write, read },
        via::MemAttributes { ptag, enable_rdma_write: write, enable_rdma_read: read },
    ))
}

#[no_mangle]
pub unsafe extern "C" fn VipRegisterMem(
    nic_handle: Pvoid,
    address: Pvoid,
    length: c_ulong,
    mem_attributes: *const MemAttributes,
    mem_handle: *mut MemHandle,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(mem_handle) }?;
        let start = NonNull::new(address.cast::<u8>()).ok_or(Return::InvalidParameter)?;
        let length = usize::try_from(length).map_err(|_| Return::InvalidParameter)?;
        // SAFETY: vipl.h.
        let (own, wanted) = unsafe { attributes(&open, mem_attributes) }?;
        let device = &open.device;
        // SAFETY: vipl.h: the memory stays until it is deregistered, and is C's.
        let region = unsafe { device.nic.register(start, length, &wanted) }.map_err(code)?;
        let handle = region.handle();
        device.memory_mut().insert(handle, Memory { region, open: nic_handle.addr(), attributes: own });
        keep(nic_handle, |_| close(&open))?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipDeregisterMem(nic_handle: Pvoid, address: Pvoid, mem_handle: MemHandle) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        let mut memory = open.device.memory_mut();
        check(memory.get(&mem_handle), address)?;
        let gone = memory.remove(&mem_handle);
        drop(memory);
        // The NIC lets go of it here, or is gone itself.
        drop(gone);
        open.device.nic.check().map_err(code)
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipSetMemAttributes(
    nic_handle: Pvoid,
    address: Pvoid,
    mem_handle: MemHandle,
    mem_attributes: *const MemAttributes,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let (own, wanted) = unsafe { attributes(&open, mem_attributes) }?;
        let mut memory = open.device.memory_mut();
        check(memory.get(&mem_handle), address)?;
        let memory = memory.get_mut(&mem_handle).ok_or(Return::InvalidParameter)?;
        memory.region.set_attributes(&wanted).map_err(code)?;
        memory.attributes = own;
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipQueryMem(
    nic_handle: Pvoid,
    address: Pvoid,
    mem_handle: MemHandle,
    mem_attributes: *mut MemAttributes,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(mem_attributes) }?;
        let memory = open.device.memory();
        let is = &check(memory.get(&mem_handle), address)?.attributes;
        out.put(MemAttributes {
            ptag: std::ptr::without_provenance_mut(is.handle),
            enable_rdma_write: is.write.into(),
            enable_rdma_read: is.read.into(),
        });
        Ok(())
    })
}

/// The registration that begins at `address`.
fn check(memory: Option<&Memory>, address: Pvoid) -> Result<&Memory, Return> {
    memory.filter(|memory| memory.region.address() == address.addr()).ok_or(Return::InvalidParameter)
}
