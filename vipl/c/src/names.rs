//! The name service, over a hosts file.

use std::{
    ffi::{c_char, c_ulong, CStr},
    sync::Arc,
};

use via::{Mac, Return};

use crate::{
    entry::{call, lock, read, Out},
    hosts::Hosts,
    nic::{OpenNic, NICS},
    types::{NetAddressHead, Pvoid, VipReturn},
};

/// Bytes of a NIC's address.
pub const ADDRESS_BYTES: u16 = 6;

/// Tells the program's user what no code can.
fn say(why: &str) {
    eprintln!("vipl: name service: {why}");
}

/// Looks into the hosts that VipNSInit has read, for `what`. What is not there is said if there is something to say: programs ask for one
/// NIC of a host after the other until there is none.
fn look<T>(
    open: &Arc<OpenNic>,
    what: impl FnOnce() -> Option<String>,
    ask: impl FnOnce(&Hosts) -> Option<T>,
) -> Result<T, Return> {
    let names = lock(&open.names);
    let Some(hosts) = names.as_ref() else {
        say("it was asked before VipNSInit, or after VipNSShutdown");
        return Err(Return::ErrorNameservice);
    };
    ask(hosts).ok_or_else(|| {
        if let Some(what) = what() {
            say(&format!("{}: it has no {what}", hosts.place));
        }
        Return::ErrorNameservice
    })
}

#[no_mangle]
pub extern "C" fn VipNSInit(nic_handle: Pvoid, _info: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        let hosts = Hosts::read(&open.device.nic, |line| say(&line)).map_err(|why| {
            say(&why);
            Return::ErrorNameservice
        })?;
        if let Ok(connections) = open.device.nic.connections() {
            for host in hosts.all() {
                host.ip.into_iter().for_each(|ip| connections.learn(host.mac, ip));
            }
        }
        *lock(&open.names) = Some(hosts);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipNSGetHostByName(
    nic_handle: Pvoid,
    name: *const c_char,
    address: *mut u8,
    index: c_ulong,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let head = unsafe { read(address.cast::<NetAddressHead>()) }?;
        if name.is_null() {
            return Err(Return::InvalidParameter);
        }
        // SAFETY: vipl.h: a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        // A length that is there is the room that is there.
        if head.host_length != 0 && head.host_length < ADDRESS_BYTES {
            return Err(Return::InvalidParameter);
        }
        let index = usize::try_from(index).map_err(|_| Return::InvalidParameter)?;
        let what = || (index == 0).then(|| format!("host {name:?}"));
        let mac = look(&open, what, |hosts| Some(hosts.by_name(&name, index)?.mac))?;
        // SAFETY: vipl.h: an address of this length. The discriminator is the program's, and its length too.
        unsafe {
            address.cast::<u16>().write_unaligned(ADDRESS_BYTES);
            address.add(size_of::<NetAddressHead>()).copy_from_nonoverlapping(mac.0.as_ptr(), mac.0.len());
        }
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn VipNSGetHostByAddr(
    nic_handle: Pvoid,
    address: *const u8,
    name: *mut c_char,
    length: *mut c_ulong,
) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        // SAFETY: vipl.h.
        let room = unsafe { read(length) }?;
        // SAFETY: vipl.h.
        let (_room, length_out) = unsafe { (Out::new(name)?, Out::new(length)?) };
        // SAFETY: vipl.h.
        let mac = unsafe { host(address) }?;
        let what = || Some(format!("NIC {mac}"));
        let found = look(&open, what, |hosts| hosts.by_address(mac).map(str::to_owned))?;
        let needed = found.len() as c_ulong + 1;
        length_out.put(needed);
        if needed > room {
            return Err(Return::ErrorResource);
        }
        // SAFETY: vipl.h: there is room for `room` bytes.
        unsafe {
            name.cast::<u8>().copy_from_nonoverlapping(found.as_ptr(), found.len());
            name.add(found.len()).write(0);
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn VipNSShutdown(nic_handle: Pvoid) -> VipReturn {
    call(|| {
        let open = NICS.get(nic_handle)?;
        let had = lock(&open.names).take();
        had.map(drop).ok_or(Return::ErrorNameservice)
    })
}

/// The NIC that a VIP_NET_ADDRESS names.
///
/// # Safety
/// NULL, or VIP_NET_ADDRESS.
pub unsafe fn host(address: *const u8) -> Result<Mac, Return> {
    // SAFETY: the caller's promise.
    let head = unsafe { read(address.cast::<NetAddressHead>()) }?;
    if head.host_length != ADDRESS_BYTES {
        return Err(Return::InvalidParameter);
    }
    // SAFETY: the caller's promise: that many bytes are behind the lengths.
    Ok(Mac(unsafe { address.add(size_of::<NetAddressHead>()).cast::<[u8; 6]>().read_unaligned() }))
}
