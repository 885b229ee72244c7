//! Registered memory.

use std::{
    ffi::c_ulong,
    ptr::NonNull,
    sync::{Arc, Mutex},
};

use via::Return;

use crate::{
    entry::{call, code, lock, read, Out},
    nic::{keep, OpenNic, NICS},
    registration::{Attributes, Memories, Memory},
    types::{MemAttributes, MemHandle, Pvoid, VipReturn},
};

/// Ends the registrations that were made with a handle: all of them, whatever the first error is.
pub fn close(open: &OpenNic) -> Result<(), Return> {
    let mut memory = open.device.memory_mut();
    let is_its = |memory: &Memory| memory.open == open.handle.addr();
    let (gone, left): (Memories, Memories) =
        std::mem::take(&mut *memory).into_iter().partition(|(_, memory)| is_its(memory));
    *memory = left;
    drop(memory);
    let mut result = Ok(());
    for memory in gone.into_values() {
        // Each is ended, also behind one that cannot be.
        result = result.and(memory.end().map_err(|(_, code)| code));
    }
    result
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
        let memory = Memory { region, open: nic_handle.addr(), attributes: Mutex::new(own) };
        device.memory_mut().insert(handle, Arc::new(memory));
        // Of two errors the first one counts: the NIC is closed.
        keep(nic_handle, |_| close(&open).unwrap_or_default())?;
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
        let found = memory.remove(&mem_handle).ok_or(Return::InvalidParameter)?;
        // The NIC lets go of it while others post. A post in this memory meanwhile is the program's mistake: it may break its VI.
        drop(memory);
        found.end().map_err(|(still, code)| {
            // The NIC may reach it as before: the program keeps the memory, and may try again.
            open.device.memory_mut().insert(mem_handle, still);
            code
        })
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
        let memory = Arc::clone(check(open.device.memory().get(&mem_handle), address)?);
        let mut is = lock(&memory.attributes);
        memory.region.set_attributes(&wanted).map_err(code)?;
        *is = own;
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
        let memory = Arc::clone(check(open.device.memory().get(&mem_handle), address)?);
        let is = lock(&memory.attributes);
        out.put(MemAttributes {
            ptag: std::ptr::without_provenance_mut(is.handle),
            enable_rdma_write: is.write.into(),
            enable_rdma_read: is.read.into(),
        });
        Ok(())
    })
}

/// The registration that begins at `address`.
fn check(memory: Option<&Arc<Memory>>, address: Pvoid) -> Result<&Arc<Memory>, Return> {
    memory.filter(|memory| memory.region.address() == address.addr()).ok_or(Return::InvalidParameter)
}
