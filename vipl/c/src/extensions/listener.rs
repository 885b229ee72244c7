//! Listeners that stay.

use std::{
    ffi::{c_int, c_ulong},
    os::fd::AsRawFd,
    sync::Arc,
};

use via::{
    connections::{Listener as Waits, QueueListener},
    Return,
};

use crate::{
    address::local,
    connect::put_request,
    entry::{call, code, timeout, Out},
    handles::Table,
    nic::{keep, NICS},
    request::Request,
    types::{Pvoid, ViAttributes, VipReturn},
};

/// What VipExtListen and VipExtConnQueueListen gave.
pub static LISTENERS: Table<Listener> = Table::new(7);

/// Somebody who listens.
pub struct Listener {
    /// The handle of the NIC.
    pub open: Pvoid,
    /// How he hears of requests.
    pub kind: Kind,
}

/// How one hears of requests.
pub enum Kind {
    /// By VipExtListenerWait.
    Waits(Waits),
    /// By a connection queue, with the program's word for it.
    Queued {
        /// The queue.
        queue: Pvoid,
        /// The word.
        context: Pvoid,
        /// It listens as long as this is there.
        _listener: QueueListener,
    },
}

// SAFETY: the pointers in it are handles, and a word of the program's that the library only gives back.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    fn waits(&self) -> Result<&Waits, Return> {
        match &self.kind {
            Kind::Waits(listener) => Ok(listener),
            Kind::Queued { .. } => Err(Return::InvalidState),
        }
    }
}

/// Ends the listeners of a handle of a NIC.
pub fn close(nic_handle: Pvoid) {
    drop(LISTENERS.remove_all(|listener| listener.open == nic_handle));
}

/// Ends the listeners of a connection queue.
pub fn close_queue(of: Pvoid) {
    let is_its = |listener: &Listener| matches!(listener.kind, Kind::Queued { queue, .. } if queue == of);
    drop(LISTENERS.remove_all(is_its));
}

/// The backlog that a program gave.
pub fn backlog(given: c_ulong) -> Result<u32, Return> {
    u32::try_from(given).map_err(|_| Return::InvalidParameter)
}

#[no_mangle]
pub unsafe extern "C" fn VipExtListen(
    nic_handle: Pvoid,
    local_address: *const u8,
    requests: c_ulong,
    listener_handle: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl_ext.h.
        let (local, out) = unsafe { (local(&open, local_address)?, Out::new(listener_handle)?) };
        let connections = open.device.nic.connections().map_err(code)?;
        let listener = connections.listen(&local, backlog(requests)?).map_err(code)?;
        let handle = LISTENERS.next();
        LISTENERS.insert(handle, Arc::new(Listener { open: nic_handle, kind: Kind::Waits(listener) }))?;
        keep(nic_handle, close)?;
        out.put(handle);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtListenerWait(
    listener_handle: Pvoid,
    time: c_ulong,
    remote_address: *mut u8,
    remote_attributes: *mut ViAttributes,
    connection: *mut Pvoid,
) -> VipReturn {
    call(|| {
        let listener = LISTENERS.get(listener_handle)?;
        // SAFETY: vipl_ext.h.
        let (attributes_out, out) = unsafe { (Out::new(remote_attributes)?, Out::new(connection)?) };
        // SAFETY: vipl_ext.h.
        let _room = unsafe { Out::new(remote_address) }?;
        let give_up = || LISTENERS.get(listener_handle).is_err();
        let asked = listener.waits()?.next(timeout(time), &give_up).map_err(code)?;
        attributes_out.put(crate::vi::of_peer(&asked.attributes()));
        // SAFETY: vipl_ext.h: there is room for an address with the NIC's longest discriminator.
        unsafe { put_request(listener.open, Request::Waits(asked), remote_address, &out) }
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipExtListenerFd(listener_handle: Pvoid, fd: *mut c_int) -> VipReturn {
    call(|| {
        let listener = LISTENERS.get(listener_handle)?;
        // SAFETY: vipl_ext.h.
        let out = unsafe { Out::new(fd) }?;
        out.put(listener.waits()?.fd().map_err(code)?.as_raw_fd());
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipExtListenerArm(listener_handle: Pvoid) -> VipReturn {
    call(|| LISTENERS.get(listener_handle)?.waits()?.arm().map_err(code))
}

#[no_mangle]
pub extern "C" fn VipExtUnlisten(listener_handle: Pvoid) -> VipReturn {
    call(|| LISTENERS.remove(listener_handle, |_| Ok(())).map(drop))
}
