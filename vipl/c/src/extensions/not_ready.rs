//! What becomes of a message that finds no receive.

use std::ffi::c_ulong;

use via::{NotReady, Return};

use crate::{
    entry::call,
    types::{Boolean, Pvoid, VipReturn},
    vi::VIS,
};

#[no_mangle]
pub extern "C" fn VipExtSetNotReady(
    vi_handle: Pvoid,
    stay: Boolean,
    timer: c_ulong,
    retries: c_ulong,
) -> VipReturn {
    call(|| {
        let vi = VIS.get(vi_handle)?;
        let small = |number: c_ulong| u8::try_from(number).map_err(|_| Return::InvalidParameter);
        let not_ready = match stay {
            0 => NotReady::Break,
            _ => NotReady::Stay { timer: small(timer)?, retries: small(retries)? },
        };
        vi.set_not_ready(not_ready)
    })
}
