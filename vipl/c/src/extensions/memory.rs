//! Memory that the library allocates for its program, so that any NIC reaches it.

use std::{collections::BTreeMap, ffi::c_ulong, sync::Mutex};

use via::{DeviceMemory, Return};

use crate::{
    device::Device,
    entry::{call, code, lock, Out},
    nic::{keep, OpenNic, NICS},
    types::{Pvoid, VipReturn},
};

/// What was allocated and is not freed, by the NIC's handle and the address.
static ALLOCATED: Mutex<BTreeMap<(usize, usize), DeviceMemory>> = Mutex::new(BTreeMap::new());

/// Whether any of it is registered, with whatever handle of the NIC.
fn is_registered(device: &Device, memory: &DeviceMemory) -> bool {
    let (start, end) = (memory.start().as_ptr().addr(), memory.start().as_ptr().addr() + memory.length());
    device.memory().values().any(|registered| {
        let from = registered.region.address();
        from < end && start < from.saturating_add(registered.region.length())
    })
}

/// Frees what was allocated with a handle, when what was registered with it has ended. What is registered still, or may be, stays for ever.
pub fn close(open: &OpenNic, has_ended: bool) {
    let mut all = lock(&ALLOCATED);
    let own = all.range((open.handle.addr(), 0)..=(open.handle.addr(), usize::MAX));
    let keys: Vec<_> = own.map(|(key, _)| *key).collect();
    let memories: Vec<DeviceMemory> = keys.iter().filter_map(|key| all.remove(key)).collect();
    // viad is asked without the lock.
    drop(all);
    for memory in memories {
        if !has_ended || is_registered(&open.device, &memory) {
            std::mem::forget(memory);
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn VipExtAllocateMem(
    nic_handle: Pvoid,
    length: c_ulong,
    address: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(address) }?;
        let length =
            usize::try_from(length).ok().filter(|length| *length > 0).ok_or(Return::InvalidParameter)?;
        let memory = open.device.nic.new_memory(length).map_err(code)?;
        let start = memory.start().as_ptr();
        lock(&ALLOCATED).insert((nic_handle.addr(), start.addr()), memory);
        // Of two errors the first one counts: the NIC is closed.
        keep(nic_handle, |_| close(&open, true))?;
        out.put(start.cast());
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipExtFreeMem(nic_handle: Pvoid, address: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        let key = (nic_handle.addr(), address.addr());
        let mut all = lock(&ALLOCATED);
        if is_registered(&open.device, all.get(&key).ok_or(Return::InvalidParameter)?) {
            return Err(Return::InvalidState);
        }
        let memory = all.remove(&key);
        // viad is asked without the lock.
        drop(all);
        drop(memory);
        Ok(())
    })
}
