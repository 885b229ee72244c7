//! Waiting for sends before a disconnect.

use std::ffi::c_ulong;

use crate::{
    entry::{call, code, timeout},
    types::{Pvoid, VipReturn},
    vi::VIS,
};

#[no_mangle]
pub extern "C" fn VipExtDrain(vi_handle: Pvoid, time: c_ulong) -> VipReturn {
    call(|| VIS.get(vi_handle)?.vi.drain(timeout(time)).map_err(code))
}
