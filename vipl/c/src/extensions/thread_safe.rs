//! Whether VIs and completion queues may be used by several threads at one time.

use std::sync::atomic::Ordering;

use crate::{
    entry::call,
    nic::NICS,
    types::{Boolean, Pvoid, VipReturn},
};

#[no_mangle]
pub extern "C" fn VipExtSetThreadSafe(nic_handle: Pvoid, thread_safe: Boolean) -> VipReturn {
    call(|| {
        NICS.get(nic_handle)?.is_thread_safe.store(thread_safe != 0, Ordering::Release);
        Ok(())
    })
}
