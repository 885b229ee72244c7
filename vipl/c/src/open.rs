//! NICs are opened, and closed with all that was made with them.

use std::{
    ffi::{c_char, CStr},
    sync::Arc,
};

use via::{full_name, Return};
use viaduct_driver::log;

use crate::{
    connect,
    cq::{self, CQS},
    device::Device,
    entry::{call, code, watch_forks, Out},
    events, extensions, memory,
    nic::{OpenNic, NICS},
    ptags,
    types::{Pvoid, VipReturn},
    vi::{self, VIS},
};

/// Whether the program has a NIC open by any handle.
fn is_open(device: &Arc<Device>) -> bool {
    NICS.find_map(|open| Arc::ptr_eq(&open.device, device).then_some(())).is_some()
}

/// In a child of a fork posts and looks find no handle.
extern "C" fn forget() {
    VIS.forget();
    CQS.forget();
}

#[no_mangle]
pub unsafe extern "C" fn VipOpenNic(device_name: *const c_char, nic_handle: *mut Pvoid) -> VipReturn {
    call(|| {
        // SAFETY: vipl.h.
        let out = unsafe { Out::new(nic_handle) }?;
        if device_name.is_null() {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: vipl.h: a string.
        let name = unsafe { CStr::from_ptr(device_name) }.to_str().map_err(|_| Return::InvalidParameter)?;
        watch_forks(forget);
        log::start(None).map_err(|error| {
            eprintln!("vipl: {error}");
            Return::InvalidParameter
        })?;
        let handle = NICS.next();
        let target = full_name(name).map_err(|error| {
            eprintln!("vipl: {error}");
            code(error)
        })?;
        Device::open(name, &target, events::listen, |device| {
            let open = OpenNic::new(handle, name, device, ptags::is_null_ptag_taken());
            NICS.insert(handle, Arc::new(open))
        })?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipCloseNic(nic_handle: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.remove(nic_handle, |_| Ok(()))?;
        // What was made with this handle ends with it.
        extensions::close(nic_handle);
        connect::close(nic_handle);
        vi::close(nic_handle);
        cq::close(nic_handle);
        let ended = memory::close(&open);
        extensions::memory::close(&open, ended.is_ok());
        ptags::close(nic_handle);
        let device = Arc::clone(&open.device);
        drop(open);
        device.close(is_open);
        // It is closed all the same; the program keeps its memory.
        ended
    })
}
